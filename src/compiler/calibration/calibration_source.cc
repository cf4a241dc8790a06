#include "compiler/calibration/calibration_source.h"

#include <algorithm>

#include "base/file.h"
#include "base/json.h"
#include "base/lines.h"
#include "quant/calibration_text.h"

namespace hexlane {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kInput = "input_ids";
constexpr std::string_view kNamed = ":=";  // between an input's name and its path
constexpr std::string_view kSpaces = " \t";

std::string_view TextOf(const MappedFile& file) {
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

bool IsComment(std::string_view line) { return line.starts_with('#') || line.starts_with('%'); }

std::vector<std::string_view> WordsOf(std::string_view line) {
  std::vector<std::string_view> words;
  for (size_t at = line.find_first_not_of(kSpaces); at != line.npos;
       at = line.find_first_not_of(kSpaces, at)) {
    const size_t end = std::min(line.find_first_of(kSpaces, at), line.size());
    words.push_back(line.substr(at, end - at));
    at = end;
  }
  return words;
}

// The first line that says something; empty without one.
std::string_view FirstLine(std::string_view text, bool skip_comments) {
  for (const TextLine& line : LinesOf(text))
    if (!skip_comments || !IsComment(line.text)) return line.text;
  return {};
}

bool IsJson(std::string_view line) {
  const Result<Json> json = ParseJson(line, "");
  return json && (json->is_array() || json->is_object());
}

bool LooksLikeList(std::string_view text) {
  const std::vector<std::string_view> words = WordsOf(FirstLine(text, true));
  return !words.empty() && (words[0].find(kNamed) != std::string_view::npos ||
                            words[0].ends_with(".raw") || words[0].ends_with(".npy"));
}

Result<SourceKind> KindOfFile(const fs::path& path) {
  const auto file = TRY(MappedFile::Open(path));
  const std::string_view text = TextOf(*file);
  const std::string extension = path.extension().string();
  if (extension == ".npy" || text.starts_with("\x93NUMPY")) return SourceKind::kNpy;
  if (text.find('\0') != text.npos) {
    return InvalidInput("calibration data that is neither text nor an array")
        .At("{}", path.string())
        .Want("a text, a folder of texts, JSON lines, a .npy array, or an input_list.txt")
        .Remedy("List raw tensors in an input_list.txt, one a line");
  }
  if (extension == ".jsonl" || extension == ".ndjson" || extension == ".json")
    return SourceKind::kJsonLines;
  if (path.filename().string().starts_with("input_list") || LooksLikeList(text))
    return SourceKind::kInputList;
  return IsJson(FirstLine(text, false)) ? SourceKind::kJsonLines : SourceKind::kText;
}

Result<std::vector<fs::path>> TextsOf(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const std::string& name : TRY(FilesBelow(folder))) {
    const fs::path file = folder / name;
    if (file.filename().string().starts_with('.')) continue;
    if (TRY(KindOfFile(file)) != SourceKind::kText) {
      return InvalidInput("a folder for calibration holds more than texts")
          .At("{}", file.string())
          .Want("text files only")
          .Remedy("Name this file itself, or move it away");
    }
    files.push_back(file);
  }
  if (!files.empty()) return files;
  return InvalidInput("no text to calibrate on").At("{}", folder.string()).Want("text files");
}

}  // namespace

Result<SourceKind> FindSourceKind(const fs::path& path) {
  std::error_code ignored;
  if (path.empty()) return SourceKind::kBuiltIn;
  if (fs::is_directory(path, ignored)) return SourceKind::kFolder;
  return KindOfFile(path);
}

bool IsText(SourceKind kind) {
  return kind == SourceKind::kBuiltIn || kind == SourceKind::kText || kind == SourceKind::kFolder;
}

namespace {

// The path of a line's one item.
Result<std::string_view> PathIn(std::string_view line, std::string_view where) {
  const std::vector<std::string_view> items = WordsOf(line);
  for (const std::string_view item : items) {
    const size_t named = item.find(kNamed);
    if (named == item.npos || item.substr(0, named) == kInput) continue;
    return InvalidInput("a decoder has no input '{}'", item.substr(0, named))
        .At("{}", where)
        .Want("{} alone: positions and masks follow from it", kInput)
        .Remedy("Leave the other inputs out of the list");
  }
  if (items.size() > 1) {
    return InvalidInput("{} inputs on one line", items.size())
        .At("{}", where)
        .Want("one sample a line, its {} alone", kInput);
  }
  const size_t named = items[0].find(kNamed);
  return named == items[0].npos ? items[0] : items[0].substr(named + kNamed.size());
}

Result<fs::path> Locate(const fs::path& path, const fs::path& list, std::string_view where) {
  std::error_code ignored;
  for (fs::path file : {list.parent_path() / path, path})
    if (fs::is_regular_file(file, ignored)) return file;
  return NotFound("there is no file '{}'", path.string())
      .At("{}", where)
      .Want("a path from the list's folder or from the working directory");
}

}  // namespace

Result<std::vector<ListedSample>> ReadInputList(const fs::path& list) {
  const auto file = TRY(MappedFile::Open(list));
  std::vector<ListedSample> samples;
  for (const TextLine& line : LinesOf(TextOf(*file))) {
    if (IsComment(line.text)) continue;
    const std::string where = fmt::format("{}: line {}", list.string(), line.number);
    const std::string_view path = TRY(PathIn(line.text, where));
    samples.push_back({TRY(Locate(path, list, where)), where});
  }
  return samples;
}

Result<std::vector<fs::path>> CalibrationFiles(const fs::path& path) {
  const SourceKind kind = TRY(FindSourceKind(path));
  if (kind == SourceKind::kBuiltIn) return std::vector<fs::path>();
  if (kind == SourceKind::kFolder) return TextsOf(path);
  std::vector<fs::path> files = {path};
  if (kind == SourceKind::kInputList)
    for (ListedSample& sample : TRY(ReadInputList(path))) files.push_back(std::move(sample.file));
  return files;
}

Result<std::string> CalibrationDigest(const fs::path& path) {
  const std::vector<fs::path> files = TRY(CalibrationFiles(path));
  if (files.empty()) return Sha256(std::as_bytes(std::span(DefaultCalibrationText())));
  if (files.size() == 1) return Sha256File(files[0]);
  std::string all;
  for (const fs::path& file : files) all += TRY(Sha256File(file)) + '\n';
  return Sha256(std::as_bytes(std::span(all)));
}

}  // namespace hexlane
