// What a process is busy with, in plain memory that another process can read after this one
// crashed.
#ifndef HEXLANE_BACKENDS_QNN_DRIVER_ACTIVITY_H_
#define HEXLANE_BACKENDS_QNN_DRIVER_ACTIVITY_H_

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace hexlane::qnn {

class Activity {
 public:
  // "adding", "Conv2d", "layers.3.down_proj". Cut to fit.
  void Set(std::string_view doing, std::string_view what, std::string_view name) {
    size_t at = Put(0, doing);
    at = Put(Put(at, " "), what);
    at = Put(Put(at, " '"), name);
    text_[Put(at, "'")] = '\0';
  }
  std::string text() const { return std::string(text_.data()); }  // "adding Conv2d 'layers.3.…'"

 private:
  size_t Put(size_t at, std::string_view piece) {
    const size_t count = std::min(piece.size(), text_.size() - 1 - at);
    std::copy_n(piece.data(), count, text_.data() + at);
    return at + count;
  }
  std::array<char, 256> text_ = {};
};

}  // namespace hexlane::qnn

#endif  // HEXLANE_BACKENDS_QNN_DRIVER_ACTIVITY_H_
