#include "llm/config.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace hologram::llm {
namespace {

using enum RopeKind;
using enum Activation;

constexpr Architecture kArchitectures[] = {
    // name, class, rope, activation, scaled embedding, period, norms plus 1
    {"llama", "LlamaForCausalLM", Neighbours, Silu, false, 0, false},
    {"llama", "MistralForCausalLM", Neighbours, Silu, false, 0, false},
    {"llama", "MixtralForCausalLM", Neighbours, Silu, false, 0, false},
    {"qwen2", "Qwen2ForCausalLM", Halves, Silu, false, 0, false},
    {"qwen3", "Qwen3ForCausalLM", Halves, Silu, false, 0, false},
    {"qwen3moe", "Qwen3MoeForCausalLM", Halves, Silu, false, 0, false},
    {"phi3", "Phi3ForCausalLM", Halves, Silu, false, 0, false},
    {"gemma", "GemmaForCausalLM", Halves, GeluTanh, true, 0, true},
    {"gemma2", "Gemma2ForCausalLM", Halves, GeluTanh, true, 2, true},
    {"gemma3", "Gemma3ForCausalLM", Halves, GeluTanh, true, 6, true},
};

// The frequencies of pairs, radians a position, and the factor of cosines and sines.
struct Frequencies {
  std::vector<double> each;
  double factor = 1;
};

// Yarn: Peng et al. 2023. Slow frequencies are divided by the factor, fast ones stay, those between
// are mixed.
void yarn(const RopeScaling& s, double base, int64_t rotated, Frequencies& f) {
  const auto pair_of = [&](double turns) {
    return static_cast<double>(rotated) *
           std::log(s.original_context / (turns * 2 * std::numbers::pi)) / (2 * std::log(base));
  };
  const double low = std::max(0.0, std::floor(pair_of(s.beta_fast)));
  const double high = std::min(static_cast<double>(rotated - 1), std::ceil(pair_of(s.beta_slow)));
  for (size_t i = 0; i < f.each.size(); i++) {
    const double ramp =
        std::clamp((static_cast<double>(i) - low) / std::max(0.001, high - low), 0.0, 1.0);
    f.each[i] *= ramp / s.factor + (1 - ramp);
  }
  f.factor = s.attention_factor > 0 ? s.attention_factor : 1 + 0.1 * std::log(s.factor);
}

void llama3(const RopeScaling& s, Frequencies& f) {
  for (double& each : f.each) {
    const double length = 2 * std::numbers::pi / each;
    const double slow = s.original_context / s.low_frequency,
                 fast = s.original_context / s.high_frequency;
    const double smooth =
        (s.original_context / length - s.low_frequency) / (s.high_frequency - s.low_frequency);
    if (length > slow) each /= s.factor;
    else if (length > fast) each *= (1 - smooth) / s.factor + smooth;
  }
}

Frequencies frequencies(const Config& c, bool local, int64_t length) {
  const bool own = local && c.local_rope_base > 0;
  const double base = own ? c.local_rope_base : c.rope_base;
  Frequencies f;
  for (int64_t i = 0; i < c.rotated / 2; i++)
    f.each.push_back(
        std::pow(base, -2.0 * static_cast<double>(i) / static_cast<double>(c.rotated)));
  if (own) return f;  // what lies within a window needs no scaling
  const RopeScaling& s = c.scaling;
  const auto& factors = c.is_long(length) ? s.long_factors : s.factors;
  for (size_t i = 0; i < std::min(factors.size(), f.each.size()); i++) f.each[i] /= factors[i];
  switch (s.kind) {
    case RopeScaling::Kind::None: break;
    case RopeScaling::Kind::Linear:
      for (double& each : f.each) each /= s.factor;
      break;
    case RopeScaling::Kind::Yarn: yarn(s, base, c.rotated, f); break;
    case RopeScaling::Kind::Llama3: llama3(s, f); break;
    case RopeScaling::Kind::Long:
      if (s.attention_factor > 0) f.factor = s.attention_factor;
      else if (s.factor > 1)
        f.factor = std::sqrt(1 + std::log(s.factor) / std::log(s.original_context));
      break;
  }
  return f;
}

}  // namespace

const Architecture* architecture(std::string_view name) {
  for (const Architecture& a : kArchitectures)
    if (a.name == name) return &a;
  return nullptr;
}

const Architecture* architecture_of_class(std::string_view hugging) {
  for (const Architecture& a : kArchitectures)
    if (a.hugging == hugging) return &a;
  return nullptr;
}

std::string architecture_names() {
  std::string all;
  for (const Architecture& a : kArchitectures)
    if (architecture(a.name) == &a) all += (all.empty() ? "" : ", ") + std::string(a.name);
  return all;
}

bool Config::sees_all(int64_t layer) const {
  const int period = architecture->window_period;
  return window == 0 || (period > 0 && layer % period == period - 1);
}

bool Config::is_long(int64_t length) const {
  return scaling.kind == RopeScaling::Kind::Long &&
         static_cast<double>(length) > scaling.original_context;
}

AttentionShape Config::attention(int64_t layer) const {
  AttentionShape shape;
  shape.heads = heads;
  shape.key_heads = key_heads;
  shape.key_length = key_length;
  shape.value_length = value_length;
  shape.rotated = rotated;
  shape.rope = rope;
  shape.scale = static_cast<float>(
      query_scale > 0 ? query_scale : 1 / std::sqrt(static_cast<double>(key_length)));
  shape.softcap = static_cast<float>(attention_softcap);
  shape.window = sees_all(layer) ? 0 : window;
  return shape;
}

std::vector<float> llama3_factors(const Config& config) {
  Config unscaled = config;
  unscaled.scaling = {};
  const Frequencies before = frequencies(unscaled, false, 1), after = frequencies(config, false, 1);
  std::vector<float> factors;
  for (size_t i = 0; i < before.each.size(); i++)
    factors.push_back(static_cast<float>(before.each[i] / after.each[i]));
  return factors;
}

Rope make_rope(const Config& config, bool local, int64_t capacity, const Executor& executor) {
  std::vector<float> cosines, sines;
  const auto add = [&](int64_t length) {
    const Frequencies f = frequencies(config, local, length);
    for (int64_t position = 0; position < length; position++)
      for (const double each : f.each) {
        const double angle = static_cast<double>(position) * each;
        cosines.push_back(static_cast<float>(std::cos(angle) * f.factor));
        sines.push_back(static_cast<float>(std::sin(angle) * f.factor));
      }
  };
  add(capacity);
  if (config.is_long(capacity)) add(static_cast<int64_t>(config.scaling.original_context));
  const int64_t pairs = config.rotated / 2;
  const int64_t rows = pairs > 0 ? static_cast<int64_t>(cosines.size()) / pairs : capacity;
  return {Tensor::from_vector(std::move(cosines), {rows, pairs}, executor),
          Tensor::from_vector(std::move(sines), {rows, pairs}, executor)};
}

}  // namespace hologram::llm
