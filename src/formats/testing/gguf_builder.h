// Little GGUF files for tests, valid or not: nothing is checked.
#ifndef HEXLANE_FORMATS_TESTING_GGUF_BUILDER_H_
#define HEXLANE_FORMATS_TESTING_GGUF_BUILDER_H_

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hexlane::testing {

template <typename T>
std::string Raw(T value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}
inline std::string Text(std::string_view text) { return Raw<uint64_t>(text.size()).append(text); }

class GgufBuilder {
 public:
  uint32_t version = 3;
  uint64_t alignment = 32;  // how the data is placed; add the key too when it is not 32

  GgufBuilder& Pair(std::string_view key, uint32_t type, std::string_view value) {
    pairs_ += Text(key) + Raw(type) + std::string(value);
    ++pair_count_;
    return *this;
  }
  GgufBuilder& String(std::string_view key, std::string_view value) {
    return Pair(key, 8, Text(value));
  }
  GgufBuilder& U32(std::string_view key, uint32_t value) { return Pair(key, 4, Raw(value)); }
  GgufBuilder& Strings(std::string_view key, const std::vector<std::string>& values) {
    std::string bytes = Raw<uint32_t>(8) + Raw<uint64_t>(values.size());
    for (const std::string& value : values) bytes += Text(value);
    return Pair(key, 9, bytes);
  }
  // dims innermost first, as in the file; the data is placed after that of the tensors before.
  GgufBuilder& Tensor(std::string_view name, const std::vector<uint64_t>& dims, uint32_t type,
                      std::string_view data) {
    TensorAt(name, dims, type, data_.size());
    data_ += data;
    data_.resize((data_.size() + alignment - 1) / alignment * alignment);
    return *this;
  }
  GgufBuilder& TensorAt(std::string_view name, const std::vector<uint64_t>& dims, uint32_t type,
                        uint64_t offset) {
    tensors_ += Text(name) + Raw<uint32_t>(static_cast<uint32_t>(dims.size()));
    for (const uint64_t dim : dims) tensors_ += Raw(dim);
    tensors_ += Raw(type) + Raw(offset);
    ++tensor_count_;
    return *this;
  }

  std::string Build() const {
    std::string file = "GGUF" + Raw(version) + Raw(tensor_count_) + Raw(pair_count_);
    file += pairs_ + tensors_;
    file.resize((file.size() + alignment - 1) / alignment * alignment);
    return file + data_;
  }

 private:
  uint64_t pair_count_ = 0;
  uint64_t tensor_count_ = 0;
  std::string pairs_, tensors_, data_;
};

inline std::span<const std::byte> Bytes(const std::string& file) {
  return std::as_bytes(std::span(file));
}

}  // namespace hexlane::testing

#endif  // HEXLANE_FORMATS_TESTING_GGUF_BUILDER_H_
