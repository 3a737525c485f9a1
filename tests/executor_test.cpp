// Launching programs: arguments, shapes, grids, outputs, errors, limits.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <thread>

#include "hologram/hologram.hpp"

namespace hologram {
namespace {

using program::Access;
using program::Builder;
using program::Combine;
using program::Value;

Program saxpy() {
  Builder b("saxpy", {256});
  auto x = b.buffer("x", DType::F32, Access::In, {{"n"}});
  auto y = b.buffer("y", DType::F32, Access::InOut, {{"n"}});
  const Value a = b.scalar("a", DType::F32);
  const Value i = b.global_id(0);
  b.if_(i < b.length(y), [&] { b.store(y, i, fma(a, b.load(x, i), b.load(y, i))); });
  return b.finish();
}

// out[y, x] = x + 1000 y over a picture of h rows.
Program coordinates() {
  Builder b("coordinates", {16, 4});
  auto out = b.buffer("out", DType::F32, Access::Out, {{"h"}, {"w"}});
  b.begin_host();
  b.lanes(0, b.dimension("w"));
  b.lanes(1, b.dimension("h"));
  b.end_host();
  const Value x = b.global_id(0), y = b.global_id(1), w = b.dimension("w"), h = b.dimension("h");
  b.if_((x < w) & (y < h), [&] { b.store(out, y * w + x, b.cast(x + y * 1000, DType::F32)); });
  return b.finish();
}

Program endless() {
  Builder b("endless", {64});
  auto out = b.buffer("out", DType::I32, Access::Out, {{"n"}});
  const auto v = b.var(b.constant(DType::I32, int64_t{0}));
  b.loop([&] { b.set(v, b.get(v) + 1); });
  b.store(out, b.global_id(0), b.get(v));
  return b.finish();
}

Array counting(int64_t n) {
  std::vector<float> values(static_cast<size_t>(n));
  std::iota(values.begin(), values.end(), 0.0f);
  return Array::from(values, {n});
}

template <class Body>
void expect_error(ErrorKind kind, const std::string& culprit, Body body) {
  try {
    body();
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_EQ(name_of(e.kind()), name_of(kind)) << e.what();
    EXPECT_NE(std::string(e.what()).find(culprit), std::string::npos) << e.what();
    EXPECT_FALSE(e.remedy().empty());
  }
}

TEST(Executor, ChangesInOutInPlace) {
  Executor executor;
  for (const int64_t n : {1, 15, 16, 17, 255, 256, 257, 1000, 100003}) {
    Array y = counting(n);
    auto out = executor.run(saxpy(), {{"x", counting(n)}, {"y", y}, {"a", 2.0}});
    for (int64_t i = 0; i < n; i++)
      ASSERT_EQ(y.as<float>()[static_cast<size_t>(i)], 3.0f * static_cast<float>(i)) << n;
    EXPECT_EQ(out.at("y").data(), y.data());
  }
}

TEST(Executor, DerivesOutputsAndGrid) {
  Executor executor;
  RunReport report;
  RunOptions options;
  options.shapes["out"] = {37, 123};
  options.report = &report;
  Array out = executor.run(coordinates(), {}, options).at("out");
  EXPECT_EQ(report.grid, (Grid{8, 10, 1}));
  for (int y = 0; y < 37; y++)
    for (int x = 0; x < 123; x++)
      ASSERT_EQ(out.as<float>()[static_cast<size_t>(y * 123 + x)],
                static_cast<float>(x + 1000 * y));
  // Dimensions can also be given by name.
  Array same = executor.run(coordinates(), {{"h", 37}, {"w", 123}}).at("out");
  EXPECT_TRUE(std::equal(out.as<float>().begin(), out.as<float>().end(), same.as<float>().begin()));
}

TEST(Executor, SaysWhatIsWrongWithArguments) {
  Executor executor;
  const Program p = saxpy();
  const Array x = counting(4);
  expect_error(ErrorKind::InvalidArgument, "'y'", [&] { executor.run(p, {{"x", x}, {"a", 1}}); });
  expect_error(ErrorKind::InvalidArgument, "'b'", [&] {
    executor.run(p, {{"x", x}, {"y", counting(4)}, {"b", 1}});
  });
  expect_error(ErrorKind::InvalidArgument, "'a'", [&] {
    executor.run(p, {{"x", x}, {"y", counting(4)}});
  });
  expect_error(ErrorKind::InvalidArgument, "twice", [&] {
    executor.run(p, {{"x", x}, {"x", x}, {"y", counting(4)}, {"a", 1}});
  });
  expect_error(ErrorKind::ShapeMismatch, "'n'", [&] {
    executor.run(p, {{"x", x}, {"y", counting(5)}, {"a", 1}});
  });
  expect_error(ErrorKind::ShapeMismatch, "[2, 2]", [&] {
    executor.run(p, {{"x", x.reshaped({2, 2})}, {"y", counting(4)}, {"a", 1}});
  });
  expect_error(ErrorKind::DTypeMismatch, "f64", [&] {
    executor.run(p, {{"x", Array(DType::F64, {4})}, {"y", counting(4)}, {"a", 1}});
  });
  expect_error(ErrorKind::InvalidArgument, "'a'", [&] {
    executor.run(p, {{"x", x}, {"y", counting(4)}, {"a", x}});
  });
  expect_error(ErrorKind::InvalidArgument, "'x'", [&] {
    executor.run(p, {{"x", 1}, {"y", counting(4)}, {"a", 1}});
  });
  Array both = counting(4);
  expect_error(ErrorKind::InvalidArgument, "overlap", [&] {
    executor.run(p, {{"x", both}, {"y", both}, {"a", 1}});
  });
  const float constant[4] = {};
  expect_error(ErrorKind::InvalidArgument, "read-only", [&] {
    executor.run(p, {{"x", x}, {"y", Array::borrow(DType::F32, {4}, constant)}, {"a", 1}});
  });
  expect_error(ErrorKind::InvalidArgument, "that 2 divides", [&] {
    Array::borrow(DType::F16, {1},
                  static_cast<const void*>(reinterpret_cast<const char*>(constant) + 1));
  });
  expect_error(ErrorKind::ShapeMismatch, "'h'", [&] { executor.run(coordinates(), {{"w", 3}}); });
  expect_error(ErrorKind::InvalidArgument, "i32", [&] { executor.run(endless(), {{"n", 3e9}}); });
}

TEST(Executor, ChecksRequireClauses) {
  Builder b("needs", {64});
  auto x = b.buffer("x", DType::F32, Access::In);
  auto out = b.buffer("out", DType::F32, Access::Out);
  b.begin_host();
  b.require(b.length(out) <= b.length(x), "len(out) <= len(x)");
  b.end_host();
  const Value i = b.global_id(0);
  b.if_(i < b.length(out), [&] { b.store(out, i, b.load(x, i)); });
  const Program p = b.finish();
  Executor executor;
  RunOptions options;
  options.shapes["out"] = {4};
  EXPECT_NO_THROW(executor.run(p, {{"x", counting(4)}}, options));
  options.shapes["out"] = {5};
  expect_error(ErrorKind::InvalidArgument, "len(out) = 5", [&] {
    executor.run(p, {{"x", counting(4)}}, options);
  });
}

TEST(Executor, DropsWhatIsOutsideOfBuffers) {
  Builder b("outside", {64});
  auto x = b.buffer("x", DType::F32, Access::In);
  auto out = b.buffer("out", DType::F32, Access::Out);
  const Value i = b.global_id(0);
  b.store(out, i - 3, b.load(x, i * 2 - 5));
  const Program p = b.finish();
  Executor executor;
  std::vector<float> guarded(40, -1.0f);
  Array result = Array::borrow(DType::F32, {20}, guarded.data() + 10);
  executor.run(p, {{"x", counting(30)}, {"out", result}});
  for (int k = 0; k < 20; k++) {
    const int from = (k + 3) * 2 - 5;
    EXPECT_EQ(guarded[static_cast<size_t>(k + 10)], from < 30 ? static_cast<float>(from) : 0.0f);
  }
  for (size_t k = 0; k < 10; k++) EXPECT_EQ(guarded[k], -1.0f);
  for (size_t k = 30; k < 40; k++) EXPECT_EQ(guarded[k], -1.0f);
}

TEST(Executor, StopsAnEndlessLoopAndGoesOn) {
  BackendConfig config;
  config.timeout_ms = 200;
  for (const int threads : {1, 2}) {
    config.num_threads = threads;
    const Executor executor = Executor::from_config(config);
    const auto start = std::chrono::steady_clock::now();
    expect_error(ErrorKind::Timeout, "'endless'", [&] {
      executor.run(endless(), {{"n", 100000}});
    });
    // Generous: other tests may have the processor. An endless loop would not end at all.
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
    Array y = counting(100);
    executor.run(saxpy(), {{"x", counting(100)}, {"y", y}, {"a", 1}});
    EXPECT_EQ(y.as<float>()[99], 198.0f);
  }
}

TEST(Executor, StopsAtItsBudget) {
  const Executor executor;
  RunOptions options;
  options.budget = 1000;
  expect_error(ErrorKind::Timeout, "1000", [&] {
    executor.run(endless(), {{"n", 1000}}, options);
  });
}

TEST(Executor, CountsItsProgress) {
  Progress progress;
  RunOptions options;
  options.progress = &progress;
  const Executor executor;
  executor.run(coordinates(), {{"h", 37}, {"w", 123}}, options);
  EXPECT_EQ(progress.total, 8u * 16 * 10 * 4);
  EXPECT_EQ(progress.done, progress.total);
}

TEST(Executor, CanBeCancelled) {
  Executor executor;
  Progress progress;
  RunOptions options;
  options.progress = &progress;
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    progress.cancel = true;
  });
  expect_error(ErrorKind::Cancelled, "'endless'", [&] {
    executor.run(endless(), {{"n", 1000}}, options);
  });
  other.join();
}

