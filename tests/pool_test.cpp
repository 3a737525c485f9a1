// The memory pool: what it gives, keeps and gives back, its limits, failures of the device.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <thread>

#include "faulty_device.hpp"
#include "hologram/hologram.hpp"
#include "runtime/executor_state.hpp"
#include "runtime/free_lists.hpp"
#include "runtime/pool.hpp"
#include "runtime/selection.hpp"

namespace hologram::runtime {
namespace {

constexpr uint64_t kKiB = 1024, kMiB = 1024 * kKiB;

std::shared_ptr<hal::Device> cpu() {
  BackendConfig config;
  config.backend_type = BackendType::Cpu;
  config.num_threads = 1;
  return select(config).device;
}

struct Fixture {
  explicit Fixture(const PoolConfig& config = {})
      : device(std::make_shared<FaultyDevice>(cpu())), pool(Pool::make(device, config)) {}
  std::shared_ptr<FaultyDevice> device;
  std::shared_ptr<Pool> pool;
};

std::byte* memory(const Block& block) {
  return block.binding().buffer->host() + block.binding().offset;
}

void fill(const Block& block, uint8_t value) {
  std::memset(memory(block), value, block.binding().size);
}

bool holds(const Block& block, uint8_t value) {
  const std::byte* p = memory(block);
  return std::all_of(p, p + block.binding().size,
                     [&](std::byte b) { return b == static_cast<std::byte>(value); });
}

void expect_nothing_live(const Pool& pool) {
  const PoolStatistics s = pool.statistics();
  EXPECT_EQ(s.live_bytes, 0u);
  EXPECT_EQ(s.live_blocks, 0u);
  EXPECT_EQ(s.cached_bytes, s.slab_bytes);
}

std::string out_of_memory(Pool& pool, uint64_t bytes) {
  try {
    pool.allocate(bytes);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::OutOfMemory);
    return error.what();
  }
  ADD_FAILURE() << bytes << " bytes were given";
  return {};
}

class WholeBuffers : public FaultyDevice {
 public:
  using FaultyDevice::FaultyDevice;
  bool suballocates() const override { return false; }
};

TEST(Pool, OnDevicesThatDoNotDivideBuffersEachBlockIsOne) {
  const auto device = std::make_shared<WholeBuffers>(cpu());
  const auto pool = Pool::make(device, PoolConfig{.initial_size = kMiB});
  Block a = pool->allocate(1000), b = pool->allocate(1000);
  EXPECT_NE(a.binding().buffer, b.binding().buffer);
  EXPECT_EQ(a.binding().offset + b.binding().offset, 0u);
  EXPECT_EQ(device->given(), 2048u);
  const hal::Buffer* const first = a.binding().buffer;
  a.reset();
  a = pool->allocate(900);
  EXPECT_EQ(a.binding().buffer, first);
  a.reset();
  b.reset();
  expect_nothing_live(*pool);
  EXPECT_EQ(pool->trim(), 2048u);
  EXPECT_EQ(device->given(), 0u);
}

class OverlappingLaunches : public FaultyDevice {
 public:
  using FaultyDevice::FaultyDevice;
  bool overlaps_launches() const override { return true; }
};

TEST(Pool, WhereLaunchesOverlapSmallBlocksRest) {
  const auto device = std::make_shared<OverlappingLaunches>(cpu());
  const auto pool = Pool::make(device, PoolConfig{});
  const auto once = [&](uint64_t bytes) { return pool->allocate(bytes).binding().offset; };
  const uint64_t first = once(1000), second = once(1000);
  EXPECT_NE(first, second);
  EXPECT_EQ(once(3 * kMiB), once(3 * kMiB)) << "a large one does not";
  // Not if there is no other memory, and all of it can be given back.
  const uint64_t given = device->given();
  std::vector<Block> all;
  for (uint64_t live = 0; live + 1024 <= 2 * kMiB; live += 1024)
    all.push_back(pool->allocate(1024));
  all.clear();
  const Block whole = pool->allocate(2 * kMiB);
  EXPECT_EQ(device->given(), given);
  EXPECT_EQ(pool->statistics().cached_bytes + 2 * kMiB, pool->statistics().slab_bytes);
}

TEST(Pool, SizeClassesAreFourADoublingAndOrdered) {
  size_t last = 0;
  for (uint64_t size = kBlockAlignment; size < 16 * kMiB; size += kBlockAlignment) {
    const uint64_t rounded = round_to_class(size);
    ASSERT_GE(rounded, size);
    ASSERT_LE(rounded - size, size / 4);
    ASSERT_EQ(round_to_class(rounded), rounded);
    ASSERT_EQ(size_class(rounded), size_class(size) + (rounded == size ? 0 : 1));
    const size_t c = size_class(size);
    ASSERT_TRUE(c == last || c == last + 1) << size;
    last = c;
  }
  EXPECT_EQ(size_class(2 * kMiB), size_class(kMiB) + 4);
  EXPECT_EQ(size_class(~uint64_t{255}), kSizeClasses - 1);
}

TEST(Pool, BlocksAreAlignedExactAndApart) {
  const Fixture f;
  std::vector<Block> blocks;
  for (const uint64_t bytes : {0, 1, 255, 256, 257, 1000, 4097, 70000, 3 << 20, 65 << 20, 7, 0}) {
    blocks.push_back(f.pool->allocate(bytes));
    const hal::Binding& binding = blocks.back().binding();
    ASSERT_NE(binding.buffer, nullptr);
    EXPECT_EQ(binding.size, bytes);
    EXPECT_EQ(binding.offset % 256, 0u);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(memory(blocks.back())) % 256, 0u);
    EXPECT_LE(binding.offset + bytes, binding.buffer->size());
    fill(blocks.back(), static_cast<uint8_t>(blocks.size()));
  }
  for (size_t i = 0; i < blocks.size(); i++)
    EXPECT_TRUE(holds(blocks[i], static_cast<uint8_t>(i + 1))) << i;
  EXPECT_EQ(f.pool->statistics().live_blocks, blocks.size());
  blocks.clear();
  expect_nothing_live(*f.pool);
}

