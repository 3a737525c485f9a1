// A lane has a row of its own: a query, which walks along the keys, or a key along the queries.
// Vectors of the other side are the same for all lanes, so each of their numbers is read once for a
// vector of lanes, and sums are chains of fused multiply-adds in registers.
//
// Scratch of a workgroup is columns of kLanes numbers: the lane's vectors, its sums, and the scores
// of a block.
#include <array>

#include "algorithms/attention/programs.hpp"
#include "algorithms/attention/terms.hpp"

namespace hologram::graph::attention {

namespace {

using program::Access;

// Sums that a lane has in registers at a time.
constexpr int64_t kSide = 4;

class Lanes : public Terms {
 public:
  explicit Lanes(const Key& key) : Terms(name_of(key.part), {static_cast<uint32_t>(kLanes)}, key) {}

  program::Program write() {
    declare();
    scratch_ = b_.buffer("scratch", key_.wide, Access::InOut);
    const Value tiles_of_head = scalar("tiles_of_head"), tiles = scalar("tiles");
    lane_ = b_.global_id(0);
    base_ = b_.group_id(1) * scratch_of(key_) + lane_;
    const Value groups = b_.group_count(1);
    // Tiles that follow each other go to different workgroups: of causal attention, they grow.
    b_.for_(whole(0), (tiles - b_.group_id(1) + groups - 1) / groups, 1, [&](Value round) {
      const Value tile = b_.group_id(1) + round * groups;
      Value of = tile / tiles_of_head;
      const Value first = tile % tiles_of_head * kLanes;
      if (key_.split) {
        part_ = of % parts_;
        of = of / parts_;
      }
      batch_ = of / key_heads_;
      key_head_ = of % key_heads_;
      switch (key_.part) {
        case Part::Forward: return forward(first);
        case Part::QueryChange: return query_change(first);
        case Part::KeyChange: return key_change(first);
      }
    });
    return finish();
  }

 private:
  static const char* name_of(Part part) {
    return part == Part::Forward       ? "attention"
           : part == Part::QueryChange ? "attention_query_change"
                                       : "attention_key_change";
  }

  // --- scratch
  Value place(Value column) { return base_ + column * kLanes; }
  Value place(int64_t column) { return base_ + column * kLanes; }
  Value get(Value column) { return b_.load(scratch_, place(column)); }
  void put(Value column, Value x) { b_.store(scratch_, place(column), x); }

  void count(int64_t n, const std::function<void(Value)>& each) {
    b_.for_(whole(0), whole(n), 1, each);
  }
  void zero(int64_t column, int64_t n) {
    count(n, [&](Value d) { put(column + d, real(0)); });
  }
  // The lane's vector, feature by feature.
  void take(const Vectors& x, Value first, int64_t column) {
    count(x.length, [&](Value d) { put(column + d, wide(b_.load(x.buffer, x.at(first, d)))); });
  }
  Value wide(Value x) { return b_.cast(x, key_.wide); }

  // Products of the lane's vector, in scratch, with kSide vectors that all lanes share.
  using Side = std::array<Value, kSide>;
  Side products(int64_t column, const Vectors& x, const Side& firsts) {
    std::array<Var, kSide> sums{};
    for (Var& s : sums) s = b_.var(real(0));
    const int64_t unrolled = x.length % kSide == 0 ? kSide : 1;
    b_.for_(whole(0), whole(x.length), static_cast<uint64_t>(unrolled), [&](Value d) {
      for (int64_t u = 0; u < unrolled; u++) {
        const Value mine = get(column + d + u);
        for (size_t k = 0; k < kSide; k++)
          b_.set(sums[k],
                 fma(mine, wide(b_.load(x.buffer, x.at(firsts[k], d + u))), b_.get(sums[k])));
      }
    });
    Side all;
    for (size_t k = 0; k < kSide; k++) all[k] = b_.get(sums[k]);
    return all;
  }

