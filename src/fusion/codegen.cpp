#include "fusion/codegen.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "fusion/generator.hpp"
#include "fusion/staged_rows.hpp"
#include "program/ir.hpp"

namespace hologram::graph {

using program::Access;
using program::Op;
using program::Value;

namespace {

void add(Value& sum, Value part) { sum = sum.builder() == nullptr ? part : sum + part; }

}  // namespace

Generator::Generator(const Kernel& kernel, const Layout& layout)
    : kernel_(kernel),
      l_(layout),
      b_(name_of(kernel), {layout.lanes, layout.side_by_side}, layout.index),
      last_level_(last_level(kernel)) {}

Program Generator::run() {
  kept_ = kept_terms(kernel_, l_);
  declare();
  if (l_.traversal != Traversal::Tiles) find_coordinates();
  switch (l_.traversal) {
    case Traversal::Elements: of_each_lane([&] { write_elements(none_known()); }); break;
    case Traversal::Blocks: write_blocks(); break;
    case Traversal::Tiles: write_tiles(); break;
    case Traversal::LaneRows:
      if (l_.room > 0) write_staged();
      else of_each_lane([&] { write_rows(); });
      break;
    case Traversal::GroupRows:
      if (l_.several > 1) write_several();
      else write_rows();
      break;
    case Traversal::Pieces: write_gathered(); break;
  }
  program::Module module = b_.finish_unverified();
  for (program::Inst& inst : module.body.insts)
    inst.trusted = l_.trusted && (inst.op == Op::Load || inst.op == Op::Store ||
                                  inst.op == Op::SharedLoad || inst.op == Op::SharedStore);
  return Program::from(std::move(module));
}

Value Generator::scalar(const char* name, size_t axis) {
  return scalar(fmt::format("{}{}", name, axis));
}

// Lanes behind the last axis, or behind all elements, do nothing.
void Generator::of_each_lane(const std::function<void()>& body) {
  const Value last = l_.outer.empty() ? whole(1) : scalar("n", l_.outer.size() - 1);
  b_.if_(lane() < (l_.linear ? outer_count() : last), body);
}

Value Generator::outer_count() {
  Value count = scalar("n", l_.outer.size() - 1);
  for (size_t k = 0; k + 1 < l_.outer.size(); k++) count = count * scalar("n", k);
  return count;
}

// No access is tested again: require_inside does that for the whole kernel.
void Generator::declare() {
  std::vector<Access> of_loads(kernel_.loads.size(), Access::In);
  for (const Output& output : kernel_.outputs)
    if (output.in_place != Output::kNone) of_loads[output.in_place] = Access::InOut;
  for (size_t i = 0; i < kernel_.loads.size(); i++)
    buffers_.push_back(b_.buffer(fmt::format("in{}", i), kernel_.loads[i]->dtype, of_loads[i]));
  for (size_t i = 0; i < kernel_.outputs.size(); i++) {
    const Output& output = kernel_.outputs[i];
    outputs_.push_back(output.in_place != Output::kNone
                           ? buffers_[output.in_place]
                           : b_.buffer(fmt::format("out{}", i), output.target->dtype,
                                       kept_.contains(i) ? Access::InOut : Access::Out));
  }
  for (const ScalarArgument& a : scalar_arguments(kernel_, l_))
    scalars_.emplace(a.name, b_.scalar_with_bits(a.name, a.type, {}));
}

// The position along each outer axis.
void Generator::find_coordinates() {
  const size_t rank = l_.outer.size();
  coordinate_.resize(rank);
  if (rank == 0) return;
  size_t left = rank;
  if (l_.traversal != Traversal::GroupRows && !l_.linear) coordinate_[--left] = lane();
  if (left > 0)
    decode(l_.linear ? lane() : b_.group_id(l_.traversal == Traversal::GroupRows ? 0 : 1), left);
}

// That along each of the first axes, of the element of them that has this number.
void Generator::decode(Value number, size_t axes) {
  while (axes-- > 1) {
    coordinate_[axes] = number % scalar("n", axes);
    number = number / scalar("n", axes);
  }
  coordinate_[0] = number;
}

void Generator::add_scaled(Value& sum, Value at, int64_t stride, const std::string& name) {
  if (stride == 0) return;
  if (stride == -1) sum = (sum.builder() == nullptr ? whole(0) : sum) - at;
  else add(sum, stride == 1 ? at : at * scalar(name));
}

// Of the element that a view shows at the outer coordinates and `at` along the row, which has one
// axis where several elements are taken at a time.
Value Generator::index(uint32_t v, const Along* at) {
  const Lanes& view = l_.views[v];
  Value sum;
  if (view.offset != 0) sum = scalar(fmt::format("v{}_at", v));
  for (size_t k = 0; k < view.outer.size(); k++)
    add_scaled(sum, coordinate_[k], view.outer[k], fmt::format("v{}_{}", v, k));
  if (at != nullptr && !view.row.empty()) {
    Value rest = at->at;
    for (size_t k = view.row.size(); k-- > 1;) {
      add_scaled(sum, rest % scalar("row", k), view.row[k], fmt::format("v{}_row{}", v, k));
      rest = rest / scalar("row", k);
    }
    const std::string name = fmt::format("v{}_row0", v);
    add_scaled(sum, rest, view.row[0], name);
    if (at->ahead > 0) add_scaled(sum, whole(at->ahead), view.row[0], name);
  }
  return sum.builder() == nullptr ? whole(0) : sum;
}

// The value of a term; `local` holds what has been computed at this place of the row.
Value Generator::value(uint32_t t, Known& local, const Along* at) {
  const Term& term = kernel_.terms[t];
  Known& known = term.per_row ? per_row_ : local;
  if (known[t].builder() != nullptr) return known[t];
  const Along* where = term.per_row ? nullptr : at;
  Value made;
  if (term.kind == TermKind::Load) {
    const auto staged = staged_loads_.find(t);
    made = where != nullptr && staged != staged_loads_.end()
               ? b_.load(staged->second, own_place(*where))
               : b_.load(buffers_[term.buffer], index(term.view, where));
  } else {
    std::vector<Value> operands;
    for (const uint32_t operand : term.operands) operands.push_back(value(operand, local, at));
    made = applied(term, operands, where);
  }
  return known[t] = made;
}

Value Generator::applied(const Term& term, const std::vector<Value>& operands, const Along* where) {
  std::vector<Value> attributes;
  const size_t next = term.first_attribute;
  for (size_t k = 0; k < term.attributes; k++) attributes.push_back(scalar("a", next + k));
  DType from = term.dtype;
  if (!term.operands.empty())
    from =
        kernel_.terms[term.op->rule == Rule::Shift ? term.operands[0] : term.operands.back()].dtype;
  const bool drawn = term.op->draws && of_block_;
  const Value number = term.op->indexed && !drawn ? index(term.view, where) : Value();
  const Operands x{
      b_, operands, attributes, from, term.dtype, number, drawn ? of_block_ : std::nullopt};
  const Value result = term.op->expression(x);
  return term.op == &source::kCast ? result : wrapped(result, term.dtype);
}

void Generator::write_elements(Known local) {
  per_row_.resize(kernel_.terms.size());
  // What is overwritten has been read before.
  const bool in_place =
      std::any_of(kernel_.outputs.begin(), kernel_.outputs.end(),
                  [](const Output& output) { return output.in_place != Output::kNone; });
  if (in_place)
    for (const Output& output : kernel_.outputs) value(output.term, local, nullptr);
  for (size_t i = 0; i < kernel_.outputs.size(); i++) {
    const Output& output = kernel_.outputs[i];
    b_.store(outputs_[i], index(output.view, nullptr), value(output.term, local, nullptr));
  }
}

// All elements of a block in one lane; the last tile has some of them only.
void Generator::write_blocks() {
  const Value tile = coordinate_[0], here = lane();
  const Value left = scalar("elements") - tile * kElementsOfTile;
  const auto turn = [&](int64_t t) {
    of_block_ = {tile, here, t};
    coordinate_[1] = t == 0 ? here : here + t * kBlocksOfTile;
    write_elements(none_known());
  };
  b_.if_(here < min(left, kBlocksOfTile), [&] {
    turn(0);
    for (int64_t t = 1; t < kElementsOfBlock; t++)
      b_.if_(here < left - t * kBlocksOfTile, [&] { turn(t); });
  });
}

// The staged views go through workgroup memory, in whose rows one element more keeps the lanes
// that walk down a column in banks of their own.
void Generator::write_tiles() {
  const size_t last = l_.outer.size() - 1;
  const int64_t side = l_.tile, pitch = side + 1;
  std::vector<std::pair<uint32_t, program::Shared>> squares;
  for (uint32_t t = 0; t < kernel_.terms.size(); t++) {
    const Term& term = kernel_.terms[t];
    if (term.kind == TermKind::Load && l_.staged[term.view])
      squares.emplace_back(t, b_.shared(fmt::format("square{}", t), compute_type(term.dtype),
                                        static_cast<uint32_t>(side * pitch)));
  }
  coordinate_.resize(l_.outer.size());
  Value rest = b_.group_id(2);
  for (size_t k = last; k-- > 0;) {
    if (k == l_.across) continue;
    const bool first = k == 0 || (k == 1 && l_.across == 0);
    coordinate_[k] = first ? rest : rest % scalar("n", k);
    if (!first) rest = rest / scalar("n", k);
  }
  const Value x = b_.lane_id(0), y = b_.lane_id(1);
  const Value along = b_.group_id(0) * side, down = b_.group_id(1) * side;
  const auto each = [&](Value from_x, Value from_y, size_t axis_of_x, size_t axis_of_y,
                        const std::function<void(Value)>& body) {
    b_.for_(whole(0), whole(side), l_.side_by_side, [&](Value j) {
      const Value row = j + y;
      coordinate_[axis_of_x] = from_x + x;
      coordinate_[axis_of_y] = from_y + row;
      b_.if_((coordinate_[axis_of_x] < scalar("n", axis_of_x)) &
                 (coordinate_[axis_of_y] < scalar("n", axis_of_y)),
             [&] { body(row); });
    });
  };
  each(down, along, l_.across, last, [&](Value row) {
    for (const auto& [t, square] : squares) {
      const Term& term = kernel_.terms[t];
      b_.store(square, row * pitch + x, b_.load(buffers_[term.buffer], index(term.view, nullptr)));
    }
  });
  b_.barrier();
  each(along, down, last, l_.across, [&](Value row) {
    Known local = none_known();
    for (const auto& [t, square] : squares) local[t] = b_.load(square, x * pitch + row);
    write_elements(std::move(local));
  });
}

Program generate(const Kernel& kernel, const Layout& layout) {
  return Generator(kernel, layout).run();
}

}  // namespace hologram::graph
