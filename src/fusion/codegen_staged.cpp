// Rows that lie one behind the other pass through the memory of the group whose lanes walk one
// each.
#include <fmt/format.h>

#include <algorithm>

#include "fusion/generator.hpp"

namespace hologram::graph {

using program::Value;
using program::Var;

bool Generator::is_staged(uint32_t view, DType dtype) const {
  return l_.staged[view] && dtype != DType::Bool;
}

// Where a lane's own row has an element; lanes take one at a time here.
Value Generator::own_place(const Along& at) { return b_.lane_id(0) * scalar("pitch") + at.at; }

// Neighbouring lanes take neighbouring elements, a few at a time, so that as many loads are under
// way at once.
void Generator::each_element(const std::function<void(const std::vector<Spot>&)>& body) {
  constexpr uint32_t kMostAtOnce = 8;
  const size_t last = l_.outer.size() - 1;
  const auto lanes = static_cast<int64_t>(l_.lanes);
  const uint32_t at_once = std::min(kMostAtOnce, l_.room - 1);
  const Value lane = b_.lane_id(0), length = scalar("length");
  const Value first = b_.group_id(0) * lanes;
  const Value count = min(scalar("n", last) - first, whole(lanes)) * length;
  // From an element to the one that so many lanes are behind it.
  const Value down = whole(lanes) / length, along = whole(lanes) % length;
  const Var row = b_.var(lane / length), at = b_.var(lane % length);
  b_.for_(whole(0), count, lanes * at_once, [&](Value from) {
    std::vector<Spot> spots;
    Value r = b_.get(row), a = b_.get(at);
    for (uint32_t k = 0; k < at_once; k++) {
      const Value inside = from + lane + k * lanes < count;
      // Where there is none, its first one once more.
      const Value of = select(inside, r, whole(0)), here = select(inside, a, whole(0));
      spots.push_back({first + of, {here}, of * scalar("pitch") + here, inside});
      const Value next = a + along;
      const Value over = next >= length;
      a = select(over, next - length, next);
      r = r + down + select(over, whole(1), whole(0));
    }
    b_.set(row, r);
    b_.set(at, a);
    body(spots);
  });
}

void Generator::write_staged() {
  const size_t last = l_.outer.size() - 1;
  const uint32_t elements = l_.room * l_.lanes;
  for (uint32_t t = 0; t < kernel_.terms.size(); t++) {
    const Term& term = kernel_.terms[t];
    if (term.kind == TermKind::Load && !term.per_row && is_staged(term.view, term.dtype))
      staged_loads_.emplace(
          t, b_.shared(fmt::format("rows{}", t), compute_type(term.dtype), elements));
  }
  for (size_t i = 0; i < kernel_.outputs.size(); i++) {
    if (!is_staged(kernel_.outputs[i].view, kernel_.outputs[i].target->dtype)) continue;
    const DType type = compute_type(kernel_.outputs[i].target->dtype);
    const auto read = std::find_if(
        staged_loads_.begin(), staged_loads_.end(),
        [&](const auto& load) { return compute_type(kernel_.terms[load.first].dtype) == type; });
    staged_outputs_.emplace(
        i, l_.in_place ? read->second : b_.shared(fmt::format("made{}", i), type, elements));
  }
  const Value own = coordinate_[last];
  if (!staged_loads_.empty()) {
    each_element([&](const std::vector<Spot>& spots) {
      for (const auto& load : staged_loads_) {
        const Term& term = kernel_.terms[load.first];
        std::vector<Value> loaded;
        for (const Spot& spot : spots) {
          coordinate_[last] = spot.row;
          loaded.push_back(b_.load(buffers_[term.buffer], index(term.view, &spot.along)));
        }
        for (size_t k = 0; k < spots.size(); k++)
          b_.if_(spots[k].inside, [&] { b_.store(load.second, spots[k].place, loaded[k]); });
      }
    });
    coordinate_[last] = own;
    b_.barrier();
  }
  of_each_lane([&] { write_rows(); });
  if (staged_outputs_.empty()) return;
  b_.barrier();
  each_element([&](const std::vector<Spot>& spots) {
    for (const auto& output : staged_outputs_)
      for (const Spot& spot : spots) {
        coordinate_[last] = spot.row;
        b_.if_(spot.inside, [&] {
          b_.store(outputs_[output.first], index(kernel_.outputs[output.first].view, &spot.along),
                   b_.load(output.second, spot.place));
        });
      }
  });
}

}  // namespace hologram::graph
