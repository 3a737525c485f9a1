// Compiled programs on disk that are damaged in random ways, while two processes share them: what
// is damaged is compiled again and counted, results are right, and in the end every program is
// kept. On the emulated CUDA driver, where code tells which text it was compiled from, and on the
// first OpenCL device. HOLOGRAM_TEST_CORRUPTIONS=1000 damages as many there, too; PoCL takes its
// time.
#include <algorithm>
#include <fstream>
#include <optional>
#include <random>
#include <set>
#include <thread>

#include "core/disk_cache.hpp"
#include "cuda_fixture.hpp"
#include "damaged_files.hpp"
#include "runtime/executor_state.hpp"

namespace hologram {
namespace {

constexpr int kPrograms = 12;

Program program_of(int number) {
  return Program::parse(
      "program kept" + std::to_string(number) +
      "(inout y: f32[n], a: f32) lanes(n) {\n  i = global_id.x\n  if i < n { y[i] "
      "= y[i] * a + " +
      std::to_string(number) + ".5 }\n}");
}

std::vector<fs::path> entries(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code gone;
  for (fs::recursive_directory_iterator at(folder, gone), end; !gone && at != end;
       at.increment(gone))
    if (at->path().filename().string()[0] != '.' && !at->is_directory(gone))
      found.push_back(at->path());
  std::sort(found.begin(), found.end());
  return found;
}

class CudaCaches : public CudaTest {
 protected:
  // The code that the device was given for the program, as by a process that has not seen it yet.
  uint64_t code_of(const Program& program) const {
    gpu_.state()->device->compile(program, {});
    return driver_.loaded();
  }
  const Executor gpu_ = executor();
};

TEST_F(CudaCaches, AThousandDamagedEntriesWhileAnotherProcessWorks) {
  std::vector<Program> programs;
  programs.reserve(kPrograms);
  for (int k = 0; k < kPrograms; k++) programs.push_back(program_of(k));
  std::vector<uint64_t> right;
  right.reserve(kPrograms);
  for (const Program& p : programs) right.push_back(code_of(p));
  EXPECT_EQ(std::set<uint64_t>(right.begin(), right.end()).size(), programs.size());
  const std::vector<fs::path> files = entries(folder_);
  ASSERT_EQ(files.size(), programs.size());
  const Other other("CudaCaches.DISABLED_TheOtherProcess", folder_);

  std::mt19937 random(1);
  int wrong = 0;
  const int compiled = driver_.calls("nvrtcCompileProgram");
  for (int i = 0; i < 1000; i++) {
    damage(files[random() % files.size()], files[random() % files.size()], random);
    const size_t k = random() % programs.size();
    wrong += code_of(programs[k]) != right[k] ? 1 : 0;
  }
  EXPECT_EQ(wrong, 0);
  const int again = driver_.calls("nvrtcCompileProgram") - compiled;
  EXPECT_GT(again, 100) << "nothing was damaged";
  EXPECT_GT(core::DiskCache::useless_entries(), 50u);
  EXPECT_LE(core::DiskCache::useless_entries(), static_cast<uint64_t>(again));
  EXPECT_EQ(other.wait(), 0);

  // What went wrong is made good: everything is kept once more, with no other files beside it.
  for (const Program& p : programs) code_of(p);
  const int last = driver_.calls("nvrtcCompileProgram");
  for (size_t k = 0; k < programs.size(); k++) EXPECT_EQ(code_of(programs[k]), right[k]);
  EXPECT_EQ(driver_.calls("nvrtcCompileProgram"), last);
  EXPECT_EQ(entries(folder_), files);
}

// In the folder of the test that started it.
TEST_F(CudaCaches, DISABLED_TheOtherProcess) {
  const char* const folder = std::getenv("HOLOGRAM_TEST_SHARED");
  ASSERT_NE(folder, nullptr);
  setenv("XDG_CACHE_HOME", folder, 1);
  fs::remove_all(folder_);
  std::vector<uint64_t> right(kPrograms, 0);
  std::mt19937 random(2);
  for (int i = 0; i < 1000; i++) {
    const auto k = static_cast<size_t>(random() % kPrograms);
    const uint64_t code = code_of(program_of(static_cast<int>(k)));
    if (right[k] == 0) right[k] = code;
    ASSERT_EQ(code, right[k]);
  }
}

// An entry that is whole, but that the driver does not take.
TEST_F(CudaCaches, WhatTheDriverRefusesIsCountedToo) {
  run(executor());
  driver_.fail("cuModuleLoadDataEx", 0, 1, kNoImage);
  run(executor());
  EXPECT_EQ(core::DiskCache::useless_entries(), 1u);
  EXPECT_EQ(driver_.calls("nvrtcCompileProgram"), 2);
  run(executor());
  EXPECT_EQ(driver_.calls("nvrtcCompileProgram"), 2);
}

class OpenClCaches : public testing::Test {
 protected:
  void SetUp() override {
    if (const char* shared = std::getenv("HOLOGRAM_TEST_SHARED")) {
      folder_ = shared;
    } else {
      std::string name = (fs::temp_directory_path() / "hologram-caches-XXXXXX").string();
      ASSERT_NE(mkdtemp(name.data()), nullptr);
      folder_ = name;
      own_ = true;
    }
    setenv("XDG_CACHE_HOME", folder_.c_str(), 1);
    try {
      executor();
    } catch (const Error& error) {
      GTEST_SKIP() << error.what();
    }
  }
  void TearDown() override {
    if (own_) fs::remove_all(folder_);
  }
  static Executor executor() { return Executor(BackendType::OpenCl); }
  static bool right(const Program& program, int number) {
    const auto out = executor().run(program, {{"y", counting(10)}, {"a", 2}});
    for (int i = 0; i < 10; i++)
      if (out.at("y").as<float>()[static_cast<size_t>(i)] !=
          static_cast<float>(2 * i + number) + 0.5f)
        return false;
    return true;
  }
  static constexpr int kFew = 3;  // programs

