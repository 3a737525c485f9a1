// Kernels for the functions of program/expansions, over VectorValue. Included once a target.
#if defined(HOLOGRAM_INTERP_FUNCTIONS_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef HOLOGRAM_INTERP_FUNCTIONS_INL_HPP
#undef HOLOGRAM_INTERP_FUNCTIONS_INL_HPP
#else
#define HOLOGRAM_INTERP_FUNCTIONS_INL_HPP
#endif

#include "interp/kernels.hpp"
#include "interp/vector-inl.hpp"
#include "program/expansions/functions.hpp"

HWY_BEFORE_NAMESPACE();
namespace hologram::interp::HWY_NAMESPACE {

namespace ex = program::expansions::HWY_NAMESPACE;

// Fn: a functor without state over one or two VectorValue.
template <class T, int arity, class Fn>
void function_kernel(std::byte* out, const Operand* in, size_t groups) {
  using D = hn::CappedTag<T, kGroup>;
  constexpr D d;
  constexpr size_t kLanes = hn::MaxLanes(d);
  for (size_t g = 0; g < groups; ++g) {
    T* const to = reinterpret_cast<T*>(out + g * kGroup * sizeof(T));
    const T* const a = reinterpret_cast<const T*>(in[0].data + g * in[0].step);
    for (size_t i = 0; i < kGroup; i += kLanes) {
      const VectorValue<D> x{hn::LoadU(d, a + i)};
      if constexpr (arity == 1) {
        hn::StoreU(Fn{}(x).v, d, to + i);
      } else {
        const T* const b = reinterpret_cast<const T*>(in[1].data + g * in[1].step);
        hn::StoreU(Fn{}(x, VectorValue<D>{hn::LoadU(d, b + i)}).v, d, to + i);
      }
    }
  }
}

template <class T>
void fill_functions(KernelTable& table) {
  using program::Op;
#define UNARY(id, name)           \
  table.at(Op::id, dtype_of<T>) = \
      function_kernel<T, 1, decltype([](auto x) HWY_ATTR { return ex::name(x); })>;
#define BINARY(id, name)          \
  table.at(Op::id, dtype_of<T>) = \
      function_kernel<T, 2, decltype([](auto x, auto y) HWY_ATTR { return ex::name(x, y); })>;
#include "program/expansions/functions.inc"
#undef UNARY
#undef BINARY
}

}  // namespace hologram::interp::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
