// Searches among made-up ways by a made-up clock, and what is kept of them on disk.
#include "runtime/tuning.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include "hologram/error.hpp"

namespace hologram::runtime {
namespace {

namespace fs = std::filesystem;

struct Way {
  double seconds;
  bool right = true;
  std::optional<ErrorKind> fails = {};
};

// Runs take as long as they say on a clock that nothing else moves.
struct World {
  std::vector<Way> ways;
  double now = 100;
  std::vector<int> runs = std::vector<int>(ways.size(), 0);
  std::vector<size_t> looked_at = {};

  TuningResult search(TuningLimits limits = {.seconds = 1000, .ways = 32}) {
    TuningTask task;
    for (size_t i = 0; i < ways.size(); i++) task.ways.push_back(std::to_string(i));
    task.run = [this](size_t way, int times) {
      if (ways[way].fails) throw Error(*ways[way].fails, "it fails", "Do not.");
      now += ways[way].seconds * times;
      runs[way] += times;
    };
    task.right = [this](size_t way) {
      looked_at.push_back(way);
      return ways[way].right;
    };
    return runtime::search(task, limits, [this] { return now; });
  }
};

TEST(TuningSearch, TheFastestOfThoseThatAreRightWins) {
  World world{{{5e-4}, {4e-4}, {1e-4, false}, {2e-4}, {3e-4}}};
  const TuningResult found = world.search();
  EXPECT_EQ(found.way, 3u);
  EXPECT_NEAR(found.seconds, 2e-4, 1e-9);
  EXPECT_NEAR(found.first_seconds, 5e-4, 1e-9);
  EXPECT_EQ(found.tried, 5u);
  EXPECT_EQ(found.wrong, 1u);
  EXPECT_TRUE(found.in_time);
}

TEST(TuningSearch, EveryWinnerWasLookedAt) {
  std::mt19937 random(3);
  for (int round = 0; round < 300; round++) {
    World world;
    const size_t count = 1 + random() % 12;
    for (size_t i = 0; i < count; i++)
      world.ways.push_back({1e-6 * static_cast<double>(1 + random() % 100), random() % 2 == 0});
    world.ways[0].right = true;
    world.runs.assign(count, 0);
    const TuningResult found = world.search();
    EXPECT_TRUE(world.ways[found.way].right);
    for (size_t i = 0; i < count; i++) {
      if (!world.ways[i].right) continue;
      EXPECT_LE(found.seconds * 0.96, world.ways[i].seconds) << i;
    }
    if (found.way != 0) {
      EXPECT_EQ(std::count(world.looked_at.begin(), world.looked_at.end(), found.way), 1);
    }
  }
}

TEST(TuningSearch, NoiseIsNoReason) {
  World world{{{1e-3}, {0.99e-3}}};
  EXPECT_EQ(world.search().way, 0u);
}

TEST(TuningSearch, WhatIsFarTooSlowIsNotRunAgain) {
  World world{{{1e-3}, {10}, {5e-4}}};
  const TuningResult found = world.search();
  EXPECT_EQ(found.way, 2u);
  EXPECT_LE(world.runs[1], 2);
}

TEST(TuningSearch, EndsInTimeWithWhatItHas) {
  World world{{{1.0}, {0.5}, {0.1}, {0.05}}};
  const TuningResult found = world.search({.seconds = 7, .ways = 32});
  EXPECT_FALSE(found.in_time);
  EXPECT_EQ(found.way, 1u);
  EXPECT_EQ(world.runs[2] + world.runs[3], 0);
  EXPECT_LE(world.now, 100 + 7 + 0.5);
  // Not even the first could be timed.
  World slow{{{10}, {1}}};
  const TuningResult nothing = slow.search({.seconds = 5, .ways = 32});
  EXPECT_EQ(nothing.way, 0u);
  EXPECT_FALSE(nothing.in_time);
  EXPECT_EQ(slow.runs[0], 1);
  EXPECT_EQ(slow.runs[1], 0);
}

TEST(TuningSearch, TriesNoMoreThanItMay) {
  World world{{{4e-3}, {3e-3}, {1e-3}}};
  EXPECT_EQ(world.search({.seconds = 1000, .ways = 2}).way, 1u);
  EXPECT_EQ(world.runs[2], 0);
}

TEST(TuningSearch, AWayThatCannotIsPassedOver) {
  World world{{{4e-3}, {1e-3, true, ErrorKind::OutOfMemory}, {2e-3}}};
  const TuningResult found = world.search();
  EXPECT_EQ(found.way, 2u);
  EXPECT_EQ(found.failed, 1u);
  World lost{{{4e-3}, {1e-3, true, ErrorKind::DeviceLost}, {2e-3}}};
  EXPECT_THROW(lost.search(), Error);
  World first{{{4e-3, true, ErrorKind::OutOfMemory}, {1e-3}}};
  EXPECT_THROW(first.search(), Error);
}

class TuningFile : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "hologram-tuning-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    path_ = folder_ / "some where" / "tuned.json";
  }
  void TearDown() override { fs::remove_all(folder_); }

