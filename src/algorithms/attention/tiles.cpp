// A workgroup has a tile of rows: queries, or keys where these have gradients. Of each block of the
// other side it computes all products, strip by strip of features, makes weights of them in
// workgroup memory, and adds the block's vectors by these weights to sums that lanes hold. A lane
// has 4 rows by 2 of a block's products, and 4 rows by every 16th feature of the sums.
#include <algorithm>
#include <array>
#include <bit>

#include "algorithms/attention/programs.hpp"
#include "algorithms/attention/terms.hpp"

namespace hologram::graph::attention {

namespace {

using program::Shared;

constexpr int64_t kAcross = 16, kDown = 16, kLanesOfTile = kAcross * kDown;
constexpr int64_t kRowsOfLane = kRows / kDown, kPlaces = kBlock / kAcross;
constexpr int64_t kDeep = kAcross;           // features of a strip
constexpr int64_t kPitchOfRows = kRows + 1;  // uneven, so that lanes beside meet no bank twice
constexpr int64_t kPitchOfBlock = kBlock + 1;
constexpr int64_t kStrip = kDeep * (kPitchOfRows + kPitchOfBlock);
constexpr int64_t kLanesOfRow = kLanesOfTile / kRows;  // that make one row's shares

class Tiles : public Terms {
 public:
  explicit Tiles(const Key& key)
      : Terms(name_of(key.part), {static_cast<uint32_t>(kLanesOfTile)}, key) {}

  program::Program write() {
    declare();
    strip_ = shared("strip", kStrip);
    weights_ = shared("weights", kRows * kPitchOfBlock);
    if (key_.part == Part::Forward) {
      partial_ = shared("partial", kRows * kLanesOfRow);
      factors_ = shared("factors", kRows);
    }
    lane_ = b_.lane_id(0);
    x_ = lane_ % kAcross;
    y_ = lane_ / kAcross;
    first_row_ = b_.group_id(0) * kRows;
    batch_ = b_.group_id(1) / key_heads_;
    key_head_ = b_.group_id(1) % key_heads_;
    switch (key_.part) {
      case Part::Forward: forward(); break;
      case Part::QueryChange: query_change(); break;
      case Part::KeyChange: key_change(); break;
    }
    return finish();
  }

 private:
  using Vars = std::vector<Var>;
  using Products = std::array<std::array<Value, kPlaces>, kRowsOfLane>;

  static const char* name_of(Part part) {
    return part == Part::Forward       ? "attention_tiles"
           : part == Part::QueryChange ? "attention_query_change_tiles"
                                       : "attention_key_change_tiles";
  }
  Shared shared(const char* name, int64_t count) {
    return b_.shared(name, key_.wide, static_cast<uint32_t>(count));
  }
  Value wide(Value x) { return b_.cast(x, key_.wide); }
  Vars zeros(int64_t count) {
    Vars all;
    for (int64_t i = 0; i < count; i++) all.push_back(b_.var(real(0)));
    return all;
  }
  Value row_of_lane(int64_t i) { return y_ * kRowsOfLane + i; }
  Value place_of_lane(int64_t j) { return x_ + j * kAcross; }
  static int64_t columns_of(int64_t features) { return (features + kAcross - 1) / kAcross; }

  // A feature of a vector; 0 beyond the last one.
  Value feature(const Vectors& x, Value first, Value d) {
    if (x.length % kDeep == 0) return wide(b_.load(x.buffer, x.at(first, d)));
    const Value value = wide(b_.load(x.buffer, x.at(first, min(d, x.length - 1))));
    return select(d < x.length, value, 0);
  }

  // Where the vectors of the tile's rows begin that a lane brings to workgroup memory.
  using Firsts = std::array<Value, kRows / kDeep>;
  Firsts of_queries(const Vectors& x) {
    Firsts all;
    for (size_t j = 0; j < all.size(); j++) {
      const Row r = row(key_head_, first_row_ + y_ + static_cast<int64_t>(j) * kDown);
      all[j] = x.first(batch_, r.head, r.query);
    }
    return all;
  }
  Firsts of_keys(const Vectors& x) {
    Firsts all;
    for (size_t j = 0; j < all.size(); j++)
      all[j] = x.first(batch_, key_head_,
                       min(first_row_ + y_ + static_cast<int64_t>(j) * kDown, keys_ - 1));
    return all;
  }

