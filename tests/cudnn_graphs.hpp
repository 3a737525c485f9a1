// Attention as a graph of cuDNN's descriptors, for tests of the emulated library: as small as it
// can be while each operation is in it that is emulated.
#pragma once

#include <algorithm>
#include <cstring>
#include <deque>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "libraries/cudnn/cudnn.hpp"

namespace hologram::cudnn_graphs {

using namespace libraries::cudnn;
using Axes = std::array<int64_t, 4>;

inline Axes dense(const Axes& n) { return {n[1] * n[2] * n[3], n[2] * n[3], n[3], 1}; }
inline Axes heads_inside(const Axes& n) { return {n[1] * n[2] * n[3], n[3], n[1] * n[3], 1}; }
inline Axes turned(const Axes& x) { return {x[0], x[1], x[3], x[2]}; }

struct Node {  // a tensor of a graph
  int64_t number;
  Axes lengths, strides;
  int type;
  const Object* object;
};
enum class Place { Memory, Between, Value };

class Graph {
 public:
  explicit Graph(const Cudnn& library) : library_(library) {}

  Node tensor(const Axes& n, const Axes& s, int type, Place place = Place::Memory,
              int64_t number = 0) {
    Object& t = kept_.emplace_back(library_, kTensor);
    const Node node{number != 0 ? number : ++last_, n, s, type, &t};
    t.set_one(kTensorType, kTypeData, type);
    t.set(kTensorLengths, kTypeInt64, n);
    t.set(kTensorStrides, kTypeInt64, s);
    t.set_one(kTensorNumber, kTypeInt64, node.number);
    t.set_one<int64_t>(kTensorAlignment, kTypeInt64, 16);
    if (place == Place::Between) t.set_one(kTensorVirtual, kTypeBool, true);
    if (place == Place::Value) t.set_one(kTensorByValue, kTypeBool, true);
    t.finish();
    return node;
  }
  Node between(const Axes& n, int type = kF32) { return tensor(n, dense(n), type, Place::Between); }
  template <class T>
  Node value(T value) {
    const Node node =
        tensor({1, 1, 1, 1}, {1, 1, 1, 1}, std::is_same_v<T, float> ? kF32 : kI32, Place::Value);
    std::memcpy(&values[node.number], &value, sizeof value);
    return node;
  }
  void product(const Node& a, const Node& b, const Node& c, int compute = kF32) {
    Object& d = described(kMatmul);
    d.set_one(kMatmulComputeType, kTypeData, compute);
    d.finish();
    operation(kOperationMatmul, kMatmulDescriptor, &d,
              {{kMatmulA, &a}, {kMatmulB, &b}, {kMatmulC, &c}});
  }
  void elementwise(int mode, std::initializer_list<std::pair<int, const Node*>> tensors,
                   int compute = kF32, int64_t axis = -1) {
    Object& d = described(kPointwise);
    d.set_one(kPointwiseMode, kTypePointwiseMode, mode);
    d.set_one(kPointwiseComputeType, kTypeData, compute);
    if (axis >= 0) d.set_one(kPointwiseAxis, kTypeInt64, axis);
    d.finish();
    operation(kOperationPointwise, kPointwiseDescriptor, &d, tensors);
  }
  Node unary(int mode, const Node& x, int type = kF32, int compute = kF32, int64_t axis = -1) {
    const Node y = between(x.lengths, type);
    elementwise(mode, {{kPointwiseX, &x}, {kPointwiseY, &y}}, compute, axis);
    return y;
  }
  Node binary(int mode, const Node& x, const Node& b, int type = kF32, int compute = kF32) {
    Axes n = x.lengths;
    for (size_t axis = 0; axis < 4; axis++) n[axis] = std::max(n[axis], b.lengths[axis]);
    const Node y = between(n, type);
    elementwise(mode, {{kPointwiseX, &x}, {kPointwiseB, &b}, {kPointwiseY, &y}}, compute);
    return y;
  }
  Node select(const Node& x, const Node& otherwise, const Node& mask) {
    const Node y = between(x.lengths);
    elementwise(
        kSelect,
        {{kPointwiseX, &x}, {kPointwiseB, &otherwise}, {kPointwiseT, &mask}, {kPointwiseY, &y}});
    return y;
  }
  Node index(const Node& of, int64_t axis, int compute = kF32) {
    return unary(kIndex, of, kI32, compute, axis);
  }
  void reduce(int how, const Node& x, const Node& y) {
    Object& d = described(kReduction);
    d.set_one(kReductionOperator, kTypeReductionOperator, how);
    d.set_one(kReductionComputeType, kTypeData, kF32);
    d.finish();
    operation(kOperationReduction, kReductionDescriptor, &d,
              {{kReductionX, &x}, {kReductionY, &y}});
  }
  void reshape(const Node& x, const Node& y) {
    operation(kOperationReshape, 0, nullptr, {{kReshapeX, &x}, {kReshapeY, &y}});
  }
  Status finish(Handle handle, bool reversed = false) {
    std::vector<Descriptor> all;
    for (const Object& o : operations_) all.push_back(o.descriptor());
    if (reversed) std::reverse(all.begin(), all.end());
    graph.emplace(library_, libraries::cudnn::kGraph);
    graph->set(kGraphOperations, kTypeDescriptor, std::span<const Descriptor>(all));
    graph->set_one(kGraphHandle, kTypeHandle, handle);
    return graph->finish();
  }
  void forget_tensors() { kept_.clear(); }

