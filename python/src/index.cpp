// Keys that say a view: ints, slices, None and Ellipsis.
#include "binding.hpp"

namespace hologram::python {
namespace {

struct Part {
  enum Kind : uint8_t { Int, Range, New, Rest } kind;
  Slice slice;        // of Range
  int64_t index = 0;  // of Int
};
using Parts = std::vector<Part>;

std::optional<int64_t> bound(nb::handle value) {
  if (value.is_none()) return {};
  if (!PyIndex_Check(value.ptr())) throw nb::type_error("slices take ints or None");
  const Py_ssize_t number = PyNumber_AsSsize_t(value.ptr(), nullptr);  // beyond: the nearest
  if (number == -1 && PyErr_Occurred()) throw nb::python_error();
  return number;
}

Slice slice_from(nb::handle value) {
  Slice slice;
  slice.begin = bound(value.attr("start"));
  slice.end = bound(value.attr("stop"));
  slice.step = bound(value.attr("step")).value_or(1);
  if (slice.step == 0)
    fail(ErrorKind::InvalidArgument, "the step of a slice is 0", "Use a step other than 0.");
  return slice;
}

// false for what is not of this kind.
bool add_part(Parts& parts, nb::handle key) {
  if (PySlice_Check(key.ptr())) {
    parts.push_back({Part::Range, slice_from(key)});
  } else if (key.is_none()) {
    parts.push_back({Part::New, {}});
  } else if (key.is(nb::handle(Py_Ellipsis))) {
    parts.push_back({Part::Rest, {}});
  } else if (!PyBool_Check(key.ptr()) && !nb::isinstance<Tensor>(key) && PyIndex_Check(key.ptr()) &&
             !nb::hasattr(key, "shape")) {
    const Py_ssize_t number = PyNumber_AsSsize_t(key.ptr(), PyExc_IndexError);
    if (number == -1 && PyErr_Occurred()) throw nb::python_error();
    parts.push_back({Part::Int, {}, number});
  } else {
    return false;
  }
  return true;
}

std::optional<Parts> parts_of(nb::handle key) {
  Parts parts;
  if (nb::isinstance<nb::tuple>(key)) {
    for (nb::handle item : nb::borrow<nb::tuple>(key))
      if (!add_part(parts, item)) return {};
  } else if (!add_part(parts, key)) {
    return {};
  }
  return parts;
}

// The same with Rest written out: as many whole axes as it stands for.
Parts spelled_out(const Parts& given, const Tensor& tensor) {
  int used = 0, rests = 0;
  for (const Part& part : given) {
    used += part.kind == Part::Int || part.kind == Part::Range ? 1 : 0;
    rests += part.kind == Part::Rest ? 1 : 0;
  }
  if (rests > 1) fail_index("a key has more than one Ellipsis", "Leave one of them.");
  if (used > tensor.rank())
    fail_index("a key of " + std::to_string(used) + " axes for a tensor of shape " +
                   to_string(tensor.shape()),
               "Use at most one int or slice for each axis.");
  Parts parts;
  for (const Part& part : given) {
    if (part.kind != Part::Rest) parts.push_back(part);
    else parts.insert(parts.end(), static_cast<size_t>(tensor.rank() - used), {Part::Range, {}});
  }
  return parts;
}

int64_t checked(int64_t index, int64_t length, int axis) {
  if (index < -length || index >= length)
    fail_index("index " + std::to_string(index) + " lies outside of axis " + std::to_string(axis) +
                   " of length " + std::to_string(length),
               length == 0 ? "The axis has no elements."
                           : "Use an index from " + std::to_string(-length) + " to " +
                                 std::to_string(length - 1) + ".");
  return index < 0 ? index + length : index;
}

bool is_whole(const Slice& slice) { return !slice.begin && !slice.end && slice.step == 1; }

}  // namespace

std::optional<Tensor> basic_index(const Tensor& tensor, nb::handle key) {
  const std::optional<Parts> given = parts_of(key);
  if (!given) return {};
  if (given->size() == 1 && given->front().kind == Part::Int && tensor.rank() > 0)
    return tensor.select(0, checked(given->front().index, tensor.size(0), 0));
  Tensor view = tensor;
  int axis = 0, of_tensor = 0;
  for (const Part& part : spelled_out(*given, tensor)) {
    switch (part.kind) {
      case Part::Int:
        view = view.select(axis, checked(part.index, tensor.size(of_tensor), of_tensor));
        of_tensor++;
        break;
      case Part::Range:
        if (!is_whole(part.slice)) view = view.slice(axis, part.slice);
        axis++;
        of_tensor++;
        break;
      default: view = view.unsqueeze(axis++); break;
    }
  }
  return view;
}

bool basic_assign(Tensor& tensor, nb::handle key, const Operand& value) {
  const std::optional<Parts> given = parts_of(key);
  if (!given) return false;
  std::vector<Slice> slices;
  std::vector<int> kept;  // 1: an axis that stays; 0: one that an int takes away; -1: a new one
  for (const Part& part : spelled_out(*given, tensor)) {
    if (part.kind == Part::New) {
      kept.push_back(-1);
    } else if (part.kind == Part::Range) {
      slices.push_back(part.slice);
      kept.push_back(1);
    } else {
      const int axis = static_cast<int>(slices.size());
      const int64_t index = checked(part.index, tensor.size(axis), axis);
      slices.push_back({index, index + 1});
      kept.push_back(0);
    }
  }
  while (static_cast<int>(slices.size()) < tensor.rank()) {
    slices.push_back({});
    kept.push_back(1);
  }
  if (value.is_number() || value.tensor().rank() == 0) {
    tensor = ops::put(tensor, slices, value);
    return true;
  }
  // The value has the axes of tensor[key]: brought to them first, then to those of the tensor.
  const Tensor part = tensor.slice(slices);
  Shape seen, whole;
  int axis = 0;
  for (const int keep : kept) {
    if (keep >= 0) whole.push_back(part.size(axis));
    if (keep != 0) seen.push_back(keep > 0 ? part.size(axis) : 1);
    axis += keep >= 0 ? 1 : 0;
  }
  Tensor values = value.tensor();
  // As NumPy has it: leading axes of length 1 that the place does not have go.
  while (values.rank() > static_cast<int>(seen.size()) && values.size(0) == 1)
    values = values.squeeze(0);
  tensor = ops::put(tensor, slices, values.broadcast_to(seen).reshape(whole));
  return true;
}

}  // namespace hologram::python
