#include "compiler/journal.h"

#include "base/file.h"

namespace hexlane {
namespace fs = std::filesystem;
namespace {

constexpr size_t kMaxSavedBytes = size_t{4} << 30;

}  // namespace

fs::path Journal::FileOf(std::string_view step) {
  return fs::path(kFolder) / fmt::format("{}.json", step);
}

std::optional<Json> Journal::Find(std::string_view step) const {
  const std::optional<std::string> text = Load(fmt::format("{}.json", step));
  if (!text) return std::nullopt;
  return ParseJson(*text, step).value();
}

Result<void> Journal::Record(std::string_view step, const Json& record) const {
  return Save(fmt::format("{}.json", step), record.dump());
}

// <SHA-256 of the bytes>\n<bytes>
Result<void> Journal::Save(std::string_view name, std::string_view bytes) const {
  std::error_code error;
  fs::create_directories(folder_, error);
  if (error) return Io("cannot create folder '{}': {}", folder_.string(), error.message());
  return WriteFileAtomically(folder_ / name,
                             fmt::format("{}\n{}", Sha256(std::as_bytes(std::span(bytes))), bytes));
}

std::optional<std::string> Journal::Load(std::string_view name) const {
  Result<std::string> text = ReadTextFile(folder_ / name, kMaxSavedBytes);
  if (!text) return std::nullopt;
  const size_t end = std::min(text->find('\n'), text->size());
  std::string bytes = text->substr(std::min(end + 1, text->size()));
  if (Sha256(std::as_bytes(std::span(bytes))) != text->substr(0, end)) return std::nullopt;
  return bytes;
}

void Journal::Discard(std::string_view name) const {
  std::error_code ignored;
  fs::remove(folder_ / name, ignored);
}

void Journal::Remove() const {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

}  // namespace hexlane
