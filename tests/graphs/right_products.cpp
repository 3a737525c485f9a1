// Products of matrices.
#include "graphs/right.hpp"

namespace hologram::graphs {
namespace {

// The product of two matrices of one dtype, not yet rounded, times `alpha`, with `beta` times
// something added: floats as a value and how far it may be off.
struct Products {
  const Field &a, &b;
  DType dtype;
  size_t inner, columns;

  Element at(size_t i, Wide alpha, const Element* more, Wide beta) const {
    Wide sum = 0, size = 0;
    uint64_t all = 0;
    bool known = true;
    for (size_t k = 0; k < inner; k++) {
      const Element &p = a.elements[i / columns * inner + k],
                    &q = b.elements[k * columns + i % columns];
      known = known && p.exact() && q.exact();
      const auto term = static_cast<uint64_t>(p.whole) * static_cast<uint64_t>(q.whole);
      all = dtype == DType::Bool ? all | term : all + term;
      sum += p.low * q.low;
      size += magnitude(p.low * q.low);
    }
    if (!known || (more != nullptr && !more->exact())) return unknown();
    if (!is_float(dtype)) {
      all *= static_cast<uint64_t>(static_cast<int64_t>(alpha));
      if (more != nullptr)
        all +=
            static_cast<uint64_t>(static_cast<int64_t>(beta)) * static_cast<uint64_t>(more->whole);
      return whole(conformance::wrapped(dtype, static_cast<Integer>(all)));
    }
    return rounded_sum(sum, size, alpha, more, beta);
  }

 private:
  Element rounded_sum(Wide sum, Wide size, Wide alpha, const Element* more, Wide beta) const {
    const DType wide = accumulator_of(dtype);
    const auto n = static_cast<Wide>(static_cast<double>(inner));
    // Of what is not finite, or whose parts may not be, only that NaN stays.
    if (is_nan(sum)) return alpha == 0 ? unknown() : not_a_number();
    if (!(size < largest_of(wide))) return unknown();
    const Wide tiny = dtype == DType::BF16 ? conformance::smallest_of(wide) : unit_of(wide, 0);
    Wide value = alpha * sum,
         spread =
             (epsilon_of(dtype) * (n + 2) * size + n * tiny) * magnitude(alpha) + unit_of(wide, 0);
    if (more != nullptr) {
      if (is_infinite(more->low) || is_nan(more->low)) return unknown();
      value += beta * more->low;
      spread += 4 * epsilon_of(dtype) * (magnitude(alpha) * size + magnitude(beta * more->low));
    }
    if (!(magnitude(beta * (more == nullptr ? 0 : more->low)) < largest_of(wide) / 4) ||
        !(magnitude(alpha) * size < largest_of(wide) / 4))
      return more == nullptr ? result(dtype, value, value, spread) : unknown();
    return result(dtype, value, value, spread);
  }
};

}  // namespace

Field right_matmul(const Step& step, Fields x) {
  Field out = unknown_field(step.dtype, step.shape);
  const Field a = converted(x[0], step.dtype), b = converted(x[1], step.dtype);
  const Products products{a, b, step.dtype, static_cast<size_t>(a.shape[1]),
                          static_cast<size_t>(b.shape[1])};
  for (size_t i = 0; i < out.size(); i++) out.elements[i] = products.at(i, 1, nullptr, 0);
  return out;
}

// reals: alpha and beta.
Field right_gemm(const Step& step, Fields x) {
  Field out = unknown_field(step.dtype, step.shape);
  const Field a = converted(x[0], step.dtype), b = converted(x[1], step.dtype);
  const bool vector = step.shape.size() == 1;
  const Products products{a, b, step.dtype, static_cast<size_t>(a.shape[1]),
                          vector ? 1 : static_cast<size_t>(b.shape[1])};
  for (size_t i = 0; i < out.size(); i++) {
    const Element& more = x[2].elements[broadcast_index(x[2].shape, place_of(step.shape, i))];
    out.elements[i] = products.at(i, step.reals[0], &more, step.reals[1]);
  }
  return out;
}

}  // namespace hologram::graphs
