#include "compiler/calibration/samples.h"

#include <algorithm>
#include <optional>

#include "base/file.h"
#include "base/json.h"
#include "base/lines.h"
#include "compiler/calibration/calibration_source.h"
#include "compiler/calibration/id_rows.h"
#include "quant/calibrate.h"
#include "quant/calibration_text.h"
#include "runtime/chat/chat_template.h"
#include "runtime/tokenizer/tokenizer.h"

namespace hexlane {
namespace fs = std::filesystem;
namespace {

Failure AtPlace(Error error, std::string_view where) {
  error.where =
      error.where.empty() ? std::string(where) : fmt::format("{}: {}", where, error.where);
  return Failure(std::move(error));
}

class SampleReader {
 public:
  explicit SampleReader(const SampleArgs& args) : args_(args) {}

  Result<Samples> Run() {
    switch (TRY(FindSourceKind(args_.path))) {
      case SourceKind::kBuiltIn: AddText(DefaultCalibrationText()); break;
      case SourceKind::kText:
      case SourceKind::kFolder: TRY(ReadTexts()); break;
      case SourceKind::kJsonLines: TRY(ReadLines()); break;
      case SourceKind::kNpy: TRY(AddRows(TRY(ReadNpyIds(args_.path)), args_.path.string())); break;
      case SourceKind::kInputList: TRY(ReadList()); break;
    }
    if (!samples_.windows.empty()) return std::move(samples_);
    return InvalidInput("'{}' has no tokens", args_.path.string());
  }

 private:
  bool full() const { return tokens_ >= args_.tokens; }

  void AddWindow(std::vector<int32_t> window) {
    tokens_ += window.size();
    samples_.windows.push_back(std::move(window));
  }

  void AddText(std::string_view text) {
    ++samples_.found;
    if (full()) return;
    const std::vector<int32_t> ids = args_.tokenizer->Encode(text);
    const size_t most = (args_.tokens - tokens_ + args_.window - 1) / args_.window;
    for (std::vector<int32_t>& window : CalibrationWindows(ids, args_.window, most))
      AddWindow(std::move(window));
    ++samples_.used;
  }

  void AddSample(std::span<const int32_t> ids) {
    ++samples_.used;
    for (; !ids.empty() && !full(); ids = ids.subspan(std::min(args_.window, ids.size()))) {
      const auto part = ids.first(std::min(args_.window, ids.size()));
      AddWindow({part.begin(), part.end()});
    }
  }

  Result<void> AddIds(std::span<const int64_t> row, std::string_view where) {
    for (size_t i = 0; i < row.size(); ++i) {
      if (row[i] >= 0 && row[i] < args_.vocab) continue;
      return InvalidInput("token id {} is not in the vocabulary", row[i])
          .At("{}, token {}", where, i)
          .Want("0..{}", args_.vocab - 1)
          .Remedy("Take ids that this model's own tokenizer made, as int32 or int64");
    }
    const std::vector<int32_t> ids(row.begin(), row.end());
    AddSample(ids);
    return {};
  }

  Result<void> AddRows(const IdRows& rows, const std::string& where) {
    for (size_t i = 0; i < rows.size(); ++i) {
      ++samples_.found;
      if (!full()) TRY(AddIds(rows[i], fmt::format("{}: row {}", where, i)));
    }
    return {};
  }

  Result<void> ReadTexts() {
    if (args_.tokenizer == nullptr) return NeedsTokenizer(args_.path.string());
    for (const fs::path& file : TRY(CalibrationFiles(args_.path))) {
      if (full())
        ++samples_.found;
      else
        AddText(TRY(ReadTextFile(file)));
    }
    return {};
  }

  Result<void> ReadList() {
    for (const ListedSample& sample : TRY(ReadInputList(args_.path))) {
      ++samples_.found;
      if (full()) continue;
      const bool is_npy = sample.file.extension() == ".npy";
      Result<IdRows> rows = is_npy ? ReadNpyIds(sample.file) : ReadRawIds(sample.file);
      if (!rows) return AtPlace(std::move(rows).error(), sample.where);
      const size_t used = samples_.used;
      for (const std::vector<int64_t>& row : *rows)
        TRY(AddIds(row, fmt::format("{}: {}", sample.where, sample.file.string())));
      samples_.used = used + 1;
    }
    return {};
  }

  Result<void> ReadLines() {
    const std::string text = TRY(ReadTextFile(args_.path));
    for (const TextLine& line : LinesOf(text)) {
      ++samples_.found;
      if (full()) continue;
      const std::string where = fmt::format("{}: line {}", args_.path.string(), line.number);
      TRY(ParseJson(line.text, where));  // checks its depth
      TRY(AddLine(OrderedJson::parse(line.text), where));
    }
    return {};
  }

  Result<void> AddLine(const OrderedJson& line, const std::string& where) {
    const auto field = [&](const char* key) { return line.is_object() && line.contains(key); };
    const OrderedJson& sample = field("messages")    ? line["messages"]
                                : field("input_ids") ? line["input_ids"]
                                                     : line;
    if (!sample.is_array() || sample.empty()) return NoSample(line, where);
    const auto is_id = [](const OrderedJson& id) { return id.is_number_integer(); };
    if (std::ranges::all_of(sample, is_id))
      return AddIds(sample.get<std::vector<int64_t>>(), where);
    const auto is_message = [](const OrderedJson& one) { return one.is_object(); };
    if (!std::ranges::all_of(sample, is_message)) return NoSample(line, where);
    return AddChat(sample, field("tools") ? &line["tools"] : nullptr, where);
  }

  static Failure NoSample(const OrderedJson& line, const std::string& where) {
    constexpr size_t kShown = 60;
    const std::string text = line.dump(-1, ' ', true);
    return InvalidInput("a line that is neither a chat nor token ids")
        .At("{}", where)
        .Want(R"({{"messages": [{{"role": …, "content": …}}, …]}}, that list alone, or [id, …])")
        .Got("{}{}", text.substr(0, kShown), text.size() > kShown ? "…" : "");
  }

  Failure NeedsTokenizer(const std::string& where) const {
    return NotFound("the model has no tokenizer to calibrate on text")
        .At("{}", where)
        .Remedy("Calibrate on token ids: JSON lines of them, or a .npy array");
  }

  Result<void> AddChat(const OrderedJson& messages, const OrderedJson* tools,
                       const std::string& where) {
    if (args_.tokenizer == nullptr) return NeedsTokenizer(where);
    if (!chat_) TRY(ReadTemplate(where));
    Result<std::string> text = chat_->Render(messages, {.tools = tools});
    if (!text) return AtPlace(std::move(text).error(), where);
    AddSample(args_.tokenizer->Encode(*text, {.add_special_tokens = false}));
    return {};
  }

  Result<void> ReadTemplate(const std::string& where) {
    const std::string_view text = args_.tokenizer_config.empty() ? "{}" : args_.tokenizer_config;
    TRY(ParseJson(text, "tokenizer_config.json"));
    Result<ChatTemplate> chat = ChatTemplate::FromTokenizerConfig(OrderedJson::parse(text));
    if (!chat) {
      Error error = std::move(chat).error();
      error.remedy = "Calibrate on text or token ids, or add a chat_template.jinja to the model";
      return AtPlace(std::move(error), where);
    }
    chat_ = *std::move(chat);
    return {};
  }

  const SampleArgs& args_;
  std::optional<ChatTemplate> chat_;  // read when the first chat comes
  Samples samples_;
  size_t tokens_ = 0;
};

}  // namespace

Result<Samples> ReadSamples(const SampleArgs& args) { return SampleReader(args).Run(); }

}  // namespace hexlane
