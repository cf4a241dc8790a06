// Failures as values. Every failure that input, the environment or the user can cause is an Error
// carried by a Result<T>; programming mistakes are CHECKs (src/base/check.h). Libraries never
// print, exit or abort on data.
#ifndef HEXLANE_STATUS_H_
#define HEXLANE_STATUS_H_

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

namespace hexlane {

// What kind of failure; the command line derives its exit code from it (docs/cli.md).
enum class Code {
  kUsage,         // the request itself makes no sense (unknown option value, contradiction)
  kInvalidInput,  // well-formed, but does not fit (wrong shape, missing tensor, long prompt)
  kCorrupt,       // malformed bytes: truncated, bad magic, checksum mismatch
  kUnsupported,   // valid, but not handled (unknown architecture, op, data type, SoC)
  kNotFound,      // a named file, tensor or entry is not there
  kIo,            // the operating system refused: permission, disk full, read error
  kEnvironment,   // a library or device is missing or unusable
  kVendor,        // the vendor library returned an error or crashed
  kCheckFailed,   // a verification ran and its verdict is negative
  kCancelled,     // the caller or Ctrl-C stopped it
};

std::string_view CodeName(Code code);

// One failure, in the words a user needs: what went wrong, where, what was wanted, what was got,
// what to do.
struct Error {
  Code code = Code::kInvalidInput;
  std::string what;
  std::string where;  // file, field, byte offset, tensor or layer name
  std::string want;
  std::string got;
  std::string remedy;

  // "what (at where): want …, got …. remedy" with the empty parts left out.
  std::string ToString() const;
};

template <typename T>
using Result = tl::expected<T, Error>;

// An Error being built, convertible to any Result<T>:
//   return Corrupt("header is cut off").At("{}: offset {}", file, pos).Want("24 bytes");
class [[nodiscard]] Failure {
 public:
  explicit Failure(Error error) : error_(std::move(error)) {}
  Failure(Code code, std::string what) { error_.code = code, error_.what = std::move(what); }

  template <typename... Args>
  Failure&& At(fmt::format_string<Args...> format, Args&&... args) && {
    return std::move(Set(&Error::where, fmt::format(format, std::forward<Args>(args)...)));
  }
  template <typename... Args>
  Failure&& Want(fmt::format_string<Args...> format, Args&&... args) && {
    return std::move(Set(&Error::want, fmt::format(format, std::forward<Args>(args)...)));
  }
  template <typename... Args>
  Failure&& Got(fmt::format_string<Args...> format, Args&&... args) && {
    return std::move(Set(&Error::got, fmt::format(format, std::forward<Args>(args)...)));
  }
  template <typename... Args>
  Failure&& Remedy(fmt::format_string<Args...> format, Args&&... args) && {
    return std::move(Set(&Error::remedy, fmt::format(format, std::forward<Args>(args)...)));
  }

  template <typename T>
  operator Result<T>() && {  // NOLINT: implicit by design
    return tl::unexpected<Error>(std::move(error_));
  }

 private:
  Failure& Set(std::string Error::* field, std::string text) {
    error_.*field = std::move(text);
    return *this;
  }
  Error error_;
};

#define HEXLANE_FAILURE(Name)                                                        \
  template <typename... Args>                                                        \
  Failure Name(fmt::format_string<Args...> format, Args&&... args) {                 \
    return Failure(Code::k##Name, fmt::format(format, std::forward<Args>(args)...)); \
  }
HEXLANE_FAILURE(Usage)
HEXLANE_FAILURE(InvalidInput)
HEXLANE_FAILURE(Corrupt)
HEXLANE_FAILURE(Unsupported)
HEXLANE_FAILURE(NotFound)
HEXLANE_FAILURE(Io)
HEXLANE_FAILURE(Environment)
HEXLANE_FAILURE(Vendor)
HEXLANE_FAILURE(CheckFailed)
HEXLANE_FAILURE(Cancelled)
#undef HEXLANE_FAILURE

}  // namespace hexlane

// auto x = TRY(F());   the value of F(), or return its Error from the enclosing function.
// TRY(G());            the same for Result<void>.
#define TRY(...)                                                                                   \
  ({                                                                                               \
    auto&& hexlane_result = (__VA_ARGS__);                                                         \
    if (!hexlane_result.has_value()) return ::hexlane::Failure(std::move(hexlane_result).error()); \
    ::hexlane::internal::Unwrap(std::move(hexlane_result));                                        \
  })

namespace hexlane::internal {
template <typename T>
T Unwrap(Result<T>&& result) {
  return std::move(*result);
}
inline void Unwrap(Result<void>&&) {}
}  // namespace hexlane::internal

#endif  // HEXLANE_STATUS_H_
