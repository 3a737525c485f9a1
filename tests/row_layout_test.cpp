// Rows are laid out in one way for a processor and in another for devices with many threads: the
// sums have the same bits.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <random>

#include "graph/codegen.hpp"
#include "graph/context.hpp"
#include "graph/layout.hpp"
#include "graph/schedule.hpp"
#include "hologram/hologram.hpp"
#include "tensor/access.hpp"

namespace hologram {
namespace {

Tensor numbers(Shape shape, DType dtype) {
  std::mt19937 random(5);
  std::normal_distribution<float> normal(0, 3);
  std::vector<float> values(static_cast<size_t>(graph::element_count(shape)));
  for (float& v : values) v = normal(random);
  values[values.size() / 2] = -0.0f;
  return Tensor::from_vector(values, shape).to(dtype).eval();
}

// What the kernel of this layout writes.
std::vector<Array> results(const Executor& executor, const graph::Kernel& kernel,
                           const graph::Layout& how) {
  const auto context = graph::Context::of(executor);
  std::vector<Array> arrays;
  for (const graph::Node* node : kernel.loads) arrays.push_back(context->read(*node));
  for (const graph::Output& output : kernel.outputs) {
    arrays.emplace_back(output.target->dtype, output.target->shape);
    std::memset(arrays.back().mutable_data(), 0x77, arrays.back().bytes());
  }
  std::vector<uint64_t> scalars;
  for (const graph::ScalarArgument& a : graph::scalar_arguments(kernel, how))
    scalars.push_back(a.bits);
  executor.state()->launch(graph::generate(kernel, how), arrays, scalars, how.grid(), {});
  arrays.erase(arrays.begin(), arrays.begin() + static_cast<std::ptrdiff_t>(kernel.loads.size()));
  return arrays;
}

struct Rows {
  const char* name;
  std::function<Tensor(const Tensor&)> make;
};

const Rows kRows[] = {
    {"sum", [](const Tensor& x) { return ops::sum(x, -1); }},
    {"max", [](const Tensor& x) { return ops::max(x, -1); }},
    {"prod", [](const Tensor& x) { return ops::prod(x * 0.3, -1); }},
    {"any", [](const Tensor& x) { return ops::any(x > 11.0, -1); }},
    {"argmin", [](const Tensor& x) { return ops::argmin(x, -1); }},
    {"softmax", [](const Tensor& x) { return ops::softmax(x); }},
    {"normalized",
     [](const Tensor& x) {
       const Tensor d = x - ops::mean(x, -1, true);
       return d / ops::sqrt(ops::mean(d * d, -1, true) + 1e-5f);
     }},
};

TEST(RowLayout, SameBitsOnDevicesWithManyThreads) {
  const Executor executor(BackendType::Cpu);
  size_t held = 0, apart = 0;
  for (const DType dtype : {DType::F32, DType::F16, DType::I32}) {
    for (const int64_t length : {65, 100, 128, 1000, 2048, 2049, 4096, 4097, 9000, 16384, 20000}) {
      const Tensor x = numbers({3, length}, dtype);
      for (const Rows& rows : kRows) {
        const Tensor y = tensor::dense(rows.make(x));
        graph::Node* const root = tensor::Access::node(y).get();
        const graph::Schedule plan = graph::schedule({root}, {});
        for (const graph::Step& step : plan.steps) {
          if (step.opaque != nullptr || step.kernel.row_axes == 0) continue;
          bool ready = true;
          for (const graph::Node* node : step.kernel.loads)
            ready = ready && node->state == graph::NodeState::Ready;
          if (!ready) continue;  // of what another step makes first
          const graph::Layout few = graph::layout(step.kernel, {}),
                              many = graph::layout(step.kernel, {.many_threads = true});
          held += many.held > 0;
          apart += many.side_by_side > 1;
          const auto expected = results(executor, step.kernel, few),
                     got = results(executor, step.kernel, many);
          ASSERT_EQ(got.size(), expected.size());
          for (size_t k = 0; k < got.size(); k++)
            ASSERT_EQ(std::memcmp(got[k].data(), expected[k].data(), got[k].bytes()), 0)
                << rows.name << " of " << length << " " << name_of(dtype);
        }
      }
    }
  }
  EXPECT_GT(held, 150u);
  EXPECT_GT(apart, 60u);
}

}  // namespace
}  // namespace hologram
