#include "backends/null/null.hpp"

#include <cstring>
#include <vector>

namespace hologram::backends::null {
namespace {

class Memory : public hal::Buffer {
 public:
  explicit Memory(uint64_t bytes) : bytes_(bytes) {}
  uint64_t size() const override { return bytes_.size(); }
  std::byte* host() override { return bytes_.data(); }

 private:
  std::vector<std::byte> bytes_;
};

class Nothing : public hal::Executable {};

class NullStream : public hal::Stream {
 public:
  void launch(const hal::Launch&) override { value_++; }
  void call(const hal::LibraryPlan&, std::span<const hal::Binding>, hal::Binding) override {
    value_++;
  }
  void copy(hal::Binding to, hal::Binding from) override {
    std::memcpy(to.buffer->host() + to.offset, from.buffer->host() + from.offset, from.size);
    value_++;
  }
  void fill(hal::Binding where, uint32_t pattern) override {
    for (uint64_t i = 0; i + sizeof pattern <= where.size; i += sizeof pattern)
      std::memcpy(where.buffer->host() + where.offset + i, &pattern, sizeof pattern);
    value_++;
  }
  hal::Point submit() override { return {value_}; }
  hal::State wait(hal::Point, hal::Deadline) override { return hal::State::Done; }

 private:
  uint64_t value_ = 0;
};

DeviceInfo describe(BackendType type) {
  DeviceInfo info;
  info.backend = type;
  info.name = "null device";
  info.driver = "computes nothing";
  info.total_memory = info.free_memory = info.max_allocation = uint64_t{1} << 40;
  info.compute_units = 1;
  info.max_lanes = 1024;
  info.max_shared_bytes = 32 << 10;
  info.binding_alignment = 256;
  for (size_t t = 1; t < kDTypeCount; t++) {
    info.storage.add(static_cast<DType>(t));
    if (is_compute_type(static_cast<DType>(t))) info.compute.add(static_cast<DType>(t));
  }
  return info;
}

class NullDevice : public hal::Device {
 public:
  explicit NullDevice(BackendType type) : info_(describe(type)) {}
  const DeviceInfo& info() const override { return info_; }
  std::optional<hal::Refusal> refuses(const program::Program&) const override { return {}; }
  std::unique_ptr<hal::Buffer> allocate(uint64_t bytes) override {
    return std::make_unique<Memory>(bytes);
  }
  std::unique_ptr<hal::Buffer> adopt(std::byte*, uint64_t) override { return nullptr; }
  std::shared_ptr<hal::Executable> compile(const program::Program&,
                                           const hal::CompileOptions&) override {
    return std::make_shared<Nothing>();
  }
  std::unique_ptr<hal::Stream> stream() override { return std::make_unique<NullStream>(); }

 private:
  const DeviceInfo info_;
};

class NullBackend : public hal::Backend {
 public:
  explicit NullBackend(BackendType type) : type_(type) {}
  BackendType type() const override { return type_; }
  hal::Expected<std::vector<DeviceInfo>> discover() override {
    return std::vector{describe(type_)};
  }
  hal::Expected<std::shared_ptr<hal::Device>> open(int, const BackendConfig&) override {
    return std::make_shared<NullDevice>(type_);
  }

 private:
  const BackendType type_;
};

}  // namespace

std::unique_ptr<hal::Backend> make(BackendType type) { return std::make_unique<NullBackend>(type); }

hal::Backend& backend() {
  static NullBackend instance(BackendType::Null);
  return instance;
}

}  // namespace hologram::backends::null
