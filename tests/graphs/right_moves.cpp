// Elements that are put elsewhere, and sources.
#include <algorithm>
#include <functional>

#include "graphs/right.hpp"

namespace hologram::graphs {
namespace {

// Each element of the result from one of the operand.
Field moved(const Step& step, const Field& from, const std::function<size_t(const Shape&)>& at) {
  Field out = unknown_field(step.dtype, step.shape);
  for (size_t i = 0; i < out.size(); i++)
    out.elements[i] = from.elements[at(place_of(step.shape, i))];
  return out;
}

struct Range {
  int64_t first, step;
};
// As Python's slices of an axis of n elements.
Range range_of(const Slice& s, int64_t n) {
  const bool back = s.step < 0;
  int64_t first = s.begin.value_or(back ? n - 1 : 0);
  if (s.begin && first < 0) first += n;
  first = std::clamp<int64_t>(first, back ? -1 : 0, back ? n - 1 : n);
  return {first, s.step};
}

Shape sliced_place(const Step& step, const Shape& shape, const Shape& place) {
  Shape from = place;
  for (size_t k = 0; k < step.slices.size(); k++) {
    const Range r = range_of(step.slices[k], shape[k]);
    from[k] = static_cast<int64_t>(r.first + place[k] * r.step);
  }
  return from;
}

size_t axis_of(const Step& step, const Shape& shape) {
  const int64_t a = step.integers.at(0);
  return static_cast<size_t>(a < 0 ? a + static_cast<int64_t>(shape.size()) : a);
}

// A position along an axis, negative ones from the end; none where it is not known.
std::optional<int64_t> position(const Element& e, int64_t n) {
  if (!e.known) return {};
  const auto at = static_cast<int64_t>(e.whole < 0 ? e.whole + n : e.whole);
  if (at < 0 || at >= n) return {};
  return at;
}

}  // namespace

Field right_reshape(const Step& step, Fields x) { return {step.dtype, step.shape, x[0].elements}; }

Field right_slice(const Step& step, Fields x) {
  return moved(step, x[0], [&](const Shape& place) {
    return index_of(x[0].shape, sliced_place(step, x[0].shape, place));
  });
}

Field right_permute(const Step& step, Fields x) {
  return moved(step, x[0], [&](const Shape& place) {
    Shape from = place;
    for (size_t k = 0; k < place.size(); k++)
      from[static_cast<size_t>(step.integers[k])] = place[k];
    return index_of(x[0].shape, from);
  });
}

Field right_broadcast(const Step& step, Fields x) {
  return moved(step, x[0], [&](const Shape& place) { return broadcast_index(x[0].shape, place); });
}

Field right_concat(const Step& step, Fields x) {
  const size_t k = axis_of(step, step.shape);
  const Field parts[] = {converted(x[0], step.dtype), converted(x[1], step.dtype)};
  Field out = unknown_field(step.dtype, step.shape);
  for (size_t i = 0; i < out.size(); i++) {
    Shape place = place_of(step.shape, i);
    const bool second = place[k] >= x[0].shape[k];
    if (second) place[k] -= x[0].shape[k];
    const Field& part = parts[second ? 1 : 0];
    out.elements[i] = part.elements[index_of(part.shape, place)];
  }
  return out;
}

Field right_stack(const Step& step, Fields x) {
  const size_t k = axis_of(step, step.shape);
  const Field parts[] = {converted(x[0], step.dtype), converted(x[1], step.dtype)};
  Field out = unknown_field(step.dtype, step.shape);
  for (size_t i = 0; i < out.size(); i++) {
    Shape place = place_of(step.shape, i);
    const Field& part = parts[place[k]];
    place.erase(place.begin() + static_cast<int64_t>(k));
    out.elements[i] = part.elements[index_of(part.shape, place)];
  }
  return out;
}

// integers: before and behind each axis.
Field right_pad(const Step& step, Fields x) {
  const Element value = element_of(step.arguments[1].number, step.dtype);
  Field out = unknown_field(step.dtype, step.shape);
  for (size_t i = 0; i < out.size(); i++) {
    Shape place = place_of(step.shape, i);
    bool inside = true;
    for (size_t k = 0; k < place.size(); k++) {
      place[k] -= step.integers[2 * k];
      inside = inside && place[k] >= 0 && place[k] < x[0].shape[k];
    }
    out.elements[i] = inside ? x[0].elements[index_of(x[0].shape, place)] : value;
  }
  return out;
}

// The part's shape is that of the values, which are there already.
Field right_put(const Step& step, Fields x) {
  Field out = {step.dtype, step.shape, x[0].elements};
  const Field values = converted(x[1], step.dtype);
  for (size_t i = 0; i < values.size(); i++)
    out.elements[index_of(step.shape, sliced_place(step, step.shape, place_of(values.shape, i)))] =
        values.elements[i];
  return out;
}

Field right_roll(const Step& step, Fields x) {
  const size_t k = axis_of(step, step.shape);
  return moved(step, x[0], [&](Shape place) {
    const int64_t n = step.shape[k];
    place[k] = ((place[k] - step.integers[1]) % n + n) % n;
    return index_of(step.shape, place);
  });
}

Field right_repeat(const Step& step, Fields x) {
  const size_t k = axis_of(step, step.shape);
  return moved(step, x[0], [&](Shape place) {
    place[k] /= step.integers[1];
    return index_of(x[0].shape, place);
  });
}

Field right_tile(const Step& step, Fields x) {
  return moved(step, x[0], [&](Shape place) {
    for (size_t k = 0; k < place.size(); k++) place[k] %= x[0].shape[k];
    return index_of(x[0].shape, place);
  });
}

Field right_take(const Step& step, Fields x) {
  const size_t k = axis_of(step, x[0].shape);
  Field out = unknown_field(step.dtype, step.shape);
  for (size_t i = 0; i < out.size(); i++) {
    const Shape place = place_of(step.shape, i);
    Shape from, where;
    for (size_t d = 0; d < place.size(); d++)
      (d >= k && d < k + x[1].shape.size() ? where : from).push_back(place[d]);
    const auto at = position(x[1].elements[index_of(x[1].shape, where)], x[0].shape[k]);
    if (!at) continue;
    from.insert(from.begin() + static_cast<int64_t>(k), *at);
    out.elements[i] = x[0].elements[index_of(x[0].shape, from)];
  }
  return out;
}

Field right_gather(const Step& step, Fields x) {
  const size_t k = axis_of(step, x[0].shape);
  Field out = unknown_field(step.dtype, step.shape);
  for (size_t i = 0; i < out.size(); i++) {
    Shape place = place_of(step.shape, i);
    const auto at = position(x[1].elements[broadcast_index(x[1].shape, place)], x[0].shape[k]);
    if (!at) continue;
    place[k] = *at;
    out.elements[i] = x[0].elements[index_of(x[0].shape, place)];
  }
  return out;
}

template <bool adds>
Field right_scatter(const Step& step, Fields x) {
  const size_t k = axis_of(step, x[0].shape);
  Field out = {step.dtype, step.shape, x[0].elements};
  const bool number = step.arguments[2].is_number();
  const Field values = number ? Field() : converted(x[2], step.dtype);
  std::vector<Wide> sizes(out.size(), 0), counts(out.size(), 0);
  for (size_t i = 0; i < x[1].size(); i++) {
    Shape place = place_of(x[1].shape, i);
    const auto at = position(x[1].elements[i], step.shape[k]);
    if (!at) return unknown_field(step.dtype, step.shape);  // nothing is known of where it goes
    const Element value = number ? element_of(step.arguments[2].number, step.dtype)
                                 : values.elements[broadcast_index(values.shape, place)];
    place[k] = *at;
    const size_t j = index_of(step.shape, place);
    Element& to = out.elements[j];
    if (!adds) {
      to = value;
      continue;
    }
    if (!to.known || !value.exact() || !to.exact()) {
      to = unknown();
    } else if (!is_float(step.dtype)) {
      to = whole(conformance::wrapped(step.dtype, to.whole + value.whole));
    } else {
      sizes[j] = std::max(sizes[j], magnitude(to.low)) + magnitude(value.low);
      counts[j] += 1;
      to = real(to.low + value.low);
    }
  }
  for (size_t j = 0; adds && is_float(step.dtype) && j < out.size(); j++) {
    Element& to = out.elements[j];
    if (counts[j] == 0 || !to.known) continue;
    // Each sum may be rounded to where it is stored.
    const Wide slack = (counts[j] + 1) * unit_of(step.dtype, sizes[j]);
    const bool safe = sizes[j] < largest_of(step.dtype) / 2;
    to = safe ? result(step.dtype, to.low, to.low, slack) : unknown();
  }
  return out;
}
template Field right_scatter<false>(const Step&, Fields);
template Field right_scatter<true>(const Step&, Fields);

Field right_cast(const Step& step, Fields x) {
  // What is 16 bits wide already may not have been rounded yet.
  if (x[0].dtype == step.dtype) return x[0];
  return converted(x[0], step.dtype);
}

Field right_full(const Step& step, Fields) {
  Field out = unknown_field(step.dtype, step.shape);
  std::fill(out.elements.begin(), out.elements.end(),
            element_of(step.arguments[0].number, step.dtype));
  return out;
}

// integers: the start and the step.
Field right_arange(const Step& step, Fields) {
  Field out = unknown_field(step.dtype, step.shape);
  for (size_t i = 0; i < out.size(); i++) {
    const Integer value = step.integers[0] + static_cast<Integer>(i) * step.integers[1];
    out.elements[i] = is_float(step.dtype) ? real(static_cast<Wide>(value)) : whole(value);
  }
  return out;
}

// reals: the ends.
Field right_linspace(const Step& step, Fields) {
  Field out = unknown_field(step.dtype, step.shape);
  const Wide from = step.reals[0], to = step.reals[1];
  const auto n = static_cast<int64_t>(out.size());
  const DType wide = accumulator_of(step.dtype);
  for (int64_t i = 0; i < n; i++) {
    const Wide part = n == 1 ? 0 : static_cast<Wide>(i) / static_cast<Wide>(n - 1);
    const Wide value = from + (to - from) * part, size = std::max(magnitude(from), magnitude(to));
    // Both ends are there.
    const bool end = i == 0 || i == n - 1;
    const Element e = result(step.dtype, end ? rounded(wide, value) : value,
                             end ? rounded(wide, value) : value, end ? 0 : 4 * unit_of(wide, size));
    out.elements[static_cast<size_t>(i)] = e;
  }
  return out;
}

// integers: the diagonal; below it too if `flag`.
Field right_eye(const Step& step, Fields) {
  Field out = unknown_field(step.dtype, step.shape);
  for (size_t i = 0; i < out.size(); i++) {
    const Shape place = place_of(step.shape, i);
    const int64_t above = place[1] - place[0] - step.integers[0];
    const bool one = step.flag ? above <= 0 : above == 0;
    out.elements[i] = is_float(step.dtype) ? real(one ? 1 : 0) : whole(one ? 1 : 0);
  }
  return out;
}

}  // namespace hologram::graphs
