// The file in which executors keep what tuning has found, damaged in random ways while two
// processes use it: nothing fails, results are right, what is lost is searched for again, and in
// the end the file is whole. On the emulated cuBLASLt, and on the first device of CUDA or OpenCL
// that tunes products. HOLOGRAM_TEST_CORRUPTIONS=1000 damages it as often there, too.
#include "cublaslt_fixture.hpp"
#include "damaged_files.hpp"

namespace hologram {
namespace {

constexpr int64_t kSides[] = {96, 128, 192, 256};

// Sums are whole numbers: the same bits in any order.
Tensor operand(int64_t side, const Executor& on) {
  std::vector<float> values(static_cast<size_t>(side * side));
  for (size_t i = 0; i < values.size(); i++) values[i] = static_cast<float>(i * 7919 % 17) - 8;
  return Tensor::from_vector(values, {side, side}, on);
}

class Tuned {
 public:
  // `least`: the smallest product is so large.
  Tuned(BackendType backend, fs::path file, int64_t least) : file_(std::move(file)), least_(least) {
    how_.backend_type = backend;
    how_.autotuning_cache_file = file_.string();
    how_.autotuning_ms = 60'000;
  }

  // An executor is a reader of its own. How many searches that took.
  uint64_t multiply(size_t which) {
    const Executor on = Executor::from_config(how_);
    const Tensor x = operand(side(which), on);
    const std::vector<float> found = ops::matmul(x, x).to_vector<float>();
    std::vector<float>& right = right_[which];
    if (right.empty()) {
      const Tensor y = operand(side(which), Executor(BackendType::Cpu));
      right = ops::matmul(y, y).to_vector<float>();
    }
    EXPECT_TRUE(found == right) << "product " << which;
    return on.counters().tuning_runs;
  }
  uint64_t multiply_all() {
    uint64_t searches = 0;
    for (size_t which = 0; which < std::size(kSides); which++) searches += multiply(which);
    return searches;
  }

  void damage_often(int times) {
    const fs::path other = file_.string() + ".of another driver";
    fs::copy_file(file_, other, fs::copy_options::overwrite_existing);
    std::fstream(other) << "{ \"format\": \"hologram tuning 1\", \"entries\": [1, {}, []] }";
    std::mt19937 random(5);
    uint64_t searches = 0;
    for (int i = 0; i < times; i++) {
      // What is no file stays what it is, until somebody takes it away.
      if (!fs::is_regular_file(file_)) fs::remove(file_);
      damage(file_, other, random);
      searches += multiply(random() % std::size(kSides));
    }
    EXPECT_GT(searches, static_cast<uint64_t>(times / 5)) << "nothing was damaged";
    if (!fs::is_regular_file(file_)) fs::remove(file_);
    multiply_all();
    EXPECT_EQ(multiply_all(), 0u) << "everything is known";
  }

 private:
  int64_t side(size_t which) const { return kSides[which] * least_ / kSides[0]; }

  const fs::path file_;
  const int64_t least_;
  BackendConfig how_;
  std::vector<float> right_[std::size(kSides)];
};

class TuningCaches : public CublasLt {
 protected:
  void SetUp() override {
    const FakeBlasLt::Algorithm three[] = {{0, true}, {0, true}, {0, true}};
    library_.algorithms(three, 3);
    fs::create_directories(folder_);
  }
};

TEST_F(TuningCaches, AThousandDamagedFilesWhileAnotherProcessWorks) {
  Tuned tuned(BackendType::Cuda, folder_ / "tuned.json", 6);
  EXPECT_EQ(tuned.multiply_all(), std::size(kSides));
  EXPECT_EQ(tuned.multiply_all(), 0u);
  const Other other("TuningCaches.DISABLED_TheOtherProcess", folder_);
  tuned.damage_often(1000);
  EXPECT_EQ(other.wait(), 0);
}

// In the folder of the test that started it.
TEST_F(TuningCaches, DISABLED_TheOtherProcess) {
  const char* const folder = std::getenv("HOLOGRAM_TEST_SHARED");
  ASSERT_NE(folder, nullptr);
  Tuned tuned(BackendType::Cuda, fs::path(folder) / "tuned.json", 6);
  for (int i = 0; i < 25; i++) tuned.multiply_all();
}

TEST(TuningCachesOfADevice, DamagedFilesDoNoHarm) {
  std::string name = (fs::temp_directory_path() / "hologram-tuned-XXXXXX").string();
  ASSERT_NE(mkdtemp(name.data()), nullptr);
  struct Folder {
    fs::path path;
    ~Folder() { fs::remove_all(path); }
  } const folder{name};
  std::string reasons;
  for (const BackendType backend : {BackendType::Cuda, BackendType::OpenCl}) {
    Tuned tuned(backend, folder.path / "tuned.json", kSides[0]);
    try {
      if (tuned.multiply_all() == 0) {
        reasons += " a device has one way for products;";
        continue;
      }
    } catch (const Error& error) {
      reasons += ' ' + std::string(error.what()) + ';';
      continue;
    }
    const char* const asked = std::getenv("HOLOGRAM_TEST_CORRUPTIONS");
    return tuned.damage_often(asked != nullptr ? std::atoi(asked) : 12);
  }
  GTEST_SKIP() << "nothing is tuned:" << reasons;
}

}  // namespace
}  // namespace hologram
