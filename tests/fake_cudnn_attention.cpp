// For which graphs the emulated cuDNN has engines, and which: the types, sizes and forms that the
// real one was seen to take for attention. What it takes to be right is not looked at; graphs are
// evaluated as they are.
#include "fake_cudnn_graphs.hpp"

namespace hologram::fake::cudnn {
namespace {

constexpr int64_t kMostFeatures = 256, kUnit = 8;
constexpr int64_t kTile = 64;  // what lengths are rounded up to in a workspace

bool is_half(DType type) { return type == DType::F16 || type == DType::BF16; }
bool compares(const Operation& o) {
  return o.kind == kOperationPointwise &&
         (o.mode == kGreater || o.mode == kGreaterEqual || o.mode == kLess);
}
bool is(const Operation& o, int kind, int mode) { return o.kind == kind && o.mode == mode; }

class Judge {
 public:
  explicit Judge(const Program& program) : p_(program) {
    for (const Operation& o : p_.operations) {
      if (is(o, kOperationReduction, kReduceMaximum)) is_forward_ = true;
      if (o.kind == kOperationMatmul && in_memory(o.inputs[0]) && type_ == DType::None)
        type_ = type(o.inputs[0]);
    }
  }

  // Why there is no engine; empty: there is.
  std::string refusal() const {
    for (const Operation& o : p_.operations) {
      std::string wrong = o.kind == kOperationMatmul      ? product(o)
                          : o.kind == kOperationPointwise ? elementwise(o)
                                                          : std::string();
      if (wrong.empty() && o.kind == kOperationReduction && o.compute != kF32)
        wrong = "a reduction is not computed in f32";
      if (wrong.empty() && is_half(type(o.output)) && !in_memory(o.output) && !may_be_half(o))
        wrong = "a tensor between operations is not f32";
      if (!wrong.empty()) return wrong;
    }
    return is_forward_ && !has_statistics() ? "a softmax is without its statistics" : "";
  }

  bool has_bool_in_memory() const {
    return std::any_of(p_.tensors.begin(), p_.tensors.end(),
                       [](const Tensor& t) { return t.type == DType::Bool && !t.is_virtual; });
  }

  // The sums of rows of a backward pass and those of dQ have to be in memory for the fastest.
  bool is_for_the_general() const {
    return !is_forward_ &&
           std::any_of(p_.operations.begin(), p_.operations.end(), [&](const Operation& o) {
             return (is(o, kOperationPointwise, kSub) && is_between(o.inputs[1])) ||
                    (is(o, kOperationPointwise, kIdentity) && is_between(o.inputs[0]));
           });
  }

  int64_t workspace() const {
    int64_t bytes = 0;
    for (const Operation& o : p_.operations) {
      const Axes& n = p_.tensors[o.output].lengths;
      if (o.kind == kOperationMatmul && is_summed(o.output)) bytes += n[0] * n[1] * n[2] * n[3] * 2;
      // dQ at once, which makes it deterministic.
      if (o.kind == kOperationMatmul && is_between(o.inputs[1]) && is_half(type(o.output)))
        bytes += n[0] * n[1] * up(n[2]) * up(p_.tensors[o.inputs[0]].lengths[3]) * 2;
      // Sums of rows that are not multiplied by 1.
      if (is(o, kOperationReduction, kReduceAdd) && !is_between(o.output) && n[3] == 1)
        bytes += int64_t{1} << 33;
    }
    return bytes;
  }

 private:
  static int64_t up(int64_t n) { return (n + kTile - 1) / kTile * kTile; }
  DType type(size_t tensor) const { return p_.tensors[tensor].type; }
  bool is_between(size_t tensor) const { return p_.tensors[tensor].is_virtual; }
  bool in_memory(size_t tensor) const {
    return !p_.tensors[tensor].is_virtual && !p_.tensors[tensor].by_value;
  }
  // Heads that share keys or values, over which their gradients are then added up.
  bool is_summed(size_t tensor) const {
    const auto readers = p_.readers(tensor);
    return is_between(tensor) &&
           std::any_of(readers.begin(), readers.end(),
                       [](const Operation* o) { return is(*o, kOperationReduction, kReduceAdd); });
  }
  bool may_be_half(const Operation& o) const {
    if (o.kind == kOperationReshape || is_summed(o.output)) return true;
    const auto readers = p_.readers(o.output);  // P
    return is(o, kOperationPointwise, kDiv) &&
           std::all_of(readers.begin(), readers.end(),
                       [](const Operation* r) { return r->kind == kOperationMatmul; });
  }

  std::string product(const Operation& o) const {
    const size_t a = o.inputs[0], b = o.inputs[1];
    if (o.compute != kF32) return "a product is not computed in f32";
    if (!is_half(type_)) return "operands of a product are neither f16 nor bf16";
    // dS alone may be f32: it is multiplied by K, which was reshaped.
    if (type(b) != type_ ||
        (type(a) != type_ && !(is_between(a) && is_between(b) && type(a) == DType::F32)))
      return "operands of a product have different types";
    if (is_summed(o.output) && type(o.output) != type_)
      return "a gradient of all heads is not of their type";
    for (const size_t i : {a, b, o.output}) {
      const int64_t features = p_.tensors[i].lengths[p_.features(i)];
      if (in_memory(i) && (features % kUnit != 0 || features > kMostFeatures))
        return "the number of features is no multiple of 8 or above 256";
    }
    return {};
  }

  std::string elementwise(const Operation& o) const {
    const DType made = type(o.output);
    const auto all_are = [&](DType wanted) {
      return std::all_of(o.inputs.begin(), o.inputs.end(),
                         [&](size_t i) { return type(i) == wanted; });
    };
    if (compares(o) || o.mode == kAnd) {
      if (o.compute != kBool || made != DType::Bool) return "a condition is not a bool";
      if (o.mode == kAnd && !all_are(DType::Bool)) return "a condition is not made of bools";
      if (!is_between(o.inputs[0])) return "what is compared comes from memory";
      return {};
    }
    if (o.mode == kIndex)
      return made == DType::I32 && (o.compute == kF32 || o.compute == kI32)
                 ? ""
                 : "an index is not an i32";
    if (made == DType::I32)
      return all_are(DType::I32) && o.compute == kI32 ? ""
                                                      : "whole numbers are not computed in i32";
    if (o.compute != kF32 || made == DType::Bool) return "numbers are not computed in f32";
    if ((o.mode == kSelect) != (type(o.inputs.back()) == DType::Bool))
      return "a choice is not made by a bool";
    return {};
  }

  // L = m + log(l), whether or not somebody wants it.
  bool has_statistics() const {
    return std::any_of(p_.operations.begin(), p_.operations.end(), [&](const Operation& o) {
      const Operation* const log =
          is(o, kOperationPointwise, kAdd) ? p_.maker(o.inputs[1]) : nullptr;
      return log != nullptr && is(*log, kOperationPointwise, kLog);
    });
  }

  const Program& p_;
  bool is_forward_ = false;
  DType type_ = DType::None;  // of Q
};

}  // namespace

Offer offer_for(const Program& program) {
  const Judge judge(program);
  Offer offer;
  offer.is_fatal = judge.has_bool_in_memory();
  offer.reason = offer.is_fatal ? "a bool is in memory" : judge.refusal();
  if (offer.reason.empty()) {
    offer.reason = program.misaligned();
    offer.is_fatal = !offer.reason.empty();
  }
  offer.by_the_general = judge.is_for_the_general();
  offer.workspace = judge.workspace();
  return offer;
}

}  // namespace hologram::fake::cudnn
