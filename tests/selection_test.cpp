// Which device is chosen, and what is said about those that are not; on devices that are made up,
// and on those of the machine.
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <sstream>

#include "core/host_memory.hpp"
#include "core/messages.hpp"
#include "hologram/hologram.hpp"
#include "runtime/selection.hpp"

namespace hologram {
namespace {

constexpr uint64_t kGiB = uint64_t{1} << 30;

class FakeDevice : public hal::Device {
 public:
  explicit FakeDevice(DeviceInfo info) : info_(std::move(info)) {}
  const DeviceInfo& info() const override { return info_; }
  std::optional<hal::Refusal> refuses(const program::Program&) const override { return {}; }
  std::unique_ptr<hal::Buffer> allocate(uint64_t) override { return nullptr; }
  std::unique_ptr<hal::Buffer> adopt(std::byte*, uint64_t) override { return nullptr; }
  std::shared_ptr<hal::Executable> compile(const program::Program&,
                                           const hal::CompileOptions&) override {
    return nullptr;
  }
  std::unique_ptr<hal::Stream> stream() override { return nullptr; }

 private:
  DeviceInfo info_;
};

// A backend whose devices have so much memory free; negative: a software device with as much.
class FakeBackend : public hal::Backend {
 public:
  FakeBackend(BackendType type, std::vector<int> gibibytes) : type_(type) {
    for (const int g : gibibytes) {
      DeviceInfo info;
      info.backend = type;
      info.index = static_cast<int>(devices_.size());
      info.name = std::string(name_of(type)) + "-" + std::to_string(info.index);
      info.software = g < 0;
      info.free_memory = static_cast<uint64_t>(std::abs(g)) * kGiB;
      info.total_memory = 2 * info.free_memory;
      devices_.push_back(info);
    }
  }
  BackendType type() const override { return type_; }
  hal::Expected<std::vector<DeviceInfo>> discover() override {
    if (devices_.empty()) return hal::Refusal{"No device found"};
    return devices_;
  }
  hal::Expected<std::shared_ptr<hal::Device>> open(int index, const BackendConfig&) override {
    if (broken) throw core::error(core::Text::OutOfMemory, "the driver", 1, "");
    return std::make_shared<FakeDevice>(devices_.at(static_cast<size_t>(index)));
  }
  bool broken = false;

 private:
  BackendType type_;
  std::vector<DeviceInfo> devices_;
};

struct Machine {
  FakeBackend cuda{BackendType::Cuda, {}};
  FakeBackend rocm{BackendType::Rocm, {4, 16}};
  FakeBackend opencl{BackendType::OpenCl, {-64}};
  FakeBackend cpu{BackendType::Cpu, {8}};
  FakeBackend null{BackendType::Null, {100}};

  std::vector<backends::Entry> entries() {
    return {{BackendType::Cuda, &cuda, nullptr, true},
            {BackendType::Metal, nullptr, "Not in this build", true},
            {BackendType::OpenCl, &opencl, nullptr, true},
            {BackendType::Rocm, &rocm, nullptr, true},
            {BackendType::Cpu, &cpu, nullptr, true},
            {BackendType::Null, &null, nullptr, false}};
  }

