// Files that go wrong in random ways, and another process that uses them meanwhile.
#pragma once

#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>

namespace hologram {
namespace fs = std::filesystem;

// One of the ways in which files go wrong. Others may remove the file meanwhile.
inline void damage(const fs::path& file, const fs::path& other, std::mt19937& random) {
  std::error_code gone;
  const uintmax_t size = fs::file_size(file, gone);
  if (gone || size == 0) return;
  const auto somewhere = static_cast<std::streamoff>(random() % size);
  const auto overwrite = [&](std::streamoff at, size_t count) {
    std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
    stream.seekp(at);
    for (size_t i = 0; i < count; i++) stream.put(static_cast<char>(random()));
  };
  switch (random() % 8) {
    case 0: return overwrite(somewhere, 1);
    case 1: return overwrite(somewhere, random() % 100);
    case 2: return overwrite(static_cast<std::streamoff>(random() % 56), 4);  // the header
    case 3: return fs::resize_file(file, random() % size, gone);
    case 4: return fs::resize_file(file, size + random() % 5000, gone);
    case 5: return void(std::ofstream(file, std::ios::binary | std::ios::trunc) << "damaged");
    case 6: return void(fs::copy_file(other, file, fs::copy_options::overwrite_existing, gone));
    default: fs::remove(file, gone); mkfifo(file.c_str(), 0600);
  }
}

// The test of that name in a process of its own.
class Other {
 public:
  Other(const std::string& test, const fs::path& folder) {
    setenv("HOLOGRAM_TEST_SHARED", folder.c_str(), 1);
    const std::string filter = "--gtest_filter=" + test;
    std::string self = fs::read_symlink("/proc/self/exe").string(), which = filter,
                all = "--gtest_also_run_disabled_tests";
    char* const arguments[] = {self.data(), which.data(), all.data(), nullptr};
    EXPECT_EQ(posix_spawn(&process_, self.c_str(), nullptr, nullptr, arguments, environ), 0);
    unsetenv("HOLOGRAM_TEST_SHARED");
  }
  int wait() const {
    int status = -1;
    waitpid(process_, &status, 0);
    return status;
  }

 private:
  pid_t process_ = -1;
};

}  // namespace hologram