  // Of the tile's rows and of a block's vectors, which begin at `other` and of which there are
  // `count`: what lies behind is the last of them.
  Products products(const Vectors& mine, const Firsts& firsts, const Vectors& others, Value other,
                    Value count) {
    const Vars sums = zeros(kRowsOfLane * kPlaces);
    const int64_t of_block = kDeep * kPitchOfRows;
    std::array<Value, kBlock / kDown> block;
    for (size_t j = 0; j < block.size(); j++)
      block[j] = other + min(y_ + static_cast<int64_t>(j) * kDown, count - 1) * others.row;
    b_.for_(whole(0), whole(mine.length), kDeep, [&](Value first) {
      const Value d = first + x_;
      for (size_t j = 0; j < firsts.size(); j++)
        b_.store(strip_, x_ * kPitchOfRows + y_ + static_cast<int64_t>(j) * kDown,
                 feature(mine, firsts[j], d));
      for (size_t j = 0; j < block.size(); j++)
        b_.store(strip_, x_ * kPitchOfBlock + y_ + (of_block + static_cast<int64_t>(j) * kDown),
                 feature(others, block[j], d));
      b_.barrier();
      b_.for_(whole(0), whole(kDeep), 1, [&](Value p) {
        std::vector<Value> u, v;
        for (int64_t i = 0; i < kRowsOfLane; i++)
          u.push_back(b_.load(strip_, p * kPitchOfRows + row_of_lane(i)));
        for (int64_t j = 0; j < kPlaces; j++)
          v.push_back(b_.load(strip_, p * kPitchOfBlock + (place_of_lane(j) + of_block)));
        for (size_t i = 0; i < u.size(); i++)
          for (size_t j = 0; j < v.size(); j++) {
            const Var& sum = sums[i * v.size() + j];
            b_.set(sum, fma(u[i], v[j], b_.get(sum)));
          }
      });
      b_.barrier();
    });
    Products all;
    for (size_t i = 0; i < all.size(); i++)
      for (size_t j = 0; j < all[i].size(); j++) all[i][j] = b_.get(sums[i * kPlaces + j]);
    return all;
  }

  // Weights of the lane's products; none behind the end of the block.
  template <class Weight>
  void weigh(Value count, const Weight& weight, Value behind) {
    for (int64_t i = 0; i < kRowsOfLane; i++)
      for (int64_t j = 0; j < kPlaces; j++) {
        const Value place = place_of_lane(j);
        b_.store(
            weights_, row_of_lane(i) * kPitchOfBlock + place,
            select(place < count, weight(static_cast<size_t>(i), static_cast<size_t>(j)), behind));
      }
  }

  // sums += the block's vectors, from `other` on, by their weights; with `totals`, these, too.
  void accumulate(const Vars& sums, const Vectors& x, Value other, Value count,
                  const Vars* totals = nullptr) {
    const int64_t columns = columns_of(x.length), pitch = columns * kAcross;
    const auto deep = static_cast<int64_t>(
        std::bit_floor(static_cast<uint64_t>(std::min(kBlock, kStrip / pitch))));
    b_.for_(whole(0), whole(kBlock), static_cast<uint64_t>(deep), [&](Value begin) {
      const int64_t elements = deep * pitch;
      for (int64_t e = 0; e < elements; e += kLanesOfTile) {
        const Value at = lane_ + e, k = begin + at / pitch, d = at % pitch;
        const auto bring = [&] {
          const Value value = feature(x, other + min(k, count - 1) * x.row, d);
          b_.store(strip_, at, select(k < count, value, 0));
        };
        if (e + kLanesOfTile <= elements) bring();
        else b_.if_(at < elements, bring);
      }
      b_.barrier();
      b_.for_(whole(0), whole(deep), 1, [&](Value k) {
        std::vector<Value> w;
        for (int64_t i = 0; i < kRowsOfLane; i++) {
          w.push_back(b_.load(weights_, row_of_lane(i) * kPitchOfBlock + (begin + k)));
          if (totals == nullptr) continue;
          const Var& total = (*totals)[static_cast<size_t>(i)];
          b_.set(total, b_.get(total) + w.back());
        }
        for (int64_t c = 0; c < columns; c++) {
          const Value v = b_.load(strip_, k * pitch + (x_ + c * kAcross));
          for (size_t i = 0; i < w.size(); i++) {
            const Var& sum = sums[i * static_cast<size_t>(columns) + static_cast<size_t>(c)];
            b_.set(sum, fma(w[i], v, b_.get(sum)));
          }
        }
      });
      b_.barrier();
    });
  }
  template <class Each>
  void blocks(const Range& range, const Each& each) {
    b_.for_(range.begin, range.end, kBlock,
            [&](Value begin) { each(begin, min(range.end - begin, kBlock)); });
  }

