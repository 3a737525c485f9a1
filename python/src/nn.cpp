// The module hologram._core.nn: neural operations by the names and options of torch.nn.functional.
// Parameters have their names here, so that the package takes the functions as they are.
#include "nn.hpp"

namespace hologram::python {
namespace {

using Optional = std::optional<Tensor>;
// Keys before and after a query's own position; each may be None.
using Window = std::optional<std::pair<std::optional<int64_t>, std::optional<int64_t>>>;

void register_linear(nb::module_& m) {
  m.def(
      "linear",
      [](const Tensor& x, const Tensor& weight, const Optional& bias, nn::Activation activation,
         nb::handle out_dtype) {
        return nn::linear(
            x, weight, bias, activation,
            out_dtype.is_none() ? std::nullopt : std::optional(dtype_from(out_dtype)));
      },
      "x"_a, "weight"_a, "bias"_a = nb::none(), "activation"_a = "none", nb::kw_only(),
      "out_dtype"_a.none() = nb::none(),
      "activation(x @ weight.T + bias) of x [..., in], weight [out, in] and bias [out].\n"
      "out_dtype: float32 keeps the sums of float16 and bfloat16.");
  m.def("bilinear", nn::bilinear, "x1"_a, "x2"_a, "weight"_a, "bias"_a = nb::none(),
        "The sum over i, j of x1[..., i] * weight[o, i, j] * x2[..., j], and bias[o].");
  m.def(
      "embedding",
      [](const Tensor& indices, const Tensor& weight, std::optional<int64_t> padding_idx) {
        return nn::embedding(indices, weight, padding_idx);
      },
      "indices"_a, "weight"_a, "padding_idx"_a = nb::none(),
      "Rows of weight [rows, features] by integers of any shape: [..., features]. The row of\n"
      "padding_idx gets no gradient.");
  m.def("one_hot", nn::one_hot, "indices"_a, "num_classes"_a = -1,
        "int64 [..., classes]: 1 at each integer's place.");
}

nn::AttentionOptions attention_options(Optional mask, double dropout_p, bool is_causal,
                                       std::optional<double> scale, bool enable_gqa, double softcap,
                                       const Window& window, int64_t query_offset, Optional sinks,
                                       Optional query_position) {
  nn::AttentionOptions options{std::move(mask), dropout_p, is_causal, scale, enable_gqa, softcap};
  if (window) options.window = nn::AttentionWindow{window->first, window->second};
  options.query_offset = query_offset;
  options.query_position = std::move(query_position);
  options.sinks = std::move(sinks);
  return options;
}

void register_attention(nb::module_& m) {
  m.def(
      "scaled_dot_product_attention",
      [](const Tensor& query, const Tensor& key, const Tensor& value, Optional attn_mask,
         double dropout_p, bool is_causal, std::optional<double> scale, bool enable_gqa,
         double softcap, Window window, int64_t query_offset, Optional sinks,
         Optional query_position) {
        return nn::scaled_dot_product_attention(
            query, key, value,
            attention_options(std::move(attn_mask), dropout_p, is_causal, scale, enable_gqa,
                              softcap, window, query_offset, std::move(sinks),
                              std::move(query_position)));
      },
      "query"_a, "key"_a, "value"_a, "attn_mask"_a = nb::none(), "dropout_p"_a = 0.0,
      "is_causal"_a = false, nb::kw_only(), "scale"_a = nb::none(), "enable_gqa"_a = false,
      "softcap"_a = 0.0, "window"_a = nb::none(), "query_offset"_a = 0, "sinks"_a = nb::none(),
      "query_position"_a = nb::none(),
      "softmax(scale * query @ key.mT + mask) @ value of [..., heads, length, features]. A bool\n"
      "mask is true where a key may be seen. window: (before, after) of a sliding window, each\n"
      "may be None; query_offset: the position of the first query among the keys; sinks [heads]:\n"
      "one more score a head. query_position: an integer tensor of one element, which is added to\n"
      "query_offset, and read when the result is computed: by each launch of a captured graph.");
  m.def(
      "attention_weights",
      [](const Tensor& query, const Tensor& key, Optional attn_mask, bool is_causal,
         std::optional<double> scale, bool enable_gqa, double softcap, Window window,
         int64_t query_offset, Optional sinks, Optional query_position) {
        return nn::attention_weights(
            query, key,
            attention_options(std::move(attn_mask), 0, is_causal, scale, enable_gqa, softcap,
                              window, query_offset, std::move(sinks), std::move(query_position)));
      },
      "query"_a, "key"_a, "attn_mask"_a = nb::none(), "is_causal"_a = false, nb::kw_only(),
      "scale"_a = nb::none(), "enable_gqa"_a = false, "softcap"_a = 0.0, "window"_a = nb::none(),
      "query_offset"_a = 0, "sinks"_a = nb::none(), "query_position"_a = nb::none(),
      "The weights of scaled_dot_product_attention: [..., heads, queries, keys].");
  // Of hologram_torch, whose graphs forward and backward are captured apart.
  m.def(
      "_attention_with_kept",
      [](const Tensor& query, const Tensor& key, const Tensor& value, Optional mask, bool is_causal,
         std::optional<double> scale, bool enable_gqa) {
        nn::KeptAttention made = nn::attention_with_kept(
            query, key, value,
            attention_options(std::move(mask), 0, is_causal, scale, enable_gqa, 0, {}, 0, {}, {}));
        return nb::make_tuple(object_from(made.result), object_from(made.kept));
      },
      "query"_a, "key"_a, "value"_a, "mask"_a.none(), "is_causal"_a, "scale"_a.none(),
      "enable_gqa"_a);
  m.def(
      "_attention_changes",
      [](const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& result,
         const Tensor& kept, const Tensor& change, Optional mask, bool is_causal,
         std::optional<double> scale, bool enable_gqa) {
        nb::list list;
        for (Tensor& each :
             nn::attention_changes(query, key, value, result, kept, change,
                                   attention_options(std::move(mask), 0, is_causal, scale,
                                                     enable_gqa, 0, {}, 0, {}, {})))
          list.append(object_from(std::move(each)));
        return list;
      },
      "query"_a, "key"_a, "value"_a, "result"_a, "kept"_a, "change"_a, "mask"_a.none(),
      "is_causal"_a, "scale"_a.none(), "enable_gqa"_a);
  m.def(
      "rope",
      [](const Tensor& x, int64_t dims, double base, double scale, int64_t offset,
         Optional positions, Optional frequencies, nn::RopePairs pairs) {
        return nn::rope(
            x, {dims, base, scale, offset, std::move(positions), std::move(frequencies), pairs});
      },
      "x"_a, nb::kw_only(), "dims"_a = 0, "base"_a = 10000.0, "scale"_a = 1.0, "offset"_a = 0,
      "positions"_a = nb::none(), "frequencies"_a = nb::none(), "pairs"_a = "halves",
      "Rotary position embedding of x [..., length, features]: pairs 'halves' (i, i + dims / 2) "
      "or\n"
      "'interleaved' (2 i, 2 i + 1) turn by position * scale * base^(-2 i / dims).");
  m.def("apply_rope", nn::apply_rope, "x"_a, "cos"_a, "sin"_a, "pairs"_a = "halves",
        "The same by cosines and sines of the angles, [..., length, dims / 2] or [..., length, "
        "dims].");
}

}  // namespace

void register_layers(nb::module_& m) {
  register_linear(m);
  register_attention(m);
}

void register_nn(nb::module_& m) {
  nb::module_ part = m.def_submodule("nn", "Neural operations; use the package hologram.nn.");
  register_activations(part);
  register_layers(part);
  register_images(part);
  register_losses(part);
  register_steps(part);
  register_flat(part);
  register_precision(part);
}

}  // namespace hologram::python
