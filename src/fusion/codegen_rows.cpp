// Reductions follow one geometry that depends on the shape alone, so that the same numbers are
// added in the same order on every device: a lane adds up runs of 16 elements (of a row that it
// walks alone) or of 16 elements as far apart as its group has lanes (of a row that a group
// shares), then the runs, and a group its lanes. The error of a sum thus grows with the logarithm
// of its length. Extremes and integers, which are the same in any order, take no runs where a lane
// walks alone.
#include <fmt/format.h>

#include <algorithm>

#include "fusion/combine.hpp"
#include "fusion/generator.hpp"
#include "fusion/staged_rows.hpp"

namespace hologram::graph {

using program::Combine;
using program::Value;
using program::Var;

void Generator::write_rows() {
  per_row_.resize(kernel_.terms.size());
  begin_ = whole(0);
  end_ = scalar("length");
  if (l_.chunk != 0 && !kernel_.combines_partials) {
    begin_ = coordinate_[static_cast<size_t>(l_.pieces_axis)] * scalar("piece");
    end_ = min(begin_ + scalar("piece"), end_);
  }
  load_per_row();
  if (l_.held > 0) find_places();
  write_levels();
}

// All that the rows of a group are made of is under way before anything is computed.
void Generator::write_several() {
  struct Row {
    Value inside;
    std::vector<Value> coordinate;
    Known per_row;
    std::vector<Place> places;
  };
  begin_ = whole(0);
  end_ = scalar("length");
  const Value count = outer_count(), first = b_.group_id(0) * int64_t{l_.several};
  std::vector<Row> rows;
  for (int64_t k = 0; k < l_.several; k++) {
    const Value row = k == 0 ? first : first + k;
    decode(k == 0 ? row : min(row, count - 1), l_.outer.size());
    places_.clear();
    per_row_ = none_known();
    load_per_row();
    find_places();
    rows.push_back({row < count, coordinate_, per_row_, places_});
  }
  for (Row& row : rows) {
    coordinate_ = std::move(row.coordinate);
    places_ = std::move(row.places);
    per_row_ = std::move(row.per_row);
    b_.if_(row.inside, [&] { write_levels(); });
  }
}

// Under way before the row is.
void Generator::load_per_row() {
  Known none = none_known();
  for (uint32_t t = 0; t < kernel_.terms.size(); t++)
    if (kernel_.terms[t].kind == TermKind::Load && kernel_.terms[t].per_row)
      value(t, none, nullptr);
}

// What the row needs of itself, one reduction after the other, and its results. What comes of the
// last one is for the lanes that store it.
void Generator::write_levels() {
  uint8_t levels = 0;
  for (const Term& t : kernel_.terms) levels = std::max(levels, t.level);
  for (uint8_t level = 0; level <= levels; level++) {
    if (level > 0) reduce(level);
    if (level == levels && !has_elements()) break;
    Known none = none_known();
    for (uint32_t t = 0; t < kernel_.terms.size(); t++)
      if (kernel_.terms[t].per_row && kernel_.terms[t].level == level) value(t, none, nullptr);
  }
  store_rows();
}

// Walks from `begin` to `end` of the row; `body` gets the position of a lane.
void Generator::walk(Value begin, Value end, const Body& body) {
  if (l_.ahead > 1) {
    const Value rest = begin + (end - begin) / l_.ahead * l_.ahead;
    b_.for_(begin, rest, l_.ahead, [&](Value k) { walk_ahead(k, body); });
    begin = rest;
  }
  b_.for_(begin, end, static_cast<uint64_t>(lanes_of_row()), [&](Value k) {
    Known local = none_known();
    if (l_.traversal != Traversal::GroupRows) return body({k}, local);
    const Value at = k + b_.lane_id(0);
    b_.if_(at < end_, [&] { body({at}, local); });
  });
}

// A few elements of the row: all that is read of them comes first and all that is written last.
void Generator::walk_ahead(Value first, const Body& body) {
  std::vector<Known> local(l_.ahead, none_known());
  const auto at = [&](uint32_t k) { return Along{first, k}; };
  for (uint32_t t = 0; t < kernel_.terms.size(); t++) {
    if (kernel_.terms[t].kind != TermKind::Load || kernel_.terms[t].per_row) continue;
    for (uint32_t k = 0; k < l_.ahead; k++) {
      const Along here = at(k);
      value(t, local[k], &here);
    }
  }
  waits_ = true;
  for (uint32_t k = 0; k < l_.ahead; k++) body(at(k), local[k]);
  waits_ = false;
  std::stable_sort(waiting_.begin(), waiting_.end(),
                   [](const Waiting& a, const Waiting& b) { return a.output < b.output; });
  for (const Waiting& w : waiting_) b_.store(outputs_[w.output], w.index, w.value);
  waiting_.clear();
}

// Of a result with an element for each of the row's.
void Generator::store(size_t output, const Along& at, Value value) {
  const auto staged = staged_outputs_.find(output);
  if (staged != staged_outputs_.end()) return b_.store(staged->second, own_place(at), value);
  const Value where = index(kernel_.outputs[output].view, &at);
  if (waits_) waiting_.push_back({output, where, value});
  else b_.store(outputs_[output], where, value);
}

// The whole row run by run.
void Generator::walk_runs(const std::function<void()>& before, const Body& body,
                          const std::function<void()>& after) {
  if (l_.one_run) return walk(begin_, end_, body);
  const int64_t lanes = lanes_of_row(), step = kRun * lanes;
  // Of a length that is known, so that the device's compiler has all loads under way at once.
  const auto walk_whole = [&](Value run, int64_t elements) {
    b_.for_(whole(0), whole(elements * lanes), static_cast<uint64_t>(lanes), [&](Value k) {
      Known local = none_known();
      body({l_.traversal == Traversal::GroupRows ? run + k + b_.lane_id(0) : run + k}, local);
    });
  };
  const Value end = l_.rest > 0 ? end_ - l_.rest * lanes : end_;
  b_.for_(begin_, end, static_cast<uint64_t>(step), [&](Value run) {
    before();
    if (l_.full) walk_whole(run, kRun);
    else walk(run, min(run + step, end), body);
    after();
  });
  if (l_.rest == 0) return;
  before();
  walk_whole(end, l_.rest);
  after();
}

// All that reductions read of them, so that all of it is under way at once: where the row has
// ended, its first elements once more, of which there is one for each lane unless it is the last
// piece.
void Generator::find_places() {
  const Value lane = b_.lane_id(0);
  Value first = l_.chunk != 0 ? begin_ + lane : lane;
  if (l_.side_by_side > 1) first = first + b_.lane_id(1) * (kRun * l_.lanes);
  for (int64_t j = 0; j < l_.held; j++) {
    const Value at = j == 0 ? first : first + j * l_.lanes;
    places_.push_back({{at}, at < end_, none_known()});
  }
  const std::vector<bool> reduced = reduced_terms(kernel_);
  for (uint32_t t = 0; t < kernel_.terms.size(); t++) {
    if (kernel_.terms[t].kind != TermKind::Load || kernel_.terms[t].per_row || !reduced[t])
      continue;
    for (Place& place : places_) {
      if (l_.full || (places_.size() > 1 && l_.chunk == 0)) {
        const Along at = {l_.full ? place.at.at : select(place.inside, place.at.at, lane)};
        value(t, place.local, &at);
      } else {
        const Var loaded = b_.var(b_.constant(compute_type(kernel_.terms[t].dtype), int64_t{0}));
        b_.if_(place.inside, [&] {
          Known local = none_known();
          b_.set(loaded, value(t, local, &place.at));
        });
        place.local[t] = b_.get(loaded);
      }
    }
  }
}

void Generator::where_inside(const Place& place, const std::function<void()>& body) {
  if (l_.full) body();
  else b_.if_(place.inside, body);
}

// Workgroup memory for an element of each lane, for one reduction after the other.
program::Shared Generator::room_for_runs(DType type) {
  const auto found = runs_.find(type);
  if (found == runs_.end())
    return runs_[type] =
               b_.shared(fmt::format("runs_{}", name_of(type)), type, l_.lanes * l_.side_by_side);
  b_.barrier();  // until the last reduction has been read
  return found->second;
}

// Of the elements that the lanes keep, in the order of walk_runs: what a run begins with changes
// nothing where it is added.
Value Generator::reduce_places(uint32_t term, DType type) {
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
  const program::Shared runs = room_for_runs(type);
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

// The reductions that need as many others before them.
std::vector<Generator::One> Generator::reductions(uint8_t level) {
  std::vector<One> list;
  for (uint32_t t = 0; t < kernel_.terms.size(); t++) {
    const Term& term = kernel_.terms[t];
    if (term.kind != TermKind::Reduce || term.level != level) continue;
    const DType type = term.dtype == DType::Bool ? DType::U32 : compute_type(term.dtype);
    list.push_back({t, type, {}, {}});
  }
  return list;
}

void Generator::begin(std::vector<One>& list) {
  for (One& one : list) {
    one.all = b_.var(identity(b_, combine_of(one.term), one.type));
    one.run = l_.one_run ? one.all : b_.var(identity(b_, combine_of(one.term), one.type));
  }
}

// Whether a guard of the level's reductions holds for the row; nothing if one has no guard.
std::optional<Value> Generator::guard_of(const std::vector<One>& list) {
  Known none = none_known();
  std::optional<Value> any;
  for (const One& one : list) {
    const Term& term = kernel_.terms[one.term];
    if (!term.is_guarded()) return {};
    const Value holds = value(term.operands[1], none, nullptr);
    any = any ? *any | holds : holds;
  }
  return any;
}

// All of them, in one walk: only where a guard holds, if all have one.
void Generator::reduce(uint8_t level) {
  const std::vector<One> list = reductions(level);
  if (list.empty()) return;
  std::vector<Value> results;
  const Value begin_of_row = begin_, end_of_row = end_;
  if (const std::optional<Value> guard = guard_of(list)) results = reduced_if(*guard, list, level);
  else results = reduced(list, level);
  begin_ = begin_of_row;
  end_ = end_of_row;
  for (size_t i = 0; i < list.size(); i++) keep_row(list[i].term, results[i]);
}

std::vector<Value> Generator::values_of(const std::vector<Var>& vars) {
  std::vector<Value> values;
  values.reserve(vars.size());
  for (const Var& one : vars) values.push_back(b_.get(one));
  return values;
}

// A group goes through its row once or not at all, or through all of its pieces or none: the
// compiler for processors knows loops in which lanes are combined, and no branches.
std::vector<Value> Generator::reduced_if(Value guard, const std::vector<One>& list, uint8_t level) {
  if (kernel_.combines_partials) {
    end_ = select(guard, end_, begin_);
    return reduced(list, level);
  }
  std::vector<Var> kept;
  kept.reserve(list.size());
  for (const One& one : list) kept.push_back(b_.var(identity(b_, combine_of(one.term), one.type)));
  const auto reduce_row = [&] {
    const std::vector<Value> results =
        l_.held > 0 ? reduced_again(list, level) : reduced(list, level);
    for (size_t i = 0; i < list.size(); i++) b_.set(kept[i], results[i]);
  };
  if (l_.traversal == Traversal::GroupRows)
    b_.for_(whole(0), select(guard, whole(1), 0), 1, [&](Value) { reduce_row(); });
  else b_.if_(guard, reduce_row);
  return values_of(kept);
}

// From memory, though lanes keep their elements: what is seldom done is not to take their
// registers. The first lanes side by side walk as one that does not keep any.
std::vector<Value> Generator::reduced_again(std::vector<One> list, uint8_t level) {
  begin(list);
  if (l_.side_by_side > 1) b_.if_(b_.lane_id(1) < 1, [&] { accumulate(list, level); });
  else accumulate(list, level);
  std::vector<Value> results;
  results.reserve(list.size());
  for (const One& one : list)
    results.push_back(b_.group_reduce(combine_of(one.term), b_.get(one.all)));
  return results;
}

std::vector<Value> Generator::reduced(std::vector<One> list, uint8_t level) {
  std::vector<Value> results;
  if (l_.held > 0) {
    for (const One& one : list)
      results.push_back(b_.group_reduce(combine_of(one.term), reduce_places(one.term, one.type)));
    return results;
  }
  if (kernel_.combines_partials) return reduce_pieces(std::move(list), level);
  begin(list);
  accumulate(list, level);
  for (const One& one : list) {
    const Value all = b_.get(one.all);
    results.push_back(
        l_.traversal == Traversal::GroupRows ? b_.group_reduce(combine_of(one.term), all) : all);
  }
  return results;
}

void Generator::accumulate(const std::vector<One>& list, uint8_t level) {
  walk_runs(
      [&] {
        for (const One& one : list) b_.set(one.run, identity(b_, combine_of(one.term), one.type));
      },
      [&](const Along& at, Known& local) {
        for (const One& one : list) {
          const Value v = value(kernel_.terms[one.term].operands[0], local, &at);
          b_.set(one.run, combined(combine_of(one.term), b_.get(one.run), b_.cast(v, one.type)));
        }
        if (level != last_level_) return;
        for (const auto& [i, term] : kept_) store(i, at, value(term, local, &at));
      },
      [&] {
        for (const One& one : list)
          b_.set(one.all, combined(combine_of(one.term), b_.get(one.all), b_.get(one.run)));
      });
}

// Each lane adds up a piece, and the first ones theirs and those of the lanes behind them, in the
// order in which a lane walks them where they go through memory.
void Generator::write_gathered() {
  per_row_.resize(kernel_.terms.size());
  const auto lanes = static_cast<int64_t>(l_.lanes), pieces = static_cast<int64_t>(l_.side_by_side);
  const Value x = b_.lane_id(0), piece = b_.lane_id(1);
  const Value inside = coordinate_.back() < scalar("n", l_.outer.size() - 1);
  begin_ = piece * scalar("piece");
  end_ = min(begin_ + scalar("piece"), scalar("length"));
  std::vector<One> list = reductions(1);
  begin(list);
  b_.if_(inside, [&] { accumulate(list, 1); });
  const One one = list.front();
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

// A group goes through a whole row, and puts its pieces together in that order, too.
std::vector<Value> Generator::reduce_pieces(std::vector<One> list, uint8_t level) {
  std::vector<Var> all;
  all.reserve(list.size());
  for (const One& one : list) all.push_back(b_.var(identity(b_, combine_of(one.term), one.type)));
  const Value length = end_;
  b_.for_(whole(0), length, static_cast<uint64_t>(kLongestGroupRow), [&](Value piece) {
    begin_ = piece;
    end_ = min(piece + scalar("piece"), length);
    begin(list);
    accumulate(list, level);
    std::vector<Value> of_piece;
    of_piece.reserve(list.size());
    for (const One& one : list)
      of_piece.push_back(b_.group_reduce(combine_of(one.term), b_.get(one.all)));
    for (size_t i = 0; i < list.size(); i++)
      b_.set(all[i], combined(combine_of(list[i].term), b_.get(all[i]), of_piece[i]));
  });
  return values_of(all);
}

void Generator::keep_row(uint32_t term, Value result) {
  const DType to = kernel_.terms[term].dtype;
  per_row_[term] = to == DType::Bool ? result != 0 : wrapped(result, to);
}

Value Generator::first_lane() {
  const Value first = b_.lane_id(0) < 1;
  return l_.side_by_side > 1 ? first & (b_.lane_id(1) < 1) : first;
}

// Whether there is an element for each of the row's in a result. What is the same along a row may
// be such a result, too.
bool Generator::is_elements(const Output& output) const {
  return !same_along_row(l_, output) || !kernel_.terms[output.term].per_row;
}
bool Generator::has_elements() const {
  return std::any_of(kernel_.outputs.begin(), kernel_.outputs.end(),
                     [this](const Output& output) { return is_elements(output); });
}

void Generator::store_rows() {
  std::vector<size_t> elements;
  const auto store_one = [&](size_t i) {
    Known none = none_known();
    const Output& output = kernel_.outputs[i];
    b_.store(outputs_[i], index(output.view, nullptr), value(output.term, none, nullptr));
  };
  std::vector<size_t> rows;
  for (size_t i = 0; i < kernel_.outputs.size(); i++)
    (is_elements(kernel_.outputs[i]) ? elements : rows).push_back(i);
  const auto store_all = [&] { std::for_each(rows.begin(), rows.end(), store_one); };
  if (l_.traversal != Traversal::GroupRows) store_all();
  else if (!rows.empty()) b_.if_(first_lane(), store_all);
  if (elements.empty()) return;
  for (Place& place : places_)
    where_inside(place, [&] {
      for (const size_t i : elements)
        b_.store(outputs_[i], index(kernel_.outputs[i].view, &place.at),
                 value(kernel_.outputs[i].term, place.local, &place.at));
    });
  if (l_.held > 0) return;
  walk(begin_, end_, [&](const Along& at, Known& local) {
    for (const auto& [i, term] : kept_) {
      const auto staged = staged_outputs_.find(i);
      local[term] = staged != staged_outputs_.end()
                        ? b_.load(staged->second, own_place(at))
                        : b_.load(outputs_[i], index(kernel_.outputs[i].view, &at));
    }
    for (const size_t i : elements) store(i, at, value(kernel_.outputs[i].term, local, &at));
  });
}

}  // namespace hologram::graph
