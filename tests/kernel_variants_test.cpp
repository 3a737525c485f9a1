// How many programs an expression makes: as many as docs/design/fusion.md says, whatever its sizes.
// A thousand launches over shapes on either side of what layouts look at, on the CPU, on the first
// OpenCL device by name (PoCL where there is no GPU) and on the emulated CUDA driver, which
// computes nothing, so that only there results are not compared.
#include <algorithm>
#include <cstring>
#include <deque>
#include <fstream>
#include <optional>
#include <random>
#include <sstream>

#include "cuda_fixture.hpp"
#include "runtime/free_lists.hpp"

namespace hologram {
namespace {

constexpr int kLaunches = 1000;
constexpr size_t kHeld = 400;  // results that are kept at a time

uint64_t rounded(int64_t elements) {
  return runtime::round_to_class((static_cast<uint64_t>(elements) * 4 + 255) / 256 * 256);
}

struct Drawn {
  const Executor& on;
  int64_t rows, columns;
  std::mt19937& random;
  uint64_t& bytes;  // of operands

  Tensor numbers(int64_t r, int64_t c) const {
    std::vector<float> values(static_cast<size_t>(r * c));
    uint32_t state = random();
    bytes += rounded(r * c);
    for (float& v : values) {
      state = state * 1664525 + 1013904223;
      v = static_cast<float>(state >> 8) * 0x1p-22f - 2;
    }
    return Tensor::from_vector(std::move(values), {r, c}, on).eval();
  }
  Tensor whole() const { return numbers(rows, columns); }
};

// A row of the table in docs/design/fusion.md, by its first cell.
struct Class {
  const char* name;
  Tensor (*make)(const Drawn& d);
};

const Class kClasses[] = {
    {"dense", [](const Drawn& d) { return d.whole() * 2.0f + d.whole(); }},
    {"a row for all", [](const Drawn& d) { return d.whole() * 2.0f + d.numbers(1, d.columns); }},
    {"a column for all", [](const Drawn& d) { return d.whole() * 2.0f + d.numbers(d.rows, 1); }},
    {"one number", [](const Drawn& d) { return d.whole() * 2.0f + d.numbers(1, 1); }},
    {"turned",
     [](const Drawn& d) { return d.whole() * 2.0f + d.numbers(d.columns, d.rows).transpose(); }},
    {"a part, any first element",
     [](const Drawn& d) {
       const auto first = static_cast<int64_t>(d.random() % 5);
       return d.whole() * 2.0f +
              d.numbers(d.rows, d.columns + first).slice(1, {first, d.columns + first});
     }},
    {"sums of rows", [](const Drawn& d) { return ops::sum(d.whole() * d.whole(), -1); }},
    {"sums of columns",
     [](const Drawn& d) {
       const int64_t columns = std::max<int64_t>(2, d.columns);  // one is a row
       return ops::sum(d.numbers(d.rows, columns) * d.numbers(d.rows, columns), 0);
     }},
    {"softmax of rows", [](const Drawn& d) { return ops::softmax(d.whole()); }},
};
constexpr size_t kCount = std::size(kClasses), kElementwise = 6;  // of these, the first

// On either side of multiples of vectors, of short axes, workgroups, rows of a lane and of a group.
constexpr int64_t kLengths[] = {1,    2,    3,    5,    31,   32,   33,   63,    64,    65,   127,
                                128,  129,  255,  256,  257,  511,  512,  513,   1000,  1023, 1024,
                                1025, 2047, 2048, 2049, 4096, 4097, 8193, 16384, 16385, 40000};
constexpr int64_t kMostElements = 150'000;

std::pair<int64_t, int64_t> draw_shape(std::mt19937& random) {
  for (;;) {
    const int64_t r = kLengths[random() % std::size(kLengths)],
                  c = kLengths[random() % std::size(kLengths)];
    if (r * c <= kMostElements) return {r, c};
  }
}

struct Pass {
  std::array<uint64_t, kCount> programs{};         // that were compiled, by class
  uint64_t all = 0, live_peak = 0, slab_peak = 0;  // bytes: rounded to classes; of the device
  int wrong = 0;
};

Pass run_all(const Executor& on, const Executor* reference, size_t classes) {
  Pass pass;
  std::mt19937 random(7);
  std::deque<Tensor> held;
  uint64_t live = 0;
  // What a processor reads is where it was.
  const bool copies = on.device().backend != BackendType::Cpu;
  for (int i = 0; i < kLaunches; i++) {
    const size_t which = static_cast<size_t>(i) % classes;
    const auto [rows, columns] = draw_shape(random);
    std::mt19937 same = random;
    const uint64_t before = on.counters().programs;
    uint64_t operands = 0, unused = 0;
    Tensor result = kClasses[which].make({on, rows, columns, random, operands}).eval();
    pass.programs[which] += on.counters().programs - before;
    if (reference != nullptr) {
      const auto got = result.to_vector<float>(),
                 right = kClasses[which]
                             .make({*reference, rows, columns, same, unused})
                             .to_vector<float>();
      if (got.size() != right.size() ||
          std::memcmp(got.data(), right.data(), got.size() * sizeof(float)) != 0)
        pass.wrong++;
    }
    live += rounded(result.size());
    held.push_back(std::move(result));
    pass.live_peak = std::max(pass.live_peak, live + (copies ? operands : 0));
    pass.slab_peak = std::max(pass.slab_peak, on.pool_statistics().slab_bytes);
    if (held.size() > kHeld) {
      live -= rounded(held.front().size());
      held.pop_front();
    }
  }
  for (const uint64_t n : pass.programs) pass.all += n;
  return pass;
}

// What docs/design/fusion.md says of each class: on processors, and on devices with many threads.
std::array<uint64_t, kCount> documented(bool is_gpu_like) {
  std::ifstream file(HOLOGRAM_SOURCE_DIR "/docs/design/fusion.md");
  std::array<uint64_t, kCount> most{};
  for (std::string line; std::getline(file, line);)
    for (size_t k = 0; k < kCount; k++) {
      const std::string head = std::string("| ") + kClasses[k].name + " | ";
      if (line.rfind(head, 0) != 0) continue;
      std::istringstream cells(line.substr(head.size()));
      std::string bar;
      uint64_t few = 0, many = 0;
      cells >> few >> bar >> many;
      most[k] = is_gpu_like ? many : few;
    }
  return most;
}

void expect_documented(const Executor& on, const Executor* reference, bool is_gpu_like,
                       size_t classes = kCount) {
  const Pass first = run_all(on, reference, classes);
  const std::array<uint64_t, kCount> most = documented(is_gpu_like);
  for (size_t k = 0; k < classes; k++) {
    EXPECT_GT(most[k], 0u) << kClasses[k].name << " is not in docs/design/fusion.md";
    EXPECT_LE(first.programs[k], most[k]) << kClasses[k].name;
  }
  EXPECT_GT(first.all, classes) << "the shapes cross nothing";
  EXPECT_EQ(first.wrong, 0);
  EXPECT_LE(static_cast<double>(first.slab_peak), 1.3 * static_cast<double>(first.live_peak));
  // A library may have some of the kernels.
  const auto done = [&] { return on.counters().launches + on.counters().library_calls; };
  const uint64_t before = done();
  const Pass second = run_all(on, nullptr, classes);
  EXPECT_EQ(second.all, 0u) << "a second pass compiles nothing";
  EXPECT_GE(done() - before, static_cast<uint64_t>(kLaunches));
}

TEST(KernelVariants, OnTheCpu) {
  const Executor cpu(BackendType::Cpu);
  expect_documented(cpu, nullptr, false);
}

TEST(KernelVariants, OnOpenCl) {
  std::optional<Executor> device;
  try {
    device.emplace(BackendType::OpenCl);
  } catch (const Error& error) {
    GTEST_SKIP() << error.what();
  }
  const Executor cpu(BackendType::Cpu);
  // PoCL takes half a second for each program.
  const bool software = device->device().software;
  expect_documented(*device, &cpu, !software, software ? kElementwise : kCount);
}

using KernelVariantsOfCuda = CudaTest;

TEST_F(KernelVariantsOfCuda, OnTheEmulatedDriver) { expect_documented(executor(), nullptr, true); }

}  // namespace
}  // namespace hologram
