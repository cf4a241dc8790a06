// For the two tables of backends, emitters.cc and executors.cc, whose builds say by
// HEXLANE_HAS_<name> what they link.
#ifndef HEXLANE_BACKENDS_LINKED_NAMES_H_
#define HEXLANE_BACKENDS_LINKED_NAMES_H_

#include <string>

namespace hexlane {

// "cpu, qnn, …". Static: each table has its own.
static inline std::string LinkedNames() {
  std::string names;
#define BACKEND(name, Name) \
  if (HEXLANE_HAS_##name) names += (names.empty() ? "" : ", ") + std::string(#name);
#include "backends/backends.def"
#undef BACKEND
  return names;
}

}  // namespace hexlane

#endif  // HEXLANE_BACKENDS_LINKED_NAMES_H_
