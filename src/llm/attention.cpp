#include "llm/attention.hpp"

#include <algorithm>
#include <bit>
#include <vector>

#include "graph/box.hpp"
#include "graph/context.hpp"
#include "graph/layout.hpp"
#include "graph/work.hpp"
#include "hologram/ops.hpp"
#include "llm/programs.hpp"
#include "tensor/access.hpp"

namespace hologram::llm {
namespace {

using graph::Context;
using graph::Node;
using graph::Storage;
using program::Access;
using program::Buf;
using program::Builder;
using program::Combine;
using program::Shared;
using program::Value;
using program::Var;

constexpr uint32_t kTurnLanes = 64;
static_assert(kTurnLanes == kPage, "a workgroup scores a page");
constexpr uint32_t kUnrolled = 8;

// Everything that the programs are made for; counts of tokens and places are arguments.
struct Key {
  uint32_t heads, key_heads, key_length, value_length, rotated;
  uint32_t rope, softcap, window;  // whether there are such
  uint32_t lanes;
  DType cache, index;
};

class Maker {
 public:
  Maker(const char* name, const Key& key, uint32_t lanes)
      : key_(key), b_(name, {lanes}, key.index) {}

  // A lane takes two elements of a query, a key or a value.
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
    const int64_t heads = key_.heads, key_heads = key_.key_heads;
    const int64_t of_keys = key_.key_length / 2, of_values = key_.value_length / 2;
    const int64_t each = (heads + key_heads) * of_keys + key_heads * of_values;
    const Value lane = b_.global_id(0), token = lane / each, e = lane % each;
    b_.if_(token < m_, [&] {
      // Rows that only fill up a step have no position, and leave nothing in the cache.
      const Value place_of = position(token), at = max(place_of, 0), stays = place_of >= 0;
      const Value page = page_of(token, at / kPage) * int64_t{key_.key_heads};
      const Value inside = at % kPage, angle = first_angle(token) + at;
      b_.if_(e < heads * of_keys, [&] {
        const Value head = e / of_keys * int64_t{key_.key_length};
        const Value first = token * heads * int64_t{key_.key_length} + head;
        pair(queries, query_rows.at(token) + head, e % of_keys, angle, cosines, sines,
             [&](Value place, Value number) { b_.store(turned, first + place, number); });
      });
      b_.if_(stays & (e >= heads * of_keys) & (e < (heads + key_heads) * of_keys), [&] {
        const Value k = e - heads * of_keys, head = k / of_keys;
        const Value first = key_rows.at(token) + head * int64_t{key_.key_length};
        pair(keys, first, k % of_keys, angle, cosines, sines, [&](Value place, Value number) {
          b_.store(key_cache, ((page + head) * int64_t{key_.key_length} + place) * kPage + inside,
                   number);
        });
      });
      b_.if_(stays & (e >= (heads + key_heads) * of_keys), [&] {
        const Value k = e - (heads + key_heads) * of_keys, head = k / of_values;
        for (int64_t i = 0; i < 2; i++) {
          const Value place = k % of_values * 2 + i;
          const Value from = value_rows.at(token) + head * int64_t{key_.value_length} + place;
          b_.store(value_cache,
                   ((page + head) * kPage + inside) * int64_t{key_.value_length} + place,
                   b_.load(values, from));
        }
      });
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
      const Var best = b_.var(b_.constant(DType::F32, -3.0e38));
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

    const Var best = b_.var(b_.constant(DType::F32, -3.0e38));
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
    const auto value_row = [&](Value j) {
      return value_base(page_of(token, j / kPage), head) + j % kPage;
    };
    weigh_in_parts(scores, of_scores, value_cache, value_row, s, total,
                   [&](Value element, Value number) {
                     b_.store(y, row * int64_t{key_.value_length} + element, number);
                   });
    return finish_trusted(b_);
  }

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
  Value zero() { return b_.constant(key_.index, int64_t{0}); }

  // Two elements of the vector from `first` on, turned.
  template <class Put>
  void pair(Buf from, Value first, Value p, Value angle, Buf cosines, Buf sines, const Put& put) {
    const int64_t turning =
        key_.rope == static_cast<uint32_t>(RopeKind::None) ? 0 : key_.rotated / 2;
    const bool halves = key_.rope == static_cast<uint32_t>(RopeKind::Halves);
    const auto turned = [&] {
      const Value a = halves ? p : p * 2, b = halves ? p + turning : p * 2 + 1;
      const Value c = b_.load(cosines, angle * turning + p);
      const Value s = b_.load(sines, angle * turning + p);
      const Value x = b_.load(from, first + a), y = b_.load(from, first + b);
      put(a, x * c - y * s);
      put(b, x * s + y * c);
    };
    const auto kept = [&] {
      for (int64_t i = 0; i < 2; i++) put(p * 2 + i, b_.load(from, first + p * 2 + i));
    };
    if (turning == 0) return kept();
    if (turning * 2 == key_.key_length) return turned();
    b_.if_(p < turning, turned, kept);
  }

  // Of row `row` of the queries and the key from `base` on.
  Value dot(Buf query, Value row, Buf keys, Value base) {
    const Value first = row * int64_t{key_.key_length};
    const Var sum = b_.var(b_.constant(DType::F32, 0.0));
    const uint32_t at_once = key_.key_length % kUnrolled == 0 ? kUnrolled : 1;
    b_.for_(zero(), b_.constant(key_.index, int64_t{key_.key_length}), at_once, [&](Value d) {
      Value s = b_.get(sum);
      for (int64_t k = 0; k < at_once; k++)
        s = mad(b_.load(query, first + d + k), b_.load(keys, base + (d + k) * kPage), s);
      b_.set(sum, s);
    });
    return b_.get(sum);
  }

  // Sums of values: as many lanes as a value has elements take each of several parts of the
  // positions.
  template <class ValueRow, class Put>
  void weigh_in_parts(Buf shares, Value of_shares, Buf values, const ValueRow& value_row,
                      const Span& s, Value total, const Put& put) {
    const int64_t length = key_.value_length, parts = key_.lanes / length;
    const Value lane = b_.lane_id(0), element = lane % length, part = lane / length;
    const Var sum = b_.var(b_.constant(DType::F32, 0.0));
    const auto step = static_cast<uint64_t>(parts);
    b_.if_(part < parts, [&] {
      b_.for_(s.begin + part, s.end, step, [&](Value j) {
        const Value value = b_.load(values, value_row(j) * length + element);
        b_.set(sum, mad(b_.load(shares, of_shares + j), value, b_.get(sum)));
      });
    });
    if (parts == 1) {
      b_.if_(lane < length, [&] { put(element, b_.get(sum) / total); });
      return;
    }
    const Shared kept = b_.shared("kept", DType::F32, key_.lanes);
    b_.store(kept, lane, b_.get(sum));
    b_.barrier();
    b_.if_(lane < length, [&] {
      Value all = b_.load(kept, lane);
      for (int64_t p = 1; p < parts; p++) all = all + b_.load(kept, lane + p * length);
      put(lane, all / total);
    });
  }

  Key key_;
  Builder b_;
  Buf places_{};
  Value m_, capacity_;
};

class AttentionWork : public graph::Work {
 public:
  AttentionWork(const AttentionShape& shape, int64_t m, int64_t capacity)
      : shape_(shape), m_(m), capacity_(capacity) {}
  std::string_view name() const override { return "attention"; }
  std::string done_by(Context& /*context*/, const Node& /*node*/) const override {
    return "by two programs";
  }

