// What must not show in the bits: how many threads there are, and what was fused with what.
#include <fmt/format.h>

#include "conformance/layouts.hpp"
#include "conformance/operands.hpp"
#include "conformance/suite.hpp"
#include "hologram/linear.hpp"
#include "hologram/ops.hpp"
#include "tensor/access.hpp"

namespace hologram::conformance {
namespace {

// Large enough to be dealt to several threads.
const Layout kLarge = {"large", Arrangement::Dense, {150, 301}};

// An operation with a producer before it, a consumer after it, and sums both ways.
std::vector<Array> chain(const graph::ElementwiseOp& row, std::span<const Array> values,
                         const Executor& executor) {
  std::vector<Operand> operands;
  std::vector<Tensor> tensors;
  for (const Array& v : values) {
    tensors.push_back(Tensor::from(v, executor));
    const bool changed = v.dtype() == DType::F32;
    operands.emplace_back(changed ? tensors.back() * 0.75f : tensors.back());
  }
  const Tensor y = tensor::apply(row, operands).to(DType::F32);
  const Tensor z = y * 3 + tensors.back().transpose().transpose().to(DType::F32);
  const std::vector<Tensor> results = {z, ops::sum(z, 0), ops::sum(z, 1), ops::max(z),
                                       ops::mean(z.transpose())};
  eval(results);
  std::vector<Array> arrays;
  arrays.reserve(results.size());
  for (const Tensor& t : results) arrays.push_back(t.array());
  return arrays;
}

Finding same(const Make& make, const Executor& a, const Executor& b) {
  Finding found;
  const std::vector<Array> first = make(a), second = make(b);
  for (size_t k = 0; k < first.size() && found.wrong.empty(); k++) {
    found.elements += first[k].size();
    if (const std::string text = difference(first[k], second[k]); !text.empty())
      found.wrong = fmt::format("result {}: {}", k, text);
  }
  return found;
}

std::vector<Array> reduced(const Array& values, const Executor& executor) {
  const Tensor x = Tensor::from(values, executor);
  const std::vector<Tensor> results = {ops::softmax(x),
                                       ops::log_softmax(x, 0),
                                       ops::var(x, 0),
                                       ops::std(x, 1),
                                       ops::norm(x),
                                       ops::logsumexp(x, 1),
                                       ops::prod(x * 0.5f + 1.f, 1),
                                       ops::sum(x * x)};
  eval(results);
  std::vector<Array> arrays;
  arrays.reserve(results.size());
  for (const Tensor& t : results) arrays.push_back(t.array());
  return arrays;
}

}  // namespace

void attempt_both(Suite& suite, std::string_view operation, DType dtype, const Make& make) {
  const Ways& ways = suite.ways();
  suite.attempt(operation, dtype, "fused or not",
                [&] { return same(make, ways.plain, ways.unfused); });
  suite.attempt(operation, dtype, "one thread or two",
                [&] { return same(make, ways.one, ways.two); });
  if (ways.cpu && operation != "matmul" && operation != "conv2d")
    suite.attempt(operation, dtype, "as on the CPU",
                  [&] { return same(make, ways.plain, *ways.cpu); });
}

void bit_cases(Suite& suite) {
  for (const graph::ElementwiseOp& row : graph::elementwise_table()) {
    const bool floats = row.accepts == graph::Accepts::Any || row.accepts == graph::Accepts::Number;
    const DType dtype = floats ? DType::F32 : DType::I32;
    const Oracle* oracle = find_oracle(row.name);
    if (oracle == nullptr) continue;  // a failure of the cases before
    std::vector<Array> values;
    const auto make = [&](const Executor& executor) {
      Generator generator(seed_of(row.name, dtype, "bits"));
      if (values.empty())
        for (size_t k = 0; k < row.arity; k++)
          values.push_back(operand_values(
              row, *oracle, k, row.rule == graph::Rule::Choice && k == 0 ? DType::Bool : dtype,
              kLarge.shape, generator));
      return chain(row, values, executor);
    };
    attempt_both(suite, row.name, dtype, make);
  }
  // A result with an element for each of a row's that is reduced in pieces.
  Generator ordinary(seed_of("pieces", DType::F32, "bits"));
  const Array row = plain_values(DType::F32, {70001}, -1, 1, ordinary);
  attempt_both(suite, "pieces", DType::F32, [&](const Executor& executor) {
    const Tensor x = Tensor::from(row, executor), y = x * 2 + ops::max(x), total = ops::sum(y);
    eval({y, total});
    return std::vector<Array>{y.array(), total.array()};
  });
  for (const DType dtype : {DType::F32, DType::F64}) {
    Generator generator(seed_of("reductions", dtype, "bits"));
    const Array values = plain_values(dtype, {700, 1111}, -1, 1, generator);
    attempt_both(suite, "several reductions", dtype,
                 [&](const Executor& executor) { return reduced(values, executor); });
    const Array square = plain_values(dtype, {260, 260}, -1, 1, generator);
    attempt_both(suite, "matmul", dtype, [&](const Executor& executor) {
      const Tensor x = Tensor::from(square, executor);
      return std::vector<Array>{ops::matmul(x + 1, x.transpose()).array()};
    });
    const Array images = plain_values(dtype, {2, 33, 29, 16}, -1, 1, generator),
                weight = plain_values(dtype, {3, 3, 16, 24}, -1, 1, generator);
    attempt_both(suite, "conv2d", dtype, [&](const Executor& executor) {
      const Tensor x = Tensor::from(images, executor), w = Tensor::from(weight, executor);
      return std::vector<Array>{ops::relu(ops::conv2d(x + 1, w, {.padding = 1})).array()};
    });
  }
}

}  // namespace hologram::conformance
