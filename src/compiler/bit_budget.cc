#include "compiler/bit_budget.h"

#include <algorithm>
#include <queue>
#include <tuple>
#include <utility>

#include "base/check.h"

namespace hexlane {
namespace {

// Damage removed for each bit added.
double Gain(const Ladder::Step& from, const Ladder::Step& to) {
  return (from.damage - to.damage) / (to.bits - from.bits);
}

}  // namespace

// The lower convex hull of damage over bits, as far as it falls.
Ladder LadderOf(std::vector<Ladder::Step> forms) {
  CHECK(!forms.empty());
  std::ranges::stable_sort(
      forms, {}, [](const Ladder::Step& form) { return std::tuple(form.bits, form.damage); });
  std::vector<Ladder::Step> hull;
  for (const Ladder::Step& form : forms) {
    if (!hull.empty() && form.damage >= hull.back().damage) continue;
    while (hull.size() > 1 && Gain(hull[hull.size() - 2], hull.back()) <= Gain(hull.back(), form))
      hull.pop_back();
    hull.push_back(form);
  }
  return {std::move(hull)};
}

std::vector<size_t> UpgradeOrder(std::span<const Ladder> ladders) {
  // By gain; of equals the first ladder.
  std::priority_queue<std::pair<double, ptrdiff_t>> next;
  std::vector<size_t> steps(ladders.size()), order;
  const auto offer = [&](size_t i) {
    if (steps[i] + 1 < ladders[i].steps.size())
      next.emplace(Gain(ladders[i].steps[steps[i]], ladders[i].steps[steps[i] + 1]),
                   -static_cast<ptrdiff_t>(i));
  };
  for (size_t i = 0; i < ladders.size(); ++i) offer(i);
  while (!next.empty()) {
    const auto i = static_cast<size_t>(-next.top().second);
    next.pop();
    order.push_back(i);
    ++steps[i];
    offer(i);
  }
  return order;
}

std::vector<size_t> StepsAfter(std::span<const size_t> order, size_t count, size_t ladders) {
  std::vector<size_t> steps(ladders);
  for (const size_t i : order.first(count)) ++steps[i];
  return steps;
}

std::vector<size_t> StepsWithin(std::span<const Ladder> ladders, double max_bits) {
  std::vector<size_t> steps(ladders.size());
  std::vector<bool> full(ladders.size());
  double bits = BitsAt(ladders, steps);
  for (const size_t i : UpgradeOrder(ladders)) {
    if (full[i]) continue;
    const double more = ladders[i].steps[steps[i] + 1].bits - ladders[i].steps[steps[i]].bits;
    full[i] = bits + more > max_bits;
    if (full[i]) continue;
    bits += more;
    ++steps[i];
  }
  return steps;
}

double BitsAt(std::span<const Ladder> ladders, std::span<const size_t> steps) {
  double bits = 0;
  for (size_t i = 0; i < ladders.size(); ++i) bits += ladders[i].steps[steps[i]].bits;
  return bits;
}

}  // namespace hexlane