// The same program and another one at once, from threads that share the executor or have their own.
TEST(Executor, ServesManyThreads) {
  const Executor shared;
  std::atomic<int> wrong = 0;
  std::vector<std::thread> callers;
  callers.reserve(4);
  for (int t = 0; t < 4; t++)
    callers.emplace_back([&, t] {
      const Executor own;
      const Executor& executor = t == 3 ? own : shared;
      const Program program = t % 2 == 0 ? saxpy() : coordinates();
      for (int round = 0; round < 10; round++) {
        if (t % 2 == 0) {
          const int64_t n = 20000 + t;
          const auto out =
              executor.run(program, {{"x", counting(n)}, {"y", counting(n)}, {"a", t}});
          const auto y = out.at("y").as<float>();
          for (size_t i = 0; i < y.size(); i++)
            wrong += y[i] != static_cast<float>(i) * static_cast<float>(t + 1);
        } else {
          const auto out = executor.run(program, {{"h", 200}, {"w", 100}});
          const auto grid = out.at("out").as<float>();
          for (size_t i = 0; i < grid.size(); i++) {
            const size_t x = i % 100, y = i / 100;
            wrong += grid[i] != static_cast<float>(x + y * 1000);
          }
        }
      }
    });
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Executor, RunsByStripsBitForBit) {
  BackendConfig config;
  config.cache_size_mb = 1;
  const Executor small = Executor::from_config(config);
  const std::vector<Argument> arguments = {{"h", 1237}, {"w", 1111}};
  expect_error(ErrorKind::OutOfMemory, "HOLOGRAM_CACHE_SIZE_MB=1",
               [&] { small.run(coordinates(), arguments); });
  const Array whole = Executor().run(coordinates(), arguments).at("out");
  RunReport report;
  RunOptions options;
  options.report = &report;
  int64_t rows = 0;
  small.run_tiled(
      coordinates(), arguments,
      [&](const std::string& name, int64_t first, const Array& strip) {
        EXPECT_EQ(name, "out");
        ASSERT_EQ(first, rows);
        ASSERT_LE(strip.bytes(), size_t{1} << 20);
        const auto expected =
            whole.as<float>().subspan(static_cast<size_t>(first * 1111), strip.size());
        EXPECT_TRUE(std::equal(expected.begin(), expected.end(), strip.as<float>().begin()));
        rows += strip.shape()[0];
      },
      options);
  EXPECT_EQ(rows, 1237);
  EXPECT_EQ(report.grid, (Grid{70, 310, 1}));
  EXPECT_GT(report.launches, 4u);
}

