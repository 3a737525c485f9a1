// Neural operations, for every dtype of floats, against plain loops.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "conformance/arrays.hpp"
#include "conformance/nn_oracle.hpp"
#include "conformance/operands.hpp"
#include "conformance/suite.hpp"
#include "hologram/gradient.hpp"
#include "hologram/nn.hpp"

namespace hologram::conformance {
namespace {

namespace oracle = nn_oracle;
using oracle::Reals;
using Tensors = std::vector<Tensor>;

struct Neural {
  std::string_view name, property;
  std::vector<Shape> shapes;
  Tensor (*run)(const Tensors& x);
  Reals (*expected)(const std::vector<Reals>& x);
  // How far a result may be from it: in roundings of what it is computed in, of the largest
  // expected; and roundings to the dtype itself.
  double units = 16, roundings = 1;
  bool by_library = false;  // whose order of additions is its own
};

const nn::AttentionOptions kCausal = {.is_causal = true, .enable_gqa = true},
                           kWindow = {.softcap = 2, .window = nn::AttentionWindow{2, 1}};

// The gradients of attention by the last operand, one behind the other; with sinks, theirs, too.
Tensor attention_changes(const Tensors& x, nn::AttentionOptions options, bool sinks = false) {
  Tensors inputs = {x[0], x[1], x[2]};
  if (sinks) inputs.push_back(x[3]);
  const auto attend = [&](const Tensors& in) -> Tensors {
    if (sinks) options.sinks = in[3];
    return {nn::scaled_dot_product_attention(in[0], in[1], in[2], options)};
  };
  Tensors all;
  for (const Tensor& t : vjp(attend, inputs).pullback({x.back()}))
    all.push_back(t.reshape({t.size()}));
  return ops::concat(all, 0);
}
constexpr int kAll = oracle::Attention::kAll;

// clang-format off
const Neural kNeural[] = {
  {"mish", "", {{7, 13}}, [](const Tensors& x) { return nn::mish(x[0]); }, [](const auto& x) { return oracle::each(x[0], [](oracle::Real v) { return v * std::tanh(std::log1p(std::exp(v))); }); }},
  {"hardswish", "", {{7, 13}}, [](const Tensors& x) { return nn::hardswish(x[0] * 4); }, [](const auto& x) { return oracle::each(x[0], [](oracle::Real v) { return 4 * v * std::clamp<oracle::Real>(4 * v + 3, 0, 6) / 6; }); }, 16, 2},
  {"selu", "", {{7, 13}}, [](const Tensors& x) { return nn::selu(x[0]); }, [](const auto& x) { return oracle::each(x[0], [](oracle::Real v) { return 1.0507009873554804934193349852946L * (v > 0 ? v : 1.6732632423543772848170429916717L * std::expm1(v)); }); }},
  {"swiglu", "", {{5, 22}}, [](const Tensors& x) { return nn::swiglu(x[0]); }, [](const auto& x) { return oracle::swiglu(x[0], 5, 11); }},
  {"linear", "with a bias and relu", {{3, 5, 20}, {17, 20}, {17}}, [](const Tensors& x) { return nn::linear(x[0], x[1], x[2], nn::Activation::Relu); }, [](const auto& x) { return oracle::linear(x[0], x[1], x[2], 15, 20, 17); }, 64, 2, true},
  {"conv1d", "strided", {{2, 3, 19}, {4, 3, 3}, {4}}, [](const Tensors& x) { return nn::conv1d(x[0], x[1], {.bias = x[2], .stride = 2, .padding = 1}); }, [](const auto& x) { return oracle::convolution(x[0], x[1], x[2], {2, 3, 4, {1, 1, 19}, {1, 1, 3}, {1, 1, 2}, {0, 0, 1}}); }, 64, 1, true},
  {"conv3d", "padded", {{1, 2, 5, 4, 6}, {3, 2, 2, 3, 3}, {3}}, [](const Tensors& x) { return nn::conv3d(x[0], x[1], {.bias = x[2], .padding = {0, 1, 1}}); }, [](const auto& x) { return oracle::convolution(x[0], x[1], x[2], {1, 2, 3, {5, 4, 6}, {2, 3, 3}, {1, 1, 1}, {0, 1, 1}}); }, 64, 1, true},
  {"conv_transpose2d", "strided", {{2, 3, 4, 5}, {3, 4, 3, 3}}, [](const Tensors& x) { return nn::conv_transpose2d(x[0], x[1], {.stride = 2, .padding = 1, .output_padding = 1}); }, [](const auto& x) { return oracle::transposed(x[0], x[1], {2, 3, 4, 4, 5, 3, 2, 1, 8, 10}); }, 64, 1, true},
  {"fold", "of an unfolded image", {{2, 3, 6, 7}}, [](const Tensors& x) { return nn::fold(nn::unfold(x[0], 3, {.padding = 1}), {6, 7}, 3, {.padding = 1}); }, [](const auto& x) { return oracle::refolded(x[0], 6, 6, 7); }},
  {"max_pool2d", "dilated", {{2, 3, 9, 10}}, [](const Tensors& x) { return nn::max_pool2d(x[0], 3, {.stride = 2, .padding = 1, .dilation = 2}); }, [](const auto& x) { return oracle::pooled(x[0], {6, 9, 10, 3, 2, 1, 2, true}, false); }, 0, 0},
  {"max_pool2d_with_indices", "", {{2, 3, 9, 10}}, [](const Tensors& x) { return nn::max_pool2d_with_indices(x[0], 3, {.stride = 2, .padding = 1}).indices.to(DType::F32); }, [](const auto& x) { return oracle::pooled(x[0], {6, 9, 10, 3, 2, 1, 1, true}, true); }, 0, 0},
  {"avg_pool2d", "ceil mode", {{2, 3, 9, 10}}, [](const Tensors& x) { return nn::avg_pool2d(x[0], 3, {.stride = 2, .padding = 1, .ceil_mode = true, .count_include_pad = false}); }, [](const auto& x) { return oracle::pooled(x[0], {6, 9, 10, 3, 2, 1, 1, false}, false); }},
  {"adaptive_avg_pool2d", "", {{2, 3, 7, 10}}, [](const Tensors& x) { return nn::adaptive_avg_pool2d(x[0], {3, 4}); }, [](const auto& x) { return oracle::adapted(x[0], 6, 7, 10, 3, 4); }},
  {"batch_norm", "training", {{6, 5, 3, 4}, {5}, {5}}, [](const Tensors& x) { return nn::batch_norm(x[0], {}, {}, {.weight = x[1], .bias = x[2], .training = true}).output; }, [](const auto& x) { return oracle::normalized(x[0], {6, 5, 12}, {true, false, true}, 1, x[1], x[2]); }, 64},
  {"batch_norm", "running variance", {{6, 5, 3, 4}, {5}, {5}}, [](const Tensors& x) { return nn::batch_norm(x[0], x[1], x[2], {.training = true}).running_var; }, [](const auto& x) { return oracle::running_variance(x[0], x[2], 6, 5, 12); }, 64},
  {"layer_norm", "", {{9, 37}, {37}, {37}}, [](const Tensors& x) { return nn::layer_norm(x[0], {37}, {.weight = x[1], .bias = x[2]}); }, [](const auto& x) { return oracle::normalized(x[0], {1, 9, 37}, {false, false, true}, 2, x[1], x[2]); }, 64},
  {"group_norm", "", {{2, 6, 7}, {6}, {6}}, [](const Tensors& x) { return nn::group_norm(x[0], 3, {.weight = x[1], .bias = x[2]}); }, [](const auto& x) { return oracle::grouped(x[0], x[1], x[2], 2, 6, 7, 3); }, 64},
  {"rms_norm", "", {{9, 37}, {37}}, [](const Tensors& x) { return nn::rms_norm(x[0], {37}, x[1], 1e-5); }, [](const auto& x) { return oracle::rms(x[0], x[1], 9, 37); }, 64},
  {"apply_rope", "halves", {{2, 5, 12}, {5, 4}, {5, 4}}, [](const Tensors& x) { return nn::apply_rope(x[0], x[1], x[2]); }, [](const auto& x) { return oracle::turned(x[0], x[1], x[2], {2, 5, 12, 8, false}); }},
  {"apply_rope", "interleaved", {{2, 5, 12}, {5, 6}, {5, 6}}, [](const Tensors& x) { return nn::apply_rope(x[0], x[1], x[2], nn::RopePairs::Interleaved); }, [](const auto& x) { return oracle::turned(x[0], x[1], x[2], {2, 5, 12, 12, true}); }},
  {"attention", "causal, grouped", {{2, 4, 7, 8}, {2, 2, 7, 8}, {2, 2, 7, 5}}, [](const Tensors& x) { return nn::scaled_dot_product_attention(x[0], x[1], x[2], kCausal); }, [](const auto& x) { return oracle::attention(x, {2, 4, 2, 7, 7, 8, 5, -1, 0, 0}); }, 64, 1, true},
  {"attention", "windows, soft cap", {{1, 2, 6, 8}, {1, 2, 9, 8}, {1, 2, 9, 5}}, [](const Tensors& x) { return nn::scaled_dot_product_attention(x[0], x[1], x[2], kWindow); }, [](const auto& x) { return oracle::attention(x, {1, 2, 2, 6, 9, 8, 5, 2, 1, 2}); }, 64, 1, true},
  {"attention", "tiles", {{1, 2, 70, 24}, {1, 2, 75, 24}, {1, 2, 75, 18}}, [](const Tensors& x) { return nn::scaled_dot_product_attention(x[0], x[1], x[2]); }, [](const auto& x) { return oracle::attention(x, {1, 2, 2, 70, 75, 24, 18, -1, kAll}); }, 64, 1, true},
  {"attention", "causal, grouped, tiles", {{1, 4, 67, 40}, {1, 2, 67, 40}, {1, 2, 67, 40}}, [](const Tensors& x) { return nn::scaled_dot_product_attention(x[0], x[1], x[2], kCausal); }, [](const auto& x) { return oracle::attention(x, {1, 4, 2, 67, 67, 40, 40, -1, 0}); }, 64, 1, true},
  {"attention", "a mask of bools", {{2, 2, 37, 8}, {2, 2, 45, 8}, {2, 2, 45, 9}, {37, 45}}, [](const Tensors& x) { return nn::scaled_dot_product_attention(x[0], x[1], x[2], {.mask = x[3] > 0}); }, [](const auto& x) { return oracle::attention(x, {2, 2, 2, 37, 45, 8, 9, -1, kAll, 0, 0, 3}); }, 64, 1, true},
  {"attention", "an added mask, sinks", {{2, 2, 37, 8}, {2, 2, 45, 8}, {2, 2, 45, 9}, {37, 45}, {2}}, [](const Tensors& x) { return nn::scaled_dot_product_attention(x[0], x[1], x[2], {.mask = x[3], .sinks = x[4]}); }, [](const auto& x) { return oracle::attention(x, {2, 2, 2, 37, 45, 8, 9, -1, kAll, 0, 0, 3, true, 4}); }, 64, 1, true},
  {"attention", "one query of a cache", {{1, 4, 1, 64}, {1, 2, 300, 64}, {1, 2, 300, 64}}, [](const Tensors& x) { return nn::scaled_dot_product_attention(x[0], x[1], x[2], {.is_causal = true, .enable_gqa = true, .query_offset = 280}); }, [](const auto& x) { return oracle::attention(x, {1, 4, 2, 1, 300, 64, 64, -1, 0, 0, 280}); }, 64, 1, true},
  {"attention", "parts of a long cache", {{1, 4, 3, 16}, {1, 2, 700, 16}, {1, 2, 700, 16}, {4}}, [](const Tensors& x) { return nn::scaled_dot_product_attention(x[0], x[1], x[2], {.is_causal = true, .enable_gqa = true, .query_offset = 200, .query_position = ops::full({1}, 450, DType::I32, x[0].executor()), .sinks = x[3]}); }, [](const auto& x) { return oracle::attention(x, {1, 4, 2, 3, 700, 16, 16, -1, 0, 0, 650, -1, false, 3}); }, 64, 1, true},
  {"attention", "gradients", {{1, 2, 70, 24}, {1, 2, 75, 24}, {1, 2, 75, 18}, {1, 2, 70, 18}}, [](const Tensors& x) { return attention_changes(x, {}); }, [](const auto& x) { return oracle::attention_changes(x, {1, 2, 2, 70, 75, 24, 18, -1, kAll}); }, 256, 1, true},
  {"attention", "gradients, causal, grouped, soft cap", {{1, 4, 67, 16}, {1, 2, 67, 16}, {1, 2, 67, 16}, {1, 4, 67, 16}}, [](const Tensors& x) { return attention_changes(x, {.is_causal = true, .enable_gqa = true, .softcap = 2}); }, [](const auto& x) { return oracle::attention_changes(x, {1, 4, 2, 67, 67, 16, 16, -1, 0, 2}); }, 256, 1, true},
  {"attention", "gradients, window, sinks", {{2, 2, 37, 8}, {2, 2, 45, 8}, {2, 2, 45, 9}, {2}, {2, 2, 37, 9}}, [](const Tensors& x) { return attention_changes(x, {.window = nn::AttentionWindow{9, 3}, .query_offset = 8}, true); }, [](const auto& x) { return oracle::attention_changes(x, {2, 2, 2, 37, 45, 8, 9, 9, 3, 0, 8, -1, false, 3}); }, 256, 1, true},
  {"cross_entropy", "smoothed", {{11, 29}}, [](const Tensors& x) { return nn::cross_entropy(x[0], ops::arange(1, 23, 2, DType::I64, x[0].executor()), {.reduction = nn::Reduction::None, .label_smoothing = 0.1}); }, [](const auto& x) { return oracle::cross_entropy(x[0], 11, 29, 0.1); }, 64},
  {"binary_cross_entropy_with_logits", "", {{7, 9}, {7, 9}}, [](const Tensors& x) { return nn::binary_cross_entropy_with_logits(x[0], x[1], {.reduction = nn::Reduction::None}); }, [](const auto& x) { return oracle::both(x[0], x[1], [](oracle::Real v, oracle::Real t) { return (1 - t) * v + std::log1p(std::exp(-v)); }); }},
  {"interpolate", "bilinear", {{2, 2, 5, 4}}, [](const Tensors& x) { return nn::interpolate(x[0], {.size = {9, 7}, .mode = nn::Interpolation::Linear, .align_corners = true}); }, [](const auto& x) { return oracle::bilinear(x[0], 4, 5, 4, 9, 7); }, 64},
};
// clang-format on

// What results may be off by the roundings of f32 (of f64 results f64's) on the way, and by the
// last ones, to the dtype.
Finding compare(const Suite& suite, const Neural& n, DType dtype, const Array& result,
                const Reals& expected) {
  Finding found;
  found.bound = 1;
  found.elements = result.size();
  if (result.size() != expected.size()) {
    found.wrong = "the shape is wrong";
    return found;
  }
  const Arithmetic& arithmetic = suite.arithmetic();
  oracle::Real largest = 0;
  for (const oracle::Real x : expected) largest = std::max(largest, std::fabs(x));
  const DType wide = compute_type(dtype);
  const double units = n.units * (1 + arithmetic.units_of_quotient() + arithmetic.units_of_root());
  for (size_t i = 0; i < result.size(); i++) {
    const Wide have = real_at(result.dtype(), result.data(), i), exact = expected[i];
    // Roundings before the last one are of what may be as large as any result.
    const double last = std::ldexp(1.0, -digits_of(dtype));
    const Wide allowed =
        (units * std::ldexp(1.0, -digits_of(wide)) + std::max(n.roundings - 1, 0.0) * last) *
            largest +
        std::min(n.roundings, 1.0) * last * magnitude(exact) + (dtype == DType::F16 ? 0x1p-25 : 0);
    const Wide off = magnitude(have - exact);
    found.measure(static_cast<double>(off == 0 ? 0 : off / allowed), i, have, exact);
  }
  return found;
}

}  // namespace

void nn_cases(Suite& suite) {
  for (const Neural& n : kNeural) {
    const std::string name = fmt::format("nn.{}", n.name);
    const auto operands = [&](DType dtype) {
      Generator generator(seed_of(name, dtype, n.property));
      std::vector<Array> arrays;
      for (const Shape& shape : n.shapes)
        arrays.push_back(plain_values(dtype, shape, -1, 1, generator));
      return arrays;
    };
    for (const DType dtype : {DType::F16, DType::BF16, DType::F32, DType::F64})
      suite.attempt(name, dtype, n.property.empty() ? "dense" : n.property, [&] {
        Tensors tensors;
        std::vector<Reals> reals;
        for (const Array& a : operands(dtype)) {
          tensors.push_back(Tensor::from(a, suite.ways().plain));
          reals.push_back(oracle::reals_of(a));
        }
        return compare(suite, n, dtype, n.run(tensors).array(), n.expected(reals));
      });
    if (n.by_library) continue;
    attempt_both(suite, name, DType::F32, [&](const Executor& executor) {
      Tensors tensors;
      for (const Array& a : operands(DType::F32)) tensors.push_back(Tensor::from(a, executor));
      return std::vector<Array>{n.run(tensors).array()};
    });
  }
}

}  // namespace hologram::conformance
