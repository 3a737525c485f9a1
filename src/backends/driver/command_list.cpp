#include "backends/driver/command_list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/messages.hpp"
#include "libraries/gpu_plan.hpp"

namespace hologram::backends::driver {
namespace {

const hal::Slot* slot_of(const hal::Binding& binding) {
  return dynamic_cast<const hal::Slot*>(binding.buffer);
}

const libraries::GpuPlan& plan_of(const hal::Command& command) {
  return static_cast<const libraries::GpuPlan&>(*command.plan);
}

// Whether there is anything to do.
bool is_empty(const hal::Command& c) {
  if (c.executable != nullptr) return c.grid[0] * c.grid[1] * c.grid[2] == 0;
  return c.plan == nullptr && c.bindings[0].size < (c.bindings.size() == 1 ? sizeof(uint32_t) : 1);
}

}  // namespace

void run_plan(Gpu& gpu, const hal::LibraryPlan& plan, std::span<const Address> operands,
              Address workspace, NativeStream stream) {
  const auto& operation = static_cast<const libraries::GpuPlan&>(plan);
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  const auto pointer = [](Address address) { return reinterpret_cast<void*>(address); };
  std::vector<void*> pointers(operands.size());
  std::transform(operands.begin(), operands.end(), pointers.begin(), pointer);
  const auto failure =
      operation.run(pointers, operation.workspace() == 0 ? nullptr : pointer(workspace), stream);
  if (!failure) return;
  if (failure->memory) throw gpu.error(kOutOfMemory, operation.name());
  // If the device is lost, the driver says so.
  size_t free = 0, total = 0;
  gpu.check(gpu.driver()->memory_info(&free, &total), operation.name());
  throw core::error(core::Text::LibraryFailed, operation.name(), failure->what,
                    operation.variable());
}

List::~List() { drop(); }

void List::drop() {
  gpu_.if_usable([this](const DriverFunctions& driver) {
    if (ready_ != nullptr) driver.graph_ready_destroy(ready_);
    if (graph_ != nullptr) driver.graph_destroy(graph_);
  });
  ready_ = nullptr;
  graph_ = nullptr;
}

void List::check(Status status) const {
  if (status != kSuccess)
    throw gpu_.error(status, made_ ? fmt::format("a {} graph up to program '{}'", name(), *last_)
                                   : fmt::format("making a {} graph", name()));
}

void List::make(std::span<const hal::Command> commands) {
  items_.reserve(commands.size());
  for (const hal::Command& command : commands)
    if (!is_empty(command)) take(command);
  build();
  made_ = true;
}

void List::take(const hal::Command& command) {
  Item& item = items_.emplace_back();
  item.command = command;
  item.told = true;
  for (const hal::Binding& binding : command.bindings) {
    const hal::Slot* slot = slot_of(binding);
    item.slots.push_back(slot == nullptr ? kNoSlot : slot->number());
    if (slot == nullptr) continue;
    item.told = false;
    // Until it is known where, something that looks like memory.
    slots_.resize(std::max<size_t>(slots_.size(), slot->number() + 1), resources_.stop);
  }
  const bool fills = command.plan == nullptr && command.bindings.size() == 1;
  item.kind = driver_->graph_add_kernel == nullptr ? Kind::Captured
              : command.executable != nullptr      ? Kind::Kernel
              : fills && item.told                 ? Kind::Fill
                                                   : Kind::Captured;
  if (command.executable != nullptr) {
    const auto& program = static_cast<const DeviceProgram&>(*command.executable);
    item.kernel = &program.kernel(false);
    item.values.resize(item.kernel->slots.size());
    for (uint64_t& value : item.values) item.parameters.push_back(&value);
    last_ = program.name();
    launches_++;
  } else if (command.plan != nullptr) {
    const auto& plan = plan_of(command);
    plan.require_inside(std::span(command.bindings).first(command.bindings.size() - 1));
    last_ = plan.shared_name();
    launches_++;
  }
}

// For the memory of the slots as it is now.
void List::build() {
  drop();
  end_ = nullptr;
  after_kernel_ = false;
  check(driver_->graph_create(&graph_, 0));
  for (Item& item : items_) add(item);
  check(driver_->graph_instantiate(&ready_, graph_, 0));
  check(driver_->graph_upload(ready_, resources_.stream));
}

void List::add(Item& item) {
  const size_t after = end_ == nullptr ? 0 : 1;
  if (item.kind == Kind::Kernel) {
    const KernelNode node = arguments(item);
    // Kernels that wait by themselves come to the device while the one before still runs.
    const bool early = after_kernel_ && gpu_.kernels_wait() && driver_->graph_add_edges != nullptr;
    check(driver_->graph_add_kernel(&item.node, graph_, &end_, early ? 0 : after, &node));
    const Edge edge{kWhenItsBlocksEnd, 0, kProgrammatic};
    if (early) check(driver_->graph_add_edges(graph_, &end_, &item.node, &edge, 1));
  } else if (item.kind == Kind::Fill) {
    const FillNode fill{address(item, 0),
                        0,
                        item.command.pattern,
                        sizeof(uint32_t),
                        item.command.bindings[0].size / sizeof(uint32_t),
                        1};
    check(driver_->graph_add_fill(&item.node, graph_, &end_, after, &fill, gpu_.context()));
  } else {
    auto* const child = captured(item);
    const Status status = driver_->graph_add_child(&item.node, graph_, &end_, after, child);
    driver_->graph_destroy(child);  // the node has a copy
    check(status);
  }
  end_ = item.node;
  after_kernel_ = item.kind == Kind::Kernel;
}

// On a stream that nothing else is on: what the application puts on its own meanwhile is not taken
// down with it.
Graph List::captured(Item& item) {
  auto* const stream = resources_.signals;
  check(driver_->capture_begin(stream, kCaptureRelaxed));
  Graph graph = nullptr;
  try {
    put_on_stream(item, stream);
  } catch (...) {
    if (driver_->capture_end(stream, &graph) == kSuccess && graph != nullptr)
      driver_->graph_destroy(graph);
    throw;
  }
  check(driver_->capture_end(stream, &graph));
  return graph;
}

void List::put_on_stream(Item& item, NativeStream stream) {
  const hal::Command& c = item.command;
  if (item.kernel != nullptr) {
    const KernelNode node = arguments(item);
    return check(start(gpu_, *item.kernel, node.grid_x, node.parameters, stream));
  }
  if (c.plan != nullptr) {
    const size_t count = c.bindings.size() - 1;  // the workspace is the last
    std::vector<Address> operands(count);
    for (size_t i = 0; i < count; i++) operands[i] = address(item, i);
    const bool has_room = plan_of(c).workspace() > 0;
    return run_plan(gpu_, *c.plan, operands, has_room ? address(item, count) : 0, stream);
  }
  if (c.bindings.size() == 2)
    return check(driver_->copy(address(item, 0), address(item, 1), c.bindings[0].size, stream));
  check(driver_->fill(address(item, 0), c.pattern, c.bindings[0].size / sizeof(uint32_t), stream));
}

Address List::address(const Item& item, size_t binding) const {
  const uint32_t slot = item.slots[binding];
  const hal::Binding& where = item.command.bindings[binding];
  return slot == kNoSlot ? address_of(where) : slots_[slot] + where.offset;
}

KernelNode List::arguments(Item& item) const {
  const hal::Command& c = item.command;
  item.kernel->pack(item.values.data(), c.grid, c.bindings, c.scalars, resources_.stop,
                    [&](const hal::Binding& binding) {
                      return address(item, static_cast<size_t>(&binding - c.bindings.data()));
                    });
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

void List::launch(std::span<const hal::Binding> table) {
  if (move_to(table) && !is_told_at_less()) {
    for (Item& item : items_) put_on_stream(item, resources_.stream);
    return;
  }
  tell();
  check(driver_->graph_launch(ready_, resources_.stream));
}

// Whether the memory of a slot is not what it was.
bool List::move_to(std::span<const hal::Binding> table) {
  for (Item& item : items_)
    for (const uint32_t slot : item.slots)
      if (slot != kNoSlot && slots_[slot] != address_of(table[slot])) item.told = false;
  bool moved = false;
  for (size_t i = 0; i < slots_.size(); i++) {
    moved = moved || slots_[i] != address_of(table[i]);
    slots_[i] = address_of(table[i]);
  }
  return moved;
}

// To record a call of a library and to give it to the graph costs as much as so many launches.
bool List::is_told_at_less() const {
  constexpr size_t kOfCapture = 16;
  size_t cost = 0;
  for (const Item& item : items_)
    if (!item.told) cost += item.kind == Kind::Captured ? kOfCapture : 1;
  return cost <= items_.size();
}

void List::tell() {
  bool fits = ready_ != nullptr;
  for (Item& item : items_) {
    if (item.told || !fits) continue;
    if (item.kind == Kind::Kernel) {
      const KernelNode node = arguments(item);
      check(driver_->graph_set_kernel(ready_, item.node, &node));
    } else {
      auto* const child = captured(item);
      const Status status = driver_->graph_set_child(ready_, item.node, child);
      driver_->graph_destroy(child);
      // With other memory a library may do other work.
      fits = status == kSuccess;
    }
    item.told = fits;
  }
  if (fits) return;
  build();
  for (Item& item : items_) item.told = true;
}

std::string List::note() const {
  return fmt::format("a {} graph of {} nodes", name(), items_.size());
}

}  // namespace hologram::backends::driver
