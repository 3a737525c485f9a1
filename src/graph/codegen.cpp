// Reductions follow one geometry that depends on the shape alone, so that the same numbers are
// added in the same order on every device: a lane adds up runs of 16 elements (of a row that it
// walks alone) or of 16 elements as far apart as its group has lanes (of a row that a group
// shares), then the runs, and a group its lanes. The error of a sum thus grows with the logarithm
// of its length.
#include "graph/codegen.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <unordered_map>

#include "graph/combine.hpp"
#include "graph/elementwise.hpp"
#include "graph/kept.hpp"
#include "hologram/builder.hpp"
#include "program/ir.hpp"

namespace hologram::graph {
namespace {

using program::Access;
using program::Buf;
using program::Builder;
using program::Combine;
using program::Op;
using program::Value;
using program::Var;

class Generator {
 public:
  Generator(const Kernel& kernel, const Layout& l)
      : kernel_(kernel),
        l_(l),
        b_(name_of(kernel), {l.lanes, l.side_by_side}, l.index),
        last_level_(last_level(kernel)) {}

  Program run() {
    kept_ = kept_terms(kernel_, l_);
    declare();
    if (l_.walk != Walk::Tiles) find_coordinates();
    switch (l_.walk) {
      case Walk::Elements: of_each_lane([&] { write_elements(); }); break;
      case Walk::Blocks: write_blocks(); break;
      case Walk::Tiles: write_tiles(); break;
      case Walk::LaneRows: of_each_lane([&] { write_rows(); }); break;
      case Walk::GroupRows: write_rows(); break;
      case Walk::Pieces: write_gathered(); break;
    }
    program::Module module = b_.finish_unverified();
    for (program::Inst& inst : module.body.insts)
      inst.trusted = l_.trusted && (inst.op == Op::Load || inst.op == Op::Store ||
                                    inst.op == Op::SharedLoad || inst.op == Op::SharedStore);
    return Program::from(std::move(module));
  }

 private:
  Value whole(int64_t value) { return b_.constant(l_.index, value); }
  Value lane() { return b_.global_id(0); }
  Value scalar(const std::string& name) { return scalars_.at(name); }
  Value scalar(const char* name, size_t axis) { return scalar(fmt::format("{}{}", name, axis)); }

  // Lanes behind the last axis do nothing.
  void of_each_lane(const std::function<void()>& body) {
    b_.if_(lane() < (l_.outer.empty() ? whole(1) : scalar("n", l_.outer.size() - 1)), body);
  }

  // No access is tested again: require_inside does that for the whole kernel.
  void declare() {
    for (size_t i = 0; i < kernel_.loads.size(); i++)
      buffers_.push_back(b_.buffer(fmt::format("in{}", i), kernel_.loads[i]->dtype, Access::In));
    for (size_t i = 0; i < kernel_.outputs.size(); i++)
      outputs_.push_back(b_.buffer(fmt::format("out{}", i), kernel_.outputs[i].target->dtype,
                                   kept_.contains(i) ? Access::InOut : Access::Out));
    for (const ScalarArgument& a : scalar_arguments(kernel_, l_))
      scalars_.emplace(a.name, b_.scalar_with_bits(a.name, a.type, {}));
  }

  // The position along each outer axis.
  void find_coordinates() {
    const size_t rank = l_.outer.size();
    coordinate_.resize(rank);
    if (rank == 0) return;
    size_t left = rank;
    if (l_.walk != Walk::GroupRows) coordinate_[--left] = lane();
    if (left == 0) return;
    Value rest = b_.group_id(l_.walk == Walk::GroupRows ? 0 : 1);
    while (left-- > 1) {
      coordinate_[left] = rest % scalar("n", left);
      rest = rest / scalar("n", left);
    }
    coordinate_[0] = rest;
  }

  void add(Value& sum, Value part) { sum = sum.builder() == nullptr ? part : sum + part; }

