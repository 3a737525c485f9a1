#include "llm/attention_programs.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <vector>

#include "llm/attention.hpp"
#include "llm/programs.hpp"

namespace hologram::llm {
namespace {

using program::Access;
using program::Buf;
using program::Builder;
using program::Combine;
using program::Shared;
using program::Value;
using program::Var;

static_assert(kTurnLanes == kPage, "a workgroup scores a page");
constexpr uint32_t kUnrolled = 32;
constexpr double kLeast = -3.0e38;  // below every score

class Maker {
 public:
  Maker(const char* name, const AttentionKey& key, uint32_t lanes)
      : key_(key), b_(name, {lanes}, key.index) {}

  // A lane takes two elements of some heads of a query, a key or a value.
  Program turn() {
    const Buf queries = in("queries"), keys = in("keys"), values = in("values");
    const Buf cosines = in("cosines"), sines = in("sines");
    places_ = b_.buffer("places", DType::I32, Access::In);
    const Buf turned = b_.buffer("turned", DType::F32, Access::Out);
    const Buf key_cache = b_.buffer("key_cache", key_.cache, Access::InOut);
    const Buf value_cache = b_.buffer("value_cache", key_.cache, Access::InOut);
    capacity_ = b_.scalar("capacity", key_.index);
    m_ = b_.scalar("m", key_.index);
    // Where the rows of queries, keys and values lie: they may be parts of one tensor.
    const auto rows = [&](const std::string& name) {
      return Rows{b_.scalar(name + "_offset", key_.index), b_.scalar(name + "_step", key_.index)};
    };
    const Rows query_rows = rows("query"), key_rows = rows("key"), value_rows = rows("value");
    const TurnedHeads at_once(key_);
    const int64_t key_length = key_.key_length, value_length = key_.value_length;
    const int64_t of_keys = key_length / 2, of_values = value_length / 2;
    // Queries and values as they lie, but keys of neighbouring tokens together, as in the cache.
    const Value all_queries = m_ * at_once.query_lanes, all_keys = m_ * at_once.key_lanes;
    const Value all = all_queries + all_keys + m_ * at_once.value_lanes;
    const Value lane = b_.global_id(0);
    b_.if_(lane < all, [&] {
      const Value is_query = lane < all_queries, is_other = !is_query;
      const Value is_key = is_other & (lane < all_queries + all_keys),
                  is_value = is_other & !is_key;
      const Value of_key = lane - all_queries, of_value = of_key - all_keys;
      const Value token = select(is_query, lane / at_once.query_lanes,
                                 select(is_key, of_key % m_, of_value / at_once.value_lanes));
      // Rows that only fill up a step have no position, and leave nothing in the cache.
      const Value place_of = position(token), at = max(place_of, 0), stays = place_of >= 0;
      const Value page = page_of(token, at / kPage) * int64_t{key_.key_heads};
      const Value inside = at % kPage, angle = first_angle(token) + at;
      b_.if_(is_query, [&] {
        const Value e = lane % at_once.query_lanes, head = e / of_keys * at_once.queries;
        const Value first = (token * int64_t{key_.heads} + head) * key_length;
        pairs(queries, query_rows.at(token) + head * key_length, at_once.queries, e % of_keys,
              angle, cosines, sines, [&](int64_t i, Value place, Value number) {
                b_.store(turned, first + i * key_length + place, number);
              });
      });
      b_.if_(stays & is_key, [&] {
        const Value k = of_key / m_, head = k / of_keys * at_once.keys;
        pairs(keys, key_rows.at(token) + head * key_length, at_once.keys, k % of_keys, angle,
              cosines, sines, [&](int64_t i, Value place, Value number) {
                b_.store(key_cache, ((page + head + i) * key_length + place) * kPage + inside,
                         number);
              });
      });
      b_.if_(stays & is_value, [&] {
        const Value k = of_value % at_once.value_lanes, head = k / of_values * at_once.keys;
        for (int64_t i = 0; i < at_once.keys; i++)
          for (int64_t j = 0; j < 2; j++) {
            const Value place = k % of_values * 2 + j;
            b_.store(value_cache, ((page + head + i) * kPage + inside) * value_length + place,
                     b_.load(values, value_rows.at(token) + (head + i) * value_length + place));
          }
      });
    });
    return finish_trusted(b_);
  }

