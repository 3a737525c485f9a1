#include "program/expansions/evaluate.hpp"

#include "program/expansions/functions.hpp"
#include "program/expansions/scalar.hpp"

namespace hologram::program {
namespace {

namespace ex = expansions::portable;

template <class T>
std::optional<T> evaluate(Op op, T a, T b) {
  using F = expansions::ScalarValue<T>;
  const F x{a};
  [[maybe_unused]] const F y{b};
#define UNARY(id, name) \
  if (op == Op::id) return ex::name(x).value;
#define BINARY(id, name) \
  if (op == Op::id) return ex::name(x, y).value;
#include "program/expansions/functions.inc"
#undef UNARY
#undef BINARY
  return std::nullopt;
}

template <class T, class Bits>
std::optional<uint64_t> evaluate_bits(Op op, uint64_t a, uint64_t b) {
  const auto result = evaluate<T>(op, std::bit_cast<T>(static_cast<Bits>(a)),
                                  std::bit_cast<T>(static_cast<Bits>(b)));
  if (!result) return std::nullopt;
  return std::bit_cast<Bits>(*result);
}

}  // namespace

std::optional<uint64_t> evaluate_function(Op op, DType type, uint64_t a, uint64_t b) {
  if (type == DType::F32) return evaluate_bits<float, uint32_t>(op, a, b);
  if (type == DType::F64) return evaluate_bits<double, uint64_t>(op, a, b);
  return std::nullopt;
}

}  // namespace hologram::program
