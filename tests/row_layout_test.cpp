// Rows are laid out in one way for a processor and in another for devices with many threads: the
// sums have the same bits.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <functional>
#include <random>

#include "engine/context.hpp"
#include "fusion/codegen.hpp"
#include "fusion/iteration_space.hpp"
#include "fusion/layout.hpp"

#include "hologram/hologram.hpp"
#include "scheduled.hpp"
#include "share.hpp"

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
    {"columns",
     [](const Tensor& x) {
       return ops::sum(x.reshape({-1, 3}), 0);
     }},
    {"softmax", [](const Tensor& x) { return ops::softmax(x); }},
    {"normalized",
     [](const Tensor& x) {
       const Tensor d = x - ops::mean(x, -1, true);
       return d / ops::sqrt(ops::mean(d * d, -1, true) + 1e-5f);
     }},
};

// The bits of both layouts of what can be computed at once: `look` sees each pair of layouts.
template <size_t N>
void expect_same_bits(const Executor& executor, const Tensor& x, const Rows (&works)[N],
                      const std::function<void(const graph::Layout&, const graph::Layout&)>& look) {
  for (const Rows& work : works) {
    const Tensor y = tensor::dense(work.make(x));
    const tests::Scheduled plan(y);
    for (const graph::Step& step : plan.steps()) {
      // Not of what another step makes first.
      if (step.opaque != nullptr || step.kernel.row_axes == 0 ||
          std::any_of(step.kernel.loads.begin(), step.kernel.loads.end(),
                      [](const auto* node) { return node->result.owner == nullptr; }))
        continue;
      const graph::Layout few = graph::layout(step.kernel, {}),
                          many = graph::layout(step.kernel, {.is_gpu_like = true});
      look(few, many);
      const auto expected = results(executor, step.kernel, few),
                 got = results(executor, step.kernel, many);
      ASSERT_EQ(got.size(), expected.size());
      for (size_t k = 0; k < got.size(); k++)
        ASSERT_EQ(std::memcmp(got[k].data(), expected[k].data(), got[k].bytes()), 0)
            << work.name << " of " << name_of(x.dtype()) << ", rows of " << x.shape().back();
    }
  }
}

TEST(RowLayout, SameBitsOnDevicesWithManyThreads) {
  tests::Share share;
  const Executor executor(BackendType::Cpu);
  size_t held = 0, apart = 0, whole_runs = 0;
  for (const DType dtype : {DType::F32, DType::F16, DType::I32})
    for (const int64_t length :
         {16, 32, 60, 64, 65, 100, 128, 1000, 2048, 2049, 4096, 4097, 9000, 16384, 20000}) {
      if (!share.next()) continue;
      expect_same_bits(executor, numbers({3, length}, dtype), kRows,
                       [&](const graph::Layout& few, const graph::Layout& many) {
                         held += many.held > 0;
                         apart += many.side_by_side > 1;
                         whole_runs += many.traversal == graph::Traversal::LaneRows && many.full;
                         EXPECT_FALSE(few.full);
                       });
    }
  if (share.all()) {
    EXPECT_GT(held, 150u);
    EXPECT_GT(apart, 60u);
    EXPECT_GT(whole_runs, 20u);
  }
}

const Rows kWorksOfRows[] = {
    {"softmax", [](const Tensor& x) { return ops::softmax(x); }},
    {"sum, and less it", [](const Tensor& x) { return x - ops::sum(x, -1, true); }},
    {"beside what is the same for all",
     [](const Tensor& x) {
       const Tensor row = x.slice(0, {1, 2}), column = x.slice(1, {1, 2});
       return (x - ops::max(x, -1, true)) * row + column;
     }},
    {"of two, one of them backwards",
     [](const Tensor& x) { return ops::sum(x * x.flip({1}) + x.flip({0}), -1); }},
    {"of every other row",
     [](const Tensor& x) {
       return ops::argmax(x.slice(0, {0, {}, 2}), -1);
     }},
    {"compared", [](const Tensor& x) { return x > ops::mean(x, -1, true); }},
};