TEST(Pool, ABlockComesBackWhenItIsLetGo) {
  const Fixture f;
  for (const uint64_t bytes : {uint64_t{1000}, kMiB, 100 * kMiB}) {
    Block block = f.pool->allocate(bytes);
    const std::byte* first = memory(block);
    Block moved = std::move(block);
    EXPECT_FALSE(block);  // NOLINT(bugprone-use-after-move): a moved-from Block is empty
    EXPECT_TRUE(moved);
    EXPECT_EQ(memory(moved), first);
    moved = Block();
    expect_nothing_live(*f.pool);
    const Block again = f.pool->allocate(bytes);
    EXPECT_EQ(memory(again), first);
  }
  const PoolStatistics s = f.pool->statistics();
  EXPECT_EQ(s.allocations, 6u);
  EXPECT_EQ(s.reuses, 4u);  // the first, and all but the first of 100 MiB
  EXPECT_EQ(s.peak_live_bytes, 100 * kMiB);
}

// A sequence that gets longer by a step: each result is made while the one before it lives.
TEST(Pool, AGrowingShapeTakesFromTheDeviceSeldom) {
  for (const PoolStrategy strategy : {PoolStrategy::BestFit, PoolStrategy::FirstFit}) {
    for (const bool defrag : {true, false}) {
      const Fixture f({.strategy = strategy, .enable_defrag = defrag});
      f.device->fail(0, 0);
      Block last;
      for (uint64_t step = 1; step <= 2000; step++) last = f.pool->allocate(step * 4096);
      EXPECT_LE(f.device->asked(), 14);
      EXPECT_LE(f.pool->statistics().slab_bytes, 64 * kMiB);
      last.reset();
      expect_nothing_live(*f.pool);
    }
  }
}

TEST(Pool, AGrowingLargeShapeDoesNotPileUp) {
  const Fixture f;
  Block last;
  uint64_t largest = 0;
  for (uint64_t mib = 65; mib < 600; mib += 7) {
    last.reset();
    last = f.pool->allocate(mib * kMiB);
    largest = std::max(largest, f.pool->statistics().slab_bytes);
  }
  EXPECT_LE(largest, 2 * 640 * kMiB);
  EXPECT_LE(f.device->asked(), 20);
}

