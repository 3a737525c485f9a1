// The libraries of a device, and what they have agreed to do.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "hologram/dtype.hpp"
#include "hologram/hal/expected.hpp"
#include "hologram/hal/operations.hpp"

namespace hologram::hal {

// An operation that a library has agreed to do; shared between streams.
class LibraryPlan {
 public:
  virtual ~LibraryPlan() = default;
  virtual const std::string& name() const = 0;  // "oneDNN sgemm"
  virtual uint64_t workspace() const = 0;       // bytes that Stream::call needs beside the operands
  // Of a convolution whose library wants weights in an order of its own: the plan that brings them
  // there, whose operands are w and what becomes of it, and which takes the place of w. Plans of
  // one packing take the same. Null: w is taken as it is.
  virtual std::shared_ptr<const LibraryPlan> packing() const { return nullptr; }
  virtual uint64_t packed_bytes() const { return 0; }  // of a packing: of what it makes
  // Of a packing: one that leaves what it made the last time, in the same memory, as long as w has
  // the same values, which it looks at. That memory, which is a little more, begins as zeros. Null:
  // none.
  virtual std::shared_ptr<const LibraryPlan> keeping() const { return nullptr; }
  // Other ways to do the same, whose sums may be rounded otherwise. What the library itself thinks
  // best is this plan.
  virtual std::span<const std::shared_ptr<const LibraryPlan>> alternatives() const { return {}; }
  // What tells this way from its alternatives, the same in every process. Empty if it has none.
  virtual std::string way() const { return {}; }
};

using Planned = Expected<std::shared_ptr<LibraryPlan>>;

// Somebody who might do a piece of work.
struct Candidate {
  std::string name;     // "oneDNN sgemm", "programs"
  std::string refusal;  // why it does not; empty if it would
  std::string note;     // what is to be known of how it would; may be empty
};

// What the overload for that kind of work says: for LibraryOps::plan. Work of a kind that none of
// them takes is refused.
template <class... Kinds>
Planned answer(const OpDesc& desc, const Kinds&... kinds) {
  struct Overloads : Kinds... {
    using Kinds::operator()...;
  };
  const Overloads overloads{kinds...};
  return std::visit(
      [&]<class Desc>(const Desc& d) -> Planned {
        if constexpr (std::is_invocable_v<const Overloads&, const Desc&>) return overloads(d);
        else return Refusal{"the library has no " + std::string(Desc::kName)};
      },
      desc);
}

// The libraries of a device. Thread-safe.
class LibraryOps {
 public:
  virtual ~LibraryOps() = default;
  // A refusal says why each library will not: the caller has a program of its own for everything.
  virtual Planned plan(const OpDesc& desc) = 0;
  // All who might, in the order in which they are asked: plan() is that of the first who would.
  virtual std::vector<Candidate> candidates(const OpDesc& desc) {
    const Planned planned = plan(desc);
    if (const auto* refusal = std::get_if<Refusal>(&planned))
      return {{"the library of the device", refusal->reason, {}}};
    const auto& plan = std::get<std::shared_ptr<LibraryPlan>>(planned);
    const size_t ways = 1 + plan->alternatives().size();
    return {{plan->name(), {}, ways == 1 ? std::string() : std::to_string(ways) + " ways"}};
  }
  // Whether it is worth asking for a product with an epilogue.
  virtual bool has_epilogues() { return false; }
  // Whether rows of this type may be the pieces of one.
  virtual bool adds_pieces(DType) { return false; }
  // What a plan of a product, or an alternative of it, does, and the epilogue: the same sums in the
  // same order, and every bit that is left if they are stored first. The bias, n elements of d's
  // type, is the operand behind d; its address is a multiple of 16.
  virtual Expected<std::shared_ptr<const LibraryPlan>> with(const LibraryPlan&, const Epilogue&) {
    return Refusal{"the library has no epilogues"};
  }
  // Whether convolutions of floats are taken only where x and w are dense in this order: image,
  // row, column, channel; output, row, column, channel of its group.
  virtual bool wants_dense_images() { return false; }
  // Whether those of this type are taken as well where all is dense in this order: image, channel,
  // row, column; output, channel of its group, row, column (ConvDesc::planes).
  virtual bool takes_planes(DType) { return false; }
};

}  // namespace hologram::hal
