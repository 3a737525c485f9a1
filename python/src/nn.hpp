// How options of neural operations become those of C++: numbers for each axis, and choices by name.
#pragma once

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <string_view>

#include "binding.hpp"
#include "hologram/nn.hpp"

namespace hologram::python {

// The names of an enumeration, in the order of its values.
template <class E>
struct Choices;
template <>
struct Choices<nn::Activation> {
  static constexpr std::string_view kWhat = "activation";
  static constexpr std::array<std::string_view, 8> kNames = {"none", "relu",    "gelu", "gelu_tanh",
                                                             "silu", "sigmoid", "tanh", "mish"};
};
template <>
struct Choices<nn::Approximate> {
  static constexpr std::string_view kWhat = "approximation";
  static constexpr std::array<std::string_view, 2> kNames = {"none", "tanh"};
};
template <>
struct Choices<nn::Reduction> {
  static constexpr std::string_view kWhat = "reduction";
  static constexpr std::array<std::string_view, 4> kNames = {"none", "mean", "sum", "batchmean"};
};
template <>
struct Choices<nn::RopePairs> {
  static constexpr std::string_view kWhat = "pairing";
  static constexpr std::array<std::string_view, 2> kNames = {"halves", "interleaved"};
};
template <>
struct Choices<nn::Interpolation> {
  static constexpr std::string_view kWhat = "interpolation";
  static constexpr std::array<std::string_view, 7> kNames = {
      "nearest", "nearest-exact", "linear", "bicubic", "area", "bilinear", "trilinear"};
};
template <>
struct Choices<nn::PadMode> {
  static constexpr std::string_view kWhat = "padding mode";
  static constexpr std::array<std::string_view, 4> kNames = {"constant", "reflect", "replicate",
                                                             "circular"};
};

// An enumeration as its name.
template <class E>
E choice(std::string_view name) {
  std::string known;
  for (size_t i = 0; i < Choices<E>::kNames.size(); i++) {
    if (Choices<E>::kNames[i] == name) return static_cast<E>(i);
    known += (i == 0 ? "'" : ", '") + std::string(Choices<E>::kNames[i]) + "'";
  }
  fail(ErrorKind::InvalidArgument,
       "there is no " + std::string(Choices<E>::kWhat) + " '" + std::string(name) + "'",
       "Use one of " + known + ".");
}

// Filled from one number, or from one for each of N axes.
template <size_t N, class Axes>
bool fill_axes(nb::handle value, Axes& into) {
  if (PyLong_Check(value.ptr())) {
    into.values.fill(nb::cast<int64_t>(value));
    return true;
  }
  if (!nb::isinstance<nb::tuple>(value) && !nb::isinstance<nb::list>(value)) return false;
  const Shape each = shape_from(value);
  if (each.size() != N && each.size() != 1)
    fail(ErrorKind::InvalidArgument,
         std::to_string(each.size()) + " numbers for " + std::to_string(N) + " spatial axes",
         "Give one number for all of them, or one for each.");
  for (size_t i = 0; i < N; i++) into.values[i] = each[each.size() == 1 ? 0 : i];
  return true;
}

}  // namespace hologram::python

namespace nanobind::detail {

template <size_t N>
struct type_caster<hologram::nn::PerAxis<N>> {
  NB_TYPE_CASTER(hologram::nn::PerAxis<N>, const_name("int | collections.abc.Sequence[int]"))
  bool from_python(handle source, uint8_t, cleanup_list*) {
    return hologram::python::fill_axes<N>(source, value);
  }
};

template <size_t N>
struct type_caster<hologram::nn::ConvPadding<N>> {
  NB_TYPE_CASTER(hologram::nn::ConvPadding<N>,
                 const_name("int | collections.abc.Sequence[int] | str"))
  bool from_python(handle source, uint8_t, cleanup_list*) {
    if (!isinstance<str>(source)) return hologram::python::fill_axes<N>(source, value);
    const auto name = cast<std::string>(source);
    if (name != "same" && name != "valid")
      hologram::python::fail(hologram::ErrorKind::InvalidArgument,
                             "there is no padding '" + name + "'",
                             "Use numbers, 'same' or 'valid'.");
    if (name == "same") value = hologram::nn::ConvPadding<N>::same();
    return true;
  }
};

template <class E>
struct choice_caster {
  NB_TYPE_CASTER(E, const_name("str"))
  bool from_python(handle source, uint8_t, cleanup_list*) {
    if (!isinstance<str>(source)) return false;
    value = hologram::python::choice<E>(cast<std::string>(source));
    return true;
  }
};
template <>
struct type_caster<hologram::nn::Activation> : choice_caster<hologram::nn::Activation> {};
template <>
struct type_caster<hologram::nn::Approximate> : choice_caster<hologram::nn::Approximate> {};
template <>
struct type_caster<hologram::nn::Reduction> : choice_caster<hologram::nn::Reduction> {};
template <>
struct type_caster<hologram::nn::RopePairs> : choice_caster<hologram::nn::RopePairs> {};
template <>
struct type_caster<hologram::nn::Interpolation> : choice_caster<hologram::nn::Interpolation> {};
template <>
struct type_caster<hologram::nn::PadMode> : choice_caster<hologram::nn::PadMode> {};

}  // namespace nanobind::detail

namespace hologram::python {

void register_activations(nb::module_& m);
void register_layers(nb::module_& m);
void register_images(nb::module_& m);
void register_losses(nb::module_& m);
void register_steps(nb::module_& m);
void register_flat(nb::module_& m);
void register_precision(nb::module_& m);

}  // namespace hologram::python
