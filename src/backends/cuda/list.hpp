// Launches that the driver does as one: a CUDA graph.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backends/cuda/program.hpp"

namespace hologram::backends::cuda {

// Its nodes run one after the other. A node is told its arguments anew where the memory of a slot
// is not what it was at the last launch.
class CudaList final : public hal::CommandList {
 public:
  CudaList(Gpu& gpu, const Lane& lane) : gpu_(gpu), lane_(lane) {}
  ~CudaList() override;
  CudaList(const CudaList&) = delete;
  CudaList& operator=(const CudaList&) = delete;

  // What the driver says; the context is current.
  Status make(std::span<const hal::Command> commands);
  Status launch(std::span<const hal::Binding> table);

  // The program that comes last, and how many there are.
  const std::shared_ptr<const std::string>& last() const { return last_; }
  uint64_t launches() const { return items_.size(); }
  std::string note() const override;

 private:
  static constexpr uint32_t kNoSlot = UINT32_MAX;
  struct Item {
    hal::Command command;
    const Kernel* kernel = nullptr;
    GraphNode node = nullptr;
    std::vector<uint32_t> slots;  // one a binding
    bool told = false;            // the driver knows the values
    std::vector<uint64_t> values;
    std::vector<void*> parameters;
  };
  Status add_kernel(const hal::Command& command, std::span<const GraphNode> after);
  Status add_fill(const hal::Command& command, std::span<const GraphNode> after);
  KernelNode arguments(Item& item) const;
  Address address(const Item& item, const hal::Binding& binding) const;
  Status tell(std::span<const hal::Binding> table);

  Gpu& gpu_;
  const Lane& lane_;
  const Driver& driver_ = Driver::instance();
  Graph graph_ = nullptr;
  ReadyGraph ready_ = nullptr;
  std::vector<Item> items_;  // of kernels
  size_t fills_ = 0;
  GraphNode end_ = nullptr;
  std::shared_ptr<const std::string> last_ = std::make_shared<const std::string>();
  std::vector<Address> slots_;  // where they are
};

}  // namespace hologram::backends::cuda
