#include "conformance/compositions.hpp"

#include <fmt/format.h>

#include "hologram/ops.hpp"

namespace hologram::conformance {
namespace {

bool takes(Of of, DType dtype) {
  switch (of) {
    case Of::Any: return true;
    case Of::Numbers: return dtype != DType::Bool;
    case Of::Integers: return is_integer(dtype);
    case Of::Floats: return is_float(dtype);
    case Of::WideNumbers: return dtype != DType::Bool && size_of(dtype) >= 4;
  }
  return false;
}

// A NaN, an infinity or a -0 now and then; many rows are without.
Array values_for(const Composition& c, DType dtype, const Shape& shape, Generator& generator) {
  Array array = small_numbers(dtype, shape, generator);
  constexpr double kSpecial[] = {kNan, kInfinity, -kInfinity, -0.0, kNan, -0.0};
  for (size_t i = 0; i < array.size() && c.special && is_float(dtype); i++) {
    const uint64_t dice = generator();
    if (dice % 24 == 0) put_real(dtype, array.mutable_data(), i, kSpecial[(dice >> 8) % 6]);
  }
  return array;
}

Finding try_one(const Suite& suite, const Composition& c, DType dtype, const Layout& layout,
                std::string_view property) {
  Generator generator(seed_of(c.name, dtype, property));
  Array a = values_for(c, dtype, stored_shape(layout, 0, 2), generator);
  const Array b = values_for(c, dtype, stored_shape(layout, 1, 2), generator);
  // Next to 0 are denormals, which some devices have not.
  if (suite.arithmetic().flushes && c.name == "nextafter")
    for (size_t i = 0; i < a.size(); i++)
      if (value(a, i) == 0) put(a, i, 1);
  const Executor& executor = suite.ways().plain;
  return same_arrays(arrays_of(c.run(laid_out(layout, a, executor), laid_out(layout, b, executor))),
                     c.expected(shown(layout, a), shown(layout, b)));
}

void bits_of(Suite& suite, const Composition& c) {
  Generator generator(seed_of(c.name, DType::F32, "bits"));
  const Array a = values_for(c, DType::F32, {40, 301}, generator),
              b = values_for(c, DType::F32, {40, 301}, generator);
  attempt_both(suite, c.name, DType::F32, [&](const Executor& executor) {
    Tensors results = c.run(Tensor::from(a, executor) * 0.7f, Tensor::from(b, executor) * 0.7f);
    for (Tensor& t : results)
      if (t.dtype() != DType::Bool) t = t * 3 + 1;
    return arrays_of(results);
  });
}

}  // namespace

void try_compositions(Suite& suite, std::span<const Composition> all) {
  for (const Composition& c : all) {
    for (const DType dtype : all_dtypes()) {
      if (!takes(c.of, dtype)) continue;
      for (const Layout& layout : layouts()) {
        const size_t rank = layout.shape.size();
        if (rank < c.least || rank > c.most) continue;
        if (!c.of_nothing && count_of(layout.shape) == 0) continue;
        std::string property(layout.name);
        if (!c.variant.empty()) property += fmt::format(", {}", c.variant);
        suite.attempt(c.name, dtype, property,
                      [&] { return try_one(suite, c, dtype, layout, property); });
      }
    }
    // Libraries do not promise the bits of products.
    if (c.variant.empty() && c.of != Of::Integers && c.name != "einsum") bits_of(suite, c);
  }
}

}  // namespace hologram::conformance
