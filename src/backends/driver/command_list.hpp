// Launches and calls of libraries that the driver does as one: a graph of CUDA's or HIP's.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backends/driver/program.hpp"
#include "hologram/hal/command_list.hpp"

namespace hologram::backends::driver {

// Its nodes run one after the other. A node is told its arguments anew where the memory of a slot
// is not what it was at the last launch. What a library does is a graph in the graph: what it puts
// on a stream that is being captured. So is every kernel where the driver has no nodes for them.
// Where to tell so many costs more than to launch all, as where each launch has other memory, work
// goes to the stream piece by piece, until memory stays where it is.
class List final : public hal::CommandList {
 public:
  List(Gpu& gpu, const StreamResources& resources)
      : gpu_(gpu), resources_(resources), driver_(gpu.driver()) {}
  ~List() override;
  List(const List&) = delete;
  List& operator=(const List&) = delete;

  // Throws what the driver or a library says; the context is current.
  void make(std::span<const hal::Command> commands);
  void launch(std::span<const hal::Binding> table);

  // The program, or what a library does, that comes last, and how many there are.
  const std::shared_ptr<const std::string>& last() const { return last_; }
  uint64_t launches() const { return launches_; }
  std::string note() const override;

 private:
  static constexpr uint32_t kNoSlot = UINT32_MAX;
  enum class Kind : uint8_t { Kernel, Fill, Captured };
  struct Item {
    hal::Command command;
    Kind kind = Kind::Kernel;
    const Kernel* kernel = nullptr;
    GraphNode node = nullptr;
    std::vector<uint32_t> slots;  // one a binding
    bool told = false;            // the driver knows the values
    std::vector<uint64_t> values;
    std::vector<void*> parameters;
  };
  void take(const hal::Command& command);
  void build();
  void drop();
  void add(Item& item);
  KernelNode arguments(Item& item) const;
  Graph captured(Item& item);
  void put_on_stream(Item& item, NativeStream stream);
  Address address(const Item& item, size_t binding) const;
  bool move_to(std::span<const hal::Binding> table);
  bool is_told_at_less() const;
  void tell();
  void check(Status status) const;
  const char* name() const { return driver_.platform().name; }

  Gpu& gpu_;
  const StreamResources& resources_;
  const Driver& driver_;
  Graph graph_ = nullptr;
  ReadyGraph ready_ = nullptr;
  std::vector<Item> items_;
  GraphNode end_ = nullptr;
  bool after_kernel_ = false;  // whether that is one of ours
  std::shared_ptr<const std::string> last_ = std::make_shared<const std::string>();
  uint64_t launches_ = 0;
  std::vector<Address> slots_;  // where they are
  bool made_ = false;
};

// Puts what the plan does on the stream; throws what the library says. The context is current.
void run_plan(Gpu& gpu, const hal::LibraryPlan& plan, std::span<const Address> operands,
              Address workspace, NativeStream stream);

}  // namespace hologram::backends::driver