  void add_scaled(Value& sum, Value at, int64_t stride, const std::string& name) {
    if (stride == 0) return;
    if (stride == -1) sum = (sum.builder() == nullptr ? whole(0) : sum) - at;
    else add(sum, stride == 1 ? at : at * scalar(name));
  }

  // Of the element that a view shows at the outer coordinates and `at` along the row.
  Value index(uint32_t v, const Value* at) {
    const Lanes& view = l_.views[v];
    Value sum;
    if (view.offset != 0) sum = scalar(fmt::format("v{}_at", v));
    for (size_t k = 0; k < view.outer.size(); k++)
      add_scaled(sum, coordinate_[k], view.outer[k], fmt::format("v{}_{}", v, k));
    if (at != nullptr && !view.row.empty()) {
      Value rest = *at;
      for (size_t k = view.row.size(); k-- > 1;) {
        add_scaled(sum, rest % scalar("row", k), view.row[k], fmt::format("v{}_row{}", v, k));
        rest = rest / scalar("row", k);
      }
      add_scaled(sum, rest, view.row[0], fmt::format("v{}_row0", v));
    }
    return sum.builder() == nullptr ? whole(0) : sum;
  }

  // The value of a term; `local` holds what has been computed at this place of the row.
  Value value(uint32_t t, std::vector<Value>& local, const Value* at) {
    const Term& term = kernel_.terms[t];
    std::vector<Value>& known = term.per_row ? per_row_ : local;
    if (known[t].builder() != nullptr) return known[t];
    const Value* where = term.per_row ? nullptr : at;
    Value made;
    if (term.kind == TermKind::Load) {
      made = b_.load(buffers_[term.buffer], index(term.view, where));
    } else {
      std::vector<Value> operands;
      for (const uint32_t operand : term.operands) operands.push_back(value(operand, local, at));
      made = applied(term, operands, where);
    }
    return known[t] = made;
  }

  Value applied(const Term& term, const std::vector<Value>& operands, const Value* where) {
    std::vector<Value> attributes;
    const size_t next = term.first_attribute;
    for (size_t k = 0; k < term.attributes; k++) attributes.push_back(scalar("a", next + k));
    DType from = term.dtype;
    if (!term.operands.empty())
      from = kernel_.terms[term.op->rule == Rule::Shift ? term.operands[0] : term.operands.back()]
                 .dtype;
    const bool drawn = term.op->draws && of_block_;
    const Value number = term.op->indexed && !drawn ? index(term.view, where) : Value();
    const Operands x{
        b_, operands, attributes, from, term.dtype, number, drawn ? of_block_ : std::nullopt};
    const Value result = term.op->expression(x);
    return term.op == &source::kCast ? result : wrapped(result, term.dtype);
  }

  // Kernels compute in 32 bits what memory holds in 8 or 16.
  static Value wrapped(Value value, DType to) {
    if (!is_integer(to) || size_of(to) >= 4) return value;
    return apply(size_of(to) == 1 ? Op::Wrap8 : Op::Wrap16, {value});
  }

  void write_elements(std::vector<Value> local = {}) {
    local.resize(kernel_.terms.size());
    per_row_.resize(kernel_.terms.size());
    for (size_t i = 0; i < kernel_.outputs.size(); i++) {
      const Output& output = kernel_.outputs[i];
      b_.store(outputs_[i], index(output.view, nullptr), value(output.term, local, nullptr));
    }
  }

  // All elements of a block in one lane; the last tile has some of them only.
  void write_blocks() {
    const Value tile = coordinate_[0], here = lane();
    const Value left = scalar("elements") - tile * kElementsOfTile;
    const auto turn = [&](int64_t t) {
      of_block_ = {tile, here, t};
      coordinate_[1] = t == 0 ? here : here + t * kBlocksOfTile;
      write_elements();
    };
    b_.if_(here < min(left, kBlocksOfTile), [&] {
      turn(0);
      for (int64_t t = 1; t < kElementsOfBlock; t++)
        b_.if_(here < left - t * kBlocksOfTile, [&] { turn(t); });
    });
  }

