// LibraryOps of the host's memory: convolutions, and products cut into tiles for hologram's own
// threads.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/parallel.hpp"
#include "hal/hal.hpp"
#include "libraries/host_plan.hpp"
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
  // sums are only made by kernels that have the bits of the Atlas programs.
  explicit HostOps(int threads, bool reproducible = false)
      : threads_(threads), reproducible_(reproducible) {}
  explicit HostOps(std::vector<const HostLibrary*> libraries) : libraries_(std::move(libraries)) {}
  hal::Expected<std::shared_ptr<hal::LibraryPlan>> plan(const hal::GemmDesc& desc) override;
  hal::Expected<std::shared_ptr<hal::LibraryPlan>> plan(const hal::ConvDesc& desc) override;
  hal::Expected<std::shared_ptr<hal::LibraryPlan>> plan(const hal::RowsDesc& desc) override;
  bool adds_pieces(DType dtype) override;
  hal::Expected<std::shared_ptr<hal::LibraryPlan>> plan(const hal::ColumnsDesc& desc) override;
  hal::Expected<std::shared_ptr<hal::LibraryPlan>> plan(const hal::OrderDesc& desc) override;
  hal::Expected<std::shared_ptr<hal::LibraryPlan>> plan(const hal::SearchDesc& desc) override;
  hal::Expected<std::shared_ptr<hal::LibraryPlan>> plan(const hal::PlacesDesc& desc) override;
  hal::Expected<std::shared_ptr<hal::LibraryPlan>> plan(const hal::ScanDesc& desc) override;
  hal::Expected<std::shared_ptr<hal::LibraryPlan>> plan(const hal::IndexDesc& desc) override;
  hal::Expected<std::shared_ptr<hal::LibraryPlan>> plan(const hal::CopyDesc& desc) override;
  hal::Expected<std::shared_ptr<hal::LibraryPlan>> plan(const hal::BytesDesc& desc) override;
  hal::Expected<std::shared_ptr<hal::LibraryPlan>> plan(const hal::BlocksDesc& desc) override;

 private:
  std::span<const HostLibrary* const> libraries() const;
  hal::Refusal refused(std::string reasons) const;
  static void add_reason(std::string& reasons, const HostLibrary& library,
                         const hal::Refusal& refusal);

  const int threads_ = 1;
  const bool reproducible_ = false;
  std::vector<const HostLibrary*> libraries_;
};

}  // namespace hologram::libraries
