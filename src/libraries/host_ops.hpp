// LibraryOps of the host's memory: convolutions, and products cut into tiles for hologram's own
// threads.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/parallel.hpp"
#include "hologram/hal/buffer.hpp"
#include "hologram/hal/library.hpp"
#include "libraries/host_plan.hpp"
#include "libraries/host_products.hpp"
#include "libraries/library.hpp"

namespace hologram::libraries {

// A product that a library has agreed to. The cut into tiles, and with it every bit of the result,
// depends on the description and not on the number of threads.
class GemmPlan : public HostPlan {
 public:
  GemmPlan(const HostLibrary& library, const hal::GemmDesc& desc);
  const std::string& name() const override { return name_; }
  void run(std::span<const hal::Binding> operands, hal::Binding workspace,
           core::Threads& threads) const override;

 private:
  const HostLibrary& library_;
  std::string name_;
  hal::GemmDesc desc_;
  int64_t rows_, columns_;  // of a tile
};

// All libraries that can be on this host, in the order in which they are tried. Opens them.
std::span<const HostLibrary* const> host_libraries();

class HostOps : public hal::LibraryOps {
 public:
  // hologram's own kernels, and for what they refuse host_libraries(), opened by the first plan.
  // Its plans are run by so many threads at most. With `reproducible`, no library is opened, and
  // sums are only made by kernels that have the bits of the Atlas programs. A CBLAS is asked before
  // hologram's own kernels of f32 and f64.
  explicit HostOps(int threads, bool reproducible = false, const HostLibrary* cblas = nullptr)
      : policy_{threads, true, reproducible, cblas, host_libraries} {}
  // These alone for products and convolutions.
  explicit HostOps(std::vector<const HostLibrary*> libraries)
      : libraries_(std::move(libraries)),
        policy_{.own = libraries_.empty(), .libraries = host_libraries, .only = libraries_} {}
  HostOps(const HostOps&) = delete;
  HostOps& operator=(const HostOps&) = delete;
  hal::Planned plan(const hal::OpDesc& desc) override;
  std::vector<hal::Candidate> candidates(const hal::OpDesc& desc) override;
  bool adds_pieces(DType dtype) override;

 private:
  std::span<const HostLibrary* const> libraries() const;
  hal::Planned convolution(const hal::ConvDesc& desc) const;

  const std::vector<const HostLibrary*> libraries_;
  const ProductPolicy policy_;
};

}  // namespace hologram::libraries
