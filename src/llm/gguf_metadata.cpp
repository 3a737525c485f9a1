#include "llm/gguf_metadata.hpp"

#include <algorithm>
#include <cmath>

namespace hologram::llm {
namespace {

// Entries under the architecture's name.
class Entries {
 public:
  Entries(files::GgufWriter& to, std::string_view architecture)
      : to_(to), prefix_(std::string(architecture) + ".") {
    to_.text("general.architecture", architecture);
  }
  void count(const char* name, int64_t value) {
    to_.integer(prefix_ + name, static_cast<uint32_t>(value));
  }
  void count_if(const char* name, int64_t value) {
    if (value != 0) count(name, value);
  }
  void number(const char* name, double value) {
    to_.real(prefix_ + name, static_cast<float>(value));
  }
  void number_if(const char* name, double value) {
    if (value != 0) number(name, value);
  }
  void text(const char* name, std::string_view value) { to_.text(prefix_ + name, value); }

 private:
  files::GgufWriter& to_;
  const std::string prefix_;
};

void write_scaling(const RopeScaling& s, Entries& to) {
  using enum RopeScaling::Kind;
  // Llama 3's and longrope's factors are tensors.
  if (s.kind == Linear || s.kind == Yarn) {
    to.text("rope.scaling.type", s.kind == Linear ? "linear" : "yarn");
    to.number("rope.scaling.factor", s.factor);
  }
  if (s.kind == Yarn || s.kind == Long)
    to.count("rope.scaling.original_context_length", static_cast<int64_t>(s.original_context));
  if (s.kind == Yarn) {
    to.number("rope.scaling.yarn_beta_fast", s.beta_fast);
    to.number("rope.scaling.yarn_beta_slow", s.beta_slow);
  }
  // By contexts where none is given: the reader does not know them both.
  const double by_contexts = s.kind == Long && s.factor > 1
                                 ? std::sqrt(1 + std::log(s.factor) / std::log(s.original_context))
                                 : 0;
  to.number_if("rope.scaling.attn_factor",
               s.attention_factor > 0 ? s.attention_factor : by_contexts);
}

std::string_view name_of(TokenizerKind kind) {
  constexpr std::string_view kNames[] = {"gpt2", "llama", "t5", "bert"};
  return kNames[static_cast<size_t>(kind)];
}

// As GGUF has it: the beginnings of words are marked, not what goes on.
std::string word_piece(const Vocabulary& v, size_t i) {
  const std::string& piece = v.pieces[i];
  if (v.kinds[i] != TokenKind::Normal) return piece;
  const std::string& mark = v.words.continues;
  return !mark.empty() && piece.starts_with(mark) && piece != mark ? piece.substr(mark.size())
                                                                   : "\u2581" + piece;
}

}  // namespace

void write_config(const Config& c, files::GgufWriter& to) {
  Entries e(to, c.architecture->name);
  e.count("block_count", c.layers);
  e.count("embedding_length", c.width);
  e.count("feed_forward_length", c.feed_forward);
  e.count("context_length", c.context);
  e.count("attention.head_count", c.heads);
  e.count("attention.head_count_kv", c.key_heads);
  e.count("attention.key_length", c.key_length);
  e.count("attention.value_length", c.value_length);
  e.count("rope.dimension_count", c.rotated);
  e.count("vocab_size", c.vocabulary);
  e.count_if("attention.sliding_window", c.window);
  if (c.window != 0) to.integer("hologram.sliding_window", static_cast<uint32_t>(c.window));
  e.count_if("expert_count", c.experts);
  e.count_if("expert_used_count", c.experts_used);
  if (c.experts > 0) {
    e.count("expert_feed_forward_length", c.feed_forward);
    to.boolean(std::string(c.architecture->name) + ".expert_weights_norm", c.renormalised);
  }
  e.number("attention.layer_norm_rms_epsilon", c.epsilon);
  e.number("rope.freq_base", c.rope_base);
  e.number_if("rope.freq_base_swa", c.local_rope_base);
  e.number_if("attention.scale", c.query_scale);
  e.number_if("attn_logit_softcapping", c.attention_softcap);
  e.number_if("final_logit_softcapping", c.final_softcap);
  write_scaling(c.scaling, e);
}

void write_config(const EncoderConfig& c, files::GgufWriter& to) {
  Entries e(to, "bert");
  e.count("block_count", c.layers);
  e.count("embedding_length", c.width);
  e.count("feed_forward_length", c.feed_forward);
  e.count("context_length", c.context);
  e.count("attention.head_count", c.heads);
  e.number("attention.layer_norm_epsilon", c.epsilon);
  e.count("pooling_type", c.pooling == Pooling::Mean ? 1 : c.pooling == Pooling::First ? 2 : 3);
  to.boolean("bert.attention.causal", false);
}

void write_vocabulary(const Vocabulary& v, files::GgufWriter& to) {
  const std::string prefix = "tokenizer.ggml.";
  const bool words = v.kind == TokenizerKind::WordPiece;
  to.text(prefix + "model", name_of(v.kind));
  std::vector<std::string> pieces;
  std::vector<int32_t> kinds;
  for (size_t i = 0; i < v.size(); i++) {
    pieces.push_back(words ? word_piece(v, i) : v.pieces[i]);
    kinds.push_back(static_cast<int32_t>(v.kinds[i]));
  }
  to.texts(prefix + "tokens", pieces);
  to.integers(prefix + "token_type", kinds);
  if (v.kind == TokenizerKind::ByteBpe) {
    std::vector<std::string> merges(v.ranks.size());
    for (const auto& [pair, rank] : v.ranks) merges[static_cast<size_t>(rank)] = pair;
    to.texts(prefix + "merges", merges);
    to.text(prefix + "pre", pre_tokenizer_of(v.pattern_texts));
    // What that name stands for may be a little different elsewhere: here it is exact.
    to.texts("hologram.tokenizer.patterns", v.pattern_texts);
    to.boolean("hologram.tokenizer.whole_words", v.whole_words);
  } else if (!words) {
    to.reals(prefix + "scores", v.scores);
    to.boolean(prefix + "add_space_prefix", v.add_space);
  } else {
    to.boolean("hologram.tokenizer.clean", v.words.clean);
    to.boolean("hologram.tokenizer.separate_ideographs", v.words.separate_ideographs);
    to.boolean("hologram.tokenizer.strip_accents", v.words.strip_accents);
    to.boolean("hologram.tokenizer.lowercase", v.words.lowercase);
  }
  const auto id = [&](const char* name, int32_t token) {
    if (token >= 0) to.integer(prefix + name, static_cast<uint32_t>(token));
  };
  id(words ? "cls_token_id" : "bos_token_id", v.begin);
  id(words ? "seperator_token_id" : "eos_token_id", v.end);
  id("unknown_token_id", v.unknown);
  to.boolean(prefix + "add_bos_token", v.add_begin);
  to.boolean(prefix + "add_eos_token", v.add_end);
  if (!v.ends.empty()) to.integers("hologram.tokenizer.ends", v.ends);
  if (!v.chat_template.empty()) to.text("tokenizer.chat_template", v.chat_template);
}

}  // namespace hologram::llm
