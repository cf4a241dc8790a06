#include "compiler/reference.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/encoding.h"
#include "kernels/sample/softmax.h"

namespace hexlane {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kMagic("HXLREF\0\1", 8);
constexpr size_t kPrefixBytes = kMagic.size() + sizeof(uint32_t);
constexpr size_t kAlignment = 64;
constexpr float kLeastF16 = -65504;  // finite, so that a difference of two is a number

struct RecordHead {
  double log_likelihood;
  int32_t best;
  uint32_t zero;
};

size_t RoundUp(size_t n, size_t multiple) { return (n + multiple - 1) / multiple * multiple; }
size_t RecordBytes(size_t vocab) { return RoundUp(sizeof(RecordHead) + 2 * vocab, 8); }

size_t CountScored(const ScoredSequences& sequences) {
  size_t count = 0;
  for (const ScoredSequence& sequence : sequences) count += sequence.count();
  return count;
}

std::string Prefix(const Json& identity) {
  const std::string header = identity.dump();
  const auto size = static_cast<uint32_t>(header.size());
  std::string text(kMagic);
  text.append(reinterpret_cast<const char*>(&size), sizeof size);
  text += header;
  text.resize(RoundUp(text.size(), kAlignment));
  return text;
}

// The header's JSON, checked against the file's size.
Result<std::string_view> HeaderOf(std::string_view bytes, const std::string& where) {
  if (!bytes.starts_with(kMagic) || bytes.size() < kPrefixBytes) {
    return Corrupt("'{}' is not a reference", where)
        .Want("a file that hexlane eval --reference wrote")
        .Remedy("Remove it, or name another file");
  }
  uint32_t size = 0;
  std::memcpy(&size, bytes.data() + kMagic.size(), sizeof size);
  if (size > bytes.size() - kPrefixBytes)
    return Corrupt("'{}' is cut off", where).Want("a header of {} bytes", size);
  return bytes.substr(kPrefixBytes, size);
}

Result<void> CheckIdentity(const Json& found, const Json& wanted, const std::string& where) {
  for (const auto& [field, value] : wanted.items()) {
    if (found.is_object() && found.contains(field) && found[field] == value) continue;
    return InvalidInput("the reference is of something else: its \"{}\" differs", field)
        .At("{}", where)
        .Want("{}", value.dump())
        .Got("{}", found.is_object() && found.contains(field) ? found[field].dump() : "nothing")
        .Remedy("Name another file, or remove this one to have it written anew");
  }
  return {};
}

std::span<const std::byte> BytesOf(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

// A file that is removed again unless it is kept.
class TemporaryFile {
 public:
  explicit TemporaryFile(fs::path path) : path_(std::move(path)) {}
  ~TemporaryFile() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove(path_, ignored);
  }
  const fs::path& path() const { return path_; }
  Result<void> RenameTo(const fs::path& target) {
    std::error_code error;
    fs::rename(path_, target, error);
    if (error) return Io("cannot write '{}': {}", target.string(), error.message());
    path_.clear();
    return {};
  }

 private:
  fs::path path_;
};

Result<void> WriteRecord(const ReferenceRow& row, FileWriter& writer) {
  const double sum = LogSumExp(row.logits);
  std::vector<float> values(row.logits.size());
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = std::max(kLeastF16, static_cast<float>(row.logits[i] - sum));
  std::vector<std::byte> record(RecordBytes(values.size()));
  const RecordHead head{row.log_likelihood, static_cast<int32_t>(row.best), 0};
  std::memcpy(record.data(), &head, sizeof head);
  EncodeValues(values, {.dtype = DType::kF16},
               std::span(record).subspan(sizeof head, 2 * values.size()));
  return writer.Write(record);
}

}  // namespace

Result<ReferenceRow> ComputedReference::Row(size_t sequence, size_t position) {
  const std::span<const float> logits = TRY(logits_.Row(sequence, position));
  const int32_t target = sequences_[sequence].target(position);
  return ReferenceRow{logits, -NegativeLogLikelihood(logits, target), ArgMax(logits)};
}

