// What HOLOGRAM_DUMP writes of what runs; it is looked at once a process.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "hologram/hologram.hpp"

namespace hologram {
namespace {

TEST(Dump, HoldsWhatRuns) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(testing::TempDir()) / "hologram_dump" / std::to_string(getpid());
  setenv("HOLOGRAM_DUMP", folder.c_str(), 1);
  const Executor cpu =
      Executor::builder().backend(BackendType::Cpu).cpu_target("").jit(Jit::Always).build();
  const Tensor x = Tensor::from_vector<float>({1, 2, 3}, {3}, cpu);
  EXPECT_EQ((x * 2 + 1).to_vector<float>(), (std::vector<float>{3, 5, 7}));
  size_t atlas = 0;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() != ".atlas") continue;
    atlas++;
    std::ifstream file(entry.path());
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    EXPECT_NO_THROW(Program::parse(text)) << text;
  }
  EXPECT_EQ(atlas, 1u);
  std::ifstream file(folder / "launches.txt");
  const std::string lines{std::istreambuf_iterator<char>(file), {}};
  EXPECT_EQ(lines.find("0 "), 0u) << lines;
  EXPECT_NE(lines.find(cpu.device().name), std::string::npos) << lines;
  fs::remove_all(folder);
}

}  // namespace
}  // namespace hologram
