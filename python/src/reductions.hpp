// How reductions are bound: axes are None, an int, or a tuple of ints.
#pragma once

#include "binding.hpp"

namespace hologram::python {

struct Reduction {
  const char* name;
  Tensor (*function)(const Tensor&, const ops::Axes&, bool);
};
inline void bind(nb::module_& m, const Reduction& reduction) {
  m.def(
      reduction.name,
      [f = reduction.function](const Tensor& x, nb::handle axes, bool keepdims) {
        return f(x, axes_from(axes), keepdims);
      },
      nb::arg(), nb::arg().none(), nb::arg());
}

// A variance or a standard deviation.
struct Spread {
  const char* name;
  Tensor (*function)(const Tensor&, const ops::Axes&, ops::Correction, bool);
};
inline void bind(nb::module_& m, const Spread& spread) {
  m.def(
      spread.name,
      [f = spread.function](const Tensor& x, nb::handle axes, double correction, bool keepdims) {
        return f(x, axes_from(axes), correction, keepdims);
      },
      nb::arg(), nb::arg().none(), nb::arg(), nb::arg());
}

}  // namespace hologram::python
