// A GPU, and the GPUs of a driver, as the runtime sees them.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/driver/gpu.hpp"
#include "hologram/hal/backend.hpp"

namespace hologram::backends::driver {

class Device final : public hal::Device {
 public:
  // With the stream of the application's, where there is one. `library` may be null.
  Device(Gpu& gpu, std::unique_ptr<hal::LibraryOps> library,
         std::optional<NativeStream> native = {});

  const DeviceInfo& info() const override { return info_; }
  std::optional<hal::Refusal> refuses(const program::Program&) const override { return {}; }
  std::unique_ptr<hal::Buffer> allocate(uint64_t bytes) override;
  std::unique_ptr<hal::Buffer> adopt(std::byte*, uint64_t) override { return nullptr; }
  std::shared_ptr<std::byte> host_memory(uint64_t bytes) override;
  std::shared_ptr<hal::Executable> compile(const program::Program& program,
                                           const hal::CompileOptions& options) override;
  std::unique_ptr<hal::Stream> stream() override;
  hal::Expected<std::unique_ptr<hal::Buffer>> borrow(void* memory, uint64_t bytes,
                                                     std::function<void(void*)> release) override;
  bool has_timestamps() const override { return true; }
  bool copies_to(const hal::Device& other) const override;
  bool asynchronous() const override { return true; }
  bool lists() const override { return gpu_.driver()->graph_create != nullptr; }
  hal::LibraryOps* library() override { return library_.get(); }

 private:
  Gpu& gpu_;
  const std::optional<NativeStream> native_;  // the application's
  const DeviceInfo info_;
  const std::unique_ptr<hal::LibraryOps> library_;
};

class Backend : public hal::Backend {
 public:
  BackendType type() const final { return platform_.backend; }
  hal::Expected<std::vector<DeviceInfo>> discover() final;
  hal::Expected<std::shared_ptr<hal::Device>> open(int index, const BackendConfig& config) final;
  hal::Expected<std::shared_ptr<hal::Device>> open_on(int index, void* stream,
                                                      const BackendConfig& config) final;

 protected:
  explicit Backend(const Platform& platform) : platform_(platform) {}
  virtual const Driver& driver() const = 0;  // opened by the first call
  // What libraries do for the device; null: nothing.
  virtual std::unique_ptr<hal::LibraryOps> library(Gpu&, const BackendConfig&) { return nullptr; }
  // Why there are no devices; empty if there are some.
  std::string absence() const;

 private:
  hal::Expected<std::shared_ptr<hal::Device>> opened(int index, std::optional<NativeStream> native,
                                                     const BackendConfig& config);
  const Platform& platform_;
};

}  // namespace hologram::backends::driver
