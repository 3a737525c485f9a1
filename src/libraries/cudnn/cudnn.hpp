// cuDNN: convolutions and attention on NVIDIA's GPUs.
#pragma once

#include <array>
#include <span>
#include <string>

#include "hologram/device.hpp"
#include "libraries/cudnn/api.hpp"

namespace hologram::libraries::cudnn {

inline constexpr const char* kVariable = "HOLOGRAM_CUDNN_LIBRARY";

// Thread-safe. Opened by the first call of `instance`, and open for the life of the process.
class Cudnn {
 public:
  // From where HOLOGRAM_CUDNN_LIBRARY says, or as a driver for CUDA `driver_major` can work with.
  // Only the first call's driver counts.
  static const Cudnn& instance(int driver_major);

  const LibraryInfo& info() const { return info_; }
  const std::array<int, 3>& version() const { return version_; }
  const Functions* operator->() const { return &functions_; }
  // "status 5000 (CUDNN_STATUS_EXECUTION_FAILED)".
  std::string text(Status status) const;

 private:
  explicit Cudnn(int driver_major);
  std::string problem_of(int driver_major);

  Functions functions_;
  LibraryInfo info_;
  std::array<int, 3> version_ = {};
};

// A descriptor of the library's. `status` is what the first call said that failed; those after it
// do nothing.
class Object {
 public:
  Object(const Cudnn& library, int kind);
  ~Object();
  Object(Object&& other) noexcept;
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;

  template <class T>
  void set(int attribute, int type, std::span<const T> values) {
    set(attribute, type, values.size(), values.data());
  }
  template <class T, size_t n>
  void set(int attribute, int type, const std::array<T, n>& values) {
    set(attribute, type, n, values.data());
  }
  template <class T>
  void set_one(int attribute, int type, const T& value) {
    set(attribute, type, 1, &value);
  }
  void set_one(int attribute, const Object& object);
  Status finish();  // after all attributes
  // Of one that is finished; how many there are.
  Status get(int attribute, int type, int64_t most, int64_t& count, void* values) const;

  Status status() const { return status_; }
  Descriptor descriptor() const { return descriptor_; }

 private:
  void set(int attribute, int type, size_t count, const void* values);

  const Cudnn& library_;
  Descriptor descriptor_ = nullptr;
  Status status_;
};

}  // namespace hologram::libraries::cudnn
