// The merges of a BPE model: which pairs of tokens join, into what, in which order.
#ifndef HEXLANE_RUNTIME_TOKENIZER_MERGE_TABLE_H_
#define HEXLANE_RUNTIME_TOKENIZER_MERGE_TABLE_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace hexlane::tokenizer {

struct Merge {
  int32_t rank = -1;  // smaller joins first; -1: free slot
  int32_t id = 0;     // of the joined token
};

// A hash map of its own: open addressing, at most half full, one cache line per look-up.
class MergeTable {
 public:
  explicit MergeTable(size_t count = 0) : slots_(std::bit_ceil(2 * count + 1)) {}

  // At most `count` different pairs. A pair given twice keeps the later rank.
  void Add(int32_t left, int32_t right, Merge merge) {
    slots_[Find(Key(left, right))] = {Key(left, right), merge};
  }

  // The merge of (left, right), or nullptr.
  const Merge* Get(int32_t left, int32_t right) const {
    const Slot& slot = slots_[Find(Key(left, right))];
    return slot.merge.rank >= 0 ? &slot.merge : nullptr;
  }

 private:
  struct Slot {
    uint64_t key = 0;
    Merge merge;
  };

  static uint64_t Key(int32_t left, int32_t right) {
    return uint64_t{static_cast<uint32_t>(left)} << 32 | static_cast<uint32_t>(right);
  }
  size_t Find(uint64_t key) const {
    const size_t mask = slots_.size() - 1;
    uint64_t hash = key * 0x9E3779B97F4A7C15u;
    size_t slot = (hash ^ hash >> 32) & mask;
    while (slots_[slot].merge.rank >= 0 && slots_[slot].key != key) slot = (slot + 1) & mask;
    return slot;
  }

  std::vector<Slot> slots_;
};

}  // namespace hexlane::tokenizer

#endif  // HEXLANE_RUNTIME_TOKENIZER_MERGE_TABLE_H_
