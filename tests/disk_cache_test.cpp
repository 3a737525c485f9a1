// What is kept on disk comes back as it was or not at all.
#include "core/disk_cache.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

namespace hologram::core {
namespace {

namespace fs = std::filesystem;

std::vector<std::byte> bytes_of(std::string_view text) {
  const auto* from = reinterpret_cast<const std::byte*>(text.data());
  return {from, from + text.size()};
}

class Cache : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "hologram-cache-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    base_ = name;
  }
  void TearDown() override { fs::remove_all(base_); }

  DiskCache cache(uint64_t limit = 1 << 20) const {
    return DiskCache(DiskCache::Folder{(base_ / "some" / "where").string()}, limit);
  }
  std::vector<fs::path> files() const {
    std::vector<fs::path> found;
    for (const auto& entry : fs::recursive_directory_iterator(base_))
      if (entry.is_regular_file()) found.push_back(entry.path());
    return found;
  }

  fs::path base_;
};

TEST_F(Cache, KeepsWhatWasStored) {
  const auto binary = bytes_of(
      "\x7f"
      "ELF and so on");
  EXPECT_FALSE(cache().load("a"));
  cache().store("a", binary);
  cache().store("empty", {});
  EXPECT_EQ(cache().load("a"), binary);
  EXPECT_EQ(cache().load("empty"), bytes_of(""));
  EXPECT_FALSE(cache().load("b"));
  cache().store("a", bytes_of("another"));
  EXPECT_EQ(cache().load("a"), bytes_of("another"));
  cache().remove("a");
  EXPECT_FALSE(cache().load("a"));
  EXPECT_EQ(files().size(), 1u);  // no temporary file is left
}

TEST_F(Cache, PartsOfAKeyDoNotRunTogether) {
  EXPECT_NE(DiskCache::key({"ab", "c"}), DiskCache::key({"a", "bc"}));
  EXPECT_NE(DiskCache::key({"a"}), DiskCache::key({"a", ""}));
}

// Any byte may be wrong, and any number of bytes missing.
TEST_F(Cache, ADamagedEntryIsRemoved) {
  const auto binary = bytes_of("0123456789");
  cache().store("k", binary);
  const fs::path file = files().at(0);
  const auto size = static_cast<int64_t>(fs::file_size(file));
  for (int64_t at = 0; at < size; at++) {
    cache().store("k", binary);
    std::fstream damaged(file, std::ios::in | std::ios::out | std::ios::binary);
    damaged.seekg(at);
    const auto was = static_cast<char>(damaged.get());
    damaged.seekp(at);
    damaged.put(static_cast<char>(was ^ 4));
    damaged.close();
    EXPECT_FALSE(cache().load("k")) << at;
    EXPECT_FALSE(fs::exists(file)) << at;
    cache().store("k", binary);
    fs::resize_file(file, static_cast<uintmax_t>(at));
    EXPECT_FALSE(cache().load("k")) << at;
    EXPECT_FALSE(fs::exists(file)) << at;
  }
  // An entry in the place of another one.
  cache().store("k", binary);
  cache().store("l", binary);
  for (const fs::path& other : files())
    if (other != file) fs::copy_file(other, file, fs::copy_options::overwrite_existing);
  EXPECT_FALSE(cache().load("k"));
  EXPECT_EQ(cache().load("l"), binary);
}

TEST_F(Cache, WhatWasNotAskedForInTheLongestTimeGoes) {
  const std::vector<std::byte> large(1000);
  const DiskCache small = cache(10000);
  const auto age = [&](int hours) {
    for (const fs::path& file : files())
      fs::last_write_time(file, fs::last_write_time(file) - std::chrono::hours(hours));
  };
  for (int i = 0; i < 9; i++) {
    small.store(std::to_string(i), large);
    age(1);
  }
  EXPECT_TRUE(small.load("0"));
  small.store("9", large);
  EXPECT_FALSE(small.load("1"));
  EXPECT_TRUE(small.load("0"));
  EXPECT_TRUE(small.load("9"));
  small.store("larger than all", std::vector<std::byte>(10000));
  EXPECT_FALSE(small.load("larger than all"));
  EXPECT_TRUE(small.load("0"));
}

TEST_F(Cache, DoesWithoutAFolder) {
  for (const std::string& folder : {std::string(), std::string("/proc/nowhere")}) {
    const DiskCache nowhere(DiskCache::Folder{folder});
    nowhere.store("k", bytes_of("x"));
    EXPECT_FALSE(nowhere.load("k"));
    nowhere.remove("k");
  }
  // A file where the folder should be.
  std::ofstream(base_ / "some") << "here";
  cache().store("k", bytes_of("x"));
  EXPECT_FALSE(cache().load("k"));
}

TEST_F(Cache, ThreadsMayStoreAndLoadTheSame) {
  const std::vector<std::byte> a(5000, std::byte{1}), b(5000, std::byte{2});
  std::vector<int> wrong(4, 0);
  std::vector<std::thread> threads;
  threads.reserve(wrong.size());
  for (size_t t = 0; t < wrong.size(); t++)
    threads.emplace_back([&, t] {
      for (int round = 0; round < 50; round++) {
        cache().store("k", t % 2 == 0 ? a : b);
        const auto found = cache().load("k");
        if (found && *found != a && *found != b) wrong[t]++;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(4, 0));
  EXPECT_EQ(files().size(), 1u);
}

TEST_F(Cache, IsWhereTheUserKeepsCaches) {
  const auto with = [&](const char* cache_home, const char* home) {
    const auto set = [](const char* name, const char* value) {
      if (value != nullptr) setenv(name, value, 1);
      else unsetenv(name);
    };
    set("XDG_CACHE_HOME", cache_home);
    set("HOME", home);
    return DiskCache("opencl").folder();
  };
  EXPECT_EQ(with("/a", "/b"), "/a/hologram/opencl");
  EXPECT_EQ(with(nullptr, "/b"), "/b/.cache/hologram/opencl");
  EXPECT_EQ(with("", "/b"), "/b/.cache/hologram/opencl");
  EXPECT_EQ(with("relative", "/b"), "/b/.cache/hologram/opencl");
  EXPECT_EQ(with(nullptr, nullptr), "");
}

}  // namespace
}  // namespace hologram::core