// Short rows pass through the memory of the group that has them, all together or beside others that
// do not.
TEST(StagedRows, SameBitsOnDevicesWithManyThreads) {
  tests::Share share;
  const Executor executor(BackendType::Cpu);
  size_t staged = 0;
  for (const DType dtype : {DType::F32, DType::F64, DType::F16, DType::I64, DType::I8, DType::U32})
    for (const Shape& shape :
         {Shape{70, 4}, Shape{33, 5}, Shape{1000, 16}, Shape{31, 32}, Shape{100, 33}, Shape{64, 63},
          Shape{257, 64}, Shape{2, 3, 50, 17}}) {
      if (!share.next()) continue;
      expect_same_bits(executor, numbers(shape, dtype), kWorksOfRows,
                       [&](const graph::Layout& few, const graph::Layout& many) {
                         EXPECT_EQ(few.room, 0u);
                         staged += many.room > 0;
                       });
    }
  if (share.all()) {
    EXPECT_GT(staged, 200u);
  }
}

// Rows that a group needs no time for are read several at once.
TEST(SeveralRows, SameBitsOnDevicesWithManyThreads) {
  tests::Share share;
  const Executor executor(BackendType::Cpu);
  size_t several = 0;
  for (const DType dtype : {DType::F32, DType::I16})
    for (const Shape& shape :
         {Shape{33000, 65}, Shape{16385, 128}, Shape{3, 11002, 100}, Shape{16386, 300}}) {
      if (!share.next()) continue;
      expect_same_bits(executor, numbers(shape, dtype), kWorksOfRows,
                       [&](const graph::Layout& few, const graph::Layout& many) {
                         EXPECT_EQ(few.several, 1u);
                         several += many.several > 1;
                       });
    }
  if (share.all()) {
    EXPECT_GT(several, 30u);
  }
}

// Programs over three axes: each place has one lane, whichever axis lanes walk, and neighbours are
// neighbours in memory where they walk all axes as one.
TEST(BoxOfLanes, EachPlaceOnce) {
  const Executor executor(BackendType::Cpu);
  size_t all_axes = 0;
  for (const bool sequential_lanes : {false, true})
    for (const std::array<int64_t, 3>& n : {std::array<int64_t, 3>{3, 5, 7},
                                            {2, 300, 63},
                                            {900, 63, 1},
                                            {1, 1, 5},
                                            {4, 100, 1},
                                            {700, 1, 2},
                                            {2, 3, 100},
                                            {1, 1, 1},
                                            {300, 1, 1}}) {
      const graph::Box box{n, sequential_lanes};
      all_axes += box.lanes_axis() == graph::Box::kAllAxes;
      if (n[2] > 1 && !sequential_lanes) {
        EXPECT_TRUE(box.lanes_axis() == graph::Box::kAllAxes || n[2] >= 64);
      }
      program::Builder b("places", {graph::kBoxLanes}, DType::I32);
      const program::Buf y = b.buffer("y", DType::I32, program::Access::InOut);
      const std::array<program::Value, 3> lengths = {
          b.scalar("n0", DType::I32), b.scalar("n1", DType::I32), b.scalar("n2", DType::I32)};
      const graph::Place place = graph::place(b, box.lanes_axis(), lengths);
      b.if_(place.inside, [&] {
        const program::Value at =
            (place.at[0] * lengths[1] + place.at[1]) * lengths[2] + place.at[2];
        b.store(y, at, b.load(y, at) + at + 1);
      });
      std::vector<Array> arrays;
      const int64_t count = n[0] * n[1] * n[2];
      arrays.emplace_back(DType::I32, Shape{count});
      std::memset(arrays[0].mutable_data(), 0, arrays[0].bytes());
      const std::array<uint64_t, 3> scalars = {graph::index_bits(DType::I32, n[0]),
                                               graph::index_bits(DType::I32, n[1]),
                                               graph::index_bits(DType::I32, n[2])};
      executor.state()->launch(b.finish(), arrays, scalars, box.grid(), {});
      for (int64_t i = 0; i < count; i++)
        ASSERT_EQ(arrays[0].as<int32_t>()[static_cast<size_t>(i)], i + 1)
            << n[0] << " x " << n[1] << " x " << n[2]
            << (sequential_lanes ? " one after the other" : "");
    }
  EXPECT_EQ(all_axes, 5u);
}