TEST(Pool, NeighboursAreJoined) {
  for (const bool defrag : {true, false}) {
    const Fixture f({.enable_defrag = defrag});
    std::vector<Block> blocks;
    blocks.reserve(32);
    for (int i = 0; i < 32; i++) blocks.push_back(f.pool->allocate(64 * kKiB));  // a whole slab
    ASSERT_EQ(f.device->asked(), 1);
    // Every other one first, so that each of the rest has two free neighbours.
    for (size_t i = 0; i < blocks.size(); i += 2) blocks[i].reset();
    blocks.clear();
    expect_nothing_live(*f.pool);
    const Block whole = f.pool->allocate(2 * kMiB);
    EXPECT_EQ(f.device->asked(), 1) << defrag;
    fill(whole, 1);
  }
}

TEST(Pool, LiveNeighboursStayWhole) {
  const Fixture f;
  std::vector<Block> blocks;
  for (uint8_t i = 0; i < 8; i++) {
    blocks.push_back(f.pool->allocate(256 * kKiB));
    fill(blocks.back(), i);
  }
  for (const size_t i : {1, 2, 4, 6}) blocks[i].reset();
  const Block two = f.pool->allocate(512 * kKiB);
  fill(two, 99);
  EXPECT_EQ(f.device->asked(), 1);
  for (const uint8_t i : {0, 3, 5, 7}) EXPECT_TRUE(holds(blocks[i], i)) << int{i};
}

TEST(Pool, StrategiesChooseAmongFreePieces) {
  FreeLists lists;
  Chunk tight{.size = 10 * 256}, loose{.size = 11 * 256}, larger{.size = 64 * 256};
  EXPECT_EQ(lists.find(256, PoolStrategy::BestFit), nullptr);
  for (Chunk* chunk : {&larger, &tight, &loose}) lists.insert(*chunk);
  EXPECT_EQ(size_class(tight.size), size_class(loose.size));
  EXPECT_EQ(lists.find(10 * 256, PoolStrategy::BestFit), &tight);
  EXPECT_EQ(lists.find(10 * 256, PoolStrategy::FirstFit), &loose);  // freed last
  EXPECT_EQ(lists.find(256, PoolStrategy::BestFit), &tight);        // in a class above
  EXPECT_EQ(lists.find_exact(11 * 256), &loose);
  EXPECT_EQ(lists.find(12 * 256, PoolStrategy::FirstFit), &larger);
  EXPECT_EQ(lists.find(12 * 256, PoolStrategy::FirstFit, size_class(32 * 256)), nullptr);
  lists.remove(tight);
  EXPECT_EQ(lists.find(10 * 256, PoolStrategy::BestFit), &loose);
  lists.remove(loose);
  EXPECT_EQ(lists.find_exact(11 * 256), nullptr);
  EXPECT_EQ(lists.find(10 * 256, PoolStrategy::BestFit), &larger);
  lists.remove(larger);
  EXPECT_EQ(lists.find(256, PoolStrategy::BestFit), nullptr);
}

TEST(Pool, TrimGivesFreeSlabsBack) {
  for (const bool defrag : {true, false}) {
    const Fixture f({.enable_defrag = defrag});
    Block small = f.pool->allocate(1000);
    Block large = f.pool->allocate(100 * kMiB);
    std::vector<Block> others;
    others.reserve(100);
    for (int i = 0; i < 100; i++) others.push_back(f.pool->allocate(kMiB));
    EXPECT_EQ(f.device->given(), f.pool->statistics().slab_bytes);
    large.reset();
    EXPECT_EQ(f.pool->trim(), 112 * kMiB);  // 100 in its size class
    others.clear();
    fill(small, 7);
    const uint64_t before = f.device->given();
    const uint64_t given_back = f.pool->trim();
    EXPECT_GE(given_back, 90 * kMiB);
    EXPECT_EQ(f.device->given(), before - given_back);
    EXPECT_TRUE(holds(small, 7));
    small.reset();
    f.pool->trim();
    EXPECT_EQ(f.device->given(), 0u);
    EXPECT_EQ(f.pool->statistics().slab_bytes, 0u);
    EXPECT_EQ(f.pool->statistics().cached_bytes, 0u);
    EXPECT_EQ(f.pool->trim(), 0u);
    EXPECT_TRUE(f.pool->allocate(1000));
  }
}

