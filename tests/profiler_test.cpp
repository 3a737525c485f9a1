// What an Executor tells about its launches: figures, table, trace, bounded memory.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <thread>

#include "hologram/hologram.hpp"
#include "runtime/profiler.hpp"

namespace hologram {
namespace {

using runtime::Profiler;
using std::chrono::microseconds;

// y = a x + x: 4 bytes read, 4 written and 2 operations a lane.
Program scaled() {
  return Program::parse(
      "program scaled(in x: f32[n], out y: f32[n], a: f32) workgroup(64) lanes(n) {\n"
      "  y[global_id.x] = fma(a, x[global_id.x], 1.0)\n}\n");
}

Executor profiled() {
  BackendConfig config = BackendConfig::from_environment();
  config.enable_backend_profiling = true;
  return Executor::from_config(config);
}

TEST(Profiler, NothingUnlessAsked) {
  BackendConfig config = BackendConfig::from_environment();
  config.enable_backend_profiling = false;
  const Executor executor = Executor::from_config(config);
  executor.run(scaled(), {{"x", Array(DType::F32, {64})}, {"a", 1.0}});
  const Profile profile = executor.profile();
  EXPECT_EQ(profile.device, executor.device().name);
  EXPECT_TRUE(profile.kernels.empty());
  EXPECT_TRUE(profile.launches.empty());
}

TEST(Profiler, LaunchesOfAnExecutor) {
  const Executor executor = profiled();
  for (int i = 0; i < 3; i++)
    executor.run(scaled(), {{"x", Array(DType::F32, {6400})}, {"a", 1.0}});
  const Profile profile = executor.profile();
  ASSERT_EQ(profile.kernels.size(), 1u);
  const KernelProfile& k = profile.kernels[0];
  EXPECT_EQ(k.kernel, "scaled");
  EXPECT_EQ(k.launches, 3u);
  EXPECT_EQ(k.bytes, 3 * 6400 * 8);
  EXPECT_EQ(k.flops, 3 * 6400 * 2);
  EXPECT_GT(k.shortest, 0);
  EXPECT_LE(k.shortest, k.longest);
  EXPECT_LE(k.longest, k.seconds);
  ASSERT_EQ(profile.launches.size(), 3u);
  for (size_t i = 1; i < 3; i++)
    EXPECT_GE(profile.launches[i].start,
              profile.launches[i - 1].start + profile.launches[i - 1].seconds);
}

// Three kernels with known figures.
Profile known() {
  Profiler profiler("a \"device\"");
  const auto now = hal::Clock::now();
  profiler.record("short", now, now + microseconds(100), {.bytes = 1e6, .flops = 0});
  profiler.record("long \"one\"", now + microseconds(100), now + microseconds(700),
                  {.bytes = 12e6, .flops = 6e6, .least = true});
  profiler.record("short", now + microseconds(700), now + microseconds(1000), {.bytes = 1e6});
  return profiler.snapshot();
}

TEST(Profiler, TableHasTheLongestFirst) {
  EXPECT_EQ(known().table(),
            "kernel      launches     time ms   share     mean ms        GB/s     GFLOP/s\n"
            "long \"one\"         1       0.600   60.0%      0.6000     >=20.00     >=10.00\n"
            "short              2       0.400   40.0%      0.2000        5.00        0.00\n"
            ">= : a loop counts as one round where its length is not in the program\n");
  EXPECT_EQ(Profile().table(),
            "kernel  launches     time ms   share     mean ms        GB/s     GFLOP/s\n");
}

TEST(Profiler, TraceIsJson) {
  const auto trace = nlohmann::json::parse(known().trace());
  const auto& events = trace.at("traceEvents");
  ASSERT_EQ(events.size(), 4u);
  EXPECT_EQ(events[0].at("ph"), "M");
  EXPECT_EQ(events[0].at("args").at("name"), "a \"device\"");
  double end = -1;
  for (size_t i = 1; i < 4; i++) {
    EXPECT_EQ(events[i].at("ph"), "X");
    EXPECT_EQ(events[i].at("tid"), 0);
    EXPECT_GE(events[i].at("ts").get<double>(), end - 1e-3);
    end = events[i].at("ts").get<double>() + events[i].at("dur").get<double>();
  }
  EXPECT_EQ(events[2].at("name"), "long \"one\"");
  EXPECT_NEAR(events[2].at("dur").get<double>(), 600, 1e-6);
  EXPECT_NEAR(events[2].at("args").at("gigabytes_per_second").get<double>(), 20, 1e-9);
  EXPECT_EQ(nlohmann::json::parse(Profile().trace()).at("traceEvents").size(), 1u);
}

TEST(Profiler, MemoryIsBounded) {
  Profiler profiler("device");
  const auto now = hal::Clock::now();
  constexpr uint64_t kLaunches = Profiler::kMostLaunches + 100;
  for (uint64_t i = 0; i < kLaunches; i++)
    profiler.record("kernel " + std::to_string(i), now + microseconds(i), now + microseconds(i + 1),
                    {.bytes = 1});
  const Profile profile = profiler.snapshot();
  EXPECT_EQ(profile.dropped, 100u);
  EXPECT_EQ(profile.launches.size(), Profiler::kMostLaunches);
  EXPECT_LT(profile.launches.front().start, profile.launches.back().start);
  EXPECT_LE(profile.kernels.size(), Profiler::kMostKernels + 1);
  uint64_t launches = 0;
  for (const KernelProfile& k : profile.kernels) launches += k.launches;
  EXPECT_EQ(launches, kLaunches);
  EXPECT_EQ(profile.kernels[0].kernel, Profiler::kOthers);
}

TEST(Profiler, ManyThreads) {
  const Executor executor = profiled();
  const Program program = scaled();
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int t = 0; t < 4; t++)
    threads.emplace_back([&] {
      for (int i = 0; i < 50; i++) {
        executor.run(program, {{"x", Array(DType::F32, {640})}, {"a", 1.0}});
        if (i % 10 == 0) {
          EXPECT_FALSE(executor.profile().launches.empty());
        }
      }
    });
  for (std::thread& thread : threads) thread.join();
  const Profile profile = executor.profile();
  EXPECT_EQ(profile.kernels.at(0).launches, 200u);
  uint32_t most = 0;
  for (const LaunchRecord& launch : profile.launches) most = std::max(most, launch.thread);
  EXPECT_EQ(most, 3u);
}

}  // namespace
}  // namespace hologram