// Sums of columns go through memory on a processor and are gathered by a group where it has many
// lanes.
TEST(GatheredPieces, SameBitsInOneKernel) {
  tests::Share share;
  const Executor executor(BackendType::Cpu);
  const struct {
    const char* name;
    std::function<Tensor(const Tensor&)> make;
    size_t steps;
  } works[] = {
      {"sum", [](const Tensor& x) { return ops::sum(x, 0); }, 1},
      {"sum of products", [](const Tensor& x) { return ops::sum(x * x.flip({0}) - 1, 0); }, 1},
      {"max", [](const Tensor& x) { return ops::max(x, 0); }, 1},
      {"sum, root", [](const Tensor& x) { return ops::abs(ops::sum(x, 0)) * 2; }, 1},
      {"mean", [](const Tensor& x) { return ops::mean(x, 0); }, 0},
      {"kept", [](const Tensor& x) { return ops::sum(x, 0, true); }, 1},
      {"two axes",
       [](const Tensor& x) {
         return ops::sum(x.reshape({64, -1, x.size(1)}), {0, 1});
       },
       1},
      {"middle",
       [](const Tensor& x) {
         return ops::sum(x.reshape({x.size(0), 4, -1}).permute({1, 0, 2}), 1);
       },
       1},
      {"beside another",
       [](const Tensor& x) {
         return ops::sum(x, 0) + x.slice(0, {0, 1}).reshape({-1});
       },
       2},
      {"standard deviation", [](const Tensor& x) { return ops::std(x, 0); }, 0},
  };
  size_t gathered = 0;
  // Sums of f16 are of f32, and may be gathered; what is rounded where it is stored is not.
  for (const DType dtype : {DType::F32, DType::F64, DType::I32, DType::F16})
    for (const Shape& shape : {Shape{1024, 4096}, Shape{960, 8256}}) {
      const Tensor x = numbers(shape, dtype);
      for (const auto& work : works) {
        if (!share.next()) continue;
        const Tensor y = tensor::dense(work.make(x)), z = tensor::dense(work.make(x));
        const tests::Scheduled plan(y, {.large_groups = true});
        const bool fits = dtype != DType::F16 && work.steps == 1;
        if (fits) {
          ASSERT_EQ(plan.steps().size(), 1u) << work.name << " of " << name_of(dtype);
        }
        if (plan.steps().size() != 1) continue;
        const graph::Kernel& kernel = plan.steps()[0].kernel;
        const graph::Layout how = graph::layout(kernel, {.is_gpu_like = true});
        if (dtype != DType::F16) {
          EXPECT_EQ(how.traversal == graph::Traversal::Pieces, fits) << work.name;
        }
        graph::require_inside(kernel);
        gathered += how.traversal == graph::Traversal::Pieces;
        const std::vector<Array> got = results(executor, kernel, how);
        const Array expected = z.array();
        ASSERT_EQ(got.size(), 1u);
        ASSERT_EQ(std::memcmp(got[0].data(), expected.data(), expected.bytes()), 0)
            << work.name << " of " << shape[0] << " x " << shape[1] << " " << name_of(dtype);
      }
    }
  if (share.all()) {
    EXPECT_GT(gathered, 45u);
  }
}

// One that has nothing but says that it adds up pieces.
struct AddsPieces : hal::LibraryOps {
  hal::Planned plan(const hal::OpDesc& desc) override { return hal::answer(desc); }
  bool adds_pieces(DType dtype) override { return dtype == DType::F32; }
};

