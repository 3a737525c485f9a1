// Weights brought into the orders that oneDNN's convolutions want.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "libraries/host_plan.hpp"
#include "libraries/images.hpp"
#include "libraries/onednn/primitives.hpp"

namespace hologram::libraries::onednn {

using SharedPrimitive = std::shared_ptr<const Primitive>;

constexpr uint64_t kAlign = 64;
constexpr uint64_t aligned(uint64_t bytes) { return (bytes + kAlign - 1) / kAlign * kAlign; }

// Memory that only one thread sees, for as long as it calls: mostly a few pages.
class Scratch {
 public:
  explicit Scratch(uint64_t bytes) : data_(near_) {
    if (bytes > sizeof near_) data_ = ::operator new (bytes, std::align_val_t{kAlign});
  }
  ~Scratch() {
    if (data_ != near_) ::operator delete (data_, std::align_val_t{kAlign});
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  void* data() const { return data_; }

 private:
  alignas(kAlign) std::byte near_[16 << 10];
  void* data_;
};

// Orders that primitives want, one behind the other.
class WeightPacking : public HostPlan, public std::enable_shared_from_this<WeightPacking> {
 public:
  // Weights lie as row, column, channel, output; strides may be negative.
  WeightPacking(const Library& library, const Images& weights, int64_t groups,
                std::span<const SharedPrimitive> users);
  const std::string& name() const override { return name_; }
  uint64_t workspace() const override { return workspace_; }
  uint64_t packed_bytes() const override { return bytes_; }
  std::shared_ptr<const hal::LibraryPlan> keeping() const override {
    return {shared_from_this(), &keeping_};
  }
  void run(std::span<const hal::Binding> operands, hal::Binding workspace,
           core::Threads& threads) const override;

  // Whether it makes of the same weights what these want.
  bool suits(const Images& weights, int64_t groups, std::span<const SharedPrimitive> users) const;
  // Where what a primitive wants begins.
  uint64_t offset_for(const Primitive& user) const;

 private:
  // Where an element of a layout of blocks is: the sum of what the indices of group, output,
  // channel, row and column give.
  struct Places {
    std::array<std::vector<int64_t>, 5> of;
    bool has_padding = false;
  };
  struct Order {
    SharedPrimitive user;  // one that wants it
    uint64_t offset;
    std::optional<Places> places;  // none: the library brings it there
  };
  std::optional<Places> places_of(const LayoutObject* layout) const;
  bool is_right(const Order& order) const;
  const Order* find(const Primitive& user) const;
  const float* first(const hal::Binding& operand) const;
  void place(const Order& order, const float* from, std::byte* to, core::Threads& threads) const;
  void reorder(const Order& order, const float* dense, std::byte* to) const;

  const Library& library_;
  std::string name_ = "oneDNN reorder of weights";
  Images weights_;
  int64_t groups_;
  std::vector<Order> orders_;
  uint64_t bytes_ = 0, workspace_ = 0;

  // Behind what was made it writes what the weights were.
  class Keeping : public HostPlan {
   public:
    explicit Keeping(const WeightPacking& packing) : packing_(packing) {}
    const std::string& name() const override { return packing_.name_; }
    uint64_t workspace() const override { return packing_.workspace_; }
    uint64_t packed_bytes() const override;
    void run(std::span<const hal::Binding> operands, hal::Binding workspace,
             core::Threads& threads) const override;

   private:
    const WeightPacking& packing_;
  };
  const Keeping keeping_{*this};
};

}  // namespace hologram::libraries::onednn
