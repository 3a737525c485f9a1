// Which epilogues of cuBLASLt's are trusted: those that have left the bits that the formula leaves.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "libraries/blaslt/blaslt.hpp"

namespace hologram::backends::driver {
class Gpu;
}

namespace hologram::backends::cuda {

// Of one device. Thread-safe.
class Epilogues {
 public:
  // Why the epilogue is not to be used with the plan, which has none; empty if it is. Each
  // algorithm is tried once with each epilogue, on a small product with NaN, infinities, zeros of
  // both signs and denormals in it: it has to leave what the formula makes of the product that it
  // leaves without. The device's context is current.
  std::string refuses(driver::Gpu& gpu, const libraries::blaslt::GemmPlan& plan,
                      const hal::Epilogue& epilogue);

 private:
  std::mutex mutex_;
  std::map<std::string, std::string> known_;
};

}  // namespace hologram::backends::cuda