  // sums = sums * factor + the vectors of a block, from `first` on, times their weights.
  void accumulate(int64_t sums, int64_t weights, Value block_count, const Vectors& x, Value first,
                  const Value* factor) {
    const auto some = [&](Value c, int64_t n) {
      std::vector<Var> all;
      for (int64_t k = 0; k < n; k++) {
        const Value before = get(sums + c + k);
        all.push_back(b_.var(factor == nullptr ? before : before * *factor));
      }
      b_.for_(whole(0), block_count, 1, [&](Value i) {
        const Value weight = get(weights + i), of = first + i * x.row;
        for (int64_t k = 0; k < n; k++) {
          const Var& sum = all[static_cast<size_t>(k)];
          b_.set(sum, fma(weight, wide(b_.load(x.buffer, x.at(of, c + k))), b_.get(sum)));
        }
      });
      for (int64_t k = 0; k < n; k++) put(sums + c + k, b_.get(all[static_cast<size_t>(k)]));
    };
    const int64_t whole_ones = x.length / kSide * kSide;
    b_.for_(whole(0), whole(whole_ones), kSide, [&](Value c) { some(c, kSide); });
    if (whole_ones < x.length) some(whole(whole_ones), x.length - whole_ones);
  }

  // Blocks of a range, and in each the places kSide at a time, which may reach beyond its end.
  template <class Each>
  void blocks(const Range& range, const Each& each) {
    b_.for_(range.begin, range.end, kBlock,
            [&](Value begin) { each(begin, min(begin + kBlock, range.end)); });
  }
  template <class Each>
  void sides(Value begin, Value end, const Each& each) {
    b_.for_(begin, end, kSide, [&](Value at) {
      Side places;
      for (int64_t k = 0; k < kSide; k++) places[static_cast<size_t>(k)] = min(at + k, end - 1);
      each(at - begin, places);
    });
  }
  Side firsts(const Vectors& x, Value batch, Value head, const Side& places) {
    Side all;
    for (size_t k = 0; k < kSide; k++) all[k] = x.first(batch, head, places[k]);
    return all;
  }

  // --- forward
  void forward(Value first) {
    const int64_t mine = 0, sums = mine + key_.features, weights = sums + key_.value_features;
    const Row r = row(key_head_, first + lane_);
    take(q_, q_.first(batch_, r.head, r.query), mine);
    zero(sums, key_.value_features);
    const Var largest = b_.var(never()), total = b_.var(real(0));
    Range keys = keys_of(queries_of_rows(first, kLanes));
    if (key_.split) keys = within_part(keys, part_);
    blocks(keys, [&](Value begin, Value end) {
      const Var here = b_.var(b_.get(largest));
      sides(begin, end, [&](Value at, const Side& keys) {
        const Side dots = products(mine, k_, firsts(k_, batch_, key_head_, keys));
        for (size_t k = 0; k < kSide; k++) {
          const Value s = score(dots[k], {batch_, r.head, r.query, keys[k]}).seen;
          b_.set(here, max(b_.get(here), s));
          put(weights + at + static_cast<int64_t>(k), s);
        }
      });
      const Value now = b_.get(here), base = base_of(now);
      const Value factor = exp(b_.get(largest) - base);
      b_.set(largest, now);
      b_.set(total, b_.get(total) * factor);
      b_.for_(whole(0), end - begin, 1, [&](Value i) {
        const Value share = exp(get(weights + i) - base);
        put(weights + i, share);
        b_.set(total, b_.get(total) + share);
      });
      accumulate(sums, weights, end - begin, v_, v_.first(batch_, key_head_, begin), &factor);
    });
    if (key_.split) {
      const Value at = part_ * batches_ * heads_ * queries_ + row_number(batch_, r.head, r.query);
      b_.if_(r.inside, [&] {
        count(key_.value_features, [&](Value c) { store_part(at, c, get(sums + c)); });
        store_part_state(at, b_.get(largest), b_.get(total));
      });
      return;
    }
    const Epilogue e = epilogue(b_.get(largest), b_.get(total), r.head);
    b_.if_(r.inside, [&] {
      const Value at = row_number(batch_, r.head, r.query);
      count(key_.value_features, [&](Value c) { store_result(at, c, get(sums + c), e); });
      if (key_.with_logs) store_log(at, e);
    });
  }

