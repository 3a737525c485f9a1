// The CUDA driver alone: what a launch costs below which no runtime can go.
#pragma once

#include <memory>

class DriverLaunch {
 public:
  // Null if there is no device, or no driver.
  static std::unique_ptr<DriverLaunch> open();

  void launch();       // of a kernel of five arguments that does nothing
  void synchronize();  // waits for all of them

 private:
  DriverLaunch() = default;
  struct Functions;
  std::shared_ptr<Functions> driver_;
  void* function_ = nullptr;
  void* stream_ = nullptr;
};
