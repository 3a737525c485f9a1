#include "hologram/weights.hpp"

#include <cmath>

#include "core/messages.hpp"
#include "llm/source.hpp"

namespace hologram::llm {

struct Weights::State {
  std::shared_ptr<const Source> source;
  DecoderShape shape;
};

namespace {

DecoderShape shape_of(const Config& c) {
  DecoderShape s;
  s.architecture = c.architecture->name;
  s.layers = c.layers;
  s.width = c.width;
  s.feed_forward = c.feed_forward;
  s.vocabulary = c.vocabulary;
  s.context = c.context;
  s.heads = c.heads;
  s.key_heads = c.key_heads;
  s.key_length = c.key_length;
  s.value_length = c.value_length;
  s.rotated = c.rotated;
  for (int64_t i = 0; i < c.layers; i++) s.windows.push_back(c.attention(i).window);
  s.epsilon = c.epsilon;
  s.score_scale = c.attention(0).scale;
  s.attention_softcap = c.attention_softcap;
  s.final_softcap = c.final_softcap;
  if (c.architecture->scaled_embedding) s.embedding_scale = std::sqrt(static_cast<double>(c.width));
  s.gelu = c.architecture->activation == Activation::GeluTanh;
  return s;
}

// Where the row of a head lies that has its two halves one behind the other.
int64_t halves_row(const Config& c, int64_t row) {
  const int64_t length = c.key_length, half = length / 2, place = row % length;
  return row - place + (place < half ? 2 * place : 2 * (place - half) + 1);
}

bool is_turned(const std::string& name) {
  return name.find(".attn_q.") != std::string::npos || name.find(".attn_k.") != std::string::npos;
}

}  // namespace

Weights Weights::open(const std::string& path) {
  auto state = std::make_shared<State>();
  state->source = open_source(path);
  const Config& c = state->source->config();
  const char* const lacks = c.experts > 0                                  ? "experts"
                            : state->source->find("blk.0.attn_qkv.weight") ? "joined matrices"
                                                                           : nullptr;
  if (lacks != nullptr)
    throw core::error(core::Text::ModelLacks, path, std::string(lacks) + " to be fine-tuned",
                      "separate matrices and no experts");
  state->shape = shape_of(c);
  return Weights(std::move(state));
}

const DecoderShape& Weights::shape() const { return state_->shape; }
bool Weights::has(const std::string& name) const { return state_->source->find(name).has_value(); }

Tensor Weights::read(const std::string& name, const Executor& executor) const {
  const Source& source = *state_->source;
  const Config& c = source.config();
  const auto found = source.find(name);
  if (!found)
    throw core::error(core::Text::ModelDamaged, source.path(), "there is no '" + name + "'");
  const int64_t rows = found->rows * found->count, columns = found->columns;
  std::vector<float> numbers(static_cast<size_t>(rows * columns));
  for (int64_t r = 0; r < rows; r++) found->row(r, numbers.data() + r * columns);
  const bool matrix = !name.ends_with(".bias") && !name.ends_with("norm.weight");
  const int64_t outputs = matrix ? rows : columns, inputs = matrix ? columns : 1;
  if (c.rope == RopeKind::Neighbours && is_turned(name) && outputs % c.key_length == 0) {
    const std::vector<float> before = numbers;
    for (int64_t r = 0; r < outputs; r++)
      std::copy_n(before.begin() + halves_row(c, r) * inputs, inputs, numbers.begin() + r * inputs);
  }
  return Tensor::from_vector(std::move(numbers), matrix ? Shape{rows, columns} : Shape{columns},
                             executor);
}

std::pair<Tensor, Tensor> Weights::rotary(int64_t length, bool local,
                                          const Executor& executor) const {
  if (length < 1)
    throw core::error(core::Text::ModelArgument, "the length", length, "1 or more positions");
  const Rope rope = make_rope(state_->source->config(), local, length, executor);
  // Behind them may be those of shorter texts.
  return {rope.cosines.slice(0, {0, length}), rope.sines.slice(0, {0, length})};
}

}  // namespace hologram::llm
