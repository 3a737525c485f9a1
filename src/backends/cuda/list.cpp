#include "backends/cuda/list.hpp"

#include <fmt/format.h>

namespace hologram::backends::cuda {
namespace {

const hal::Slot* slot_of(const hal::Binding& binding) {
  return dynamic_cast<const hal::Slot*>(binding.buffer);
}

}  // namespace

CudaList::~CudaList() {
  gpu_.if_usable([this](const DriverFunctions& driver) {
    if (ready_ != nullptr) driver.graph_ready_destroy(ready_);
    if (graph_ != nullptr) driver.graph_destroy(graph_);
  });
}

Status CudaList::make(std::span<const hal::Command> commands) {
  if (const Status status = driver_->graph_create(&graph_, 0); status != kSuccess) return status;
  items_.reserve(commands.size());
  for (const hal::Command& command : commands) {
    const std::span<const GraphNode> after(&end_, end_ == nullptr ? 0 : 1);
    const Status status =
        command.executable != nullptr ? add_kernel(command, after) : add_fill(command, after);
    if (status != kSuccess) return status;
  }
  if (const Status status = driver_->graph_instantiate(&ready_, graph_, 0); status != kSuccess)
    return status;
  return driver_->graph_upload(ready_, lane_.stream);
}

Status CudaList::add_kernel(const hal::Command& command, std::span<const GraphNode> after) {
  const auto& program = static_cast<const CudaProgram&>(*command.executable);
  if (command.grid[0] * command.grid[1] * command.grid[2] == 0) return kSuccess;
  Item item;
  item.command = command;
  item.kernel = &program.kernel(false);
  item.values.resize(item.kernel->slots.size());
  item.told = true;
  for (const hal::Binding& binding : command.bindings) {
    const hal::Slot* slot = slot_of(binding);
    item.slots.push_back(slot == nullptr ? kNoSlot : slot->number());
    if (slot == nullptr) continue;
    item.told = false;
    slots_.resize(std::max<size_t>(slots_.size(), slot->number() + 1));
  }
  for (uint64_t& value : item.values) item.parameters.push_back(&value);
  const KernelNode node = arguments(item);
  const Status status =
      driver_->graph_add_kernel(&item.node, graph_, after.data(), after.size(), &node);
  if (status != kSuccess) return status;
  end_ = item.node;
  last_ = program.name();
  items_.push_back(std::move(item));
  return kSuccess;
}

Status CudaList::add_fill(const hal::Command& command, std::span<const GraphNode> after) {
  const hal::Binding& where = command.bindings.front();
  const size_t count = where.size / sizeof(uint32_t);
  if (count == 0) return kSuccess;
  const FillNode fill{address_of(where), 0, command.pattern, sizeof(uint32_t), count, 1};
  fills_++;
  GraphNode node = nullptr;
  const Status status =
      driver_->graph_add_fill(&node, graph_, after.data(), after.size(), &fill, gpu_.context());
  if (status == kSuccess) end_ = node;
  return status;
}

Address CudaList::address(const Item& item, const hal::Binding& binding) const {
  const uint32_t slot = item.slots[static_cast<size_t>(&binding - item.command.bindings.data())];
  return slot == kNoSlot ? address_of(binding) : slots_[slot] + binding.offset;
}

KernelNode CudaList::arguments(Item& item) const {
  const hal::Command& c = item.command;
  item.kernel->pack(item.values.data(), c.grid, c.bindings, c.scalars, lane_.stop,
                    [&](const hal::Binding& binding) { return address(item, binding); });
  return {item.kernel->function,
          item.kernel->blocks(c.grid),
          1,
          1,
          item.kernel->threads,
          1,
          1,
          0,
          item.parameters.data(),
          nullptr};
}

Status CudaList::launch(std::span<const hal::Binding> table) {
  if (const Status status = tell(table); status != kSuccess) return status;
  return driver_->graph_launch(ready_, lane_.stream);
}

Status CudaList::tell(std::span<const hal::Binding> table) {
  for (Item& item : items_)
    for (const uint32_t slot : item.slots)
      if (slot != kNoSlot && slots_[slot] != address_of(table[slot])) item.told = false;
  for (size_t i = 0; i < slots_.size(); i++) slots_[i] = address_of(table[i]);
  for (Item& item : items_) {
    if (item.told) continue;
    const KernelNode node = arguments(item);
    const Status status = driver_->graph_set_kernel(ready_, item.node, &node);
    if (status != kSuccess) return status;
    item.told = true;
  }
  return kSuccess;
}

std::string CudaList::note() const {
  return fmt::format("a CUDA graph of {} nodes", items_.size() + fills_);
}

}  // namespace hologram::backends::cuda