  void run(Context& context, const Node& node, const Storage& result) const override {
    const auto at = [&](size_t i) { return node.inputs[i].node->result.where; };
    enum : size_t { Queries, Keys, Values, Cosines, Sines, Places, KeyCache, ValueCache };
    const graph::Node& cache = *node.inputs[KeyCache].node;
    const Key key = key_of(cache.dtype, cache.shape[0]);
    const auto scalar = [&](int64_t n) { return graph::index_bits(key.index, n); };
    const auto bytes = [](int64_t numbers) { return static_cast<uint64_t>(numbers) * 4; };

    const Storage turned = context.allocate(bytes(m_ * shape_.heads * shape_.key_length));
    const hal::Binding to_turn[] = {at(Queries),  at(Keys),     at(Values),
                                    at(Cosines),  at(Sines),    at(Places),
                                    turned.where, at(KeyCache), at(ValueCache)};
    const int64_t pairs = m_ *
                          ((shape_.heads + shape_.key_heads) * shape_.key_length +
                           shape_.key_heads * shape_.value_length) /
                          2;
    std::vector<uint64_t> turning = {scalar(capacity_), scalar(m_)};
    for (const size_t i : {Queries, Keys, Values}) {
      const graph::View rows = node.inputs[i].view();
      turning.push_back(scalar(rows.offset));
      turning.push_back(scalar(rows.strides[0]));
    }
    const Program& turn = context.kept(
        "attention turn", key, [&] { return Maker("attention_turn", key, kTurnLanes).turn(); });
    context.launch(turn, {(static_cast<uint64_t>(pairs) + kTurnLanes - 1) / kTurnLanes, 1, 1},
                   to_turn, turning);

    const std::vector<uint64_t> attending = {scalar(capacity_), scalar(shape_.window),
                                             std::bit_cast<uint32_t>(shape_.scale),
                                             std::bit_cast<uint32_t>(shape_.softcap)};
    const Storage scores = context.allocate(bytes(m_ * shape_.heads * capacity_));
    const auto run_program = [&](const char* name, Program (Maker::*make)(), uint32_t lanes,
                                 const Grid& grid, std::initializer_list<hal::Binding> bindings,
                                 const std::vector<uint64_t>& scalars) {
      const Program& made =
          context.kept(name, key, [&] { return (Maker(name, key, lanes).*make)(); });
      context.launch(made, grid, {bindings.begin(), bindings.size()}, scalars);
    };
    const auto heads = static_cast<uint64_t>(shape_.heads), tokens = static_cast<uint64_t>(m_);
    const auto groups = [](int64_t lanes) {
      return (static_cast<uint64_t>(lanes) + kTurnLanes - 1) / kTurnLanes;
    };
    if (!graph::hints_of(context.device()).in_turns)
      return run_program(
          "attention", &Maker::attend, key.lanes, {heads, tokens, 1},
          {turned.where, at(KeyCache), at(ValueCache), at(Places), scores.where, result.where},
          attending);
    const Storage sums = context.allocate(bytes(m_ * shape_.heads));
    run_program("attention_score", &Maker::score, kTurnLanes, {groups(capacity_), heads, tokens},
                {turned.where, at(KeyCache), at(Places), scores.where}, attending);
    std::vector<uint64_t> sharing = {scalar(m_)};
    sharing.insert(sharing.end(), attending.begin(), attending.end());
    run_program("attention_share", &Maker::share, kTurnLanes, {groups(m_ * shape_.heads), 1, 1},
                {at(Places), scores.where, sums.where}, sharing);
    run_program("attention_weigh", &Maker::weigh, kTurnLanes,
                {groups(shape_.value_length), heads, tokens},
                {scores.where, sums.where, at(ValueCache), at(Places), result.where}, attending);
  }