  // The queries of a lane's rows.
  using RowsOfLane = std::array<Row, kRowsOfLane>;
  RowsOfLane rows() {
    RowsOfLane all;
    for (size_t i = 0; i < all.size(); i++)
      all[i] = row(key_head_, first_row_ + row_of_lane(static_cast<int64_t>(i)));
    return all;
  }
  // Calls for each of the lane's sums: row and feature.
  template <class Each>
  void each_sum(const Vars& sums, int64_t features, const Each& each) {
    const int64_t columns = columns_of(features);
    for (int64_t i = 0; i < kRowsOfLane; i++)
      for (int64_t c = 0; c < columns; c++) {
        const Value d = x_ + c * kAcross;
        const Value sum = b_.get(sums[static_cast<size_t>(i * columns + c)]);
        const auto put = [&] { each(static_cast<size_t>(i), d, sum); };
        if ((c + 1) * kAcross <= features) put();
        else b_.if_(d < features, put);
      }
  }
  Vars sums_of(int64_t features) { return zeros(kRowsOfLane * columns_of(features)); }

  // --- forward
  void forward() {
    const RowsOfLane r = rows();
    const Firsts firsts = of_queries(q_);
    const Vars sums = sums_of(key_.value_features), totals = zeros(kRowsOfLane);
    const Var largest = b_.var(never());  // of the row that the lane makes shares of
    Range keys = keys_of(queries_of_rows(first_row_, kRows));
    if (key_.split) keys = within_part(keys, b_.group_id(2));
    blocks(keys, [&](Value begin, Value count) {
      const Products dots = products(q_, firsts, k_, k_.first(batch_, key_head_, begin), count);
      weigh(
          count,
          [&](size_t i, size_t j) {
            const Value key = begin + min(place_of_lane(static_cast<int64_t>(j)), count - 1);
            return score(dots[i][j], {batch_, r[i].head, r[i].query, key}).seen;
          },
          never());
      b_.barrier();
      make_shares(largest);
      b_.barrier();
      for (size_t i = 0; i < r.size(); i++) {
        const Value factor = b_.load(factors_, row_of_lane(static_cast<int64_t>(i)));
        b_.set(totals[i], b_.get(totals[i]) * factor);
        const auto columns = static_cast<size_t>(columns_of(key_.value_features));
        for (size_t c = 0; c < columns; c++) {
          const Var& sum = sums[i * columns + c];
          b_.set(sum, b_.get(sum) * factor);
        }
      }
      accumulate(sums, v_, v_.first(batch_, key_head_, begin), count, &totals);
    });
    b_.if_(lane_ % kLanesOfRow == 0,
           [&] { b_.store(factors_, lane_ / kLanesOfRow, b_.get(largest)); });
    b_.barrier();
    if (key_.split) return store_parts(r, sums, totals);
    std::array<Epilogue, kRowsOfLane> epilogues;
    for (size_t i = 0; i < r.size(); i++)
      epilogues[i] = epilogue(b_.load(factors_, row_of_lane(static_cast<int64_t>(i))),
                              b_.get(totals[i]), r[i].head);
    each_sum(sums, key_.value_features, [&](size_t i, Value d, Value sum) {
      b_.if_(r[i].inside, [&] {
        store_result(row_number(batch_, r[i].head, r[i].query), d, sum, epilogues[i]);
      });
    });
    if (!key_.with_logs) return;
    for (size_t i = 0; i < r.size(); i++)
      b_.if_(r[i].inside & (x_ == 0),
             [&] { store_log(row_number(batch_, r[i].head, r[i].query), epilogues[i]); });
  }

  void store_parts(const RowsOfLane& r, const Vars& sums, const Vars& totals) {
    const Value first = b_.group_id(2) * batches_ * heads_ * queries_;
    const auto at = [&](size_t i) { return first + row_number(batch_, r[i].head, r[i].query); };
    each_sum(sums, key_.value_features, [&](size_t i, Value d, Value sum) {
      b_.if_(r[i].inside, [&] { store_part(at(i), d, sum); });
    });
    for (size_t i = 0; i < r.size(); i++)
      b_.if_(r[i].inside & (x_ == 0), [&] {
        store_part_state(at(i), b_.load(factors_, row_of_lane(static_cast<int64_t>(i))),
                         b_.get(totals[i]));
      });
  }

  // Scores become shares of the largest so far, row by row; `factors_` says what the sums of a row
  // become by that.
  void make_shares(const Var& largest) {
    const Value mine = lane_ / kLanesOfRow, part = lane_ % kLanesOfRow;
    const auto at = [&](int64_t n) { return mine * kPitchOfBlock + (part + n * kLanesOfRow); };
    std::vector<Value> scores;
    for (int64_t n = 0; n < kBlock / kLanesOfRow; n++) scores.push_back(b_.load(weights_, at(n)));
    Value most = b_.get(largest);
    for (const Value& s : scores) most = max(most, s);
    b_.store(partial_, lane_, most);
    b_.barrier();
    for (int64_t n = 0; n < kLanesOfRow; n++)
      most = max(most, b_.load(partial_, mine * kLanesOfRow + n));
    const Value base = base_of(most);
    b_.if_(part == 0, [&] { b_.store(factors_, mine, exp(b_.get(largest) - base)); });
    b_.set(largest, most);
    for (size_t n = 0; n < scores.size(); n++)
      b_.store(weights_, at(static_cast<int64_t>(n)), exp(scores[n] - base));
  }

