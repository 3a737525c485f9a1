// bench_products [SIDE…]: products of square matrices, in GFLOP/s: by the libraries that are here,
// by hologram's own program, and by the program that examples/atlas/matmul.atlas writes out. The
// results are compared before they are timed.
#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iterator>
#include <random>
#include <vector>

#include "backends/cpu/cpu.hpp"
#include "core/half.hpp"
#include "hologram/error.hpp"
#include "libraries/product.hpp"

namespace hologram {
namespace {

double seconds(const std::function<void()>& work) {
  double best = 1e9;
  for (int round = 0; round < 3; round++) {
    const auto start = std::chrono::steady_clock::now();
    work();
    best = std::min(
        best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return best;
}

class Bench {
 public:
  Bench(int64_t side, DType type, bool transpose_b) : side_(side), type_(type) {
    desc_ = {.a = type,
             .b = type,
             .d = type,
             .accumulate = libraries::product_accumulator(type),
             .transpose_b = transpose_b,
             .m = side,
             .n = side,
             .k = side,
             .lda = side,
             .ldb = side,
             .ldd = side};
    const auto count = static_cast<uint64_t>(side * side);
    std::minstd_rand random(1);
    for (auto& buffer : buffers_) {
      buffer = device_->allocate(count * size_of(type));
      bindings_.push_back({buffer.get(), 0, buffer->size()});
    }
    for (size_t i = 0; i < 2; i++)
      for (uint64_t e = 0; e < count; e++)
        put(*buffers_[i], e, static_cast<float>(random() % 17) - 8);
  }

  void run() {
    fmt::print("{} {} x {}{}\n", name_of(type_), side_, side_,
               desc_.transpose_b ? ", b transposed" : "");
    auto plan = device_->library()->plan(desc_);
    if (auto* refusal = std::get_if<hal::Refusal>(&plan)) fmt::print("  {}\n", refusal->reason);
    else {
      const auto& agreed = *std::get<0>(plan);
      const auto workspace = device_->allocate(agreed.workspace() + 1);
      measure(agreed.name(), [&] {
        stream_->call(agreed, bindings_, {workspace.get(), 0, workspace->size()});
      });
    }
    const auto own = libraries::product_launch(libraries::product_of(desc_));
    const auto executable = device_->compile(libraries::product_program(own.key), {});
    measure("own", [&] { launch(*executable, own.grid, own.scalars); });
    if (type_ != DType::F32 || desc_.transpose_b) return;
    std::ifstream file(HOLOGRAM_EXAMPLES "/atlas/matmul.atlas");
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const auto example = device_->compile(Program::parse(text), {});
    const auto tiles = static_cast<uint64_t>((side_ + 15) / 16);
    const std::vector<uint64_t> sides(3, static_cast<uint64_t>(side_));
    measure("matmul.atlas", [&] { launch(*example, {tiles, tiles, 1}, sides); });
  }

 private:
  void launch(const hal::Executable& executable, const Grid& grid,
              std::span<const uint64_t> scalars) {
    hal::Launch launch;
    launch.executable = &executable;
    launch.grid = grid;
    launch.bindings = bindings_;
    launch.scalars = scalars;
    stream_->launch(launch);
  }

  void put(hal::Buffer& buffer, uint64_t at, float value) const {
    std::byte* p = buffer.host() + at * size_of(type_);
    if (type_ == DType::F64) *reinterpret_cast<double*>(p) = value;
    else if (type_ == DType::F32) *reinterpret_cast<float*>(p) = value;
    else if (type_ == DType::F16) *reinterpret_cast<uint16_t*>(p) = core::f32_to_f16(value);
    else *reinterpret_cast<int32_t*>(p) = static_cast<int32_t>(value);
  }

  void measure(const std::string& name, const std::function<void()>& work) {
    const auto once = [&] {
      work();
      stream_->wait(stream_->submit(), {});
    };
    once();
    // All are sums of small whole numbers: every way must find the same bits.
    const std::vector<std::byte> result(buffers_[2]->host(),
                                        buffers_[2]->host() + buffers_[2]->size());
    if (result_.empty()) result_ = result;
    else if (result_ != result) fmt::print("  {} differs\n", name);
    const double side = static_cast<double>(side_);
    fmt::print("  {:30} {:8.2f} GFLOP/s\n", name, 2 * side * side * side / seconds(once) * 1e-9);
  }

  int64_t side_;
  DType type_;
  std::shared_ptr<hal::Device> device_ = std::get<std::shared_ptr<hal::Device>>(
      backends::cpu::backend().open(0, BackendConfig::from_environment()));
  std::unique_ptr<hal::Stream> stream_ = device_->stream();
  hal::GemmDesc desc_;
  std::array<std::unique_ptr<hal::Buffer>, 3> buffers_;
  std::vector<hal::Binding> bindings_;
  std::vector<std::byte> result_;
};

}  // namespace
}  // namespace hologram

int main(int argc, char** argv) {
  using hologram::DType;
  std::vector<int64_t> sides;
  for (int i = 1; i < argc; i++) sides.push_back(std::atoll(argv[i]));
  if (sides.empty()) sides = {64, 512};
  for (const int64_t side : sides)
    for (const DType type : {DType::F32, DType::F64, DType::F16, DType::I32})
      for (const bool transposed : {false, true}) hologram::Bench(side, type, transposed).run();
}
