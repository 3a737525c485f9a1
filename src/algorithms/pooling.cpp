#include "algorithms/pooling.hpp"

#include <vector>

#include "engine/context.hpp"
#include "fusion/combine.hpp"
#include "fusion/iteration_space.hpp"

namespace hologram::graph {
namespace {

using program::Access;
using program::Buf;
using program::Builder;
using program::Combine;
using program::Value;
using program::Var;

// Elements of a window up to which the program names each of them.
constexpr int64_t kMostNamed = 25;

struct Key {
  DType element, index;
  uint32_t rows, columns;  // of a window, or 0: any number
  uint32_t inner;          // whether the inner axis is longer than 1
};

class Maker {
 public:
  explicit Maker(const Key& key) : key_(key), b_("max_pooling", {kBoxLanes}, key.index) {}

  // A lane takes a window.
  Program make() {
    x_ = b_.buffer("x", key_.element, Access::In);
    const Buf y = b_.buffer("y", key_.element, Access::Out);
    const Value count = scalar("count"), inner = scalar("inner");
    const Axis rows = axis("row"), columns = axis("column");
    const Value lane = b_.global_id(0);
    b_.if_(lane < count, [&] {
      const Value pixel = key_.inner != 0 ? lane / inner : lane;
      const Value line = pixel / columns.output, image = line / rows.output;
      const Value row = line - image * rows.output, column = pixel - line * columns.output;
      base_ = image * rows.input * columns.input;
      inner_ = inner;
      if (key_.inner != 0) within_ = lane - pixel * inner;
      b_.store(y, lane,
               key_.rows != 0 ? of_named(rows, row, columns, column)
                              : of_any(rows, row, columns, column));
    });
    return b_.finish();
  }

 private:
  struct Axis {
    Value input, output, stride, before, kernel;
  };

  Value scalar(const std::string& name) { return b_.scalar(name, key_.index); }
  Axis axis(const std::string& name) {
    return {scalar(name + "s"), scalar(name + "_outputs"), scalar(name + "_stride"),
            scalar(name + "_before"), scalar(name + "_kernel")};
  }
  static Value place(const Axis& a, Value first, Value i) {
    return min(max(first + i, 0), a.input - 1);
  }
  static Value first(const Axis& a, Value window) { return window * a.stride - a.before; }
  Value number(int64_t n) { return b_.constant(key_.index, n); }

  Value element(const Axis& columns, Value row, Value column) {
    const Value at = base_ + row * columns.input + column;
    return b_.load(x_, key_.inner != 0 ? at * inner_ + within_ : at);
  }

  Value of_named(const Axis& rows, Value row, const Axis& columns, Value column) {
    std::vector<Value> across;
    for (int64_t j = 0; j < key_.columns; j++)
      across.push_back(place(columns, first(columns, column), number(j)));
    std::vector<Value> all;  // under way together
    for (int64_t i = 0; i < key_.rows; i++) {
      const Value down = place(rows, first(rows, row), number(i));
      for (const Value& each : across) all.push_back(element(columns, down, each));
    }
    Value most = all[0];
    for (size_t k = 1; k < all.size(); k++) most = combined(Combine::Max, most, all[k]);
    return most;
  }

  Value of_any(const Axis& rows, Value row, const Axis& columns, Value column) {
    const Value top = first(rows, row), left = first(columns, column);
    const Var most =
        b_.var(element(columns, place(rows, top, number(0)), place(columns, left, number(0))));
    b_.for_(number(0), rows.kernel, 1, [&](Value i) {
      const Value down = place(rows, top, i);
      b_.for_(number(0), columns.kernel, 1, [&](Value j) {
        b_.set(most, combined(Combine::Max, b_.get(most),
                              element(columns, down, place(columns, left, j))));
      });
    });
    return b_.get(most);
  }

  Key key_;
  Builder b_;
  Buf x_{};
  Value base_, inner_, within_;
};

class MaxPoolingOp : public OpaqueOp {
 public:
  explicit MaxPoolingOp(const Windows& windows) : w_(windows) {}
  std::string_view name() const override { return "max pooling"; }
  Candidates candidates(Context& /*context*/, const Node& /*node*/) const override {
    return only("a program over windows");
  }

  void run(Context& context, const Node& node, const Storage& result) const override {
    const int64_t count = element_count(node.shape);
    if (count == 0) return;
    const hal::ConvAxis &r = w_.rows, &c = w_.columns;
    Key key{};
    key.element = node.dtype;
    key.index = Box::index_type(std::max(count, w_.outer * r.input * c.input * w_.inner));
    if (r.kernel * c.kernel <= kMostNamed) {
      key.rows = static_cast<uint32_t>(r.kernel);
      key.columns = static_cast<uint32_t>(c.kernel);
    }
    key.inner = w_.inner > 1 ? 1 : 0;
    const Program& program = context.kept("max pooling", key, [&] { return Maker(key).make(); });
    std::vector<uint64_t> bits;
    for (const int64_t n : {count, w_.inner, r.input, r.output, r.stride, r.before, r.kernel,
                            c.input, c.output, c.stride, c.before, c.kernel})
      bits.push_back(index_bits(key.index, n));
    const hal::Binding bindings[] = {node.inputs[0].where(), result.where};
    context.launch(program, {(static_cast<uint64_t>(count) - 1) / kBoxLanes + 1, 1, 1}, bindings,
                   bits);
  }

 private:
  const Windows w_;
};

}  // namespace

std::unique_ptr<const OpaqueOp> max_pooling_op(const Windows& windows) {
  return std::make_unique<MaxPoolingOp>(windows);
}

}  // namespace hologram::graph