// A long row alone is one step where a library may have it; whoever runs its program instead gets
// the same bits.
TEST(GatheredPieces, OfOneRowForALibrary) {
  const Executor executor = Executor::builder().backend(BackendType::Cpu).threads(2).build();
  using graph::kLongestGroupRow, graph::kMostGathered;
  const struct {
    const char* name;
    std::function<Tensor(const Tensor&)> make;
    size_t steps;
  } works[] = {
      {"sum", [](const Tensor& x) { return ops::sum(x); }, 1},
      {"sum of products", [](const Tensor& x) { return ops::sum(x * x); }, 1},
      {"of a matrix",
       [](const Tensor& x) {
         return ops::sum(x.slice(0, {1, {}}).reshape({2, -1}));
       },
       1},
      {"sum of others", [](const Tensor& x) { return ops::sum(x * 2); }, 2},
      {"the other way", [](const Tensor& x) { return ops::sum(x.flip({0})); }, 2},
      {"every other",
       [](const Tensor& x) {
         return ops::sum(x.slice(0, {0, {}, 2}));
       },
       2},
      {"sum, root", [](const Tensor& x) { return ops::abs(ops::sum(x)); }, 2},
      {"most", [](const Tensor& x) { return ops::max(x); }, 2},
      {"whole numbers", [](const Tensor& x) { return ops::sum(x.to(DType::I32).eval()); }, 2},
  };
  AddsPieces library;
  for (const int64_t length : {2 * kLongestGroupRow + 1, 3 * kLongestGroupRow, int64_t{100001},
                               kMostGathered * kLongestGroupRow - 1})
    for (const auto& work : works) {
      SCOPED_TRACE(testing::Message() << work.name << " of " << length);
      const Tensor x = numbers({length}, DType::F32).to(executor).eval();
      if (std::string_view(work.name) == "of a matrix" && length % 2 == 0) continue;
      const Tensor y = work.make(x), z = work.make(x);
      const tests::Scheduled plan(y, {.library = &library});
      EXPECT_EQ(plan.steps().size(), work.steps);
      if (plan.steps().size() != 1) continue;
      const graph::Kernel& kernel = plan.steps()[0].kernel;
      graph::require_inside(kernel);
      const std::vector<Array> got = results(executor, kernel, graph::layout(kernel, {}));
      const Array expected = z.array();
      ASSERT_EQ(got.size(), 1u);
      EXPECT_EQ(std::memcmp(got[0].data(), expected.data(), expected.bytes()), 0);
    }
  const Tensor more = numbers({kMostGathered * kLongestGroupRow + 1}, DType::F32).to(executor);
  const Tensor sum = ops::sum(more);
  EXPECT_EQ(tests::Scheduled(sum, {.library = &library}).steps().size(), 2u);
}

// What is read across goes through squares of workgroup memory, whole ones and parts of them.
TEST(TileLayout, SameBitsOnDevicesWithManyThreads) {
  tests::Share share;
  const Executor executor(BackendType::Cpu);
  const struct {
    const char* name;
    std::function<Tensor(const Tensor&)> make;
    bool tiled;
  } works[] = {
      {"copy", [](const Tensor& x) { return x.transpose() + 0; }, true},
      {"sum",
       [](const Tensor& x) {
         return x.permute({1, 2, 0}) + x.reshape({x.size(1), x.size(2), x.size(0)});
       },
       true},
      {"two",
       [](const Tensor& x) {
         return x.permute({2, 1, 0}) * 2 - x.flip({0}).permute({2, 1, 0});
       },
       true},
      {"planes",
       [](const Tensor& x) {
         return ops::exp(x.permute({0, 2, 1}));
       },
       true},
      {"downward",
       [](const Tensor& x) {
         return ops::abs(x.flip({1}).permute({2, 0, 1}));
       },
       true},
      {"the same way",
       [](const Tensor& x) {
         return x.permute({1, 0, 2}) + 1;
       },
       false},
  };
  for (const DType dtype : {DType::F32, DType::F16, DType::I8, DType::F64, DType::I64})
    for (const Shape& shape :
         {Shape{64, 40, 64}, Shape{65, 33, 100}, Shape{1, 129, 63}, Shape{70, 1, 32}})
      for (const auto& work : works) {
        if (!share.next()) continue;
        const bool rank2 = std::string_view(work.name) == "copy";
        const Tensor x = numbers(rank2 ? Shape{shape[0] * shape[1], shape[2]} : shape, dtype);
        const Tensor y = tensor::dense(work.make(x));
        const tests::Scheduled plan(y);
        ASSERT_EQ(plan.steps().size(), 1u) << work.name;
        const graph::Kernel& kernel = plan.steps()[0].kernel;
        const graph::Layout few = graph::layout(kernel, {}),
                            many = graph::layout(kernel, {.is_gpu_like = true});
        if (shape[0] >= 64 && shape[1] >= 33) {
          EXPECT_EQ(many.traversal == graph::Traversal::Tiles, work.tiled) << work.name;
        }
        EXPECT_NE(few.traversal, graph::Traversal::Tiles);
        const auto expected = results(executor, kernel, few), got = results(executor, kernel, many);
        ASSERT_EQ(got.size(), expected.size());
        for (size_t k = 0; k < got.size(); k++)
          ASSERT_EQ(std::memcmp(got[k].data(), expected[k].data(), got[k].bytes()), 0)
              << work.name << " of " << shape[0] << " x " << shape[1] << " x " << shape[2] << " "
              << name_of(dtype);
      }
}

}  // namespace
}  // namespace hologram
