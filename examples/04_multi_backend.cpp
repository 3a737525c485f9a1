// One binary, whatever devices there are: lists them, does the same work on each, and compares the
// results bit by bit.
//
//   04_multi_backend [BACKEND]     only this one; HOLOGRAM_BACKEND=cuda,cpu prefers some instead
#include <bit>
#include <cstdio>
#include <optional>
#include <vector>

#include "hologram/hologram.hpp"

namespace {

using namespace hologram;

// Elementwise functions, a reduction along rows and random numbers.
std::vector<float> work(const Executor& executor) {
  ops::seed(42, executor);
  const Tensor x = ops::randn({300, 1000}, DType::F32, executor);
  const Tensor rows = ops::softmax(ops::sin(x) * 3 + ops::exp(-x * x));
  return ops::sum(rows * x, 0).to_vector<float>();
}

size_t different_bits(const std::vector<float>& a, const std::vector<float>& b) {
  size_t count = 0;
  for (size_t i = 0; i < a.size(); i++)
    count += std::bit_cast<uint32_t>(a[i]) != std::bit_cast<uint32_t>(b[i]);
  return count;
}

int run(const char* only) {
  std::optional<BackendType> wanted;
  if (only != nullptr) {
    wanted = parse_backend(only);
    if (!wanted)
      throw Error(ErrorKind::InvalidArgument, "no backend has that name",
                  "`hologram devices` lists them.");
  }
  std::printf("chosen: %s\n", Executor().why().c_str());

  // The yardstick: the CPU with one thread.
  const std::vector<float> want =
      work(Executor::builder().backend(BackendType::Cpu).threads(1).build());
  int wrong = 0;
  for (const BackendReport& report : discover_backends()) {
    const char* name = display_name(report.type).data();
    if (report.type == BackendType::Null || (wanted && report.type != *wanted)) continue;
    if (report.devices.empty()) std::printf("%-8s none: %s\n", name, report.reason.c_str());
    for (const DeviceInfo& device : report.devices) {
      const Executor executor =
          Executor::builder().backend(report.type).device(device.index).build();
      const size_t differ = different_bits(work(executor), want);
      // A relaxed device promises bounds, not bits.
      const bool good = differ == 0 || device.numerics == Numerics::Relaxed;
      std::printf("%-8s %s: %zu of %zu results differ%s\n", name, device.name.c_str(), differ,
                  want.size(), good ? "" : ", which they must not");
      wrong += !good;
    }
  }
  return wrong == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc > 1 ? argv[1] : nullptr);
  } catch (const Error& e) {
    std::fprintf(stderr, "%s\n%s\n", e.what(), e.remedy().c_str());
    return 1;
  }
}
