// Operations that put elements together, apart and in other places: every dtype, any bits.
#include <fmt/format.h>

#include "conformance/arrays.hpp"
#include "hologram/ops.hpp"

namespace hologram::conformance {
namespace {

using Tensors = std::vector<Tensor>;
using Arrays = std::vector<Array>;
using Ints = std::vector<int64_t>;

size_t at(int axis) { return static_cast<size_t>(axis); }
int64_t size_of_axis(const Array& a, int axis) { return a.shape()[at(axis)]; }

Shape with_length(Shape shape, int axis, int64_t n) {
  shape[at(axis)] = n;
  return shape;
}
Place moved(Place place, int axis, int64_t to) {
  place[at(axis)] = to;
  return place;
}
Shape inserted(Shape shape, int axis, int64_t n) {
  shape.insert(shape.begin() + axis, n);
  return shape;
}
Place without(Place place, int axis) {
  place.erase(place.begin() + axis);
  return place;
}
Array flat(const Array& a) { return a.reshaped({static_cast<int64_t>(a.size())}); }

// Of this shape, each element from a place of `a`.
Arrays from(const Array& a, const Shape& shape, core::FunctionRef<Place(const Place&)> place) {
  return {built(a.dtype(), shape, [&](const Place& to) -> Origin {
    return {a, index_of(a.shape(), place(to))};
  })};
}
Arrays sliced(const Array& a, int axis, int64_t begin, int64_t step, int64_t count) {
  return from(a, with_length(a.shape(), axis, count),
              [&](const Place& to) { return moved(to, axis, begin + to[at(axis)] * step); });
}

// Positions in an axis of length n, some twice, every third counted from the end if `negative`.
Array positions(DType dtype, const Shape& shape, int64_t n, bool negative = true) {
  Array array(dtype, shape);
  for (size_t i = 0; i < array.size(); i++) {
    const auto k = static_cast<int64_t>(i);
    put_whole(dtype, array.mutable_data(), i,
              (k * k + 3 * k + 1) % n - (negative && k % 3 == 1 ? n : 0));
  }
  return array;
}
int64_t position_at(const Array& where, size_t i, int64_t n) {
  const auto p = static_cast<int64_t>(whole_at(where.dtype(), where.data(), i));
  return p < 0 ? p + n : p;
}
// As many as there are and three; of nothing none.
int64_t taken(int64_t n) { return n == 0 ? 0 : n + 3; }

Array where_to_take(const Array& a, int axis, DType dtype = DType::I64) {
  const int64_t n = size_of_axis(a, axis);
  return positions(dtype, {taken(n)}, n, !is_unsigned_integer(dtype));
}
Array where_to_gather(const Array& a, int axis, DType dtype = DType::I64) {
  const int64_t n = size_of_axis(a, axis);
  return positions(dtype, with_length(a.shape(), axis, taken(n)), n, !is_unsigned_integer(dtype));
}
// The same for all rows.
Array where_in_all(const Array& a, int axis) {
  const int64_t n = size_of_axis(a, axis);
  return positions(DType::I32, with_length(Shape(a.shape().size(), 1), axis, taken(n)), n);
}
Array where_to_scatter(const Array& a, int axis, DType dtype = DType::I64) {
  return positions(dtype, a.shape(), size_of_axis(a, axis), !is_unsigned_integer(dtype));
}

Arrays take(const Array& a, const Array& where, int axis) {
  const int64_t n = size_of_axis(a, axis);
  return from(a, with_length(a.shape(), axis, where.shape()[0]), [&](const Place& to) {
    return moved(to, axis, position_at(where, static_cast<size_t>(to[at(axis)]), n));
  });
}
Arrays gather(const Array& a, const Array& where, int axis) {
  const int64_t n = size_of_axis(a, axis);
  const Shape shape = with_length(a.shape(), axis, size_of_axis(where, axis));
  return from(a, shape, [&](const Place& to) {
    return moved(to, axis,
                 position_at(where, stored_at(shape, where.shape(), index_of(shape, to)), n));
  });
}
// The values in order: the last one stays, or all are added.
Arrays scatter(const Array& a, const Array& where, const Array& values, int axis, bool add) {
  Array result(a.dtype(), a.shape());
  for (size_t i = 0; i < a.size(); i++) copy_element(a, i, result, i);
  for (size_t i = 0; i < values.size(); i++) {
    const int64_t p = position_at(where, i, size_of_axis(a, axis));
    const size_t to = index_of(a.shape(), moved(place_of(where.shape(), i), axis, p));
    if (!add) copy_element(values, i, result, to);
    else if (is_float(a.dtype()))
      put_real(a.dtype(), result.mutable_data(), to,
               static_cast<double>(real_at(a.dtype(), result.data(), to) +
                                   real_at(a.dtype(), values.data(), i)));
    else
      put_whole(a.dtype(), result.mutable_data(), to,
                whole_at(a.dtype(), result.data(), to) + whole_at(a.dtype(), values.data(), i));
  }
  return {result};
}

Ints padding_of(const Shape& shape, bool before) {
  Ints list;
  for (size_t k = 0; k < shape.size(); k++)
    list.push_back(before ? static_cast<int64_t>(k % 2 == 0) : static_cast<int64_t>(k % 3 == 1));
  return list;
}
std::vector<ops::Padding> padding_for(const Shape& shape) {
  const Ints before = padding_of(shape, true), behind = padding_of(shape, false);
  std::vector<ops::Padding> list;
  for (size_t k = 0; k < shape.size(); k++) list.push_back({before[k], behind[k]});
  return list;
}
Arrays pad(const Array& a) {
  const Ints before = padding_of(a.shape(), true), behind = padding_of(a.shape(), false);
  Array one(a.dtype(), {});
  if (is_float(a.dtype())) put_real(a.dtype(), one.mutable_data(), 0, 1);
  else put_whole(a.dtype(), one.mutable_data(), 0, 1);
  Shape shape = a.shape();
  for (size_t k = 0; k < shape.size(); k++) shape[k] += before[k] + behind[k];
  return {built(a.dtype(), shape, [&](const Place& to) -> Origin {
    Place inside = to;
    for (size_t k = 0; k < to.size(); k++) {
      inside[k] -= before[k];
      if (inside[k] < 0 || inside[k] >= a.shape()[k]) return {one, 0};
    }
    return {a, index_of(a.shape(), inside)};
  })};
}

std::vector<int> turned(size_t rank) {  // each axis one further in, the last first
  std::vector<int> axes;
  for (size_t k = 0; k < rank; k++) axes.push_back(static_cast<int>((k + rank - 1) % rank));
  return axes;
}
Arrays permuted(const Array& a) {
  Shape shape;
  for (const int k : turned(a.shape().size())) shape.push_back(a.shape()[at(k)]);
  return from(a, shape, [&](const Place& to) {
    Place place = to;
    for (size_t k = 0; k < to.size(); k++) place[at(turned(to.size())[k])] = to[k];
    return place;
  });
}

const Array& part_of_x(const Array& a, const Array& b, int64_t place, int64_t n, int64_t* inside) {
  *inside = place % std::max<int64_t>(n, 1);
  return place / std::max<int64_t>(n, 1) == 1 ? b : a;
}
// x, y and x again.
Arrays concat(const Array& a, const Array& b, int axis) {
  const int64_t n = size_of_axis(a, axis);
  return {built(a.dtype(), with_length(a.shape(), axis, 3 * n), [&](const Place& to) -> Origin {
    int64_t inside = 0;
    const Array& part = part_of_x(a, b, to[at(axis)], n, &inside);
    return {part, index_of(a.shape(), moved(to, axis, inside))};
  })};
}
Arrays stack(const Array& a, const Array& b, int axis) {
  return {built(a.dtype(), inserted(a.shape(), axis, 2), [&](const Place& to) -> Origin {
    return {to[at(axis)] == 0 ? a : b, index_of(a.shape(), without(to, axis))};
  })};
}
Arrays split(const Array& a, int axis) {
  const int64_t n = size_of_axis(a, axis);
  Arrays parts;
  for (int64_t k = 0, start = 0; k < 3; k++) {
    const int64_t length = n / 3 + (k < n % 3 ? 1 : 0);
    parts.push_back(sliced(a, axis, start, 1, length)[0]);
    start += length;
  }
  return parts;
}
// Every second element along an axis is y's.
Arrays put(const Array& a, const Array& b, int axis) {
  return {built(a.dtype(), a.shape(), [&](const Place& to) -> Origin {
    return {to[at(axis)] % 2 == 1 ? b : a, index_of(a.shape(), to)};
  })};
}
Arrays roll(const Array& a, int axis, int64_t shift) {
  const int64_t n = size_of_axis(a, axis);
  return from(a, a.shape(), [&](const Place& to) {
    return moved(to, axis, ((to[at(axis)] - shift) % n + n) % n);
  });
}
Arrays repeat(const Array& a, int axis, int64_t times) {
  return from(a, with_length(a.shape(), axis, size_of_axis(a, axis) * times),
              [&](const Place& to) { return moved(to, axis, to[at(axis)] / times); });
}
// Twice along the axis before the last, three times along the last.
Arrays tile(const Array& a) {
  Shape inner = a.shape();
  while (inner.size() < 2) inner.insert(inner.begin(), 1);
  Shape shape = inner;
  shape[shape.size() - 2] *= 2;
  shape.back() *= 3;
  const Array x = a.reshaped(inner);
  return from(x, shape, [&](const Place& to) {
    Place place = to;
    for (size_t k = 0; k < to.size(); k++) place[k] %= inner[k];
    return place;
  });
}
Shape without_ones(const Shape& shape) {
  Shape left;
  for (const int64_t n : shape)
    if (n != 1) left.push_back(n);
  return left;
}

// Axis is 0 for operations that have none.
using Run = Tensors (*)(const Tensor& x, const Tensor& y, int axis);
using Expect = Arrays (*)(const Array& a, const Array& b, int axis);
enum class Along : uint8_t { Nothing, Axis, NewAxis };

struct Movement {
  std::string_view name, variant;
  Along along;
  Run run;
  Expect expected;
  size_t operands = 1;
  bool small = false;  // values that can be added exactly
  bool bools = true;
  bool of_nothing = true;  // may the axis be empty?
};

Tensor given(const Array& where, const Tensor& x) { return Tensor::from(where, x.executor()); }
Array like(const Tensor& x) { return Array(x.dtype(), x.shape()); }

// clang-format off
const Movement kMovements[] = {
  {"contiguous", "", Along::Nothing, [](const Tensor& x, const Tensor&, int) { return Tensors{ops::contiguous(x)}; },
   [](const Array& a, const Array&, int) { return Arrays{a}; }},
  {"copy", "", Along::Nothing, [](const Tensor& x, const Tensor&, int) { return Tensors{ops::copy(x)}; },
   [](const Array& a, const Array&, int) { return Arrays{a}; }},
  {"flatten", "", Along::Nothing, [](const Tensor& x, const Tensor&, int) { return Tensors{ops::copy(x.flatten())}; },
   [](const Array& a, const Array&, int) { return Arrays{flat(a)}; }},
  {"squeeze", "", Along::Nothing, [](const Tensor& x, const Tensor&, int) { return Tensors{ops::copy(x.squeeze())}; },
   [](const Array& a, const Array&, int) { return Arrays{a.reshaped(without_ones(a.shape()))}; }},
  {"permute", "", Along::Nothing, [](const Tensor& x, const Tensor&, int) { return Tensors{ops::contiguous(x.permute(turned(x.shape().size())))}; },
   [](const Array& a, const Array&, int) { return permuted(a); }},
  {"unsqueeze", "", Along::NewAxis, [](const Tensor& x, const Tensor&, int k) { return Tensors{ops::copy(x.unsqueeze(k))}; },
   [](const Array& a, const Array&, int k) { return Arrays{a.reshaped(inserted(a.shape(), k, 1))}; }},
  {"broadcast_to", "", Along::NewAxis, [](const Tensor& x, const Tensor&, int k) { return Tensors{ops::contiguous(x.unsqueeze(k).broadcast_to(inserted(x.shape(), k, 3)))}; },
   [](const Array& a, const Array&, int k) { return from(a, inserted(a.shape(), k, 3), [&](const Place& to) { return without(to, k); }); }},
  {"select", "", Along::Axis, [](const Tensor& x, const Tensor&, int k) { return Tensors{ops::copy(x.select(k, -1))}; },
   [](const Array& a, const Array&, int k) { return from(a, without(a.shape(), k), [&](const Place& to) { return inserted(to, k, size_of_axis(a, k) - 1); }); }, 1, false, true, false},
  {"slice", "step 2", Along::Axis, [](const Tensor& x, const Tensor&, int k) { return Tensors{ops::contiguous(x.slice(k, {1, {}, 2}))}; },
   [](const Array& a, const Array&, int k) { return sliced(a, k, 1, 2, size_of_axis(a, k) / 2); }},
  {"slice", "step -3", Along::Axis, [](const Tensor& x, const Tensor&, int k) { return Tensors{ops::contiguous(x.slice(k, {{}, {}, -3}))}; },
   [](const Array& a, const Array&, int k) { return sliced(a, k, size_of_axis(a, k) - 1, -3, (size_of_axis(a, k) + 2) / 3); }},
  {"flip", "", Along::Axis, [](const Tensor& x, const Tensor&, int k) { return Tensors{ops::contiguous(x.flip({k}))}; },
   [](const Array& a, const Array&, int k) { return sliced(a, k, size_of_axis(a, k) - 1, -1, size_of_axis(a, k)); }},
  {"transpose", "", Along::Axis, [](const Tensor& x, const Tensor&, int k) { return Tensors{ops::contiguous(x.transpose(k, x.rank() / 2))}; },
   [](const Array& a, const Array&, int k) {
     const auto swapped = [&](Shape s) { std::swap(s[at(k)], s[s.size() / 2]); return s; };
     return from(a, swapped(a.shape()), swapped); }},
  {"concat", "", Along::Axis, [](const Tensor& x, const Tensor& y, int k) { return Tensors{ops::concat({x, y, x}, k)}; },
   [](const Array& a, const Array& b, int k) { return concat(a, b, k); }, 2},
  {"stack", "", Along::NewAxis, [](const Tensor& x, const Tensor& y, int k) { return Tensors{ops::stack({x, y}, k)}; },
   [](const Array& a, const Array& b, int k) { return stack(a, b, k); }, 2},
  {"split", "", Along::Axis, [](const Tensor& x, const Tensor&, int k) { return ops::split(x, 3, k); },
   [](const Array& a, const Array&, int k) { return split(a, k); }},
  {"pad", "", Along::Nothing, [](const Tensor& x, const Tensor&, int) { return Tensors{ops::pad(x, padding_for(x.shape()), 1)}; },
   [](const Array& a, const Array&, int) { return pad(a); }},
  {"put", "", Along::Axis, [](const Tensor& x, const Tensor& y, int k) {
     std::vector<Slice> part(at(k) + 1);
     part.back() = {1, {}, 2};
     return Tensors{ops::put(x, part, y.slice(part))}; },
   [](const Array& a, const Array& b, int k) { return put(a, b, k); }, 2},
  {"take", "", Along::Axis, [](const Tensor& x, const Tensor&, int k) { return Tensors{ops::take(x, given(where_to_take(like(x), k), x), k)}; },
   [](const Array& a, const Array&, int k) { return take(a, where_to_take(a, k), k); }},
  {"take", "flattened", Along::Nothing, [](const Tensor& x, const Tensor&, int) { return Tensors{ops::take(x, given(where_to_take(flat(like(x)), 0), x))}; },
   [](const Array& a, const Array&, int) { return take(flat(a), where_to_take(flat(a), 0), 0); }},
  {"gather", "", Along::Axis, [](const Tensor& x, const Tensor&, int k) { return Tensors{ops::gather(x, given(where_to_gather(like(x), k), x), k)}; },
   [](const Array& a, const Array&, int k) { return gather(a, where_to_gather(a, k), k); }},
  {"gather", "the same of all", Along::Axis, [](const Tensor& x, const Tensor&, int k) { return Tensors{ops::gather(x, given(where_in_all(like(x), k), x), k)}; },
   [](const Array& a, const Array&, int k) { return gather(a, where_in_all(a, k), k); }},
  {"scatter", "", Along::Axis, [](const Tensor& x, const Tensor& y, int k) { return Tensors{ops::scatter(x, given(where_to_scatter(like(x), k), x), y, k)}; },
   [](const Array& a, const Array& b, int k) { return scatter(a, where_to_scatter(a, k), b, k, false); }, 2},
  {"scatter_add", "", Along::Axis, [](const Tensor& x, const Tensor& y, int k) { return Tensors{ops::scatter_add(x, given(where_to_scatter(like(x), k), x), y, k)}; },
   [](const Array& a, const Array& b, int k) { return scatter(a, where_to_scatter(a, k), b, k, true); }, 2, true, false},
  {"roll", "", Along::Axis, [](const Tensor& x, const Tensor&, int k) { return Tensors{ops::roll(x, 2, k), ops::roll(x, -7, k)}; },
   [](const Array& a, const Array&, int k) { return Arrays{roll(a, k, 2)[0], roll(a, k, -7)[0]}; }},
  {"roll", "flattened", Along::Nothing, [](const Tensor& x, const Tensor&, int) { return Tensors{ops::roll(x, 5)}; },
   [](const Array& a, const Array&, int) { return Arrays{roll(flat(a), 0, 5)[0].reshaped(a.shape())}; }},
  {"repeat", "", Along::Axis, [](const Tensor& x, const Tensor&, int k) { return Tensors{ops::repeat(x, 3, k)}; },
   [](const Array& a, const Array&, int k) { return repeat(a, k, 3); }},
  {"repeat", "flattened", Along::Nothing, [](const Tensor& x, const Tensor&, int) { return Tensors{ops::repeat(x, 2)}; },
   [](const Array& a, const Array&, int) { return repeat(flat(a), 0, 2); }},
  {"tile", "", Along::Nothing, [](const Tensor& x, const Tensor&, int) { return Tensors{ops::tile(x, {2, 3})}; },
   [](const Array& a, const Array&, int) { return tile(a); }},
};
// clang-format on

std::vector<int> axes_of(const Movement& m, const Shape& shape) {
  if (m.along == Along::Nothing) return {0};
  if (m.along == Along::Axis) return outer_axes(shape);
  if (shape.size() == kMaxRank) return {};  // there would be too many
  return outer_axes(inserted(shape, 0, 1));
}

Array values_for(const Movement& m, DType dtype, const Shape& shape, Generator& generator) {
  return m.small ? small_numbers(dtype, shape, generator) : any_bits(dtype, shape, generator);
}

Finding try_one(const Suite& suite, const Movement& m, DType dtype, const Layout& layout, int axis,
                std::string_view property) {
  Generator generator(seed_of(m.name, dtype, property));
  Tensors tensors;
  Arrays arrays;
  for (size_t k = 0; k < m.operands; k++) {
    const Array stored = values_for(m, dtype, stored_shape(layout, k, m.operands), generator);
    tensors.push_back(laid_out(layout, stored, suite.ways().plain));
    arrays.push_back(shown(layout, stored));
  }
  return same_arrays(arrays_of(m.run(tensors.front(), tensors.back(), axis)),
                     m.expected(arrays.front(), arrays.back(), axis));
}

// Positions of every dtype: integers do, others are refused.
void positions_of(Suite& suite, DType dtype) {
  struct Row {
    std::string_view name;
    Array (*where)(const Array& a, int axis, DType dtype);
    Tensor (*run)(const Tensor& x, const Tensor& where, const Tensor& y);
    Arrays (*expected)(const Array& a, const Array& where, const Array& b);
  };
  // clang-format off
  constexpr Row kRows[] = {
    {"take", where_to_take, [](const Tensor& x, const Tensor& p, const Tensor&) { return ops::take(x, p, 1); },
     [](const Array& a, const Array& p, const Array&) { return take(a, p, 1); }},
    {"gather", where_to_gather, [](const Tensor& x, const Tensor& p, const Tensor&) { return ops::gather(x, p, 1); },
     [](const Array& a, const Array& p, const Array&) { return gather(a, p, 1); }},
    {"scatter", where_to_scatter, [](const Tensor& x, const Tensor& p, const Tensor& y) { return ops::scatter(x, p, y, 1); },
     [](const Array& a, const Array& p, const Array& b) { return scatter(a, p, b, 1, false); }},
  };
  // clang-format on
  for (const Row& row : kRows) {
    Generator generator(seed_of(row.name, dtype, "positions"));
    const Array a = any_bits(DType::F32, {9, 40}, generator),
                b = any_bits(DType::F32, {9, 40}, generator);
    const Executor& executor = suite.ways().plain;
    const auto run = [&](const Array& where) {
      return row.run(Tensor::from(a, executor), Tensor::from(where, executor),
                     Tensor::from(b, executor));
    };
    if (is_integer(dtype))
      suite.attempt(row.name, dtype, "as positions", [&] {
        const Array where = row.where(a, 1, dtype);
        return same_arrays(Arrays{run(where).array()}, row.expected(a, where, b));
      });
    else
      suite.attempt(row.name, dtype, "refused as positions", [&] {
        return refused(ErrorKind::DTypeMismatch, [&] { run(Array(dtype, a.shape())).eval(); });
      });
  }
}

std::string name_of(const Movement& m, std::string_view layout, int axis) {
  std::string name(layout);
  if (!m.variant.empty()) name += fmt::format(", {}", m.variant);
  if (m.along != Along::Nothing) name += fmt::format(", axis {}", axis);
  return name;
}

// With a producer and a consumer that it may be fused with.
void bits_of(Suite& suite, const Movement& m) {
  const Shape shape = {150, 301};
  const int axis = 1;
  Generator generator(seed_of(m.name, DType::F32, "bits"));
  const Array a = values_for(m, DType::F32, shape, generator),
              b = values_for(m, DType::F32, shape, generator);
  attempt_both(suite, m.name, DType::F32, [&](const Executor& executor) {
    const Tensor x = Tensor::from(a, executor), y = Tensor::from(b, executor);
    Tensors results = m.run(x * 0.5f, y + 1, axis);
    for (Tensor& t : results) t = t * 3 + 1;
    return arrays_of(results);
  });
}

}  // namespace

void movement_cases(Suite& suite) {
  for (const Movement& m : kMovements) {
    for (const DType dtype : all_dtypes()) {
      if (dtype == DType::Bool && !m.bools) {
        suite.attempt(m.name, dtype, "refused", [&] {
          const Tensor x = ops::zeros({4, 4}, dtype, suite.ways().plain);
          return refused(ErrorKind::DTypeMismatch, [&] { m.run(x, x, 0); });
        });
        continue;
      }
      for (const Layout& layout : layouts())
        for (const int axis : axes_of(m, layout.shape)) {
          if (!m.of_nothing && layout.shape[at(axis)] == 0) continue;
          const std::string property = name_of(m, layout.name, axis);
          suite.attempt(m.name, dtype, property,
                        [&] { return try_one(suite, m, dtype, layout, axis, property); });
        }
    }
    if (m.variant.empty()) bits_of(suite, m);
  }
  for (const DType dtype : all_dtypes()) positions_of(suite, dtype);
}

}  // namespace hologram::conformance