TEST(Pool, BlocksKeepThePoolAlive) {
  Fixture f;
  const auto device = f.device;
  Block block = f.pool->allocate(5000);
  f.pool.reset();
  fill(block, 3);
  EXPECT_GT(device->given(), 0u);
  block.reset();
  EXPECT_EQ(device->given(), 0u);
}

TEST(Pool, InitialSizeIsThereFromTheStart) {
  const Fixture f({.initial_size = 10 * kMiB});
  EXPECT_EQ(f.device->asked(), 1);
  EXPECT_EQ(f.pool->statistics().cached_bytes, 10 * kMiB);
  const Block block = f.pool->allocate(10 * kMiB);
  EXPECT_EQ(f.device->asked(), 1);
  try {
    const Fixture refused({.initial_size = 2, .max_size = 1});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::InvalidConfig);
  }
}

TEST(Pool, TheLimitIsExact) {
  const Fixture f({.max_size = 100 * kMiB});
  Block most = f.pool->allocate(100 * kMiB - 10);
  const Block rest = f.pool->allocate(10);
  const std::string what = out_of_memory(*f.pool, 1);
  EXPECT_NE(what.find("104857600 are in use"), std::string::npos) << what;
  EXPECT_NE(what.find("104857600 allowed"), std::string::npos) << what;
  EXPECT_NE(what.find(f.device->info().name), std::string::npos) << what;
  const Block none = f.pool->allocate(0);
  most.reset();
  EXPECT_TRUE(f.pool->allocate(70 * kMiB));  // the cached 100 MiB make way or serve
  EXPECT_EQ(f.pool->statistics().failures, 1u);
}

TEST(Pool, MoreThanTheDeviceHasIsRefusedAtOnce) {
  const Fixture f;
  const Block kept = f.pool->allocate(1000);
  f.pool->allocate(100 * kMiB);
  f.device->fail(0, 0);
  for (const uint64_t bytes : {f.device->info().total_memory + 1, UINT64_MAX - 255, UINT64_MAX}) {
    const std::string what = out_of_memory(*f.pool, bytes);
    EXPECT_NE(what.find(std::to_string(bytes)), std::string::npos) << what;
  }
  EXPECT_EQ(f.device->asked(), 0);
  EXPECT_GE(f.pool->statistics().cached_bytes, 100 * kMiB);  // nothing was given up for it
}

TEST(Pool, OutOfMemoryFreesTheCacheAndRetries) {
  const Fixture f;
  f.pool->allocate(100 * kMiB);
  const uint64_t before = f.device->given();
  f.device->fail(0, 1);
  const Block block = f.pool->allocate(300 * kMiB + 1);
  EXPECT_EQ(f.device->asked(), 2);
  // Asked again for no more than is needed, with the cache given back.
  EXPECT_EQ(f.device->given(), 300 * kMiB + 256);
  EXPECT_GE(before, 100 * kMiB);
  fill(block, 1);
}

