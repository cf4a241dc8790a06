// Finished steps of a conversion, kept inside the staged package until it is whole, so that a
// conversion that was killed goes on where it stopped. A step is finished when its record is there
// and bears its own SHA-256; whoever reads a record checks that the files it speaks of are as they
// were.
#ifndef HEXLANE_COMPILER_JOURNAL_H_
#define HEXLANE_COMPILER_JOURNAL_H_

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"

namespace hexlane {

class Journal {
 public:
  explicit Journal(const std::filesystem::path& staging) : folder_(staging / kFolder) {}

  // Where a step's record lies in the staged package.
  static std::filesystem::path FileOf(std::string_view step);

  // Nothing when the step is not finished or its record is damaged.
  std::optional<Json> Find(std::string_view step) const;
  Result<void> Record(std::string_view step, const Json& record) const;

  // Bytes that a later step needs, under a name of their own.
  Result<void> Save(std::string_view name, std::string_view bytes) const;
  std::optional<std::string> Load(std::string_view name) const;
  void Discard(std::string_view name) const;

  // All of it: the package is about to be finished.
  void Remove() const;

 private:
  static constexpr std::string_view kFolder = "steps";
  std::filesystem::path folder_;
};

}  // namespace hexlane

#endif  // HEXLANE_COMPILER_JOURNAL_H_