  // The turned views go through workgroup memory, in whose rows one element more keeps the lanes
  // that walk down a column in banks of their own.
  void write_tiles() {
    const size_t last = l_.outer.size() - 1;
    const int64_t side = l_.tile, pitch = side + 1;
    std::vector<std::pair<uint32_t, program::Shared>> squares;
    for (uint32_t t = 0; t < kernel_.terms.size(); t++) {
      const Term& term = kernel_.terms[t];
      if (term.kind == TermKind::Load && l_.turned[term.view])
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
        b_.store(square, row * pitch + x,
                 b_.load(buffers_[term.buffer], index(term.view, nullptr)));
      }
    });
    b_.barrier();
    each(along, down, last, l_.across, [&](Value row) {
      std::vector<Value> local(kernel_.terms.size());
      for (const auto& [t, square] : squares) local[t] = b_.load(square, x * pitch + row);
      write_elements(std::move(local));
    });
  }

  void write_rows() {
    per_row_.resize(kernel_.terms.size());
    begin_ = whole(0);
    end_ = scalar("length");
    if (l_.chunk != 0) {
      begin_ = coordinate_[static_cast<size_t>(l_.pieces_axis)] * scalar("piece");
      end_ = min(begin_ + scalar("piece"), end_);
    }
    if (l_.held > 0) find_places();
    uint8_t levels = 0;
    for (const Term& t : kernel_.terms) levels = std::max(levels, t.level);
    for (uint8_t level = 0; level <= levels; level++) {
      if (level > 0) reduce(level);
      std::vector<Value> none(kernel_.terms.size());
      for (uint32_t t = 0; t < kernel_.terms.size(); t++)
        if (kernel_.terms[t].per_row && kernel_.terms[t].level == level) value(t, none, nullptr);
    }
    store_rows();
  }

  int64_t lanes_of_row() const { return l_.walk == Walk::GroupRows ? l_.lanes : 1; }

  // Walks from `begin` to `end` of the row; `body` gets the position of a lane.
  void walk(Value begin, Value end, const std::function<void(Value)>& body) {
    b_.for_(begin, end, static_cast<uint64_t>(lanes_of_row()), [&](Value k) {
      if (l_.walk != Walk::GroupRows) return body(k);
      const Value at = k + b_.lane_id(0);
      b_.if_(at < end_, [&] { body(at); });
    });
  }

  // The whole row run by run.
  void walk_runs(const std::function<void()>& before, const std::function<void(Value)>& body,
                 const std::function<void()>& after) {
    if (l_.one_run) return walk(begin_, end_, body);
    const int64_t step = kRun * lanes_of_row();
    b_.for_(begin_, end_, static_cast<uint64_t>(step), [&](Value run) {
      before();
      if (l_.full)
        // Of a length that is known, so that the device's compiler has all loads under way at once.
        b_.for_(whole(0), whole(step), 1, [&](Value k) { body(run + k); });
      else walk(run, min(run + step, end_), body);
      after();
    });
  }

  // One element of the row that a lane keeps: where it is, whether it is one, what is known of it.
  struct Place {
    Value at, inside;
    std::vector<Value> local;
  };

  // All that is read of them, so that all of it is under way at once: where the row has ended, its
  // first elements once more, of which there is one for each lane unless it is the last piece.
  void find_places() {
    const Value lane = b_.lane_id(0);
    Value first = l_.chunk != 0 ? begin_ + lane : lane;
    if (l_.side_by_side > 1) first = first + b_.lane_id(1) * (kRun * l_.lanes);
    for (int64_t j = 0; j < l_.held; j++) {
      const Value at = j == 0 ? first : first + j * l_.lanes;
      places_.push_back({at, at < end_, std::vector<Value>(kernel_.terms.size())});
    }
    for (uint32_t t = 0; t < kernel_.terms.size(); t++) {
      if (kernel_.terms[t].kind != TermKind::Load || kernel_.terms[t].per_row) continue;
      for (Place& place : places_) {
        if (l_.full || (places_.size() > 1 && l_.chunk == 0)) {
          const Value at = l_.full ? place.at : select(place.inside, place.at, lane);
          value(t, place.local, &at);
        } else {
          const Var loaded = b_.var(b_.constant(compute_type(kernel_.terms[t].dtype), int64_t{0}));
          b_.if_(place.inside, [&] {
            std::vector<Value> local(kernel_.terms.size());
            b_.set(loaded, value(t, local, &place.at));
          });
          place.local[t] = b_.get(loaded);
        }
      }
    }
  }