  TuningCache cache(TuningPlace place = {"GPU", "driver 1", "0.1.0"}) {
    return {path_.string(), std::move(place),
            [this](LogLevel, const std::string& text) { said_.push_back(text); }};
  }
  std::string text() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  fs::path folder_, path_;
  std::vector<std::string> said_;
};

TEST_F(TuningFile, KeepsWhatWasFoundForThatDeviceDriverAndVersion) {
  EXPECT_FALSE(cache().find("product"));
  cache().store("product", "small tiles", 1e-5, 2e-5);
  cache().store("other", "large \"tiles\"\n", 1e-5, 2e-5);
  EXPECT_EQ(cache().find("product"), "small tiles");
  EXPECT_EQ(cache().find("other"), "large \"tiles\"\n");
  EXPECT_FALSE(cache().find("another"));
  for (const TuningPlace& place :
       {TuningPlace{"GPU", "driver 2", "0.1.0"}, TuningPlace{"other GPU", "driver 1", "0.1.0"},
        TuningPlace{"GPU", "driver 1", "0.2.0"}}) {
    EXPECT_FALSE(cache(place).find("product"));
    cache(place).store("product", "tiles of " + place.device + place.driver, 1, 2);
  }
  EXPECT_EQ(cache().find("product"), "small tiles") << "theirs are beside ours";
  EXPECT_EQ(cache({"GPU", "driver 2", "0.1.0"}).find("product"), "tiles of GPUdriver 2");
  EXPECT_TRUE(said_.empty());
  for (const auto& entry : fs::directory_iterator(path_.parent_path()))
    EXPECT_EQ(entry.path().string().find(path_.string()), 0u) << "a temporary file is left";
}

// Whatever was done to the file: no error, and no way that was never stored.
TEST_F(TuningFile, DamagedFilesAreToldOfAndIgnored) {
  for (int i = 0; i < 5; i++) cache().store("work " + std::to_string(i), "the way", 1e-5, 2e-5);
  const std::string good = text();
  std::mt19937 random(11);
  int told = 0;
  for (int round = 0; round < 500; round++) {
    std::string bad = good;
    switch (random() % 4) {
      case 0: bad.resize(random() % bad.size()); break;
      case 1: bad[random() % bad.size()] = static_cast<char>(random()); break;
      case 2: bad.insert(random() % bad.size(), std::string(1 + random() % 3, '[')); break;
      default: bad.erase(random() % bad.size(), 1 + random() % 40);
    }
    std::ofstream(path_, std::ios::binary) << bad;
    said_.clear();
    TuningCache one = cache();
    one.find("work 3");
    told += said_.empty() ? 0 : 1;
    if (round % 20 != 0) continue;
    one.store("new", "found", 1, 2);
    EXPECT_EQ(cache().find("new"), "found");
  }
  EXPECT_GT(told, 250);
}

TEST_F(TuningFile, WhatIsNoCacheIsPutAsideBeforeOneIsWritten) {
  fs::create_directories(path_.parent_path());
  std::ofstream(path_) << "my own notes";
  TuningCache one = cache();
  EXPECT_FALSE(one.find("work"));
  ASSERT_EQ(said_.size(), 1u);
  EXPECT_NE(said_[0].find("tuned.json is damaged"), std::string::npos) << said_[0];
  one.store("work", "way", 1, 2);
  EXPECT_EQ(cache().find("work"), "way");
  std::string notes;
  std::getline(std::ifstream(path_.string() + ".damaged"), notes);
  EXPECT_EQ(notes, "my own notes");
}

TEST_F(TuningFile, DoesWithoutAFile) {
  fs::create_directories(path_);
  TuningCache one = cache();
  EXPECT_FALSE(one.find("work"));
  one.store("work", "way", 1, 2);
  one.store("work", "way", 1, 2);
  EXPECT_EQ(one.find("work"), "way") << "this process knows it";
  EXPECT_EQ(said_.size(), 2u) << "told of reading once, of writing once";
  EXPECT_TRUE(fs::is_directory(path_));
}

TEST_F(TuningFile, ProcessesAddToIt) {
  constexpr int kProcesses = 4, kEach = 25;
  std::vector<pid_t> processes;
  for (int p = 0; p < kProcesses; p++) {
    const pid_t process = fork();
    ASSERT_GE(process, 0);
    if (process == 0) {
      TuningCache own = cache();
      for (int i = 0; i < kEach; i++)
        own.store(std::to_string(p) + "/" + std::to_string(i), "way", 1, 2);
      _exit(said_.empty() ? 0 : 1);
    }
    processes.push_back(process);
  }
  for (const pid_t process : processes) {
    int status = -1;
    waitpid(process, &status, 0);
    EXPECT_EQ(status, 0);
  }
  TuningCache all = cache();
  for (int p = 0; p < kProcesses; p++)
    for (int i = 0; i < kEach; i++)
      EXPECT_EQ(all.find(std::to_string(p) + "/" + std::to_string(i)), "way");
  EXPECT_TRUE(said_.empty());
}

}  // namespace
}  // namespace hologram::runtime