  // --- backward
  void query_change() {
    const RowsOfLane r = rows();
    const Firsts firsts = of_queries(q_), changes = of_queries(g_);
    std::array<Value, kRowsOfLane> at, logs, deltas;
    for (size_t i = 0; i < r.size(); i++) {
      at[i] = row_number(batch_, r[i].head, r[i].query);
      logs[i] = log_of(at[i]);
      deltas[i] = b_.load(deltas_, at[i]);
    }
    const Vars sums = sums_of(key_.features);
    blocks(keys_of(queries_of_rows(first_row_, kRows)), [&](Value begin, Value count) {
      const Value keys = k_.first(batch_, key_head_, begin);
      const Products dots = products(q_, firsts, k_, keys, count);
      const Products of_changes =
          products(g_, changes, v_, v_.first(batch_, key_head_, begin), count);
      weigh(
          count,
          [&](size_t i, size_t j) {
            const Value key = begin + min(place_of_lane(static_cast<int64_t>(j)), count - 1);
            return change(dots[i][j], of_changes[i][j], {batch_, r[i].head, r[i].query, key},
                          logs[i], deltas[i])
                .of_dot;
          },
          real(0));
      accumulate(sums, k_, keys, count);
    });
    each_sum(sums, key_.features, [&](size_t i, Value d, Value sum) {
      b_.if_(r[i].inside,
             [&] { b_.store(result_, at[i] * int64_t{key_.features} + d, sum * scale_); });
    });
  }

  void key_change() {
    const Firsts firsts = of_keys(k_), values = of_keys(v_);
    std::array<Value, kRowsOfLane> mine, keys;
    for (size_t i = 0; i < keys.size(); i++) {
      mine[i] = first_row_ + row_of_lane(static_cast<int64_t>(i));
      keys[i] = min(mine[i], keys_ - 1);
    }
    const Vars sums = sums_of(key_.features), value_sums = sums_of(key_.value_features);
    const Range queries = queries_of({first_row_, min(first_row_ + kRows, keys_)});
    b_.for_(whole(0), group_, 1, [&](Value nth) {
      const Value head = key_head_ * group_ + nth;
      blocks(queries, [&](Value begin, Value count) {
        const Value of_queries = q_.first(batch_, head, begin),
                    of_changes = g_.first(batch_, head, begin);
        const Products dots = products(k_, firsts, q_, of_queries, count);
        const Products changed = products(v_, values, g_, of_changes, count);
        std::array<std::array<Change, kPlaces>, kRowsOfLane> all;
        for (size_t j = 0; j < kPlaces; j++) {
          const Value query = begin + min(place_of_lane(static_cast<int64_t>(j)), count - 1);
          const Value row = row_number(batch_, head, query), log = log_of(row),
                      delta = b_.load(deltas_, row);
          for (size_t i = 0; i < keys.size(); i++)
            all[i][j] =
                change(dots[i][j], changed[i][j], {batch_, head, query, keys[i]}, log, delta);
        }
        weigh(
            count, [&](size_t i, size_t j) { return all[i][j].share; }, real(0));
        accumulate(value_sums, g_, of_changes, count);
        weigh(
            count, [&](size_t i, size_t j) { return all[i][j].of_dot; }, real(0));
        accumulate(sums, q_, of_queries, count);
      });
    });
    const Value first = (batch_ * key_heads_ + key_head_) * keys_;
    each_sum(sums, key_.features, [&](size_t i, Value d, Value sum) {
      b_.if_(mine[i] < keys_, [&] {
        b_.store(result_, (first + mine[i]) * int64_t{key_.features} + d, sum * scale_);
      });
    });
    each_sum(value_sums, key_.value_features, [&](size_t i, Value d, Value sum) {
      b_.if_(mine[i] < keys_,
             [&] { b_.store(second_, (first + mine[i]) * int64_t{key_.value_features} + d, sum); });
    });
  }

  Shared strip_{}, weights_{}, partial_{}, factors_{};
  Value lane_, x_, y_, first_row_, batch_, key_head_;
};

}  // namespace

program::Program tiles_program(const Key& key) { return Tiles(key).write(); }

int64_t shared_of(DType wide) {
  const int64_t numbers = kStrip + kRows * kPitchOfBlock + kRows * (kLanesOfRow + 1);
  return numbers * static_cast<int64_t>(size_of(wide));
}

}  // namespace hologram::graph::attention