Json ReferenceIdentity(const Json& checkpoint, int vocab, const ScoredSequences& sequences) {
  std::vector<int64_t> numbers;
  for (const ScoredSequence& sequence : sequences) {
    numbers.push_back(static_cast<int64_t>(sequence.ids.size()));
    numbers.push_back(static_cast<int64_t>(sequence.first));
    numbers.insert(numbers.end(), sequence.ids.begin(), sequence.ids.end());
  }
  return {{"checkpoint", checkpoint},
          {"vocab", vocab},
          {"windows", sequences.size()},
          {"scored_tokens", CountScored(sequences)},
          {"tokens_sha256", Sha256(std::as_bytes(std::span(numbers)))}};
}

Result<std::unique_ptr<ReferenceFile>> ReferenceFile::Open(const fs::path& path,
                                                           const Json& identity,
                                                           const ScoredSequences& sequences) {
  const std::string where = path.string();
  auto mapped = TRY(MappedFile::Open(path));
  const std::string_view bytes(reinterpret_cast<const char*>(mapped->bytes().data()),
                               mapped->bytes().size());
  const std::string_view header = TRY(HeaderOf(bytes, where));
  TRY(CheckIdentity(TRY(ParseJson(header, where)), identity, where));
  std::unique_ptr<ReferenceFile> file(new ReferenceFile(path, std::move(mapped), sequences));
  file->log_probs_.resize(identity["vocab"].get<size_t>());
  file->records_begin_ = RoundUp(kPrefixBytes + header.size(), kAlignment);
  size_t records = 0;
  for (const ScoredSequence& sequence : sequences) {
    file->first_record_.push_back(records);
    records += sequence.count();
  }
  const size_t want = file->records_begin_ + records * RecordBytes(file->log_probs_.size());
  if (bytes.size() != want) {
    return Corrupt("'{}' is damaged", where)
        .Want("{} bytes", want)
        .Got("{}", bytes.size())
        .Remedy("Remove it to have it written anew");
  }
  return file;
}

Result<void> ReferenceFile::Write(const fs::path& path, const Json& identity,
                                  const ScoredSequences& sequences, Reference& source) {
  // Of this process: several may be asked for the same file.
  TemporaryFile temporary(fmt::format("{}.{}.partial", path.string(), ::getpid()));
  FileWriter writer = TRY(FileWriter::Create(temporary.path()));
  TRY(writer.Write(BytesOf(Prefix(identity))));
  for (size_t i = 0; i < sequences.size(); ++i)
    for (size_t p = sequences[i].first; p < sequences[i].end(); ++p)
      TRY(WriteRecord(TRY(source.Row(i, p)), writer));
  TRY(writer.Close());
  return temporary.RenameTo(path);
}

Result<ReferenceRow> ReferenceFile::Row(size_t sequence, size_t position) {
  const size_t record = first_record_[sequence] + position - sequences_[sequence].first;
  const size_t vocab = log_probs_.size(), bytes = RecordBytes(vocab);
  const auto data = file_->bytes().subspan(records_begin_ + record * bytes, bytes);
  RecordHead head;
  std::memcpy(&head, data.data(), sizeof head);
  DecodeValues(data.subspan(sizeof head, 2 * vocab), {.dtype = DType::kF16}, log_probs_);
  DropPages(data);
  const bool sums_to_one = std::abs(LogSumExp(log_probs_)) < 0.05;  // NaN does not
  const bool has_best = head.best >= 0 && head.best < std::ssize(log_probs_);
  if (sums_to_one && has_best && head.log_likelihood <= 0)
    return ReferenceRow{log_probs_, head.log_likelihood, head.best};
  return Corrupt("the reference is damaged")
      .At("'{}': record {}", path_.string(), record)
      .Want("log-probabilities of {} tokens", vocab)
      .Remedy("Remove it to have it written anew");
}

}  // namespace hexlane