  fs::path folder_;
  bool own_ = false;
};

TEST_F(OpenClCaches, DamagedEntriesWhileAnotherProcessWorks) {
  const char* const asked = std::getenv("HOLOGRAM_TEST_CORRUPTIONS");
  const int corruptions = asked != nullptr ? std::atoi(asked) : 12;
  const std::vector<fs::path> others = entries(folder_ / "hologram");
  for (int k = 0; k < kFew; k++) EXPECT_TRUE(right(program_of(k), k));
  const auto entries_of_programs = [&] {
    std::vector<fs::path> files;
    for (const fs::path& file : entries(folder_ / "hologram"))
      if (std::find(others.begin(), others.end(), file) == others.end()) files.push_back(file);
    return files;
  };
  const std::vector<fs::path> files = entries_of_programs();
  ASSERT_EQ(files.size(), static_cast<size_t>(kFew));
  const Other other("OpenClCaches.DISABLED_TheOtherProcess", folder_);
  std::mt19937 random(3);
  for (int i = 0; i < corruptions; i++) {
    damage(files[random() % files.size()], files[random() % files.size()], random);
    const int k = static_cast<int>(random() % kFew);
    EXPECT_TRUE(right(program_of(k), k));
  }
  EXPECT_EQ(other.wait(), 0);
  EXPECT_GT(core::DiskCache::useless_entries(), 0u);
  for (int k = 0; k < kFew; k++) EXPECT_TRUE(right(program_of(k), k));
  EXPECT_EQ(entries_of_programs(), files);
}

TEST_F(OpenClCaches, DISABLED_TheOtherProcess) {
  for (int i = 0; i < 12; i++) EXPECT_TRUE(right(program_of(i % kFew), i % kFew));
}

}  // namespace
}  // namespace hologram
