// What tensors compute is what NumPy says, but for the differences that docs/semantics.md lists.
// tests/semantics/generate.py writes the cases; this program runs them through the public API.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "core/half.hpp"
#include "graph/elementwise.hpp"
#include "hologram/error.hpp"
#include "hologram/ops.hpp"
#include "share.hpp"

namespace hologram {
namespace {

using Json = nlohmann::json;
using Operands = std::vector<Operand>;

std::vector<std::byte> bytes_of(const std::string& hex) {
  std::vector<std::byte> bytes(hex.size() / 2);
  for (size_t i = 0; i < bytes.size(); i++)
    bytes[i] = static_cast<std::byte>(std::stoi(hex.substr(2 * i, 2), nullptr, 16));
  return bytes;
}

Tensor tensor_of(const Json& j) {
  const DType dtype = parse_dtype(j.at("dtype").get<std::string>()).value();
  const auto bytes = std::make_shared<const std::vector<std::byte>>(bytes_of(j.at("bytes")));
  return Tensor::from(Array::borrow(dtype, j.at("shape").get<Shape>(),
                                    static_cast<const void*>(bytes->data()), bytes));
}

double real_of(const Json& j) { return std::strtod(j.get<std::string>().c_str(), nullptr); }

Operand operand_of(const Json& j, const std::vector<Tensor>& values) {
  if (j.is_number()) return values.at(j.get<size_t>());
  if (j.contains("bool")) return j.at("bool").get<bool>();
  if (j.contains("int") && j["int"].is_number_unsigned()) return j["int"].get<uint64_t>();
  if (j.contains("int")) return j.at("int").get<int64_t>();
  return real_of(j.at("float"));
}

using Unary = Tensor (*)(const Operand&);
using Binary = Tensor (*)(const Operand&, const Operand&);
using Ternary = Tensor (*)(const Operand&, const Operand&, const Operand&);

// clang-format off
const std::map<std::string, Unary> kUnary = {
  {"neg", ops::neg}, {"abs", ops::abs}, {"sign", ops::sign}, {"floor", ops::floor},
  {"ceil", ops::ceil}, {"round", ops::round}, {"trunc", ops::trunc}, {"sqrt", ops::sqrt},
  {"rsqrt", ops::rsqrt}, {"square", ops::square}, {"reciprocal", ops::reciprocal},
  {"exp", ops::exp}, {"exp2", ops::exp2}, {"expm1", ops::expm1}, {"log", ops::log},
  {"log2", ops::log2}, {"log10", ops::log10}, {"log1p", ops::log1p}, {"sin", ops::sin},
  {"cos", ops::cos}, {"tan", ops::tan}, {"asin", ops::asin}, {"acos", ops::acos},
  {"atan", ops::atan}, {"sinh", ops::sinh}, {"cosh", ops::cosh}, {"tanh", ops::tanh},
  {"erf", ops::erf}, {"sigmoid", ops::sigmoid}, {"relu", ops::relu}, {"gelu", ops::gelu},
  {"gelu_tanh", ops::gelu_tanh}, {"silu", ops::silu}, {"softplus", ops::softplus},
  {"isnan", ops::isnan}, {"isinf", ops::isinf}, {"isfinite", ops::isfinite},
  {"asinh", ops::asinh}, {"acosh", ops::acosh}, {"atanh", ops::atanh}, {"sinc", ops::sinc}, {"erfinv", ops::erfinv}, {"lgamma", ops::lgamma},
  {"cbrt", ops::cbrt}, {"signbit", ops::signbit},
  {"logical_not", ops::logical_not}, {"bitwise_not", ops::bitwise_not},
};
const std::map<std::string, Binary> kBinary = {
  {"add", ops::add}, {"sub", ops::sub}, {"mul", ops::mul}, {"div", ops::div},
  {"floor_div", ops::floor_div}, {"rem", ops::rem}, {"copysign", ops::copysign},
  {"minimum", ops::minimum}, {"maximum", ops::maximum}, {"pow", ops::pow}, {"hypot", ops::hypot},
  {"logaddexp", ops::logaddexp}, {"atan2", ops::atan2}, {"eq", ops::eq}, {"ne", ops::ne},
  {"lt", ops::lt}, {"le", ops::le}, {"gt", ops::gt}, {"ge", ops::ge},
  {"logical_and", ops::logical_and}, {"logical_or", ops::logical_or},
  {"logical_xor", ops::logical_xor}, {"bitwise_and", ops::bitwise_and},
  {"bitwise_or", ops::bitwise_or}, {"bitwise_xor", ops::bitwise_xor},
  {"shift_left", ops::shift_left}, {"shift_right", ops::shift_right},
};
const std::map<std::string, Ternary> kTernary = {
  {"clamp", ops::clamp}, {"mad", ops::mad}, {"fma", ops::fma}, {"lerp", ops::lerp},
  {"where", ops::where},
};
using WithNumber = Tensor (*)(const Operand&, double);
const std::map<std::string, std::pair<WithNumber, double>> kWithNumber = {
  {"leaky_relu", {ops::leaky_relu, 0.01}}, {"elu", {ops::elu, 1}},
};
using Reduction = Tensor (*)(const Tensor&, const ops::Axes&, bool);
const std::map<std::string, Reduction> kReductions = {
  {"sum", ops::sum}, {"prod", ops::prod}, {"mean", ops::mean}, {"min", ops::min},
  {"max", ops::max}, {"any", ops::any}, {"all", ops::all}, {"logsumexp", ops::logsumexp},
};
// clang-format on

template <class T>
T option(const Json& options, const char* name, T otherwise) {
  return options.contains(name) ? options.at(name).get<T>() : otherwise;
}

std::optional<Tensor> elementwise(const std::string& name, const Operands& x, const Json& options) {
  if (const auto f = kUnary.find(name); f != kUnary.end()) return f->second(x.at(0));
  if (const auto f = kBinary.find(name); f != kBinary.end()) return f->second(x.at(0), x.at(1));
  if (const auto f = kTernary.find(name); f != kTernary.end())
    return f->second(x.at(0), x.at(1), x.at(2));
  if (const auto f = kWithNumber.find(name); f != kWithNumber.end())
    return f->second.first(
        x.at(0), option<std::vector<double>>(options, "attributes", {f->second.second})[0]);
  return {};
}

std::optional<Tensor> reduction(const std::string& name, const Tensor& x, const Json& options) {
  const auto axes = option<std::vector<int>>(options, "axes", {});
  const bool keep = option(options, "keep", false);
  if (const auto f = kReductions.find(name); f != kReductions.end())
    return f->second(x, axes, keep);
  if (name == "var" || name == "std")
    return (name == "var" ? ops::var : ops::std)(x, axes, option(options, "correction", 0), keep);
  if (name == "norm") {
    const Json order = options.value("order", Json(2));
    return ops::norm(x, order.is_string() ? real_of(order) : order.get<double>(), axes, keep);
  }
  if (name == "softmax") return ops::softmax(x, axes.at(0));
  if (name == "log_softmax") return ops::log_softmax(x, axes.at(0));
  std::optional<int> axis;
  if (!axes.empty()) axis = axes[0];
  if (name == "argmin") return ops::argmin(x, axis, keep);
  if (name == "argmax") return ops::argmax(x, axis, keep);
  return {};
}

Slice slice_of(const Json& j) {
  const auto end = [](const Json& k) {
    return k.is_null() ? std::nullopt : std::optional(k.get<int64_t>());
  };
  return {end(j.at(0)), end(j.at(1)), j.at(2).get<int64_t>()};
}

Tensor view(const std::string& name, const Tensor& x, const Json& options) {
  const auto axes = option<std::vector<int>>(options, "axes", {});
  const auto shape = option<Shape>(options, "shape", {});
  if (name == "to") return x.to(parse_dtype(options.at("dtype").get<std::string>()).value());
  if (name == "slice") {
    std::vector<Slice> parts;
    for (const Json& part : options.at("parts")) parts.push_back(slice_of(part));
    return x.slice(parts);
  }
  if (name == "select") return x.select(options.at("axis"), options.at("index"));
  if (name == "transpose") return x.transpose(axes.at(0), axes.at(1));
  if (name == "permute") return x.permute(axes);
  if (name == "flip") return x.flip(axes);
  if (name == "squeeze") return options.contains("axis") ? x.squeeze(options["axis"]) : x.squeeze();
  if (name == "unsqueeze") return x.unsqueeze(options.at("axis"));
  if (name == "flatten") return x.flatten(axes.at(0), axes.at(1));
  if (name == "reshape") return x.reshape(shape);
  if (name == "broadcast_to") return x.broadcast_to(shape);
  throw std::out_of_range("no operation " + name);
}

ops::Extent pair_of(const Json& options, const char* name) {
  const auto both = option<std::vector<int64_t>>(options, name, {1, 1});
  return {both.at(0), both.at(1)};
}
ops::Padding2d border_of(const Json& options) {
  if (option(options, "same", false)) return ops::Padding2d::same();
  const auto sides = option<std::vector<int64_t>>(options, "padding", {0, 0, 0, 0});
  return {sides.at(0), sides.at(1), sides.at(2), sides.at(3)};
}
ops::ImageLayout layout_of(const Json& options) {
  return option(options, "planes", false) ? ops::ImageLayout::Nchw : ops::ImageLayout::Nhwc;
}

Tensor pool(const std::string& name, const Tensor& x, const Json& options) {
  ops::Pool2d how{.kernel = pair_of(options, "kernel"),
                  .padding = border_of(options),
                  .count_include_pad = option(options, "counts", false),
                  .layout = layout_of(options)};
  if (options.contains("stride")) how.stride = pair_of(options, "stride");
  return (name == "max_pool2d" ? ops::max_pool2d : ops::avg_pool2d)(x, how);
}

Tensor convolve(const Operands& x, const Json& options) {
  ops::Conv2d how{.stride = pair_of(options, "stride"),
                  .padding = border_of(options),
                  .dilation = pair_of(options, "dilation"),
                  .groups = option<int64_t>(options, "groups", 1),
                  .layout = layout_of(options)};
  if (x.size() > 2) how.bias = x[2].tensor();
  return ops::conv2d(x.at(0).tensor(), x.at(1).tensor(), how);
}

Tensor run(const Json& c) {
  std::vector<Tensor> values;
  for (const Json& j : c.at("in")) values.push_back(tensor_of(j));
  for (const Json& step : c.at("do")) {
    const auto name = step.at(0).get<std::string>();
    const Json& options = step.at(2);
    Operands operands;
    for (const Json& j : step.at(1)) operands.push_back(operand_of(j, values));
    std::optional<Tensor> result = elementwise(name, operands, options);
    if (name == "conv2d") result = convolve(operands, options);
    if (name == "max_pool2d" || name == "avg_pool2d")
      result = pool(name, operands.at(0).tensor(), options);
    if (!result) result = reduction(name, operands.at(0).tensor(), options);
    values.push_back(result ? *result : view(name, operands.at(0).tensor(), options));
  }
  return values.back();
}

// An element as bits and, of a float, as a number.
struct Element {
  uint64_t bits = 0;
  double number = 0;
};
Element element(DType dtype, const std::byte* data, size_t i) {
  Element e;
  std::memcpy(&e.bits, data + i * size_of(dtype), size_of(dtype));
  if (dtype == DType::F16) e.number = core::f16_to_f32(static_cast<uint16_t>(e.bits));
  if (dtype == DType::BF16) e.number = core::bf16_to_f32(static_cast<uint16_t>(e.bits));
  if (dtype == DType::F32) e.number = std::bit_cast<float>(static_cast<uint32_t>(e.bits));
  if (dtype == DType::F64) e.number = std::bit_cast<double>(e.bits);
  return e;
}

struct Format {
  int digits, lowest;  // bits of the significand, exponent of the smallest normal number
};
Format format_of(DType dtype) {
  switch (dtype) {
    case DType::F16: return {11, -14};
    case DType::BF16: return {8, -126};
    case DType::F32: return {24, -126};
    default: return {53, -1022};
  }
}
double unit_in_last_place(DType dtype, double number) {
  const Format format = format_of(dtype);
  int exponent = 0;
  std::frexp(number, &exponent);
  return std::ldexp(1.0, std::max(exponent - 1, format.lowest) - format.digits + 1);
}

// How many units of the last place a result may be off; the expected one has been rounded itself.
double units_allowed(const Json& tolerance, DType dtype) {
  if (size_of(dtype) == 2) return 1;
  if (tolerance.contains("of"))
    return 0.5 + graph::elementwise(tolerance.at("of").get<std::string>()).ulps;
  return 6 + 2 * std::log2(1 + tolerance.at("terms").get<double>());
}

std::string difference(const Json& c, const Array& have) {
  const std::vector<std::byte> want = bytes_of(c.at("bytes"));
  const DType dtype = have.dtype();
  const Json tolerance = c.value("tolerance", Json());
  const std::vector<std::byte> scales =
      bytes_of(tolerance.is_null() ? "" : tolerance.value("scale", ""));
  for (size_t i = 0; i < have.size(); i++) {
    const Element a = element(dtype, have.data(), i), b = element(dtype, want.data(), i);
    if (a.bits == b.bits || (std::isnan(a.number) && std::isnan(b.number))) continue;
    if (!tolerance.is_null()) {
      const double size =
          scales.empty() ? std::fabs(b.number) : element(DType::F64, scales.data(), i).number;
      const double off = std::fabs(a.number - b.number);
      if (off <= units_allowed(tolerance, dtype) * unit_in_last_place(dtype, size)) continue;
    }
    return is_float(dtype) ? fmt::format("element {} is {}, not {}", i, a.number, b.number)
                           : fmt::format("element {} is {:#x}, not {:#x}", i, a.bits, b.bits);
  }
  return {};
}

std::string outcome(const Json& c) {
  const auto refused = c.value("error", std::string());
  try {
    const Tensor result = run(c);
    if (!refused.empty()) return "no error, but expected " + refused;
    if (name_of(result.dtype()) != c.at("dtype").get<std::string>())
      return "dtype " + std::string(name_of(result.dtype()));
    if (result.shape() != c.at("shape").get<Shape>()) return "shape " + to_string(result.shape());
    const Array array = result.array();
    if (array.shape() != result.shape() || array.dtype() != result.dtype())
      return "the array differs from its tensor";
    return difference(c, array);
  } catch (const Error& error) {
    return name_of(error.kind()) == refused ? "" : error.what();
  }
}

TEST(Semantics, AreThoseOfNumPyButForTheListedDifferences) {
  std::ifstream file(HOLOGRAM_CASES);
  ASSERT_TRUE(file) << HOLOGRAM_CASES << " is missing: python3-numpy makes it";
  size_t cases = 0, wrong = 0;
  std::set<std::string> names;
  tests::Share share;
  for (std::string line; std::getline(file, line); cases++) {
    const Json c = Json::parse(line);
    for (const Json& step : c.at("do")) names.insert(step.at(0));
    if (!share.next()) continue;
    const std::string what = outcome(c);
    if (what.empty()) continue;
    if (wrong++ < 40)
      ADD_FAILURE() << c.at("name") << ": " << what << "\n  " << line.substr(0, 1000);
  }
  EXPECT_EQ(wrong, 0u);
  EXPECT_GE(cases, 5000u);
  for (const graph::ElementwiseOp& op : graph::elementwise_table())
    EXPECT_TRUE(names.contains(std::string(op.name))) << op.name << " has no case";
}

}  // namespace
}  // namespace hologram
