// Parts of matrices, sums over named axes, padding by what is there, several indices at once.
#include "conformance/compositions.hpp"
#include "hologram/ops.hpp"

namespace hologram::conformance {
namespace {

// --- parts of matrices
Array triangle(const Array& a, int64_t diagonal, bool lower) {
  return made(a.dtype(), a.shape(), [&](const Place& at) {
    const int64_t right = at.end()[-1] - at.end()[-2];
    return (lower ? right <= diagonal : right >= diagonal) ? value(a, at) : Wide{0};
  });
}
Array diagonal(const Array& a) {  // one above the main one, of the first and the last axis
  const Shape& s = a.shape();
  Shape shape = without(without(s, last(s)), 0);
  shape.push_back(std::max<int64_t>(0, std::min(s.front(), s.back() - 1)));
  return made(a.dtype(), shape, [&](const Place& to) {
    Place at = inserted(to, 0, to.back());
    at.back()++;
    return value(a, at);
  });
}
Array rot90(const Array& a) {
  Shape shape = a.shape();
  std::swap(shape[0], shape[1]);
  return made(a.dtype(), shape, [&](const Place& to) {
    Place at = to;
    at[0] = to[1];
    at[1] = a.shape()[1] - 1 - to[0];
    return value(a, at);
  });
}
Array einsum(const Array& a, const Array& b) {  // ij,kj->ik
  return made(a.dtype(), {a.shape()[0], b.shape()[0]}, [&](const Place& at) {
    Wide sum = 0;
    for (int64_t j = 0; j < a.shape()[1]; j++) sum += value(a, {at[0], j}) * value(b, {at[1], j});
    return sum;
  });
}
Array kron(const Array& a) {  // of [2, 1] and a
  Shape shape = a.shape();
  shape.back() *= 2;
  return made(a.dtype(), shape, [&](const Place& to) {
    const int64_t n = a.shape().back();
    return (to.back() < n ? 2 : 1) * value(a, with(to, last(shape), to.back() % n));
  });
}
Array vecdot(const Array& a, const Array& b) {
  return made(a.dtype(), without(a.shape(), last(a.shape())), [&](const Place& at) {
    const Row x = row_at(a, at), y = row_at(b, at);
    Wide sum = 0;
    for (size_t i = 0; i < x.size(); i++) sum += x[i] * y[i];
    return sum;
  });
}
Array cdist(const Array& a, const Array& b) {  // of order 1
  return made(float_dtype(a.dtype()), {a.shape()[0], b.shape()[0]}, [&](const Place& at) {
    Wide sum = 0;
    for (int64_t j = 0; j < a.shape()[1]; j++)
      sum += magnitude(value(a, {at[0], j}) - value(b, {at[1], j}));
    return sum;
  });
}

// --- other places
std::vector<ops::Padding> padding_for(const Shape& shape) {
  std::vector<ops::Padding> list(shape.size());
  list.front() = {2, 3};
  if (list.size() > 1) list.back() = {1, 0};
  return list;
}
int64_t source(int64_t i, int64_t n, ops::PadMode mode) {
  for (;;) {
    if (i >= 0 && i < n) return i;
    const bool below = i < 0;
    switch (mode) {
      case ops::PadMode::Edge: return below ? 0 : n - 1;
      case ops::PadMode::Wrap: i += below ? n : -n; break;
      case ops::PadMode::Symmetric: i = below ? -1 - i : 2 * n - 1 - i; break;
      case ops::PadMode::Reflect:
        if (n == 1) return 0;
        i = below ? -i : 2 * (n - 1) - i;
    }
  }
}
template <ops::PadMode mode>
Array padded(const Array& a) {
  const auto padding = padding_for(a.shape());
  Shape shape = a.shape();
  const std::vector<size_t> axes =
      shape.size() > 1 ? std::vector<size_t>{0, last(shape)} : std::vector<size_t>{0};
  for (const size_t k : axes) shape[k] = a.shape()[k] + (k == 0 ? 5 : 1);
  return made(a.dtype(), shape, [&](const Place& to) {
    Place at = to;
    for (const size_t k : axes) at[k] = source(to[k] - (k == 0 ? 2 : 1), a.shape()[k], mode);
    return value(a, at);
  });
}
template <ops::PadMode mode>
Tensors pad(const Tensor& x) {
  return {ops::pad(x, padding_for(x.shape()), mode)};
}

// Two indices for each of the first and the last axis, [2, 1] and [3], some from the end.
int64_t first_index(int64_t i, int64_t n) { return i == 0 ? n - 1 : -n; }
int64_t last_index(int64_t i, int64_t n) { return i == 2 ? -1 : (2 * i) % n; }
ops::Indices indices_for(const Tensor& x) {
  const int64_t n = x.size(0), m = x.size(-1);
  ops::Indices list(x.shape().size());
  list.front() = Tensor::from({first_index(0, n), first_index(1, n)}, {2, 1}, x.executor());
  list.back() =
      Tensor::from({last_index(0, m), last_index(1, m), last_index(2, m)}, {}, x.executor())
          .to(DType::I16);
  return list;
}
// Where an element of x[indices] comes from: the indices' axes are neighbours, or in front.
Place chosen(const Shape& shape, const Place& to) {
  const auto inside = [](int64_t i, int64_t n) { return i < 0 ? i + n : i; };
  Place at(shape.size(), 0);
  at.front() = inside(first_index(to[0], shape.front()), shape.front());
  at.back() = inside(last_index(to[1], shape.back()), shape.back());
  for (size_t k = 1; k + 1 < shape.size(); k++) at[k] = to[k + 1];
  return at;
}
Shape chosen_shape(const Shape& shape) {
  Shape result = {2, 3};
  for (size_t k = 1; k + 1 < shape.size(); k++) result.push_back(shape[k]);
  return result;
}
Array indexed(const Array& a) {
  return made(a.dtype(), chosen_shape(a.shape()),
              [&](const Place& to) { return value(a, chosen(a.shape(), to)); });
}
Array index_put(const Array& a) {
  Array result = made(a.dtype(), a.shape(), [&](const Place& at) { return value(a, at); });
  const Shape part = chosen_shape(a.shape());
  for (size_t i = 0; i < static_cast<size_t>(count_of(part)); i++)
    put(result, index_of(a.shape(), chosen(a.shape(), place_of(part, i))), 1);
  return result;
}
Array above_zero(const Array& a) {
  Row row;
  for (const Wide v : all_of(a))
    if (v > 0) row.push_back(v);
  return vector_of(a.dtype(), row);
}
Array repeated(const Array& a) {  // element i of the first axis i % 3 times
  std::vector<int64_t> from;
  for (int64_t i = 0; i < a.shape()[0]; i++) from.insert(from.end(), static_cast<size_t>(i % 3), i);
  return made(
      a.dtype(), with(a.shape(), 0, static_cast<int64_t>(from.size())),
      [&](const Place& to) { return value(a, with(to, 0, from[static_cast<size_t>(to[0])])); });
}

using T = const Tensor&;
using I = const Array&;
using P = ops::PadMode;

// clang-format off
const Composition kCompositions[] = {
  {"tril", "", Of::Any, 2, 8, true, true, [](T x, T) { return Tensors{ops::tril(x)}; }, [](I a, I) { return Arrays{triangle(a, 0, true)}; }},
  {"triu", "", Of::Any, 2, 8, true, true, [](T x, T) { return Tensors{ops::triu(x, 1)}; }, [](I a, I) { return Arrays{triangle(a, 1, false)}; }},
  {"diagonal", "", Of::Any, 2, 8, true, true, [](T x, T) { return Tensors{ops::diagonal(x, 1, 0, -1)}; }, [](I a, I) { return Arrays{diagonal(a)}; }},
  {"rot90", "", Of::Any, 2, 8, true, true, [](T x, T) { return Tensors{ops::rot90(x)}; }, [](I a, I) { return Arrays{rot90(a)}; }},
  {"einsum", "", Of::WideNumbers, 2, 2, true, false, [](T x, T y) { return Tensors{ops::einsum("ij,kj->ik", {x, y})}; }, [](I a, I b) { return Arrays{einsum(a, b)}; }},
  {"kron", "", Of::Numbers, 1, 4, true, false, [](T x, T) { return Tensors{ops::kron(Tensor::from({2, 1}, {}, x.executor()).to(x.dtype()), x)}; }, [](I a, I) { return Arrays{kron(a)}; }},
  {"vecdot", "", Of::WideNumbers, 1, 8, true, false, [](T x, T y) { return Tensors{ops::vecdot(x, y)}; }, [](I a, I b) { return Arrays{vecdot(a, b)}; }},
  {"cdist", "", Of::WideNumbers, 2, 2, true, false, [](T x, T y) { return Tensors{ops::cdist(x, y, 1)}; }, [](I a, I b) { return Arrays{cdist(a, b)}; }},
  {"pad", "reflect", Of::Any, 1, 8, false, true, [](T x, T) { return pad<P::Reflect>(x); }, [](I a, I) { return Arrays{padded<P::Reflect>(a)}; }},
  {"pad", "symmetric", Of::Any, 1, 8, false, true, [](T x, T) { return pad<P::Symmetric>(x); }, [](I a, I) { return Arrays{padded<P::Symmetric>(a)}; }},
  {"pad", "edge", Of::Any, 1, 8, false, true, [](T x, T) { return pad<P::Edge>(x); }, [](I a, I) { return Arrays{padded<P::Edge>(a)}; }},
  {"pad", "wrap", Of::Any, 1, 8, false, true, [](T x, T) { return pad<P::Wrap>(x); }, [](I a, I) { return Arrays{padded<P::Wrap>(a)}; }},
  {"index", "", Of::Any, 2, 8, false, true, [](T x, T) { return Tensors{ops::index(x, indices_for(x))}; }, [](I a, I) { return Arrays{indexed(a)}; }},
  {"index", "mask", Of::Any, 1, 8, true, true, [](T x, T) { return Tensors{ops::index(x, {x > 0})}; }, [](I a, I) { return Arrays{above_zero(a)}; }},
  {"index_put", "", Of::Any, 2, 8, false, true, [](T x, T) { return Tensors{ops::index_put(x, indices_for(x), 1)}; }, [](I a, I) { return Arrays{index_put(a)}; }},
  {"repeat", "counts", Of::Any, 1, 8, true, true, [](T x, T) { return Tensors{ops::repeat(x, ops::arange(0, x.size(0), 1, DType::I64, x.executor()) % 3, 0)}; }, [](I a, I) { return Arrays{repeated(a)}; }},
};
// clang-format on

}  // namespace

void arrangement_cases(Suite& suite) { try_compositions(suite, kCompositions); }

}  // namespace hologram::conformance