// A program that writes to rows other than those of its lanes is refused, not answered wrongly.
TEST(Executor, RefusesStripsThatWriteElsewhere) {
  Builder b("flip", {64});
  auto out = b.buffer("out", DType::F32, Access::Out, {{"n"}});
  const Value i = b.global_id(0), n = b.dimension("n");
  b.if_(i < n, [&] { b.store(out, n - 1 - i, b.cast(i, DType::F32)); });
  const Program p = b.finish();
  BackendConfig config;
  config.cache_size_mb = 1;
  expect_error(ErrorKind::UnsupportedOperation, "'flip'", [&] {
    Executor::from_config(config).run_tiled(p, {{"n", 1000000}}, [](auto&, auto, auto&) {});
  });
}

TEST(Executor, FindsRacesWhenAsked) {
  BackendConfig config;
  config.check = true;
  const Executor checking = Executor::from_config(config);
  const auto program = [](bool with_barrier, bool atomic) {
    Builder b("neighbours", {64});
    auto out = b.buffer("out", DType::I32, atomic ? Access::Atomic : Access::Out, {{"n"}});
    auto tile = b.shared("tile", DType::I32, 64);
    const Value l = b.lane_id(0);
    b.store(tile, l, l);
    if (with_barrier) b.barrier();
    const Value v = b.load(tile, b.constant(DType::I32, int64_t{63}) - l);
    if (atomic) b.atomic(Combine::Add, out, b.constant(DType::I32, int64_t{0}), v);
    else b.store(out, b.global_id(0), v);
    return b.finish();
  };
  expect_error(ErrorKind::InvalidProgram, "tile", [&] {
    checking.run(program(false, false), {{"n", 128}});
  });
  EXPECT_EQ(checking.run(program(true, false), {{"n", 128}}).at("out").as<int32_t>()[1], 62);
  EXPECT_EQ(checking.run(program(true, true), {{"n", 128}}).at("out").as<int32_t>()[0],
            2 * 63 * 64 / 2);
}

