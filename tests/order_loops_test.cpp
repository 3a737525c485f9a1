// Order, running sums and copies on the processor, bit for bit: what loops of our own
// compute, compiled programs and the interpreter.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <mutex>
#include <random>
#include <utility>
#include <vector>

#include "algorithms/group_scan.hpp"
#include "algorithms/index.hpp"
#include "algorithms/scan.hpp"
#include "engine/context.hpp"
#include "hologram/hologram.hpp"
#include "libraries/packed/columns.hpp"
#include "loops_beside_programs.hpp"
#include "share.hpp"

namespace hologram {
namespace {

using tests::expect_same_everywhere;
using tests::kTypes;
using tests::numbers;
using tests::Way;
using tests::ways;

TEST(OrderLoops, SameBitsAsPrograms) {
  tests::Share share;
  for (const DType type : kTypes)
    for (const Shape& shape : {Shape{1, 1}, Shape{3, 24}, Shape{2, 25}, Shape{7, 300},
                               Shape{1, 5000}, Shape{1, 131073}, Shape{40, 257}}) {
      if (!share.next()) continue;
      SCOPED_TRACE(testing::Message() << name_of(type) << ' ' << to_string(shape));
      const Array x = numbers(type, shape, 1), values = numbers(type, {999}, 2);
      for (const bool descending : {false, true})
        expect_same_everywhere([&](const Executor& executor) {
          const Tensor t = Tensor::from(x, executor), v = Tensor::from(values, executor);
          const ops::TopK first = ops::topk(t, (shape[1] + 9) / 10, 1, descending);
          const Tensor sorted = ops::sort(t.select(0, 0), 0);
          return std::vector<Tensor>{
              ops::sort(t, 1, descending), ops::argsort(t, 1, descending), first.values,
              first.indices,
              ops::searchsorted(sorted, v, descending ? ops::Side::Right : ops::Side::Left)};
        });
    }
}

TEST(OrderLoops, RunningSumsWithTheSameBits) {
  tests::Share share;
  for (const DType type : kTypes) {
    if (type == DType::Bool) continue;
    for (const Shape& shape : {Shape{1, 1}, Shape{3, 255}, Shape{2, 257}, Shape{5, 2049},
                               Shape{1, 200000}, Shape{3, 70000}, Shape{70, 300}, Shape{35, 4097},
                               Shape{130, 3}, Shape{67, 4}, Shape{100, 63}}) {
      if (!share.next()) continue;
      SCOPED_TRACE(testing::Message() << name_of(type) << ' ' << to_string(shape));
      // Finite: which of several that are no numbers comes of a sum is nobody's promise.
      const Array x =
          Tensor::from(numbers(DType::I8, shape, 3), ways()[0].executor).to(type).array();
      expect_same_everywhere([&](const Executor& executor) {
        const Tensor t = Tensor::from(x, executor);
        const Tensor near_one = is_float(type) ? t / 1e4 + 1 : t;
        return std::vector<Tensor>{ops::cumsum(t, 1), ops::cumprod(near_one, 1),
                                   ops::cumsum(t * -0.0, 1)};
      });
    }
  }
}

TEST(OrderLoops, RunningSumsDownAFewColumnsWithTheSameBits) {
  tests::Share share;
  for (const DType type : {DType::I32, DType::I64, DType::U64, DType::F16, DType::F32, DType::F64})
    for (const int64_t columns : {2, 3, 4, 5})
      for (const int64_t rows : {1, 255, 257, 70000}) {
        if (!share.next()) continue;
        SCOPED_TRACE(testing::Message() << name_of(type) << ' ' << rows << " x " << columns);
        const Shape shape = {2, rows, columns};
        const Array x =
            Tensor::from(numbers(DType::I8, shape, 3), ways()[0].executor).to(type).array();
        expect_same_everywhere([&](const Executor& executor) {
          const Tensor t = Tensor::from(x, executor);
          const Tensor near_one = is_float(type) ? t / 1e4 + 1 : t;
          return std::vector<Tensor>{ops::cumsum(t, 1), ops::cumprod(near_one, 1)};
        });
      }
}

// Parts of what is put together, and what lies otherwise, row by row: of bools that are no 0 or 1
// and of numbers that are none, too.
TEST(OrderLoops, CopiesWithTheSameBits) {
  tests::Share share;
  for (const DType type : kTypes)
    for (const Shape& shape : {Shape{1, 1}, Shape{300, 1}, Shape{7, 2}, Shape{40, 3}, Shape{40, 5},
                               Shape{30, 17}, Shape{20, 33}, Shape{9, 130}, Shape{3, 700}}) {
      if (!share.next()) continue;
      SCOPED_TRACE(testing::Message() << name_of(type) << ' ' << to_string(shape));
      const Array x = numbers(type, {2, shape[0], shape[1]}, 8);
      std::vector<Array> first;
      for (const Way& way : ways()) {
        SCOPED_TRACE(way.name);
        const Tensor t = Tensor::from(x, way.executor);
        const Tensor turned = t.transpose(), part = t.slice(-1, {0, (shape[1] + 1) / 2});
        std::vector<Array> made;
        for (const Tensor& each :
             {ops::concat({t, t}, -1), ops::stack({t, t}, -1),
              ops::concat({part, t, turned.transpose()}, 2), ops::pad(t, {{0, 0}, {1, 0}, {2, 1}}),
              ops::contiguous(turned), ops::contiguous(part), ops::contiguous(t.permute({1, 0, 2})),
              ops::contiguous(t.permute({2, 1, 0}))})
          made.push_back(each.array());
        if (first.empty()) first = made;
        for (size_t k = 0; k < made.size(); k++)
          EXPECT_EQ(std::memcmp(first[k].data(), made[k].data(), made[k].bytes()), 0) << k;
      }
    }
}

TEST(OrderLoops, RunningSumsByTilesHaveTheSameBits) {
  tests::Share share;
  const Executor& executor = ways()[1].executor;
  graph::Context& context = *graph::Context::of(executor);
  for (const DType type : {DType::I32, DType::U64, DType::F32, DType::F64, DType::F16})
    for (const Shape& shape : {Shape{1, 1}, Shape{65, 1}, Shape{3, 255}, Shape{130, 257},
                               Shape{5, 2049}, Shape{1, 70000}, Shape{2, 40000}, Shape{1, 3000000}})
      for (const program::Combine combine : {program::Combine::Add, program::Combine::Mul}) {
        if (!share.next()) continue;
        SCOPED_TRACE(testing::Message() << name_of(type) << ' ' << to_string(shape));
        const Tensor whole = Tensor::from(numbers(DType::I8, shape, 4), executor).to(type);
        const bool near_one = is_float(type) && combine == program::Combine::Mul;
        const graph::Storage x = context.adopt((near_one ? whole / 1e4 + 1 : whole).array());
        std::array<graph::Storage, 2> sums;
        const std::lock_guard lock(context.mutex());
        for (const bool by_tiles : {false, true}) {
          graph::Storage& to = sums[by_tiles ? 1 : 0] = context.allocate(x.where.size);
          graph::scan(context, combine, type, {shape[0], shape[1], 1}, x, to, by_tiles);
        }
        const auto bytes = [](const graph::Storage& s) {
          return s.where.buffer->host() + s.where.offset;
        };
        EXPECT_EQ(std::memcmp(bytes(sums[0]), bytes(sums[1]), x.where.size), 0);
        if (!is_integer(type)) continue;
        sums[1] = context.allocate(x.where.size);
        graph::scan_by_groups(context, combine, type, shape[0], shape[1], x, sums[1]);
        EXPECT_EQ(std::memcmp(bytes(sums[0]), bytes(sums[1]), x.where.size), 0);
      }
}

TEST(OrderLoops, SortedScattersHaveTheSameBits) {
  tests::Share share;
  struct Case {
    std::array<int64_t, 3> lengths;  // outer, positions, inner
    int64_t length;
    bool outside = false;
    bool by_rows = false;  // the same positions for all inner ones
  };
  const Executor& executor = ways()[1].executor;
  graph::Context& context = *graph::Context::of(executor);
  const auto bytes = [](const graph::Storage& s) {
    return s.where.buffer->host() + s.where.offset;
  };
  for (const DType type : {DType::I8, DType::F16, DType::F32, DType::F64})
    for (const Case& c : {Case{{1, 5000, 1}, 700}, Case{{1, 1, 1}, 3}, Case{{3, 600, 5}, 9},
                          Case{{2, 999, 1}, 1}, Case{{1, 700, 2}, 5, true}, Case{{1, 3000, 1}, 1},
                          Case{{2, 700, 6}, 40, false, true}, Case{{1, 50, 33}, 3, true, true}})
      for (const bool add : {false, true}) {
        const auto [outer, count, inner] = c.lengths;
        if (!share.next()) continue;
        SCOPED_TRACE(testing::Message() << name_of(type) << ' ' << count << " to " << c.length);
        const Shape of_values = {outer, count, inner};
        const auto whole = [&, t = type](const Shape& shape, uint32_t seed) {
          return (Tensor::from(numbers(DType::I8, shape, seed), executor) / 7).to(t).eval();
        };
        const Tensor to = whole({outer, c.length, inner}, 5), values = whole(of_values, 6);
        std::vector<int64_t> positions(static_cast<size_t>(values.size()));
        std::mt19937 random(7);
        for (int64_t& p : positions)
          p = static_cast<int64_t>(random() % static_cast<uint64_t>(2 * c.length)) - c.length;
        if (c.outside) positions[5] = c.length;
        if (c.by_rows)
          for (size_t i = 0; i < positions.size(); i++)
            positions[i] = positions[i - i % static_cast<size_t>(inner)];
        if (c.outside && c.by_rows) positions[0] = c.length;
        const Tensor at = Tensor::from_vector(positions, of_values, executor);

        const Array before = to.array();
        const graph::Storage v = context.adopt(values.array()), p = context.adopt(at.array());
        const hal::IndexDesc desc = {
            .what = add ? hal::IndexDesc::What::Add : hal::IndexDesc::What::Put,
            .dtype = type,
            .position = DType::I64,
            .lengths = c.lengths,
            .length = c.length,
            .strides = {count * inner, inner, c.by_rows ? 0 : 1}};
        graph::Storage wrong, result;
        {
          const std::lock_guard lock(context.mutex());
          wrong = context.allocate(sizeof(uint32_t));
          result = context.allocate(before.bytes());
          std::memset(bytes(wrong), 0, sizeof(uint32_t));
          std::memcpy(bytes(result), before.data(), before.bytes());
          graph::scatter_sorted(context, desc, {v.where, p.where, wrong.where, result.where});
        }
        uint32_t is_wrong = 0;
        std::memcpy(&is_wrong, bytes(wrong), sizeof is_wrong);
        EXPECT_EQ(is_wrong, c.outside ? 1u : 0u);
        if (c.outside) continue;
        const Array made =
            (add ? ops::scatter_add(to, at, values, 1) : ops::scatter(to, at, values, 1)).array();
        EXPECT_EQ(std::memcmp(bytes(result), made.data(), made.bytes()), 0) << add;
      }
}

// What lanes of a group hand to each other, as the interpreter sees it that looks for races and for
// memory that nobody wrote.
TEST(OrderLoops, GroupsHaveNoRaces) {
  tests::Share share;
  BackendConfig config;
  config.backend_type = BackendType::Cpu;
  config.check = true;
  const Executor executor = Executor::from_config(config);
  for (const DType type : {DType::Bool, DType::I8, DType::F16, DType::F32, DType::F64})
    for (const Shape& shape :
         {Shape{3, 100}, Shape{2, 257}, Shape{2, 900}, Shape{1, 6000}, Shape{1, 40000}}) {
      if (!share.next()) continue;
      SCOPED_TRACE(testing::Message() << name_of(type) << ' ' << to_string(shape));
      const Array x = numbers(type, shape, 8);
      std::vector<std::vector<Array>> made;
      for (const Executor& by : {executor, ways().back().executor}) {
        const Tensor t = Tensor::from(x, by);
        const ops::TopK first = ops::topk(t, shape[1] / 10, 1);
        made.emplace_back();
        for (const Tensor& result : {ops::sort(t, 1), ops::argsort(t, 1, true), first.indices})
          made.back().push_back(result.array());
      }
      for (size_t k = 0; k < made[0].size(); k++)
        EXPECT_EQ(std::memcmp(made[0][k].data(), made[1][k].data(), made[0][k].bytes()), 0) << k;
    }
  graph::Context& context = *graph::Context::of(executor);
  const graph::Storage x = context.adopt(numbers(DType::I32, {70'000}, 9));
  const std::lock_guard lock(context.mutex());
  const graph::Storage to = context.allocate(x.where.size);
  for (const auto& [rows, length] : {std::pair{70, 1000}, {1, 70'000}}) {
    graph::scan_by_groups(context, program::Combine::Add, DType::I32, rows, length, x, to);
    graph::scan(context, program::Combine::Add, DType::F32, {rows, length, 1}, x, to, true);
  }
  context.wait();
}

TEST(OrderLoops, TransposedCopiesWithTheSameBits) {
  tests::Share share;
  for (const DType type : kTypes) {
    // Those are not the same when they have been read and written.
    if (type == DType::Bool || type == DType::F16 || type == DType::BF16) continue;
    for (const Shape& shape : {Shape{5, 4, 4}, Shape{3, 16, 32}, Shape{2, 67, 41}, Shape{6, 3, 20},
                               Shape{33, 2, 50}, Shape{1, 400, 1000}}) {
      if (!share.next()) continue;
      SCOPED_TRACE(testing::Message() << name_of(type) << ' ' << to_string(shape));
      const Array x = numbers(type, shape, 6);
      expect_same_everywhere([&](const Executor& executor) {
        const Tensor t = Tensor::from(x, executor);
        std::vector<Tensor> all;
        for (const std::vector<int>& order : std::initializer_list<std::vector<int>>{
                 {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}})
          all.push_back(ops::contiguous(t.permute(order)));
        all.push_back(ops::contiguous(t.slice(1, {1, {}, 2}).permute({2, 1, 0})));
        all.push_back(ops::contiguous(t.slice(2, {1, -1}).transpose(1, 2)));
        all.push_back(ops::contiguous(t.slice(1, {{}, {}, -1}).transpose(1, 2)));
        all.push_back(ops::copy(t.select(0, 0).transpose()));
        return all;
      });
    }
  }
}

TEST(OrderLoops, SumsOfColumnsWithTheSameBits) {
  tests::Share share;
  if (libraries::packed::column_sums(float{}) == nullptr)
    GTEST_SKIP() << "they are for AVX2 and NEON";
  for (const DType type : {DType::F32, DType::F64})
    for (const Shape& shape :
         {Shape{5000, 2},  Shape{15, 3},   Shape{700, 5},    Shape{3000, 7},  Shape{257, 9},
          Shape{40, 15},   Shape{40, 16},  Shape{500, 17},   Shape{3000, 33}, Shape{70, 63},
          Shape{3, 64},    Shape{2, 65},   Shape{15, 100},   Shape{16, 127},  Shape{17, 64},
          Shape{33, 1000}, Shape{250, 71}, Shape{1000, 333}, Shape{4099, 64}, Shape{77, 5000}}) {
      if (!share.next()) continue;
      SCOPED_TRACE(testing::Message() << name_of(type) << ' ' << to_string(shape));
      Array x = numbers(type, shape, 9);
      expect_same_everywhere([&](const Executor& executor) {
        const Tensor all = Tensor::from(x, executor),
                     t = ops::where(ops::isfinite(all), all, -0.0).eval();
        return std::vector<Tensor>{
            ops::sum(t, 0), ops::sum(t.slice(0, {0, {}, 2}), 0), ops::sum(t * -0.0, 0),
            ops::sum(t.slice({{shape[0] / 3, {}}, {0, std::min<int64_t>(64, shape[1])}}), 0),
            ops::mean(t, 0)};
      });
    }
}

TEST(OrderLoops, ExplainTellsWhoDoesIt) {
  for (const Way& way : ways()) {
    SCOPED_TRACE(way.name);
    const Tensor x = Tensor::from(numbers(DType::F32, {20, 300}, 7), way.executor);
    const Tensor at = ops::zeros({20, 300}, DType::I64, way.executor).eval();
    const auto expect_said = [&](const Tensor& t, const char* loops) {
      const std::string said = explain({t}), by = way.loops ? loops : "by programs: ";
      EXPECT_NE(said.find("   " + by), std::string::npos) << said;
    };
    expect_said(ops::sort(x), "by hologram sort");
    expect_said(ops::argsort(x), "by hologram argsort");
    expect_said(ops::topk(x, 3).indices, "by hologram topk");
    expect_said(ops::searchsorted(ops::copy(x.select(0, 0)), x), "by hologram searchsorted");
    expect_said(ops::nonzero(x), "by hologram nonzero");
    expect_said(ops::cumsum(x, 1), "by hologram f32 running sums");
    expect_said(ops::gather(x, at, 1), "by hologram gather");
    expect_said(ops::scatter_add(x, at, x, 1), "by hologram scatter_add");
    expect_said(ops::cumsum(x, 0), "by hologram f32 running sums");
    // Many columns of integers are the program's everywhere.
    EXPECT_NE(explain({ops::cumsum(at, 0)}).find("by programs: "), std::string::npos);
  }
  const Tensor x = Tensor::from(numbers(DType::F32, {20, 300}, 8), ways().back().executor);
  EXPECT_NE(explain({ops::matmul(x, x.transpose())}).find("by hologram f32 product"),
            std::string::npos);
}

}  // namespace
}  // namespace hologram
