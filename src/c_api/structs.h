// Structs that begin with their size: callers and this library may know different lengths of them.
#ifndef HEXLANE_C_API_STRUCTS_H_
#define HEXLANE_C_API_STRUCTS_H_

#include <algorithm>
#include <cstring>

#include "hexlane/status.h"

namespace hexlane::c_api {

// A struct longer than this cannot be one of ours: its size was never set.
inline constexpr size_t kMaxStructSize = 4096;

inline bool AllZero(const char* begin, const char* end) {
  return std::all_of(begin, end, [](char byte) { return byte == 0; });
}

// What the caller has set, zeros for what it does not know of; defaults for null.
template <typename Struct>
Result<Struct> Read(const Struct* given, const char* name) {
  Struct known{};
  if (given == nullptr) return known;
  const size_t size = given->struct_size;
  if (size < sizeof(size_t) || size > kMaxStructSize)
    return Usage("{}.struct_size is not the struct's size", name)
        .Want("{}", sizeof(Struct))
        .Got("{}", size)
        .Remedy("Set it up with HEXLANE_INIT({})", name);
  const char* bytes = reinterpret_cast<const char*>(given);
  if (size > sizeof(Struct) && !AllZero(bytes + sizeof(Struct), bytes + size))
    return Unsupported("{} has fields that this library does not know", name)
        .Want("at most {} bytes", sizeof(Struct))
        .Got("{}", size)
        .Remedy("Use the library that the program was built for, or a later one");
  std::memcpy(&known, given, std::min(size, sizeof(Struct)));
  return known;
}

// Fills what the caller knows of; nothing for null.
template <typename Struct>
void Write(Struct made, Struct* given) {
  if (given == nullptr) return;
  const size_t size = std::min(given->struct_size, sizeof(Struct));
  if (size < sizeof(size_t)) return;
  made.struct_size = given->struct_size;
  std::memcpy(given, &made, size);
}

}  // namespace hexlane::c_api

#endif  // HEXLANE_C_API_STRUCTS_H_
