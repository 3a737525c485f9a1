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

// Copies values to where `place` puts element i of `stored`; the rest is poison: NaN, or all bits.
template <class F>
Array placed(const Array& values, Shape stored, F place) {
  Array array(values.dtype(), std::move(stored));
  const size_t size = size_of(values.dtype());
  if (array.bytes() > 0) std::memset(array.mutable_data(), 0xff, array.bytes());
  for (size_t i = 0; i < values.size(); i++)
    std::memcpy(array.mutable_data() + place(i) * size, values.data() + i * size, size);
  return array;
}

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

Tensor laid_out(const Layout& layout, const Array& values, const Executor& executor) {
  const Shape& shape = values.shape();
  const auto count = static_cast<int64_t>(values.size());
  switch (layout.arrangement) {
    case Arrangement::Dense: break;
    case Arrangement::Repeated: return Tensor::from(values, executor).broadcast_to(layout.shape);
    case Arrangement::Reversed: {
      const Array array = placed(values, Shape(shape.rbegin(), shape.rend()),
                                 [&](size_t i) { return reversed_place(shape, i); });
      std::vector<int> axes(shape.size());
      std::iota(axes.rbegin(), axes.rend(), 0);
      return Tensor::from(array, executor).permute(axes);
    }
    case Arrangement::Spread: {
      Shape stored = shape;
      stored.back() = 2 * stored.back() + 1;
      const auto row = static_cast<size_t>(shape.back());
      const Array array = placed(
          values, stored, [&](size_t i) { return i / row * (2 * row + 1) + i % row * 2 + 1; });
      return Tensor::from(array, executor).slice(-1, {1, {}, 2});
    }
    case Arrangement::Backwards: {
      const Array array =
          placed(values, shape, [&](size_t i) { return static_cast<size_t>(count) - 1 - i; });
      return Tensor::from(array, executor).flip({});
    }
    case Arrangement::Inside: {
      const Array array = placed(values, {count + 2 * kBefore},
                                 [&](size_t i) { return i + static_cast<size_t>(kBefore); });
      return Tensor::from(array, executor).slice(0, {kBefore, kBefore + count, 1}).reshape(shape);
    }
  }
  return Tensor::from(values, executor);
}

}  // namespace hologram::conformance