  // A lane copies an element of what a part of one sequence sees, [key heads, positions, length].
  Program read(bool of_keys) {
    const Buf cache = b_.buffer("cache", key_.cache, Access::In);
    places_ = b_.buffer("places", DType::I32, Access::In);
    const Buf to = b_.buffer("read", key_.read, Access::Out);
    capacity_ = b_.scalar("capacity", key_.index);
    m_ = b_.scalar("m", key_.index);
    const Value positions = b_.scalar("positions", key_.index);
    const Value end = b_.scalar("end", key_.index);
    const int64_t length = of_keys ? key_.key_length : key_.value_length;
    const Value lane = b_.global_id(0), element = lane % length, row = lane / length;
    const Value j = row % positions, head = row / positions;
    b_.if_(head < int64_t{key_.key_heads}, [&] {
      const Value page = page_of(zero(), j / kPage) * int64_t{key_.key_heads} + head;
      const Value inside = j % kPage;
      const Value from = of_keys ? (page * length + element) * kPage + inside
                                 : (page * kPage + inside) * length + element;
      // What is behind the last position may be anything, and 0 times anything is not always 0.
      const Var number = b_.var(b_.constant(DType::F32, 0.0));
      b_.if_(j < end, [&] { b_.set(number, b_.load(cache, from)); });
      b_.store(to, lane, b_.get(number));
    });
    return finish_trusted(b_);
  }

  // Where lanes go in turns, in three programs, none of whose lanes wait for others. Scores lie
  // [capacity, tokens * heads]: a lane takes a position,
  Program score() {
    const Buf turned = in("turned");
    const Buf key_cache = b_.buffer("key_cache", key_.cache, Access::In);
    places_ = b_.buffer("places", DType::I32, Access::In);
    const Buf scores = b_.buffer("scores", DType::F32, Access::Out);
    m_ = b_.group_count(2);
    const Span s = span(b_.group_id(2));
    const Value j = b_.global_id(0), page = page_of(b_.group_id(2), b_.group_id(0));
    b_.if_((j >= s.begin) & (j < s.end), [&] {
      const Value head = b_.group_id(1), row = b_.group_id(2) * int64_t{key_.heads} + head;
      b_.store(scores, j * (m_ * int64_t{key_.heads}) + row,
               scaled(dot(turned, row, key_cache, key_base(page, head) + b_.lane_id(0)), s));
    });
    return finish_trusted(b_);
  }
  // then one takes a head of a token, whose scores become shares, with their sum,
  Program share() {
    places_ = b_.buffer("places", DType::I32, Access::In);
    const Buf scores = b_.buffer("scores", DType::F32, Access::InOut);
    const Buf sums = b_.buffer("sums", DType::F32, Access::Out);
    const Value row = b_.global_id(0);
    m_ = b_.scalar("m", key_.index);
    const Value rows = m_ * int64_t{key_.heads};
    const Span s = span(min(row, rows - 1) / int64_t{key_.heads});
    b_.if_(row < rows, [&] {
      const Var best = b_.var(b_.constant(DType::F32, kLeast));
      b_.for_(s.begin, s.end, 1,
              [&](Value j) { b_.set(best, max(b_.get(best), b_.load(scores, j * rows + row))); });
      const Var sum = b_.var(b_.constant(DType::F32, 0.0));
      b_.for_(s.begin, s.end, 1, [&](Value j) {
        const Value share =
            b_.emit(program::Op::Exp, {b_.load(scores, j * rows + row) - b_.get(best)});
        b_.store(scores, j * rows + row, share);
        b_.set(sum, b_.get(sum) + share);
      });
      b_.store(sums, row, b_.get(sum));
    });
    return finish_trusted(b_);
  }
  // and at last an element of the result.
  Program weigh() {
    const Buf scores = in("scores"), sums = in("sums");
    const Buf value_cache = b_.buffer("value_cache", key_.cache, Access::In);
    places_ = b_.buffer("places", DType::I32, Access::In);
    const Buf y = b_.buffer("y", DType::F32, Access::Out);
    m_ = b_.group_count(2);
    const Value token = b_.group_id(2), element = b_.global_id(0), head = b_.group_id(1);
    const Span s = span(token);
    const Value row = token * int64_t{key_.heads} + head, rows = m_ * int64_t{key_.heads};
    const int64_t length = key_.value_length;
    b_.if_(element < length, [&] {
      const Var sum = b_.var(b_.constant(DType::F32, 0.0));
      b_.for_(s.begin / kPage, (s.end + (kPage - 1)) / kPage, 1, [&](Value p) {
        const Value begin = p * kPage, of_values = value_base(page_of(token, p), head) - begin;
        b_.for_(max(s.begin, begin), min(s.end, begin + kPage), 1, [&](Value j) {
          const Value value = b_.load(value_cache, (of_values + j) * length + element);
          b_.set(sum, mad(b_.load(scores, j * rows + row), value, b_.get(sum)));
        });
      });
      b_.store(y, row * length + element, b_.get(sum) / b_.load(sums, row));
    });
    return finish_trusted(b_);
  }

