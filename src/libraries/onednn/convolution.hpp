// Convolutions by oneDNN: images cut into rows for hologram's own threads.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "libraries/host_plan.hpp"
#include "libraries/images.hpp"
#include "libraries/onednn/packing.hpp"

namespace hologram::libraries::onednn {

// A convolution that the library has agreed to. How it is cut into tiles depends on the number of
// threads. The bits of the result do not: the same implementation of the library makes each
// element, of whatever tile, and adds its terms in the same order.
class ConvolutionPlan : public HostPlan {
 public:
  // Some rows of the result, of every image.
  struct Tile {
    int64_t first = 0, rows = 0;  // of the result
    int64_t input = 0;            // its first row of the image
    size_t primitive = SIZE_MAX;  // none: it sees nothing but padding
  };
  struct Parts {
    std::vector<Tile> tiles;
    std::vector<SharedPrimitive> primitives;
    std::vector<uint64_t> weights_at;  // of each primitive
    uint64_t scratchpad = 0;           // of the one that needs most
  };
  ConvolutionPlan(const Library& library, const hal::ConvDesc& desc, Parts parts,
                  std::shared_ptr<const WeightPacking> packing);
  const std::string& name() const override { return name_; }
  uint64_t workspace() const override { return workspace_; }
  std::shared_ptr<const hal::LibraryPlan> packing() const override { return packing_; }
  void run(std::span<const hal::Binding> operands, hal::Binding workspace,
           core::Threads& threads) const override;

 private:
  std::optional<Parts> cut_again(int64_t rows) const;
  const Parts& parts_for(int threads) const;

  const Library& library_;
  std::string name_;
  hal::ConvDesc desc_;
  Images x_, d_;
  Parts parts_;  // of one thread
  mutable std::mutex mutex_;
  mutable std::map<int64_t, std::optional<Parts>> more_;  // by rows of a tile; none: parts_ will do
  std::shared_ptr<const WeightPacking> packing_;
  bool copies_x_, copies_d_;
  uint64_t d_at_ = 0, workspace_ = 0;
};

// The plans made so far: making a primitive takes a while.
class Convolutions {
 public:
  explicit Convolutions(std::unique_ptr<Library> library) : library_(std::move(library)) {}
  hal::Expected<std::shared_ptr<HostPlan>> plan(const hal::ConvDesc& desc);

 private:
  hal::Expected<std::shared_ptr<HostPlan>> make(const hal::ConvDesc& desc);

  const std::unique_ptr<Library> library_;
  std::mutex mutex_;
  std::map<ConvNumbers, std::shared_ptr<HostPlan>> plans_;
  hal::ConvDesc asked_;  // the last time, which was answered by
  std::shared_ptr<HostPlan> last_;
  std::vector<std::weak_ptr<const WeightPacking>> packings_;
};

}  // namespace hologram::libraries::onednn
