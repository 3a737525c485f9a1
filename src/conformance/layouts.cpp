#include "conformance/layouts.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace hologram::conformance {
namespace {

const Layout kLayouts[] = {
    {"dense", Arrangement::Dense, {1500}},
    {"transposed", Arrangement::Reversed, {29, 31}},
    {"broadcast", Arrangement::Repeated, {23, 37}},
    {"strided", Arrangement::Spread, {7, 61}},
    {"negative stride", Arrangement::Backwards, {19, 23}},
    {"offset", Arrangement::Inside, {403}},
    {"zero-size", Arrangement::Dense, {0, 3}},
    {"0-d", Arrangement::Dense, {}},
    {"rank 8", Arrangement::Reversed, {2, 3, 1, 2, 2, 1, 3, 2}},
};

constexpr int64_t kBefore = 3;

// Where element i of a shape lies when its axes are stored in the opposite order.
size_t reversed_place(const Shape& shape, size_t i) {
  size_t place = 0, step = 1;
  std::vector<size_t> coordinates(shape.size());
  for (size_t k = shape.size(); k-- > 0;) {
    coordinates[k] = i % static_cast<size_t>(shape[k]);
    i /= static_cast<size_t>(shape[k]);
  }
  for (size_t k = 0; k < shape.size(); k++) {
    place += coordinates[k] * step;
    step *= static_cast<size_t>(shape[k]);
  }
  return place;
}

}  // namespace

std::span<const Layout> layouts() { return kLayouts; }

Shape stored_shape(const Layout& layout, size_t operand, size_t operands) {
  Shape shape = layout.shape;
  if (layout.arrangement != Arrangement::Repeated) return shape;
  if (operands > 1 && operand == 0) return shape;
  shape[operand % 2 == 0 ? 1 : 0] = 1;
  return shape;
}

size_t stored_at(const Shape& shape, const Shape& stored, size_t i) {
  size_t at = 0, step = 1;
  for (size_t k = shape.size(); k-- > 0;) {
    const size_t coordinate = i % static_cast<size_t>(shape[k]);
    i /= static_cast<size_t>(shape[k]);
    if (stored[k] != 1) at += coordinate * step;
    step *= static_cast<size_t>(stored[k]);
  }
  return at;
}

Shape dense_shape(const Layout& layout, const Shape& stored) {
  Shape shape = stored;
  switch (layout.arrangement) {
    case Arrangement::Reversed: std::reverse(shape.begin(), shape.end()); break;
    case Arrangement::Spread: shape.back() = 2 * stored.back() + 1; break;
    case Arrangement::Inside: return {count_of(stored) + 2 * kBefore};
    default: break;
  }
  return shape;
}

Tensor looked_at(const Layout& layout, const Tensor& dense, const Shape& stored) {
  switch (layout.arrangement) {
    case Arrangement::Dense: break;
    case Arrangement::Repeated: return dense.broadcast_to(layout.shape);
    case Arrangement::Reversed: {
      std::vector<int> axes(stored.size());
      std::iota(axes.rbegin(), axes.rend(), 0);
      return dense.permute(axes);
    }
    case Arrangement::Spread: return dense.slice(-1, {1, {}, 2});
    case Arrangement::Backwards: return dense.flip({});
    case Arrangement::Inside:
      return dense.slice(0, {kBefore, kBefore + count_of(stored), 1}).reshape(stored);
  }
  return dense;
}

size_t dense_at(const Layout& layout, const Shape& stored, size_t i) {
  switch (layout.arrangement) {
    case Arrangement::Reversed: return reversed_place(stored, i);
    case Arrangement::Spread: {
      const auto row = static_cast<size_t>(stored.back());
      return i / row * (2 * row + 1) + i % row * 2 + 1;
    }
    case Arrangement::Backwards: return static_cast<size_t>(count_of(stored)) - 1 - i;
    case Arrangement::Inside: return i + static_cast<size_t>(kBefore);
    default: return i;
  }
}

// What lies between the values is poison: NaN, or all bits.
Tensor laid_out(const Layout& layout, const Array& values, const Executor& executor) {
  const Shape& stored = values.shape();
  Array array(values.dtype(), dense_shape(layout, stored));
  const size_t size = size_of(values.dtype());
  if (array.bytes() > 0) std::memset(array.mutable_data(), 0xff, array.bytes());
  for (size_t i = 0; i < values.size(); i++)
    std::memcpy(array.mutable_data() + dense_at(layout, stored, i) * size, values.data() + i * size,
                size);
  return looked_at(layout, Tensor::from(array, executor), stored);
}

}  // namespace hologram::conformance