  // A workgroup takes a head of a token: lanes take positions for the scores, elements for the
  // sums.
  Program attend() {
    const Buf turned = in("turned");
    const Buf key_cache = b_.buffer("key_cache", key_.cache, Access::In);
    const Buf value_cache = b_.buffer("value_cache", key_.cache, Access::In);
    places_ = b_.buffer("places", DType::I32, Access::In);
    const Buf scores = b_.buffer("scores", DType::F32, Access::InOut);
    const Buf y = b_.buffer("y", DType::F32, Access::Out);
    const Value head = b_.group_id(0), token = b_.group_id(1), lane = b_.lane_id(0);
    m_ = b_.group_count(1);
    const Span s = span(token);
    const Value row = token * int64_t{key_.heads} + head;
    const Value begin = s.begin, end = s.end, of_scores = row * capacity_;

    const Var best = b_.var(b_.constant(DType::F32, kLeast));
    b_.for_(begin + lane, end, key_.lanes, [&](Value j) {
      const Value base = key_base(page_of(token, j / kPage), head) + j % kPage;
      const Value score = scaled(dot(turned, row, key_cache, base), s);
      b_.store(scores, of_scores + j, score);
      b_.set(best, max(b_.get(best), score));
    });
    const Value highest = b_.group_reduce(Combine::Max, b_.get(best));
    const Var sum = b_.var(b_.constant(DType::F32, 0.0));
    b_.for_(begin + lane, end, key_.lanes, [&](Value j) {
      const Value share = b_.emit(program::Op::Exp, {b_.load(scores, of_scores + j) - highest});
      b_.store(scores, of_scores + j, share);
      b_.set(sum, b_.get(sum) + share);
    });
    const Value total = b_.group_reduce(Combine::Add, b_.get(sum));
    b_.barrier();
    weigh_in_parts([&](Value j) { return b_.load(scores, of_scores + j); }, value_cache, token,
                   head, s,
                   [&](Value element, Value number) {
                     b_.store(y, row * int64_t{key_.value_length} + element, number / total);
                   });
    return finish_trusted(b_);
  }