  void where_inside(const Place& place, const std::function<void()>& body) {
    if (l_.full) body();
    else b_.if_(place.inside, body);
  }

  // Of the elements that the lanes keep, in the order of walk_runs: what a run begins with changes
  // nothing where it is added.
  Value reduce_places(uint32_t term, DType type) {
    const Combine combine = combine_of(term);
    const Value start = identity(b_, combine, type);
    Value run = start;
    for (Place& place : places_) {
      const Value v = value(kernel_.terms[term].operands[0], place.local, &place.at);
      const Value longer = combined(combine, run, b_.cast(v, type));
      run = l_.full ? longer : select(place.inside, longer, run);
    }
    if (l_.side_by_side == 1) return run;
    const auto lanes = static_cast<int64_t>(l_.lanes);
    const program::Shared runs =
        b_.shared(fmt::format("runs{}", term), type, l_.lanes * l_.side_by_side);
    b_.store(runs, b_.lane_id(1) * lanes + b_.lane_id(0), run);
    b_.barrier();
    const Var sum = b_.var(start);
    b_.if_(b_.lane_id(1) < 1, [&] {
      Value all = start;
      for (int64_t r = 0; r < l_.side_by_side; r++)
        all = combined(combine, all, b_.load(runs, b_.lane_id(0) + r * lanes));
      b_.set(sum, all);
    });
    return b_.get(sum);
  }

  struct One {
    uint32_t term;
    DType type;
    Var all, run;
  };

  // The reductions that need as many others before them, with what they begin with.
  std::vector<One> reductions(uint8_t level) {
    std::vector<One> list;
    for (uint32_t t = 0; t < kernel_.terms.size(); t++) {
      const Term& term = kernel_.terms[t];
      if (term.kind != TermKind::Reduce || term.level != level) continue;
      const DType type = term.dtype == DType::Bool ? DType::U32 : compute_type(term.dtype);
      One one{t, type, {}, {}};
      if (l_.held == 0) {
        one.all = b_.var(identity(b_, term.combine, type));
        one.run = l_.one_run ? one.all : b_.var(identity(b_, term.combine, type));
      }
      list.push_back(one);
    }
    return list;
  }

  // All of them, in one walk.
  void reduce(uint8_t level) {
    const std::vector<One> list = reductions(level);
    if (list.empty()) return;
    if (l_.held > 0) {
      for (const One& one : list)
        keep_row(one.term,
                 b_.group_reduce(combine_of(one.term), reduce_places(one.term, one.type)));
      return;
    }
    accumulate(list, level);
    for (const One& one : list) {
      const Value all = b_.get(one.all);
      const bool group = l_.walk == Walk::GroupRows;
      keep_row(one.term, group ? b_.group_reduce(combine_of(one.term), all) : all);
    }
  }

  void accumulate(const std::vector<One>& list, uint8_t level) {
    walk_runs(
        [&] {
          for (const One& one : list) b_.set(one.run, identity(b_, combine_of(one.term), one.type));
        },
        [&](Value at) {
          std::vector<Value> local(kernel_.terms.size());
          for (const One& one : list) {
            const Value v = value(kernel_.terms[one.term].operands[0], local, &at);
            b_.set(one.run, combined(combine_of(one.term), b_.get(one.run), b_.cast(v, one.type)));
          }
          if (level != last_level_) return;
          for (const auto& [i, term] : kept_)
            b_.store(outputs_[i], index(kernel_.outputs[i].view, &at), value(term, local, &at));
        },
        [&] {
          for (const One& one : list)
            b_.set(one.all, combined(combine_of(one.term), b_.get(one.all), b_.get(one.run)));
        });
  }