// Random requests, of which every nth time that the device is asked fails for good.
TEST(Pool, EveryFailureOfTheDeviceSurfaces) {
  const auto run = [](Fixture& f, int nth) {
    f.device->fail(nth, 2);  // the retry fails, too
    std::mt19937_64 random(7);
    std::vector<std::pair<Block, uint8_t>> blocks;
    uint64_t failures = 0;
    for (int i = 0; i < 300; i++) {
      const uint64_t bytes = random() % (uint64_t{1} << (random() % 25));
      try {
        blocks.emplace_back(f.pool->allocate(bytes), static_cast<uint8_t>(i));
        memory(blocks.back().first)[0] = static_cast<std::byte>(i);
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::OutOfMemory);
        EXPECT_NE(std::string(error.what()).find(std::to_string(bytes)), std::string::npos);
        failures++;
      }
      if (random() % 3 == 0 && !blocks.empty()) {
        std::swap(blocks[random() % blocks.size()], blocks.back());
        EXPECT_EQ(memory(blocks.back().first)[0], static_cast<std::byte>(blocks.back().second));
        blocks.pop_back();
      }
    }
    EXPECT_EQ(f.pool->statistics().failures, failures);
    EXPECT_EQ(f.pool->statistics().live_blocks, blocks.size());
    blocks.clear();
    expect_nothing_live(*f.pool);
    f.pool->trim();
    EXPECT_EQ(f.pool->statistics().slab_bytes, 0u);
    EXPECT_EQ(f.device->given(), 0u);
    return failures;
  };
  Fixture healthy;
  EXPECT_EQ(run(healthy, 1 << 30), 0u);
  const int asked = healthy.device->asked();
  ASSERT_GT(asked, 5);
  for (int nth = 0; nth < asked; nth++) {
    Fixture f;
    EXPECT_EQ(run(f, nth), 1u) << nth;
  }
}

TEST(Pool, OtherFailuresPassAsTheyAre) {
  class Lost : public FaultyDevice {
   public:
    using FaultyDevice::FaultyDevice;
    std::unique_ptr<hal::Buffer> allocate(uint64_t) override {
      throw Error(ErrorKind::DeviceLost, "gone", "");
    }
  };
  const auto pool = Pool::make(std::make_shared<Lost>(cpu()), PoolConfig{});
  try {
    pool->allocate(10);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::DeviceLost);
  }
  EXPECT_EQ(pool->statistics().failures, 1u);
  expect_nothing_live(*pool);
}

TEST(Pool, ManyThreads) {
  for (const bool defrag : {true, false}) {
    const Fixture f({.max_size = 256 * kMiB, .enable_defrag = defrag});
    std::vector<std::thread> threads;
    for (uint8_t t = 0; t < 8; t++)
      threads.emplace_back([&f, t] {
        std::mt19937_64 random(t);
        std::vector<Block> mine;
        for (int i = 0; i < 2000; i++) {
          if (mine.size() < 8) {
            mine.push_back(f.pool->allocate(1 + random() % (uint64_t{1} << (random() % 20))));
            fill(mine.back(), t);
          } else {
            const size_t which = random() % mine.size();
            EXPECT_TRUE(holds(mine[which], t));
            std::swap(mine[which], mine.back());
            mine.pop_back();
          }
          if (i % 500 == 0) f.pool->trim();
        }
      });
    for (std::thread& thread : threads) thread.join();
    expect_nothing_live(*f.pool);
    EXPECT_EQ(f.pool->statistics().failures, 0u);
    f.pool->trim();
    EXPECT_EQ(f.device->given(), 0u);
  }
}

TEST(Pool, OfAnExecutor) {
  BackendConfig config;
  config.backend_type = BackendType::Null;  // the host does not reach its memory: copies
  config.cache_size_mb = 1;
  config.pool = {.initial_size = kMiB, .max_size = 5 * kMiB};
  const Executor executor = Executor::from_config(config);
  EXPECT_EQ(executor.pool_statistics().cached_bytes, kMiB);
  const Program program = Program::parse(
      "program twice(in x: f32[n], out y: f32[n]) workgroup(64) lanes(n) {\n"
      "  i = global_id.x\n  if i < n { y[i] = x[i] + x[i] }\n}\n");
  executor.run(program, {{"x", Array(DType::F32, {1000})}});
  const PoolStatistics after = executor.pool_statistics();
  EXPECT_EQ(after.allocations, 2u);
  EXPECT_EQ(after.reuses, 2u);
  EXPECT_EQ(after.peak_live_bytes, 8000u);
  EXPECT_EQ(after.live_bytes, 0u);
  EXPECT_EQ(executor.trim(), kMiB);

  config.pool = {.initial_size = 2 * kMiB};  // beyond cache_size_mb
  EXPECT_THROW(Executor::from_config(config), Error);
}

}  // namespace
}  // namespace hologram::runtime