  // A workgroup takes a head of a token and a part of the positions: sums of values, and beside
  // them the largest score and the sum of shares, by which parts are put together.
  Program attend_part() {
    const Buf turned = in("turned");
    const Buf key_cache = b_.buffer("key_cache", key_.cache, Access::In);
    const Buf value_cache = b_.buffer("value_cache", key_.cache, Access::In);
    places_ = b_.buffer("places", DType::I32, Access::In);
    const Buf sums = b_.buffer("sums", DType::F32, Access::Out);
    const Buf ends = b_.buffer("ends", DType::F32, Access::Out);
    const Value head = b_.group_id(0), part = b_.group_id(1), token = b_.group_id(2);
    const Value lane = b_.lane_id(0);
    m_ = b_.group_count(2);
    Span s = span(token);
    const int64_t length = int64_t{key_.part_pages} * kPage;
    const Value row = token * int64_t{key_.heads} + head, from = part * length;
    const Value of_part = row * b_.group_count(1) + part;
    s.begin = max(s.begin, from);
    s.end = min(s.end, from + length);

    // Most parts of a long context are empty where a text is short.
    const Value none = b_.constant(DType::F32, 0.0);
    b_.if_((s.begin >= s.end) & (lane < int64_t{key_.value_length}),
           [&] { b_.store(sums, of_part * int64_t{key_.value_length} + lane, none); });
    const Shared shares = b_.shared("shares", DType::F32, static_cast<uint32_t>(length));
    const Var highest = b_.var(b_.constant(DType::F32, kLeast)), total = b_.var(none);
    b_.if_(b_.group_uniform(s.begin < s.end), [&] {
      const Var best = b_.var(b_.constant(DType::F32, kLeast));
      b_.for_(s.begin + lane, s.end, key_.lanes, [&](Value j) {
        const Value base = key_base(page_of(token, j / kPage), head) + j % kPage;
        const Value score = scaled(dot(turned, row, key_cache, base), s);
        b_.store(shares, j - from, score);
        b_.set(best, max(b_.get(best), score));
      });
      b_.set(highest, b_.group_reduce(Combine::Max, b_.get(best)));
      const Var sum = b_.var(none);
      b_.for_(s.begin + lane, s.end, key_.lanes, [&](Value j) {
        const Value share =
            b_.emit(program::Op::Exp, {b_.load(shares, j - from) - b_.get(highest)});
        b_.store(shares, j - from, share);
        b_.set(sum, b_.get(sum) + share);
      });
      b_.set(total, b_.group_reduce(Combine::Add, b_.get(sum)));
      b_.barrier();
      weigh_in_parts([&](Value j) { return b_.load(shares, clamp_to(j - from, length)); },
                     value_cache, token, head, s,
                     [&](Value element, Value number) {
                       b_.store(sums, of_part * int64_t{key_.value_length} + element, number);
                     });
    });
    b_.if_(lane == 0, [&] {
      b_.store(ends, of_part * 2, b_.get(highest));
      b_.store(ends, of_part * 2 + 1, b_.get(total));
    });
    return finish_trusted(b_);
  }
  // A lane takes an element of the result.
  Program combine() {
    const Buf sums = in("sums"), ends = in("ends");
    const Buf y = b_.buffer("y", DType::F32, Access::Out);
    const Value rows = b_.scalar("rows", key_.index);
    const auto parts = static_cast<int64_t>(key_.parts);
    const Value at = b_.global_id(0), length = b_.constant(key_.index, int64_t{key_.value_length});
    b_.if_(at < rows * length, [&] {
      const Value first = at / length * parts, element = at % length;
      // Several under way together.
      const auto at_once = static_cast<uint64_t>(std::min(parts, kPartsAtOnce));
      const auto each = [&](const std::function<void(Value)>& body) {
        b_.for_(zero(), b_.constant(key_.index, parts), at_once, [&](Value p) {
          for (uint64_t k = 0; k < at_once; k++) body(first + p + static_cast<int64_t>(k));
        });
      };
      const Var highest = b_.var(b_.constant(DType::F32, kLeast));
      each([&](Value part) { b_.set(highest, max(b_.get(highest), b_.load(ends, part * 2))); });
      const Var sum = b_.var(b_.constant(DType::F32, 0.0));
      const Var total = b_.var(b_.constant(DType::F32, 0.0));
      each([&](Value part) {
        const Value share = b_.emit(program::Op::Exp, {b_.load(ends, part * 2) - b_.get(highest)});
        b_.set(total, mad(share, b_.load(ends, part * 2 + 1), b_.get(total)));
        b_.set(sum, mad(share, b_.load(sums, part * length + element), b_.get(sum)));
      });
      b_.store(y, at, b_.get(sum) / b_.get(total));
    });
    return finish_trusted(b_);
  }