  // Each lane adds up a piece, and the first ones theirs and those of the lanes behind them, in the
  // order in which a lane walks them where they go through memory.
  void write_gathered() {
    per_row_.resize(kernel_.terms.size());
    const auto lanes = static_cast<int64_t>(l_.lanes),
               pieces = static_cast<int64_t>(l_.side_by_side);
    const Value x = b_.lane_id(0), piece = b_.lane_id(1);
    const Value inside = coordinate_.back() < scalar("n", l_.outer.size() - 1);
    begin_ = piece * scalar("piece");
    end_ = min(begin_ + scalar("piece"), scalar("length"));
    const One one = reductions(1).front();
    b_.if_(inside, [&] { accumulate({one}, 1); });
    const program::Shared parts = b_.shared("parts", one.type, l_.lanes * l_.side_by_side);
    b_.store(parts, piece * lanes + x, b_.get(one.all));
    b_.barrier();
    b_.if_(inside & (piece < 1), [&] {
      Value all = identity(b_, combine_of(one.term), one.type);
      for (int64_t p = 0; p < pieces; p++)
        all = combined(combine_of(one.term), all, b_.load(parts, p == 0 ? x : x + p * lanes));
      keep_row(one.term, all);
      store_rows();
    });
  }

  void keep_row(uint32_t term, Value result) {
    const DType to = kernel_.terms[term].dtype;
    per_row_[term] = to == DType::Bool ? result != 0 : wrapped(result, to);
  }

  Combine combine_of(uint32_t term) const { return kernel_.terms[term].combine; }

  Value first_lane() {
    const Value first = b_.lane_id(0) < 1;
    return l_.side_by_side > 1 ? first & (b_.lane_id(1) < 1) : first;
  }

  void store_rows() {
    std::vector<size_t> elements;
    const auto store_one = [&](size_t i) {
      std::vector<Value> none(kernel_.terms.size());
      const Output& output = kernel_.outputs[i];
      b_.store(outputs_[i], index(output.view, nullptr), value(output.term, none, nullptr));
    };
    for (size_t i = 0; i < kernel_.outputs.size(); i++) {
      // What is the same along a row may be a result with an element for each of the row's, too.
      if (!same_along_row(l_, kernel_.outputs[i]) ||
          !kernel_.terms[kernel_.outputs[i].term].per_row)
        elements.push_back(i);
      else if (l_.walk != Walk::GroupRows) store_one(i);
      else b_.if_(first_lane(), [&] { store_one(i); });
    }
    if (elements.empty()) return;
    for (Place& place : places_)
      where_inside(place, [&] {
        for (const size_t i : elements)
          b_.store(outputs_[i], index(kernel_.outputs[i].view, &place.at),
                   value(kernel_.outputs[i].term, place.local, &place.at));
      });
    if (l_.held > 0) return;
    walk(begin_, end_, [&](Value at) {
      std::vector<Value> local(kernel_.terms.size());
      for (const auto& [i, term] : kept_)
        local[term] = b_.load(outputs_[i], index(kernel_.outputs[i].view, &at));
      for (const size_t i : elements) {
        const Output& output = kernel_.outputs[i];
        b_.store(outputs_[i], index(output.view, &at), value(output.term, local, &at));
      }
    });
  }

  const Kernel& kernel_;
  const Layout& l_;
  Builder b_;
  std::vector<Buf> buffers_, outputs_;
  std::unordered_map<std::string, Value> scalars_;
  std::vector<Value> coordinate_;
  std::optional<ElementOfBlock> of_block_;  // of Walk::Blocks
  std::vector<Value> per_row_;              // by term
  std::map<size_t, uint32_t> kept_;         // by output: the term that waits in its memory
  std::vector<Place> places_;               // if lanes keep their elements
  const uint8_t last_level_;
  Value begin_, end_;  // of the row
};

}  // namespace

Program generate(const Kernel& kernel, const Layout& layout) {
  return Generator(kernel, layout).run();
}

}  // namespace hologram::graph
