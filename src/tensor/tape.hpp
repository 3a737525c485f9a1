// Recording for gradients: which tensors follow from which, and how a change of the results comes
// back to the operands.
//
// Functions of `ops::` record themselves with `with_gradient`; what they call inside is not
// recorded. A function without a rule of its own is recorded as what it is made of. Views need no
// rule: an adjoint belongs to a node, and a view says which of its elements are meant.
//
// A tape holds what the rules ask for, and of all other tensors their identity alone: their memory
// is free as soon as nothing else uses it.
#pragma once

#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

#include "tensor/access.hpp"

namespace hologram::tensor {

using Tensors = std::vector<Tensor>;

// Whose gradient somebody wants, operand by operand.
using Wanted = std::vector<bool>;
// From the cotangents of the results, in the results' shapes, to those of the operands. An
// undefined tensor stands for zeros on either side; a cotangent of a repeated operand may have the
// result's shape. What is not wanted may be left out.
using Pullback = std::function<Tensors(const Tensors& cotangents, const Wanted& wanted)>;

class Tape {
 public:
  Tape() = default;
  Tape(const Tape&) = delete;
  Tape& operator=(const Tape&) = delete;

  // A tensor to differentiate by: all of a node.
  void watch(const Tensor& tensor);
  bool tracks(const Tensor& tensor) const;
  void add(const Tensors& operands, const Tensors& results,
           const std::shared_ptr<const Pullback>& pullback);

  // The cotangents of what is watched, in that order, from those of results; undefined where
  // nothing comes back.
  Tensors pull(const Tensors& results, const Tensors& cotangents) const;

 private:
  static constexpr uint32_t kNone = UINT32_MAX;
  // A tensor as a part of a node. `slot` is kNone for what is constant.
  struct Place {
    uint32_t slot = kNone;
    graph::View view;
    DType dtype = DType::None;
  };
  struct Entry {
    std::vector<Place> operands, results;
    std::shared_ptr<const Pullback> pullback;
  };

  Place place_of(const Tensor& tensor) const;
  uint32_t slot_for(const Tensor& tensor);
  Tensor seen(const Tensor& adjoint, const Place& place) const;
  void accumulate(Tensors& adjoints, const Place& place, Tensor g) const;

  std::unordered_map<uint64_t, uint32_t> slots_;  // by the identity of a node
  std::vector<Shape> shapes_;                     // of the node, slot by slot
  std::vector<Entry> entries_;
  std::vector<uint32_t> watched_;
};

// What operations of this thread are recorded by: tapes, innermost last. While it probes, a list of
// the tracked tensors that are used takes the place of records.
struct Recorder {
  Recorder* outer = nullptr;
  Tape* tape = nullptr;    // null: it probes
  Tensors* met = nullptr;  // all of each node, when it probes
};

#if defined(__linux__)
[[gnu::tls_model("initial-exec")]]
#endif
extern constinit thread_local Recorder* t_recorder;

inline bool is_recording() { return t_recorder != nullptr; }
bool is_tracked(const Tensor& tensor);

// Operations are recorded by this tape, too, or only probed, for as long as it lives.
class Recording {
 public:
  explicit Recording(Tape& tape) : now_{t_recorder, &tape, nullptr} { t_recorder = &now_; }
  explicit Recording(Tensors& met) : now_{t_recorder, nullptr, &met} { t_recorder = &now_; }
  ~Recording() { t_recorder = now_.outer; }
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

 private:
  Recorder now_;
};
class Pause {
 public:
  Pause() : before_(t_recorder) { t_recorder = nullptr; }
  ~Pause() { t_recorder = before_; }
  Pause(const Pause&) = delete;
  Pause& operator=(const Pause&) = delete;

 private:
  Recorder* const before_;
};

void record(const Tensors& operands, const Tensors& results, Pullback pullback);

// What `make` gives. Its inside is not recorded: `rule`, called with the result, gives a function
// from the result's cotangent and from what is wanted to the operands' cotangents.
template <class Make, class Rule>
Tensor with_gradient(const Tensors& operands, const Make& make, const Rule& rule) {
  const auto inside = [&] {
    const Pause pause;
    return make();
  };
  Tensor result = inside();
  record(operands, {result},
         [pullback = rule(result)](const Tensors& g, const Wanted& wanted) -> Tensors {
           return pullback(g.front(), wanted);
         });
  return result;
}
// The same where a function has but one operand.
template <class Make, class Rule>
Tensor with_gradient(const Tensor& operand, const Make& make, const Rule& rule) {
  if (!is_recording()) return make();
  return with_gradient(Tensors{operand}, make, [&](const Tensor& result) {
    return
        [pullback = rule(result)](const Tensor& g, const Wanted&) { return Tensors{pullback(g)}; };
  });
}

// A result that is its operand, element by element: a copy, or a conversion.
void record_same(const Tensor& operand, const Tensor& result);

// The same tensor under another identity: what is recorded of one is not of the other. Costs no
// memory and no work.
Tensor renamed(const Tensor& tensor);

// Sums over what `shape` was repeated along.
Tensor sum_to(const Tensor& tensor, const Shape& shape);

}  // namespace hologram::tensor