  Program read_keys() { return read(true); }
  Program read_values() { return read(false); }

 private:
  struct Rows {
    Value offset, step;
    Value at(Value row) const { return offset + row * step; }
  };
  Value position(Value token) { return b_.cast(b_.load(places_, token), key_.index); }
  // The number of a page of the token's sequence in the cache.
  Value page_of(Value token, Value page) {
    const Value sequence = b_.cast(b_.load(places_, m_ + token), key_.index);
    const Value at = m_ * 2 + sequence * (capacity_ / kPage + 1) + page;
    return b_.cast(b_.load(places_, at), key_.index);
  }
  // Where the angles of the token's sequence begin: behind its pages.
  Value first_angle(Value token) { return page_of(token, capacity_ / kPage); }
  // Where a page's keys begin, and the row of its values.
  Value key_base(Value page, Value head) { return key_row(page, head) * (kPage * key_.key_length); }
  Value value_base(Value page, Value head) { return key_row(page, head) * kPage; }
  Value key_row(Value page, Value head) {
    return page * int64_t{key_.key_heads} + head / int64_t{key_.heads / key_.key_heads};
  }

  // The positions that a token sees, and the arguments that all programs behind the first have.
  struct Span {
    Value begin, end, scale, softcap;
  };
  Span span(Value token) {
    Span s;
    capacity_ = b_.scalar("capacity", key_.index);
    const Value window = b_.scalar("window", key_.index);
    s.scale = b_.scalar("scale", DType::F32);
    s.softcap = b_.scalar("softcap", DType::F32);
    s.end = min(max(position(token) + 1, 1), capacity_);
    s.begin = key_.window ? max(s.end - window, 0) : zero();
    return s;
  }
  Value scaled(Value score, const Span& s) {
    score = score * s.scale;
    return key_.softcap ? b_.emit(program::Op::Tanh, {score / s.softcap}) * s.softcap : score;
  }
  Buf in(const char* name) { return b_.buffer(name, DType::F32, Access::In); }
  Value clamp_to(Value index, int64_t length) { return min(max(index, 0), length - 1); }
  Value zero() { return b_.constant(key_.index, int64_t{0}); }

  // Two elements of each of some heads, the first of which begins at `first`, turned.
  template <class Put>
  void pairs(Buf from, Value first, int64_t heads, Value p, Value angle, Buf cosines, Buf sines,
             const Put& put) {
    const int64_t turning =
        key_.rope == static_cast<uint32_t>(RopeKind::None) ? 0 : key_.rotated / 2;
    const bool halves = key_.rope == static_cast<uint32_t>(RopeKind::Halves);
    // All are under way before one is needed.
    const auto loaded = [&](Value place) {
      std::vector<Value> all;
      for (int64_t i = 0; i < heads; i++)
        all.push_back(b_.load(from, first + i * int64_t{key_.key_length} + place));
      return all;
    };
    const auto turned = [&] {
      const Value a = halves ? p : p * 2, b = halves ? p + turning : p * 2 + 1;
      const Value c = b_.load(cosines, angle * turning + p);
      const Value s = b_.load(sines, angle * turning + p);
      const std::vector<Value> x = loaded(a), y = loaded(b);
      for (int64_t i = 0; i < heads; i++) {
        const auto h = static_cast<size_t>(i);
        put(i, a, x[h] * c - y[h] * s);
        put(i, b, x[h] * s + y[h] * c);
      }
    };
    const auto kept = [&] {
      for (int64_t j = 0; j < 2; j++) {
        const std::vector<Value> x = loaded(p * 2 + j);
        for (int64_t i = 0; i < heads; i++) put(i, p * 2 + j, x[static_cast<size_t>(i)]);
      }
    };
    if (turning == 0) return kept();
    if (turning * 2 == key_.key_length) return turned();
    b_.if_(p < turning, turned, kept);
  }

