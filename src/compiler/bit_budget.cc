#include "compiler/bit_budget.h"

#include <algorithm>
#include <optional>
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

// Goes up from `steps` in the order of upgrades, as far as they fit; `fixed` stays where it is.
std::vector<size_t> Fill(std::span<const Ladder> ladders, std::span<const size_t> order,
                         double max_bits, std::vector<size_t> steps, std::optional<size_t> fixed) {
  std::vector<bool> full(ladders.size());
  if (fixed) full[*fixed] = true;
  double bits = BitsAt(ladders, steps);
  for (const size_t i : order) {
    if (full[i]) continue;
    const double more = ladders[i].steps[steps[i] + 1].bits - ladders[i].steps[steps[i]].bits;
    full[i] = bits + more > max_bits;
    if (full[i]) continue;
    bits += more;
    ++steps[i];
  }
  return steps;
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
  const std::vector<size_t> order = UpgradeOrder(ladders);
  std::vector<size_t> best =
      Fill(ladders, order, max_bits, std::vector<size_t>(ladders.size()), {});
  if (ladders.empty()) return best;
  const auto spread = [](const Ladder& l) { return l.steps.back().bits - l.steps.front().bits; };
  const auto widest =
      static_cast<size_t>(std::ranges::max_element(ladders, {}, spread) - ladders.begin());
  for (size_t step = 0; step < ladders[widest].steps.size(); ++step) {
    std::vector<size_t> steps(ladders.size());
    steps[widest] = step;
    if (BitsAt(ladders, steps) > max_bits) break;
    steps = Fill(ladders, order, max_bits, std::move(steps), widest);
    if (DamageAt(ladders, steps) < DamageAt(ladders, best)) best = std::move(steps);
  }
  return best;
}

double BitsAt(std::span<const Ladder> ladders, std::span<const size_t> steps) {
  double bits = 0;
  for (size_t i = 0; i < ladders.size(); ++i) bits += ladders[i].steps[steps[i]].bits;
  return bits;
}

double DamageAt(std::span<const Ladder> ladders, std::span<const size_t> steps) {
  double damage = 0;
  for (size_t i = 0; i < ladders.size(); ++i) damage += ladders[i].steps[steps[i]].damage;
  return damage;
}

}  // namespace hexlane