  std::optional<Object> graph;
  std::map<int64_t, uint32_t> values;  // what is passed by value
  Status status = kSuccess;            // what the first operation said that failed

 private:
  Object& described(int kind) { return kept_.emplace_back(library_, kind); }
  void operation(int kind, int about, const Object* described,
                 std::initializer_list<std::pair<int, const Node*>> tensors) {
    Object& o = operations_.emplace_back(library_, kind);
    if (described != nullptr) o.set_one(about, *described);
    for (const auto& [attribute, node] : tensors) o.set_one(attribute, *node->object);
    if (o.finish() != kSuccess && status == kSuccess) status = o.status();
  }

  const Cudnn& library_;
  std::deque<Object> kept_, operations_;
  int64_t last_ = 0;
};

// What attention is asked for; the second half is what the library does not take.
struct Form {
  int type = kBF16;
  int64_t batch = 2, heads = 4, key_heads = 2, rows = 3, keys = 5, features = 8, values = 16;
  bool causal = false, window = false, bias = false, lengths = false, sink = false;
  float cap = 0;
  bool deterministic = false, reversed = false;
  bool wide_shares = false, without_log = false, half_scores = false, bool_mask = false,
       sums_between = false, sums_at_once = false;
  int compute = kF32;
  int64_t gap = 0;  // between rows of q

  float scale() const { return 0.3f; }
  Axes of_q() const { return {batch, heads, rows, features}; }
  Axes of_k() const { return {batch, key_heads, keys, features}; }
  Axes of_v() const { return {batch, key_heads, keys, values}; }
  Axes of_o() const { return {batch, heads, rows, values}; }
  Axes of_rows() const { return {batch, heads, rows, 1}; }
  Axes of_scores() const { return {batch, heads, rows, keys}; }
};
inline constexpr int64_t kWindow = 2;  // so many keys up to one's own

struct Attention {
  Form form;
  Graph graph;
  std::map<std::string, Node> memory;

  Attention(const Cudnn& library, const Form& f) : form(f), graph(library) {}

  Node add(const std::string& name, const Axes& n, const Axes& s, int type) {
    return memory.emplace(name, graph.tensor(n, s, type)).first->second;
  }
  Node query() {
    Axes s = heads_inside(form.of_q());
    s[2] += form.gap;
    return add("q", form.of_q(), s, form.type);
  }
  Node turned_of(const std::string& name, const Axes& n) {
    return add(name, turned(n), turned(heads_inside(n)), form.type);
  }

  struct Scores {
    Node s, capped, cap;
  };
  Scores scores(const Node& q, const Node& kt, const Node& scale) {
    Scores r;
    r.s = graph.between(form.of_scores(), form.half_scores ? form.type : kF32);
    graph.product(q, kt, r.s, form.compute);
    r.s = graph.binary(kMul, r.s, scale);
    if (form.cap != 0) {
      r.cap = graph.value(form.cap);
      r.capped = graph.binary(kDiv, r.s, r.cap);
      r.s = graph.binary(kMul, graph.unary(kTanh, r.capped), r.cap);
    }
    if (form.bias) {
      const int64_t padded = (form.keys + 7) / 8 * 8;
      r.s = graph.binary(kAdd, r.s,
                         add("bias", {1, 1, form.rows, form.keys},
                             {form.rows * padded, form.rows * padded, padded, 1}, form.type));
    }
    if (form.lengths) {
      const Node lq = add("lq", {form.batch, 1, 1, 1}, {1, 1, 1, 1}, kI32),
                 lk = add("lk", {form.batch, 1, 1, 1}, {1, 1, 1, 1}, kI32);
      const Node row = graph.binary(kLess, graph.index(r.s, 2, kI32), lq, kBool, kBool),
                 column = graph.binary(kLess, graph.index(r.s, 3, kI32), lk, kBool, kBool);
      r.s = graph.select(r.s, nothing(), graph.binary(kAnd, row, column, kBool, kBool));
    }
    return r;
  }
  Node masked(Node s) {
    if (form.causal) {  // the last row sees all keys
      Node row = graph.index(s, 2);
      row = graph.binary(kAdd, row, graph.value(static_cast<int32_t>(form.keys)), kI32, kI32);
      row = graph.binary(kSub, row, graph.value(static_cast<int32_t>(form.rows)), kI32, kI32);
      s = graph.select(s, nothing(),
                       graph.binary(kGreaterEqual, row, graph.index(s, 3), kBool, kBool));
    }
    if (form.window) {
      const Node reach =
          graph.binary(kAdd, graph.index(s, 3),
                       graph.value(static_cast<float>(kWindow - (form.keys - form.rows))));
      s = graph.select(s, nothing(),
                       graph.binary(kGreater, reach, graph.index(s, 2), kBool, kBool));
    }
    if (form.bool_mask)
      s = graph.select(s, nothing(), add("mask", form.of_scores(), dense(form.of_scores()), kBool));
    return s;
  }
  Node nothing() { return graph.value(-std::numeric_limits<float>::infinity()); }