 private:
  Key key_of(DType cache, int64_t pages) const {
    const auto number = [](int64_t n) { return static_cast<uint32_t>(n); };
    Key key{};
    key.heads = number(shape_.heads);
    key.key_heads = number(shape_.key_heads);
    key.key_length = number(shape_.key_length);
    key.value_length = number(shape_.value_length);
    key.rotated = number(shape_.rotated);
    key.rope = static_cast<uint32_t>(shape_.rope);
    key.softcap = shape_.softcap > 0;
    key.window = shape_.window > 0;
    key.lanes = std::max<uint32_t>(256, std::bit_ceil(key.value_length));
    key.cache = cache;
    const int64_t longest = std::max(shape_.key_length, shape_.value_length);
    key.index =
        graph::Box::index_type(std::max(m_ * shape_.heads * std::max(capacity_, longest),
                                        std::max(pages * kPage, m_) * shape_.key_heads * longest));
    return key;
  }

  const AttentionShape shape_;
  const int64_t m_, capacity_;
};

// The tensor, if its rows are dense wherever they lie; else a copy.
Tensor with_rows(const Tensor& t) {
  const graph::View view = tensor::Access::view(t);
  return view.strides[1] == 1 && view.strides[0] >= 0 ? t : tensor::dense(t);
}

}  // namespace

Cache make_cache(const AttentionShape& shape, int64_t pages, DType dtype,
                 const Executor& executor) {
  Cache cache{ops::zeros({pages, shape.key_heads, shape.key_length, kPage}, dtype, executor),
              ops::zeros({pages, shape.key_heads, kPage, shape.value_length}, dtype, executor)};
  eval({cache.keys, cache.values});
  return cache;
}

Tensor attention(const AttentionShape& shape, const Tensor& queries, const Tensor& keys,
                 const Tensor& values, const Rope& rope, const Cache& cache, const Tensor& places,
                 int64_t capacity) {
  const int64_t m = queries.size(0);
  return tensor::make_opaque(std::make_unique<AttentionWork>(shape, m, capacity), DType::F32,
                             {m, shape.heads * shape.value_length}, with_rows(queries),
                             with_rows(keys), with_rows(values), rope.cosines, rope.sines, places,
                             cache.keys, cache.values);
}

}  // namespace hologram::llm