  // Of row `row` of the queries and the key from `base` on.
  Value dot(Buf query, Value row, Buf keys, Value base) {
    const Value first = row * int64_t{key_.key_length};
    const Var sum = b_.var(b_.constant(DType::F32, 0.0));
    const uint32_t length = key_.key_length;
    const uint32_t at_once = length % kUnrolled == 0 ? kUnrolled : length % 8 == 0 ? 8 : 1;
    b_.for_(zero(), b_.constant(key_.index, int64_t{key_.key_length}), at_once, [&](Value d) {
      Value s = b_.get(sum);
      for (int64_t k = 0; k < at_once; k++)
        s = mad(b_.load(query, first + d + k), b_.load(keys, base + (d + k) * kPage), s);
      b_.set(sum, s);
    });
    return b_.get(sum);
  }

  // Sums of values: as many lanes as a value has elements take each of several parts of the
  // positions. The rounds of a page are known, so that their loads are under way at once.
  template <class Share, class Put>
  void weigh_in_parts(const Share& share_of, Buf values, Value token, Value head, const Span& s,
                      const Put& put) {
    const int64_t length = key_.value_length, parts = key_.lanes / length;
    const Value lane = b_.lane_id(0), element = lane % length, part = lane / length;
    const Var sum = b_.var(b_.constant(DType::F32, 0.0));
    b_.if_(part < parts, [&] {
      b_.for_(s.begin / kPage, (s.end + (kPage - 1)) / kPage, 1, [&](Value page) {
        const Value first = page * kPage, row = value_base(page_of(token, page), head);
        b_.for_(zero(), b_.constant(key_.index, kPage), static_cast<uint64_t>(parts), [&](Value k) {
          const Value inside = min(k + part, kPage - 1), j = first + inside;
          const Value share = share_of(j);
          const Value value = b_.load(values, (row + inside) * length + element);
          const Value seen = (k + part < kPage) & (j >= s.begin) & (j < s.end);
          b_.set(sum, select(seen, mad(share, value, b_.get(sum)), b_.get(sum)));
        });
      });
    });
    if (parts == 1) {
      b_.if_(lane < length, [&] { put(element, b_.get(sum)); });
      return;
    }
    const Shared kept = b_.shared("kept", DType::F32, key_.lanes);
    b_.store(kept, lane, b_.get(sum));
    b_.barrier();
    b_.if_(lane < length, [&] {
      Value all = b_.load(kept, lane);
      for (int64_t p = 1; p < parts; p++) all = all + b_.load(kept, lane + p * length);
      put(lane, all);
    });
  }

  AttentionKey key_;
  Builder b_;
  Buf places_{};
  Value m_, capacity_;
};

struct StepRow {
  const char* name;
  Program (Maker::*make)();
  bool by_key;  // a group has as many lanes as the key says, or kTurnLanes
};
// In the order of AttentionStep.
constexpr StepRow kSteps[] = {
    {"attention_turn", &Maker::turn, false},          {"attention_keys", &Maker::read_keys, false},
    {"attention_values", &Maker::read_values, false}, {"attention", &Maker::attend, true},
    {"attention_part", &Maker::attend_part, true},    {"attention_combine", &Maker::combine, false},
    {"attention_score", &Maker::score, false},        {"attention_share", &Maker::share, false},
    {"attention_weigh", &Maker::weigh, false},
};

}  // namespace

TurnedHeads::TurnedHeads(const AttentionKey& key)
    : queries(std::gcd(key.heads, key.turned)),
      keys(std::gcd(key.key_heads, key.turned)),
      query_lanes(key.heads / queries * (key.key_length / 2)),
      key_lanes(key.key_heads / keys * (key.key_length / 2)),
      value_lanes(key.key_heads / keys * (key.value_length / 2)) {}

std::string_view name_of(AttentionStep step) { return kSteps[static_cast<size_t>(step)].name; }

Program attention_program(AttentionStep step, const AttentionKey& key) {
  const StepRow& row = kSteps[static_cast<size_t>(step)];
  return (Maker(row.name, key, row.by_key ? key.lanes : kTurnLanes).*row.make)();
}

}  // namespace hologram::llm
