#include "conformance/arrays.hpp"

#include <fmt/format.h>

#include <cstring>

namespace hologram::conformance {

Place place_of(const Shape& shape, size_t i) {
  Place at = shape;
  for (size_t k = shape.size(); k-- > 0;) {
    at[k] = static_cast<int64_t>(i) % shape[k];
    i /= static_cast<size_t>(shape[k]);
  }
  return at;
}

size_t index_of(const Shape& shape, const Place& at) {
  int64_t index = 0;
  for (size_t k = 0; k < shape.size(); k++) index = index * shape[k] + at[k];
  return static_cast<size_t>(index);
}

Array any_bits(DType dtype, const Shape& shape, Generator& generator) {
  Array array(dtype, shape);
  constexpr DType kBits[] = {DType::U8, DType::U16, DType::U32, DType::U64};
  DType bits = dtype;
  if (is_float(dtype))
    for (const DType t : kBits)
      if (size_of(t) == size_of(dtype)) bits = t;
  for (size_t i = 0; i < array.size(); i++) {
    const uint64_t dice = generator();
    put_whole(bits, array.mutable_data(), i,
              dtype == DType::Bool ? static_cast<Integer>(dice >> 63) : static_cast<Integer>(dice));
  }
  return array;
}

Array small_numbers(DType dtype, const Shape& shape, Generator& generator) {
  Array array(dtype, shape);
  const bool sign = is_float(dtype) || is_signed_integer(dtype);
  for (size_t i = 0; i < array.size(); i++) {
    const auto number = static_cast<int>(generator() % 17) - (sign ? 8 : 0);
    if (is_float(dtype)) put_real(dtype, array.mutable_data(), i, number);
    else put_whole(dtype, array.mutable_data(), i, number);
  }
  return array;
}

void copy_element(const Array& from, size_t i, Array& to, size_t j) {
  const size_t size = size_of(to.dtype());
  std::memcpy(to.mutable_data() + j * size, from.data() + i * size, size);
}

Array shown(const Layout& layout, const Array& stored) {
  Array array(stored.dtype(), layout.shape);
  for (size_t i = 0; i < array.size(); i++)
    copy_element(stored, stored_at(layout.shape, stored.shape(), i), array, i);
  return array;
}

Array built(DType dtype, const Shape& shape, core::FunctionRef<Origin(const Place&)> from) {
  Array array(dtype, shape);
  for (size_t i = 0; i < array.size(); i++) {
    const Origin origin = from(place_of(shape, i));
    copy_element(origin.array, origin.index, array, i);
  }
  return array;
}

Finding same_arrays(std::span<const Array> results, std::span<const Array> expected) {
  Finding found;
  if (results.size() != expected.size()) found.wrong = "there are more or fewer results";
  for (size_t k = 0; k < expected.size() && found.wrong.empty(); k++) {
    found.elements += results[k].size();
    if (results[k].dtype() != expected[k].dtype() || results[k].shape() != expected[k].shape())
      found.wrong = fmt::format("result {} is {} of {}, not {} of {}", k,
                                name_of(results[k].dtype()), to_string(results[k].shape()),
                                name_of(expected[k].dtype()), to_string(expected[k].shape()));
    else if (const std::string text = difference(results[k], expected[k]); !text.empty())
      found.wrong = fmt::format("result {}: {}", k, text);
  }
  return found;
}

std::vector<Array> arrays_of(const std::vector<Tensor>& tensors) {
  eval(tensors);
  std::vector<Array> arrays;
  arrays.reserve(tensors.size());
  for (const Tensor& t : tensors) arrays.push_back(t.array());
  return arrays;
}

Finding refused(ErrorKind kind, core::FunctionRef<void()> body) {
  Finding found;
  try {
    body();
    found.wrong = "it should have been refused";
  } catch (const Error& error) {
    if (error.kind() != kind) found.wrong = fmt::format("another error: {}", error.what());
  }
  return found;
}

std::vector<int> outer_axes(const Shape& shape) {
  const auto last = static_cast<int>(shape.size()) - 1;
  if (last < 0) return {};
  return last == 0 ? std::vector<int>{0} : std::vector<int>{0, last};
}

}  // namespace hologram::conformance
