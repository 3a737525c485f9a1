// Products of matrices that look for the fastest way: among algorithms of cuBLASLt, on the emulated
// driver and library, and among our own tiles.
#include <fstream>
#include <iterator>

#include "cublaslt_fixture.hpp"
#include "hologram/log.hpp"

namespace hologram {
namespace {

class ProductTuning : public CublasLt {
 protected:
  ProductTuning() {
    set_log_callback(
        [this](LogLevel level, std::string_view text) {
          said_.emplace_back(level, std::string(text));
        },
        LogLevel::Info);
  }
  void TearDown() override { set_log_callback({}); }

  static Executor tuned(uint64_t milliseconds, const std::string& file = {}) {
    BackendConfig how = config();
    how.autotuning_ms = milliseconds;
    how.autotuning_cache_file = file;
    return Executor::from_config(how);
  }
  void algorithms(std::vector<FakeBlasLt::Algorithm> list) const {
    library_.algorithms(list.data(), static_cast<int>(list.size()));
  }
  static std::vector<float> multiply(const Executor& gpu, int64_t side = 12) {
    const Tensor a =
        Tensor::from(counting(static_cast<size_t>(side * side)), gpu).reshape({side, side});
    return ops::matmul(a, a.transpose()).to_vector<float>();
  }
  int said(const std::string& part) const {
    int count = 0;
    for (const auto& [level, text] : said_) count += text.find(part) != std::string::npos ? 1 : 0;
    return count;
  }
  std::string file() const { return (folder_ / "tuned.json").string(); }

  std::vector<std::pair<LogLevel, std::string>> said_;
};

TEST_F(ProductTuning, NothingIsTriedUnlessAskedFor) {
  algorithms({{20, true}, {0, true}});
  const Executor gpu = tuned(0);
  for (int i = 0; i < 3; i++) multiply(gpu);
  EXPECT_EQ(library_.ran(0), 3);
  EXPECT_EQ(library_.ran(1), 0);
  EXPECT_EQ(gpu.counters().tuning_runs, 0u);
  EXPECT_FALSE(fs::exists(folder_ / "hologram" / "tuning"));
}

TEST_F(ProductTuning, TheFastestThatIsRightWinsAndIsRememberedOnDisk) {
  algorithms({{40, true}, {0, false}, {10, true}, {30, true}});
  const Executor first = tuned(60'000);
  const auto right = multiply(tuned(0));
  EXPECT_EQ(multiply(first), right);
  EXPECT_EQ(first.counters().tuning_runs, 1u);
  EXPECT_EQ(first.counters().rejected_candidates, 1u);
  EXPECT_EQ(said("tuned cuBLASLt f32"), 1) << "and that one was not right";
  const int before = library_.ran(2), wrong = library_.ran(1);
  EXPECT_EQ(multiply(first), right);
  EXPECT_EQ(library_.ran(2), before + 1);

  // Another process would read it.
  const Executor second = tuned(60'000);
  EXPECT_EQ(multiply(second), right);
  EXPECT_EQ(second.counters().tuning_runs, 0u);
  EXPECT_EQ(library_.ran(2), before + 2);
  EXPECT_EQ(library_.ran(1), wrong) << "a wrong one is never used again";
  std::ifstream text(folder_ / "hologram" / "tuning" / "tuning.json");
  const std::string all{std::istreambuf_iterator<char>(text), {}};
  for (const char* part : {"Emulated GPU", "CUDA 12.8, NVRTC 12.8\"", "cuBLASLt f32", "12.9.3"})
    EXPECT_NE(all.find(part), std::string::npos) << part << " in " << all;
}

// A file that is named is used, and not added to unless that is asked for.
TEST_F(ProductTuning, AFileOfAnotherDriverSaysNothing) {
  algorithms({{20, true}, {0, true}});
  multiply(tuned(60'000, file()));
  const int fast = library_.ran(1);
  const Executor reads = tuned(0, file());
  multiply(reads);
  EXPECT_EQ(library_.ran(1), fast + 1);
  EXPECT_EQ(reads.counters().tuning_runs, 0u);

  std::ifstream in(file());
  std::string all{std::istreambuf_iterator<char>(in), {}};
  const size_t at = all.find("CUDA 12.8");
  ASSERT_NE(at, std::string::npos);
  all.replace(at, 9, "CUDA 12.7");
  std::ofstream(file()) << all;
  multiply(tuned(0, file()));
  EXPECT_EQ(library_.ran(1), fast + 1);
}

TEST_F(ProductTuning, ADamagedFileIsToldOfAndDoesNoHarm) {
  algorithms({{20, true}, {0, true}});
  fs::create_directories(folder_);
  std::ofstream(file()) << "{ \"format\": ";
  const auto right = multiply(tuned(0));
  EXPECT_EQ(multiply(tuned(60'000, file())), right);
  EXPECT_EQ(said("tuned.json is damaged"), 1);
  const Executor again = tuned(60'000, file());
  EXPECT_EQ(multiply(again), right);
  EXPECT_EQ(again.counters().tuning_runs, 0u);
}

// A result of zeros shows no mistakes.
TEST_F(ProductTuning, WaitsForWorkThatShowsSomething) {
  algorithms({{5, true}, {0, false}});
  const Executor gpu = tuned(60'000);
  const Tensor zeros = Tensor::from_vector(std::vector<float>(144, 0.0f), {12, 12}, gpu);
  ops::matmul(zeros, zeros.transpose()).eval();
  EXPECT_EQ(gpu.counters().tuning_runs, 0u);
  multiply(gpu);
  EXPECT_EQ(gpu.counters().tuning_runs, 1u);
  EXPECT_EQ(gpu.counters().rejected_candidates, 1u);
}

TEST_F(ProductTuning, AnAlgorithmThatFailsIsPassedOver) {
  algorithms({{10, true}, {0, true}});
  const auto right = multiply(tuned(0));
  // The default runs 6 times while it is looked at and timed.
  library_.fail("cublasLtMatmul", 6, 1, 13);
  const Executor gpu = tuned(60'000);
  EXPECT_EQ(multiply(gpu), right);
  EXPECT_EQ(gpu.counters().tuning_runs, 1u);
  EXPECT_EQ(said("1 not possible"), 1);
}

// The same tiles for sizes that are not far apart.
TEST_F(ProductTuning, OurOwnTilesAreTunedWhereThereIsNoLibrary) {
  library_.refuse(true);
  driver_.copy(64);  // of the first operand: something to compare
  const Executor gpu = tuned(60'000);
  multiply(gpu, 100);
  EXPECT_EQ(gpu.counters().tuning_runs, 1u);
  EXPECT_EQ(said("tuned tiled product f32 f32 f32 NT of about 128x128x128, batch 1"), 1);
  multiply(gpu, 120);
  EXPECT_EQ(gpu.counters().tuning_runs, 1u);
  multiply(gpu, 200);
  EXPECT_EQ(gpu.counters().tuning_runs, 2u);
  EXPECT_EQ(gpu.counters().rejected_candidates, 0u);
}

}  // namespace
}  // namespace hologram
