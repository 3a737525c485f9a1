// The table of operations: how each is built, what it ought to give, how it is written.
#include <stdexcept>

#include "graphs/right.hpp"
#include "hologram/ops.hpp"
#include "tensor/access.hpp"

namespace hologram::graphs {
namespace {

using X = std::span<const Tensor>;
using S = const Step&;
using R = Reduction;

ops::Axes axes(S s) {
  ops::Axes list;
  for (const int64_t a : s.integers) list.list.push_back(static_cast<int>(a));
  return list;
}
std::vector<int> ints(S s) { return {s.integers.begin(), s.integers.end()}; }
Operand argument(S s, X x, size_t k) {
  return s.arguments[k].is_number() ? operand_of(s.arguments[k].number) : Operand(x[k]);
}
std::vector<ops::Padding> padding(S s) {
  std::vector<ops::Padding> list;
  for (size_t k = 0; k < s.integers.size(); k += 2)
    list.push_back({s.integers[k], s.integers[k + 1]});
  return list;
}
const Executor& executor_of(X x);

// clang-format off
#define BUILD []([[maybe_unused]] S s, [[maybe_unused]] X x) -> Tensor
constexpr bool kNoExpression = false;
const Operation kOthers[] = {
  {"cast", nullptr, BUILD { return x[0].to(s.dtype); }, right_cast, "cast({a}, {dtype})"},
  {"sum", nullptr, BUILD { return ops::sum(x[0], axes(s), s.flag); }, right_reduction<R::Sum>, "sum({a}, {axes}, {flag})"},
  {"prod", nullptr, BUILD { return ops::prod(x[0], axes(s), s.flag); }, right_reduction<R::Prod>, "prod({a}, {axes}, {flag})"},
  {"mean", nullptr, BUILD { return ops::mean(x[0], axes(s), s.flag); }, right_reduction<R::Mean>, "mean({a}, {axes}, {flag})"},
  {"var", nullptr, BUILD { return ops::var(x[0], axes(s), s.real, s.flag); }, right_reduction<R::Var>, "var({a}, {axes}, {real}, {flag})"},
  {"std", nullptr, BUILD { return ops::std(x[0], axes(s), s.real, s.flag); }, right_reduction<R::Std>, "std({a}, {axes}, {real}, {flag})"},
  {"min", nullptr, BUILD { return ops::min(x[0], axes(s), s.flag); }, right_reduction<R::Min>, "min({a}, {axes}, {flag})"},
  {"max", nullptr, BUILD { return ops::max(x[0], axes(s), s.flag); }, right_reduction<R::Max>, "max({a}, {axes}, {flag})"},
  {"any", nullptr, BUILD { return ops::any(x[0], axes(s), s.flag); }, right_reduction<R::Any>, "any({a}, {axes}, {flag})"},
  {"all", nullptr, BUILD { return ops::all(x[0], axes(s), s.flag); }, right_reduction<R::All>, "all({a}, {axes}, {flag})"},
  {"argmin", nullptr, BUILD { return ops::argmin(x[0], s.axis(), s.flag); }, right_reduction<R::ArgMin>, "argmin({a}, {0}, {flag})"},
  {"argmax", nullptr, BUILD { return ops::argmax(x[0], s.axis(), s.flag); }, right_reduction<R::ArgMax>, "argmax({a}, {0}, {flag})"},
  {"logsumexp", nullptr, BUILD { return ops::logsumexp(x[0], axes(s), s.flag); }, right_reduction<R::LogSumExp>, "logsumexp({a}, {axes}, {flag})"},
  {"norm", nullptr, BUILD { return ops::norm(x[0], s.real, axes(s), s.flag); }, right_reduction<R::Norm>, "norm({a}, {real}, {axes}, {flag})"},
  {"softmax", nullptr, BUILD { return ops::softmax(x[0], s.axis()); }, right_softmax<false>, "softmax({a}, {0})"},
  {"log_softmax", nullptr, BUILD { return ops::log_softmax(x[0], s.axis()); }, right_softmax<true>, "log_softmax({a}, {0})"},
  {"cumsum", nullptr, BUILD { return ops::cumsum(x[0], s.axis()); }, right_running<false>, "cumsum({a}, {0})"},
  {"cumprod", nullptr, BUILD { return ops::cumprod(x[0], s.axis()); }, right_running<true>, "cumprod({a}, {0})"},
  {"sort", nullptr, BUILD { return ops::sort(x[0], s.axis(), s.flag); }, right_sorted<false>, "sort({a}, {0}, {flag})"},
  {"argsort", nullptr, BUILD { return ops::argsort(x[0], s.axis(), s.flag); }, right_sorted<true>, "argsort({a}, {0}, {flag})"},
  {"topk", nullptr, BUILD { return ops::topk(x[0], s.integers[1], s.axis(), s.flag).values; }, right_sorted<false>, "topk({a}, {1}, {0}, {flag})[0]"},
  {"topk_positions", nullptr, BUILD { return ops::topk(x[0], s.integers[1], s.axis(), s.flag).indices; }, right_sorted<true>, "topk({a}, {1}, {0}, {flag})[1]"},
  {"searchsorted", nullptr, BUILD { return ops::searchsorted(x[0], x[1], s.flag ? ops::Side::Right : ops::Side::Left); }, right_search, "searchsorted({a}, {b}, {flag})"},
  {"matmul", nullptr, BUILD { return ops::matmul(x[0], x[1]); }, right_matmul, "matmul({a}, {b})"},
  {"reshape", nullptr, BUILD { return x[0].reshape(s.shape); }, right_reshape, "reshape({a}, {shape})"},
  {"slice", nullptr, BUILD { return x[0].slice(s.slices); }, right_slice, "{a}[{slices}]"},
  {"permute", nullptr, BUILD { return x[0].permute(ints(s)); }, right_permute, "permute({a}, {list})"},
  {"broadcast_to", nullptr, BUILD { return x[0].broadcast_to(s.shape); }, right_broadcast, "broadcast_to({a}, {shape})"},
  {"concat", nullptr, BUILD { return ops::concat({x[0], x[1]}, s.axis()); }, right_concat, "concat([{a}, {b}], {0})"},
  {"stack", nullptr, BUILD { return ops::stack({x[0], x[1]}, s.axis()); }, right_stack, "stack([{a}, {b}], {0})"},
  {"pad", nullptr, BUILD { return ops::pad(x[0], padding(s), argument(s, x, 1)); }, right_pad, "pad({a}, {pairs}, {b})"},
  {"put", nullptr, BUILD { return ops::put(x[0], s.slices, x[1]); }, right_put, "put({a}, {slices}, {b})", kNoExpression},
  {"roll", nullptr, BUILD { return ops::roll(x[0], s.integers[1], s.axis()); }, right_roll, "roll({a}, {1}, {0})"},
  {"repeat", nullptr, BUILD { return ops::repeat(x[0], s.integers[1], s.axis()); }, right_repeat, "repeat({a}, {1}, {0})"},
  {"tile", nullptr, BUILD { return ops::tile(x[0], s.integers); }, right_tile, "tile({a}, {list})"},
  {"take", nullptr, BUILD { return ops::take(x[0], x[1], s.axis()); }, right_take, "take({a}, {b}, {0})"},
  {"gather", nullptr, BUILD { return ops::gather(x[0], x[1], s.axis()); }, right_gather, "gather({a}, {b}, {0})"},
  {"scatter", nullptr, BUILD { return ops::scatter(x[0], x[1], argument(s, x, 2), s.axis()); }, right_scatter<false>, "scatter({a}, {b}, {c}, {0})"},
  {"scatter_add", nullptr, BUILD { return ops::scatter_add(x[0], x[1], argument(s, x, 2), s.axis()); }, right_scatter<true>, "scatter_add({a}, {b}, {c}, {0})"},
  {"contiguous", nullptr, BUILD { return ops::contiguous(x[0]); }, right_reshape, "contiguous({a})", kNoExpression},
  {"copy", nullptr, BUILD { return ops::copy(x[0]); }, right_reshape, "copy({a})", kNoExpression},
  {"full", nullptr, BUILD { return ops::full(s.shape, operand_of(s.arguments[0].number), s.dtype, executor_of(x)); }, right_full, "full({shape}, {a}, {dtype})"},
  {"arange", nullptr, BUILD { return ops::arange(s.integers[0], s.integers[0] + s.integers[1] * s.shape[0], s.integers[1], s.dtype, executor_of(x)); }, right_arange, "arange({0}, {end}, {1}, {dtype})"},
  {"eye", nullptr, BUILD { return (s.flag ? ops::tri : ops::eye)(s.shape[0], s.shape[1], s.integers[0], s.dtype, executor_of(x)); }, right_eye, "{eye}({rows}, {columns}, {0}, {dtype})"},
  {"linspace", nullptr, BUILD { return ops::linspace(s.reals[0], s.reals[1], s.shape[0], s.dtype, executor_of(x)); }, right_linspace, "linspace({p}, {q}, {rows}, {dtype})"},
  {"gemm", nullptr, BUILD { return ops::gemm(x[0], x[1], x[2], s.reals[0], s.reals[1]); }, right_gemm, "gemm({a}, {b}, {c}, {p}, {q})"},
  {"gemv", nullptr, BUILD { return ops::gemv(x[0], x[1], x[2], s.reals[0], s.reals[1]); }, right_gemm, "gemv({a}, {b}, {c}, {p}, {q})"},
  {"input", nullptr, nullptr, nullptr, ""},
};
// clang-format on

Tensor build_elementwise(S s, X x) {
  std::vector<Operand> operands;
  for (size_t k = 0; k < s.arguments.size(); k++) operands.push_back(argument(s, x, k));
  return tensor::apply(*s.operation->row, operands);
}

// Where sources are made: no tensor says it.
thread_local const Executor* building_on = nullptr;
const Executor& executor_of(X) { return *building_on; }

}  // namespace

std::span<const Operation> operations() {
  static const std::vector<Operation> all = [] {
    std::vector<Operation> list(std::begin(kOthers), std::end(kOthers));
    for (const graph::ElementwiseOp& row : graph::elementwise_table())
      list.push_back({row.name, &row, build_elementwise, right_elementwise,
                      row.arity == 1   ? "{name}({a})"
                      : row.arity == 2 ? "{name}({a}, {b})"
                                       : "{name}({a}, {b}, {c})"});
    return list;
  }();
  return all;
}

const Operation& operation(std::string_view name) {
  for (const Operation& o : operations())
    if (o.name == name) return o;
  throw std::out_of_range(std::string(name));
}

Operand operand_of(const Number& number) {
  return std::visit([](auto value) { return Operand(value); }, number);
}

std::vector<Tensor> build(const Description& description, const Executor& executor, Look look,
                          std::span<const Tensor> inputs) {
  std::vector<Tensor> made;
  made.reserve(description.steps.size());
  building_on = &executor;
  size_t next = 0;
  for (const Step& step : description.steps) {
    if (step.operation->build == nullptr) {
      made.push_back(inputs.empty() ? Tensor::from(values_of(step), executor) : inputs[next++]);
    } else {
      std::vector<Tensor> x;
      for (const Argument& a : step.arguments)
        x.push_back(a.is_number() ? Tensor() : made.at(a.step));
      made.push_back(step.operation->build(step, x));
    }
    if (look != nullptr) look(made.back());
  }
  return made;
}

std::vector<Tensor> roots_of(const Description& description, const std::vector<Tensor>& all) {
  std::vector<Tensor> roots;
  for (const uint32_t k : description.roots) roots.push_back(all[k]);
  return roots;
}

std::vector<bool> live_steps(const Description& description) {
  std::vector<bool> live(description.steps.size(), false);
  for (const uint32_t k : description.roots) live[k] = true;
  for (size_t i = live.size(); i-- > 0;)
    for (const Argument& a : description.steps[i].arguments)
      if (live[i] && !a.is_number()) live[a.step] = true;
  return live;
}

}  // namespace hologram::graphs