  // The name of the chosen device and why, or kind and text of the error.
  std::string choose(const BackendConfig& config, uint64_t bytes = 0) {
    try {
      const auto chosen = runtime::select(config, bytes, entries());
      return chosen.device->info().name + " because " + chosen.why;
    } catch (const Error& error) {
      return std::string(name_of(error.kind())) + ": " + error.what();
    }
  }
};

BackendConfig named(BackendType type, int device = 0) {
  BackendConfig config;
  config.backend_type = type;
  config.device_id = device;
  return config;
}

BackendConfig preferring(std::vector<BackendType> types) {
  BackendConfig config;
  config.preference = std::move(types);
  return config;
}

TEST(Selection, TheFirstThatIsThereAndEveryReason) {
  Machine machine;
  EXPECT_EQ(machine.choose({}),
            "rocm-0 because rocm is the first of all backends that is there; "
            "cuda skipped: No device found; metal skipped: Not in this build; "
            "opencl skipped: opencl-0 is a software device, which has to be named");
}

TEST(Selection, ANameForces) {
  Machine machine;
  EXPECT_EQ(machine.choose(named(BackendType::OpenCl)),
            "opencl-0 because opencl was asked for by name");
  EXPECT_EQ(machine.choose(named(BackendType::Null)), "null-0 because null was asked for by name");
  EXPECT_EQ(machine.choose(named(BackendType::Rocm, 1)),
            "rocm-1 because rocm was asked for by name");
  EXPECT_EQ(machine.choose(named(BackendType::Cuda)),
            "BackendUnavailable: CUDA backend not available: No device found");
  EXPECT_EQ(machine.choose(named(BackendType::Metal)),
            "BackendUnavailable: Metal backend not available: Not in this build");
  EXPECT_EQ(machine.choose(named(BackendType::Rocm, 2)),
            "BackendUnavailable: rocm has no device 2: it has 2");
}

TEST(Selection, AListPrefersAndMayNameSoftware) {
  Machine machine;
  EXPECT_EQ(machine.choose(preferring({BackendType::Cuda, BackendType::OpenCl, BackendType::Cpu})),
            "opencl-0 because opencl is the first of those preferred that is there; "
            "cuda skipped: No device found");
  EXPECT_EQ(machine.choose(preferring({BackendType::Cuda, BackendType::Metal})),
            "BackendUnavailable: no backend is available: cuda skipped: No device found; "
            "metal skipped: Not in this build");
  BackendConfig second = preferring({BackendType::Cpu, BackendType::Rocm});
  second.device_id = 1;
  EXPECT_EQ(machine.choose(second),
            "rocm-1 because rocm is the first of those preferred that is there; "
            "cpu skipped: there is no device 1, only 1");
}

TEST(Selection, StrictRefusesTheSecondChoice) {
  Machine machine;
  BackendConfig config = preferring({BackendType::Cuda, BackendType::Cpu});
  config.strict = true;
  EXPECT_EQ(machine.choose(config),
            "BackendUnavailable: CUDA backend not available, and strict: No device found");
  config.preference = {BackendType::Cpu, BackendType::Cuda};
  EXPECT_EQ(machine.choose(config).substr(0, 5), "cpu-0");
  config.preference.clear();
  EXPECT_EQ(machine.choose(config).substr(0, 6), "rocm-0") << "nothing was expected";
}

TEST(Selection, ADeviceThatCannotBeOpenedIsSkipped) {
  Machine machine;
  machine.rocm.broken = true;
  EXPECT_NE(machine.choose({}).find("rocm skipped: the driver could not allocate"),
            std::string::npos);
  EXPECT_EQ(machine.choose({}).substr(0, 5), "cpu-0");
  EXPECT_EQ(machine.choose(named(BackendType::Rocm)).substr(0, 54),
            "BackendUnavailable: ROCm backend not available: the dr");
}

TEST(Selection, TheFirstWithSoMuchMemory) {
  Machine machine;
  EXPECT_EQ(machine.choose({}, 4 * kGiB).substr(0, 6), "rocm-0");
  EXPECT_EQ(machine.choose({}, 4 * kGiB + 1).substr(0, 6), "rocm-1");
  EXPECT_EQ(machine.choose(named(BackendType::Rocm), 5 * kGiB).substr(0, 6), "rocm-1");
  EXPECT_EQ(
      machine.choose(preferring({BackendType::Cpu, BackendType::Rocm}), 9 * kGiB).substr(0, 6),
      "rocm-1");
  EXPECT_EQ(machine.choose({}, 17 * kGiB),
            "OutOfMemory: no device has 18253611008 bytes free: cuda skipped: No device found; "
            "metal skipped: Not in this build; "
            "opencl skipped: opencl-0 is a software device, which has to be named; "
            "rocm skipped: 18253611008 bytes are needed, rocm-0 has 4294967296 of 8589934592 free, "
            "18253611008 bytes are needed, rocm-1 has 17179869184 of 34359738368 free; "
            "cpu skipped: 18253611008 bytes are needed, cpu-0 has 8589934592 of 17179869184 free");
  EXPECT_EQ(machine.choose(named(BackendType::Cpu), 9 * kGiB),
            "OutOfMemory: no device has 9663676416 bytes free: 9663676416 bytes are needed, "
            "cpu-0 has 8589934592 of 17179869184 free");
  EXPECT_EQ(machine.choose(named(BackendType::Cuda), 1),
            "BackendUnavailable: CUDA backend not available: No device found");
  BackendConfig limited;
  limited.cache_size_mb = 1024;
  EXPECT_EQ(machine.choose(limited, kGiB).substr(0, 6), "rocm-0");
  EXPECT_EQ(machine.choose(limited, kGiB + 1),
            "OutOfMemory: no device has 1073741825 bytes free: HOLOGRAM_CACHE_SIZE_MB=1024 allows "
            "1073741824 bytes");
}

TEST(Selection, TheBestIsTheFirstThatNeedNotBeNamed) {
  Machine machine;
  EXPECT_EQ(std::get<BackendType>(runtime::best_of(machine.entries())), BackendType::Rocm);
  auto entries = machine.entries();
  entries.erase(entries.begin() + 3, entries.begin() + 5);
  EXPECT_EQ(std::get<hal::Refusal>(runtime::best_of(entries)).reason,
            "cuda: No device found; metal: Not in this build; opencl: software devices only");
}

TEST(Backends, ThePriorityIsTheOrderOfChoice) {
  struct Restore {
    ~Restore() { set_backend_priority({}); }
  } restore;
  const auto built_in = backend_priority();
  EXPECT_EQ(built_in.front(), BackendType::Cuda);
  EXPECT_EQ(best_available_backend(), Executor::from_config({}).device().backend);
  set_backend_priority({BackendType::Null, BackendType::Cpu});
  EXPECT_EQ(backend_priority().size(), built_in.size() + 1);
  EXPECT_EQ(backend_priority()[1], BackendType::Cpu);
  EXPECT_EQ(best_available_backend(), BackendType::Null);
  EXPECT_EQ(Executor::from_config({}).device().backend, BackendType::Null);
  EXPECT_EQ(discover_backends().front().type, BackendType::Null);
  for (const auto& bad : {std::vector{BackendType::Auto}, std::vector{static_cast<BackendType>(99)},
                          std::vector{BackendType::Cpu, BackendType::Cpu}}) {
    try {
      set_backend_priority(bad);
      ADD_FAILURE();
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::InvalidConfig);
      EXPECT_NE(error.remedy().find("cuda, rocm"), std::string::npos) << error.remedy();
    }
  }
  EXPECT_EQ(best_available_backend(), BackendType::Null) << "as before the bad lists";
  set_backend_priority({});
  EXPECT_EQ(backend_priority(), built_in);
}

TEST(Backends, TheSummaryHasALineForEach) {
  std::ostringstream stream;
  print_backend_summary(stream);
  const std::string text = stream.str();
  for (const BackendReport& report : discover_backends())
    EXPECT_NE(text.find(display_name(report.type)), std::string::npos) << text;
  EXPECT_NE(text.find("* " + std::string(display_name(best_available_backend()))),
            std::string::npos)
      << text;
}

TEST(Backends, EveryDeviceIsDescribed) {
  for (const BackendReport& report : discover_backends())
    for (const DeviceInfo& device : report.devices) {
      SCOPED_TRACE(device.name);
      EXPECT_FALSE(device.name.empty());
      EXPECT_GT(device.total_memory, 0u);
      EXPECT_LE(device.free_memory, device.total_memory);
      EXPECT_GT(device.max_allocation, 0u);
      EXPECT_GE(device.max_bindings, 8u);
      EXPECT_GE(device.max_lanes, 256u);
      EXPECT_GE(device.max_shared_bytes, 16u << 10);
      EXPECT_TRUE(device.storage.has(DType::F32));
    }
}

TEST(HostMemory, IsTheMachinesOrTheCgroups) {
  const std::string meminfo = "MemTotal:  1000 kB\nMemFree:  10 kB\nMemAvailable:  600 kB\n";
  const auto memory = [&](const char* limit, const char* used, const char* stat) {
    const core::HostMemory m = core::host_memory({meminfo, limit, used, stat});
    return std::pair(m.total, m.free);
  };
  using Pair = std::pair<uint64_t, uint64_t>;
  EXPECT_EQ(memory("", "", ""), Pair(1024000, 614400));
  EXPECT_EQ(memory("max\n", "5", ""), Pair(1024000, 614400));
  EXPECT_EQ(memory("2000000\n", "5", ""), Pair(1024000, 614400));
  EXPECT_EQ(memory("500000\n", "100000\n", ""), Pair(500000, 400000));
  EXPECT_EQ(memory("500000\n", "400000\n", "anon 5\ninactive_file 300000\n"), Pair(500000, 400000));
  EXPECT_EQ(memory("500000\n", "600000\n", ""), Pair(500000, 0));
  EXPECT_EQ(memory("900000\n", "0\n", ""), Pair(900000, 614400));
  EXPECT_EQ(core::host_memory({}).total, 0u);
}

TEST(MemoryEstimate, IsTheFormula) {
  const MemoryEstimate e = estimate_inference_memory(4096, 14336, 32, 32000, 32, 8, 4096, 4);
  EXPECT_EQ(e.weights, 28'966'928'384u);
  EXPECT_EQ(e.kv_cache, 1'073'741'824u);
  EXPECT_EQ(e.activations, 262'144u);
  EXPECT_EQ(e.total, 30'040'932'352u);
  // Small enough to count by hand: 4 hidden in 2 heads that share keys and values, 3 intermediate.
  const MemoryEstimate small = estimate_inference_memory(4, 3, 1, 5, 2, 1, 7, 1);
  EXPECT_EQ(small.weights, (16u + 8 + 8 + 16) + 3 * 12 + 2 * 4 + (20 + 20) + 4);
  EXPECT_EQ(small.kv_cache, 7u * 2 * 2);
  EXPECT_EQ(small.activations, 2u * (4 + 6));
  EXPECT_EQ(small.total, small.weights + small.kv_cache + small.activations);
}

TEST(MemoryEstimate, RefusesWhatIsNoModel) {
  using Sizes = std::array<int64_t, 8>;
  constexpr Sizes kGood = {4096, 14336, 32, 32000, 32, 8, 4096, 4};
  const std::array<std::string, 8> names = {"hidden", "intermediate", "layers",  "vocab",
                                            "heads",  "kv_heads",     "max_seq", "dtype_bytes"};
  const auto refused = [](const Sizes& s, const std::string& what) {
    try {
      estimate_inference_memory(s[0], s[1], s[2], s[3], s[4], s[5], s[6], s[7]);
      ADD_FAILURE() << what;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::InvalidArgument);
      EXPECT_EQ(std::string(error.what()).substr(0, what.size()), what);
    }
  };
  for (size_t i = 0; i < kGood.size(); i++)
    for (const int64_t bad : {int64_t{0}, int64_t{-1}, std::numeric_limits<int64_t>::min()}) {
      Sizes sizes = kGood;
      sizes[i] = bad;
      refused(sizes, names[i] + "=" + std::to_string(bad) + " ");
    }
  refused({4096, 14336, 32, 32000, 33, 33, 4096, 4}, "heads=33 ");
  refused({4096, 14336, 32, 32000, 32, 5, 4096, 4}, "kv_heads=5 ");
  refused({4096, 14336, 32, 32000, 32, 64, 4096, 4}, "kv_heads=64 ");
  refused({4096, 14336, 32, 32000, 32, 8, 4096, 3}, "dtype_bytes=3 ");
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  for (const size_t i : {0, 1, 2, 3, 6}) {
    Sizes sizes = {1, 1, 1, 1, 1, 1, 1, 8};
    sizes[i] = kMost;
    refused(sizes, "a model of these sizes");
  }
  EXPECT_GT(estimate_inference_memory(1, 1, 1, int64_t{1} << 62, 1, 1, 1, 1).total,
            uint64_t{1} << 63);
}

TEST(Executors, OfAThousandNothingIsLeft) {
  const auto entries = [](const char* folder) {
    return std::distance(std::filesystem::directory_iterator(folder), {});
  };
  const Program program =
      Program::parse("program p(out y: f32[n]) lanes(n) { y[global_id.x] = 1.0 }");
  const auto use = [&](BackendType type, int count) {
    const Executor executor = Executor::builder().backend(type).threads(count).build();
    executor.run(program, {{"n", 5000}});
  };
  use(BackendType::Cpu, 3);
  const auto threads = entries("/proc/self/task"), files = entries("/proc/self/fd");
  for (int i = 0; i < 1000; i++) use(i % 4 == 0 ? BackendType::Null : BackendType::Cpu, 1 + i % 3);
  // Workers are shared by the whole process; some of those for three threads may come late.
  EXPECT_LE(entries("/proc/self/task"), threads + 2);
  EXPECT_EQ(entries("/proc/self/fd"), files);
}

}  // namespace
}  // namespace hologram