  // --- backward
  void query_change(Value first) {
    const int64_t mine = 0, changes = mine + key_.features, sums = changes + key_.value_features,
                  weights = sums + key_.features;
    const Row r = row(key_head_, first + lane_);
    take(q_, q_.first(batch_, r.head, r.query), mine);
    take(g_, g_.first(batch_, r.head, r.query), changes);
    zero(sums, key_.features);
    const Value at = row_number(batch_, r.head, r.query), log = log_of(at),
                delta = b_.load(deltas_, at);
    blocks(keys_of(queries_of_rows(first, kLanes)), [&](Value begin, Value end) {
      sides(begin, end, [&](Value nth, const Side& keys) {
        const Side dots = products(mine, k_, firsts(k_, batch_, key_head_, keys));
        const Side of_changes = products(changes, v_, firsts(v_, batch_, key_head_, keys));
        for (size_t k = 0; k < kSide; k++)
          put(weights + nth + static_cast<int64_t>(k),
              change(dots[k], of_changes[k], {batch_, r.head, r.query, keys[k]}, log, delta)
                  .of_dot);
      });
      accumulate(sums, weights, end - begin, k_, k_.first(batch_, key_head_, begin), nullptr);
    });
    b_.if_(r.inside, [&] {
      count(key_.features, [&](Value d) {
        b_.store(result_, at * int64_t{key_.features} + d, get(sums + d) * scale_);
      });
    });
  }

  void key_change(Value first) {
    const int64_t mine = 0, values = mine + key_.features, sums = values + key_.value_features,
                  value_sums = sums + key_.features, weights = value_sums + key_.value_features,
                  shares = weights + kBlock + kSide;
    const Value me = first + lane_, key = min(me, keys_ - 1);
    take(k_, k_.first(batch_, key_head_, key), mine);
    take(v_, v_.first(batch_, key_head_, key), values);
    zero(sums, key_.features + key_.value_features);
    const Range queries = queries_of({first, min(first + kLanes, keys_)});
    b_.for_(whole(0), group_, 1, [&](Value nth) {
      const Value head = key_head_ * group_ + nth;
      blocks(queries, [&](Value begin, Value end) {
        sides(begin, end, [&](Value at, const Side& rows) {
          const Side dots = products(mine, q_, firsts(q_, batch_, head, rows));
          const Side of_changes = products(values, g_, firsts(g_, batch_, head, rows));
          for (size_t k = 0; k < kSide; k++) {
            const Value row = row_number(batch_, head, rows[k]);
            const Change c = change(dots[k], of_changes[k], {batch_, head, rows[k], key},
                                    log_of(row), b_.load(deltas_, row));
            put(weights + at + static_cast<int64_t>(k), c.of_dot);
            put(shares + at + static_cast<int64_t>(k), c.share);
          }
        });
        accumulate(sums, weights, end - begin, q_, q_.first(batch_, head, begin), nullptr);
        accumulate(value_sums, shares, end - begin, g_, g_.first(batch_, head, begin), nullptr);
      });
    });
    b_.if_(me < keys_, [&] {
      const Value row = (batch_ * key_heads_ + key_head_) * keys_ + me;
      count(key_.features, [&](Value d) {
        b_.store(result_, row * int64_t{key_.features} + d, get(sums + d) * scale_);
      });
      count(key_.value_features, [&](Value d) {
        b_.store(second_, row * int64_t{key_.value_features} + d, get(value_sums + d));
      });
    });
  }

  Buf scratch_{};
  Value lane_, base_, batch_, key_head_, part_;
};

}  // namespace

program::Program lanes_program(const Key& key) { return Lanes(key).write(); }

int64_t scratch_of(const Key& key) {
  const int64_t features = key.features + key.value_features, block = kBlock + kSide;
  const int64_t columns = key.part == Part::Forward       ? features + block
                          : key.part == Part::QueryChange ? features + key.features + block
                                                          : 2 * (features + block);
  return columns * kLanes;
}

}  // namespace hologram::graph::attention