TEST(Executor, ReadsItsEnvironment) {
  const auto with = [](const char* name, const char* value) {
    setenv(name, value, 1);
    struct Unset {
      const char* name;
      ~Unset() { unsetenv(name); }
    } unset{name};
    return BackendConfig::from_environment();
  };
  EXPECT_EQ(with("HOLOGRAM_BACKEND", "null").backend_type, BackendType::Null);
  EXPECT_EQ(with("HOLOGRAM_BACKEND", "cuda,cpu").preference.size(), 2u);
  EXPECT_EQ(with("HOLOGRAM_TIMEOUT_MS", "500").timeout_ms, 500u);
  EXPECT_EQ(with("HOLOGRAM_CACHE_SIZE_MB", "512").cache_size_mb, 512u);
  expect_error(ErrorKind::InvalidConfig, "HOLOGRAM_BACKEND=cudaa",
               [&] { with("HOLOGRAM_BACKEND", "cudaa"); });
  expect_error(ErrorKind::InvalidConfig, "HOLOGRAM_CHECK=maybe",
               [&] { with("HOLOGRAM_CHECK", "maybe"); });
  expect_error(ErrorKind::InvalidConfig, "HOLOGRAM_DEVICE_ID=-1",
               [&] { with("HOLOGRAM_DEVICE_ID", "-1"); });
}

TEST(Executor, ChoosesAndExplains) {
  BackendConfig config;
  config.preference = {BackendType::Cuda, BackendType::Cpu};
  const Executor executor = Executor::from_config(config);
  EXPECT_EQ(executor.device().backend, BackendType::Cpu);
  EXPECT_NE(executor.why().find("cuda skipped"), std::string::npos);
  expect_error(ErrorKind::BackendUnavailable,
               "CUDA backend not available: ", [] { Executor{BackendType::Cuda}; });
  config = {};
  config.device_id = 7;
  config.backend_type = BackendType::Cpu;
  expect_error(ErrorKind::BackendUnavailable, "7", [&] { Executor::from_config(config); });
  config.device_id = 0;
  config.cpu_target = "avx1024";
  expect_error(ErrorKind::InvalidConfig, "avx1024", [&] { Executor::from_config(config); });
  EXPECT_EQ(discover_backends().size(), 7u);
}

// The null device computes nothing, but everything else happens: bytes go there and come back.
TEST(Executor, RunsOnADeviceWithItsOwnMemory) {
  Executor executor(BackendType::Null);
  Array y = counting(100);
  executor.run(saxpy(), {{"x", counting(100)}, {"y", y}, {"a", 5}});
  EXPECT_EQ(y.as<float>()[99], 99.0f);
}

}  // namespace
}  // namespace hologram
