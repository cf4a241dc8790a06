// Where bits do most good: each item can stand on the steps of a ladder, from few bits and much
// damage to more bits and less.
#ifndef HEXLANE_COMPILER_BIT_BUDGET_H_
#define HEXLANE_COMPILER_BIT_BUDGET_H_

#include <cstddef>
#include <span>
#include <vector>

namespace hexlane {

struct Ladder {
  struct Step {
    double bits = 0;
    double damage = 0;
    size_t form = 0;  // the caller's
  };
  std::vector<Step> steps;  // bits ascend; damage falls, by less for each bit the higher it goes
};

// Those of `forms`, in any order, that a ladder has: the others are no better than a mixture of
// cheaper and dearer ones. At least one.
Ladder LadderOf(std::vector<Ladder::Step> forms);

// Which ladder to go up by one step, in the order of damage removed per bit added, until all are at
// the top. Damages of different ladders are taken to add up.
std::vector<size_t> UpgradeOrder(std::span<const Ladder> ladders);

// The step of each ladder after the first `count` of `order`.
std::vector<size_t> StepsAfter(std::span<const size_t> order, size_t count, size_t ladders);

// The same after all upgrades that fit into `max_bits`, in that order; one that does not fit is
// passed over, with those after it on the same ladder. The ladder with the most bits between its
// ends is tried on each of its steps beside that, and the least damage wins: where one matrix is a
// good part of the model (an embedding table), the order alone spends on others what would have
// raised it.
std::vector<size_t> StepsWithin(std::span<const Ladder> ladders, double max_bits);

// Sums over ladders of the bits and the damage at `steps`.
double BitsAt(std::span<const Ladder> ladders, std::span<const size_t> steps);
double DamageAt(std::span<const Ladder> ladders, std::span<const size_t> steps);

}  // namespace hexlane

#endif  // HEXLANE_COMPILER_BIT_BUDGET_H_