  void forward() {
    const Node q = query(), kt = turned_of("k", form.of_k()),
               v = add("v", form.of_v(), heads_inside(form.of_v()), form.type),
               o = add("o", form.of_o(), heads_inside(form.of_o()), form.type),
               l = add("l", form.of_rows(), dense(form.of_rows()), kF32);
    const Node s = masked(scores(q, kt, graph.value(form.scale())).s);
    Node most = graph.between(form.of_rows()), sink{};
    graph.reduce(kReduceMaximum, s, most);
    if (form.sink) {
      sink = add("sink", {1, form.heads, 1, 1}, {form.heads, 1, 1, 1}, kF32);
      most = graph.binary(kMaximum, most, sink);
    }
    const Node e = graph.unary(kExp, graph.binary(kSub, s, most));
    Node sum = graph.between(form.of_rows());
    graph.reduce(kReduceAdd, e, sum);
    if (form.sink) sum = graph.binary(kAdd, sum, graph.unary(kExp, graph.binary(kSub, sink, most)));
    const Node log = form.without_log ? sum : graph.unary(kLog, sum);
    graph.elementwise(kAdd, {{kPointwiseX, &most}, {kPointwiseB, &log}, {kPointwiseY, &l}});
    graph.product(graph.binary(kDiv, e, sum, form.wide_shares ? kF32 : form.type), v, o);
  }

  void backward() {
    const Node q = query(), kt = turned_of("k", form.of_k()), vt = turned_of("v", form.of_v()),
               o = add("o", form.of_o(), heads_inside(form.of_o()), form.type),
               d_o = add("do", form.of_o(), heads_inside(form.of_o()), form.type),
               l = add("l", form.of_rows(), dense(form.of_rows()), kF32),
               dq = add("dq", form.of_q(), heads_inside(form.of_q()), form.type),
               dk = add("dk", form.of_k(), heads_inside(form.of_k()), form.type),
               dv = add("dv", form.of_v(), heads_inside(form.of_v()), form.type);
    const Node rows = form.sums_between ? graph.between(form.of_rows())
                                        : add("rows", form.of_rows(), dense(form.of_rows()), kF32);
    const Node scale = graph.value(form.scale()), one = graph.value(1.0f);
    const Node products = graph.binary(kMul, d_o, o);
    const Node row = form.sums_at_once ? rows : graph.between(form.of_rows());
    graph.reduce(kReduceAdd, products, row);
    if (!form.sums_at_once)
      graph.elementwise(kMul, {{kPointwiseX, &row}, {kPointwiseB, &one}, {kPointwiseY, &rows}});
    const Scores c = scores(q, kt, scale);
    const Node p = graph.unary(kExp, masked(graph.binary(kSub, c.s, l)));
    const auto reshaped = [&](const Node& x) {
      const Node y = graph.tensor(turned(form.of_scores()), turned(dense(form.of_scores())),
                                  form.type, Place::Between);
      graph.reshape(x, y);
      return y;
    };
    const auto summed = [&](const Node& x, const Node& y, const Node& result) {
      if (form.heads == form.key_heads) return graph.product(x, y, result);
      Axes n = result.lengths;
      n[1] = form.heads;
      const Node all = graph.between(n, form.type);
      graph.product(x, y, all);
      graph.reduce(kReduceAdd, all, result);
    };
    summed(reshaped(p), d_o, dv);
    const Node dp = graph.between(form.of_scores());
    graph.product(d_o, vt, dp);
    Node ds = graph.binary(kMul, graph.binary(kSub, dp, rows), p);
    if (form.cap != 0) {
      const Node in = graph.binary(kMul, ds, c.cap), out = graph.between(form.of_scores());
      graph.elementwise(kTanhBackward,
                        {{kPointwiseDy, &in}, {kPointwiseX, &c.capped}, {kPointwiseDx, &out}});
      ds = graph.binary(kDiv, out, c.cap);
    }
    ds = graph.binary(kMul, ds, scale);
    summed(reshaped(ds), q, dk);
    const Node k = graph.tensor(form.of_k(), heads_inside(form.of_k()), form.type, Place::Between);
    graph.reshape(kt, k);
    if (form.deterministic) return graph.product(ds, k, dq);
    const Node sum = add("sums", form.of_q(), dense(form.of_q()), kF32);
    graph.product(ds, k, sum);
    graph.elementwise(kIdentity, {{kPointwiseX, &sum}, {kPointwiseY, &dq}});
  }
};

}  // namespace hologram::cudnn_graphs
