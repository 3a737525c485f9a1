// Models with random numbers, of every architecture.
#pragma once

#include <random>
#include <string>
#include <utility>
#include <vector>

#include "llm/gguf_writer.hpp"

namespace hologram::tests {

// What a made-up model of an architecture has.
struct Made {
  const char* architecture;
  int layers = 2;
  bool biases = false, head_norms = false, post_norms = false, joined = false, tied = false;
  int key_length = 16, window = 0, experts = 0;
  uint32_t type = 0;    // of matrices: 0 F32, 1 F16, 8 Q8_0
  int short_texts = 0;  // up to so many tokens, beyond which positions are turned otherwise
};
inline const Made kModels[] = {
    {.architecture = "llama", .tied = true, .type = 8},
    {.architecture = "llama", .experts = 4, .type = 8},
    {.architecture = "qwen2", .biases = true, .type = 1},
    {.architecture = "qwen3", .head_norms = true, .tied = true, .key_length = 24},
    {.architecture = "qwen3moe", .head_norms = true, .experts = 3, .type = 8},
    {.architecture = "phi3", .joined = true, .window = 5},
    {.architecture = "gemma", .tied = true, .key_length = 32},
    {.architecture = "gemma2", .post_norms = true, .tied = true, .window = 4, .type = 8},
    {.architecture = "gemma3",
     .layers = 6,
     .head_norms = true,
     .post_norms = true,
     .tied = true,
     .window = 4},
};
inline constexpr int kWidth = 64, kHeads = 4, kKeyHeads = 2, kWide = 96, kVocabulary = 80;

class ModelMaker {
 public:
  explicit ModelMaker(const Made& made) : made_(made) {}

  void save(const std::string& path) {
    const std::string a = std::string(made_.architecture) + ".";
    file_.text("general.architecture", made_.architecture)
        .number(a + "block_count", static_cast<uint32_t>(made_.layers))
        .number(a + "embedding_length", kWidth)
        .number(a + "feed_forward_length", kWide)
        .number(a + "context_length", 64)
        .number(a + "attention.head_count", kHeads)
        .number(a + "attention.head_count_kv", kKeyHeads)
        .number(a + "attention.key_length", static_cast<uint32_t>(made_.key_length))
        .number(a + "attention.value_length", static_cast<uint32_t>(made_.key_length))
        .number(a + "rope.dimension_count", static_cast<uint32_t>(made_.key_length))
        .real(a + "attention.layer_norm_rms_epsilon", 1e-5f)
        .real(a + "rope.freq_base", 1000);
    if (made_.window > 0)
      file_.number(a + "attention.sliding_window", static_cast<uint32_t>(made_.window));
    if (made_.experts > 0)
      file_.number(a + "expert_count", static_cast<uint32_t>(made_.experts))
          .number(a + "expert_used_count", 2);
    if (made_.short_texts > 0) {
      file_.number(a + "rope.scaling.original_context_length",
                   static_cast<uint32_t>(made_.short_texts));
      vector("rope_factors_short.weight", made_.key_length / 2, 1.5f);
      vector("rope_factors_long.weight", made_.key_length / 2, 4);
    }
    tokens();
    matrix("token_embd", kVocabulary, kWidth);
    if (!made_.tied) matrix("output", kVocabulary, kWidth);
    norm("output_norm", kWidth);
    for (int i = 0; i < made_.layers; i++) layer("blk." + std::to_string(i) + ".");
    file_.save(path);
  }

 private:
  // SentencePiece's, with the marks of ChatML and a piece for each of some characters.
  void tokens() {
    std::vector<std::string> pieces = {"<unk>",      "<s>", "</s>",  "<|im_start|>",
                                       "<|im_end|>", "\n",  "\u2581"};
    std::vector<int32_t> kinds = {2, 3, 3, 3, 3, 1, 1};
    for (char c = 'a'; c <= 'z'; c++) pieces.emplace_back(1, c);
    for (char c = 'A'; c <= 'Z'; c++) pieces.emplace_back(1, c);
    for (char c = '!'; pieces.size() < kVocabulary; c++) pieces.emplace_back(1, c);
    kinds.resize(kVocabulary, 1);
    file_.text("tokenizer.ggml.model", "llama")
        .texts("tokenizer.ggml.tokens", pieces)
        .numbers("tokenizer.ggml.scores", 6, std::vector<float>(kVocabulary))
        .numbers("tokenizer.ggml.token_type", 5, kinds)
        .number("tokenizer.ggml.bos_token_id", 1)
        .number("tokenizer.ggml.eos_token_id", 2)
        .text("tokenizer.chat_template",
              "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n"
              "{% endfor %}<|im_start|>assistant{{ '\n' }}");
  }
  void layer(const std::string& p) {
    const int queries = kHeads * made_.key_length, keys = kKeyHeads * made_.key_length;
    norm(p + "attn_norm", kWidth);
    norm(p + "ffn_norm", kWidth);
    if (made_.post_norms) {
      norm(p + "post_attention_norm", kWidth);
      norm(p + "post_ffw_norm", kWidth);
    }
    if (made_.head_norms) {
      norm(p + "attn_q_norm", made_.key_length);
      norm(p + "attn_k_norm", made_.key_length);
    }
    if (made_.joined) {
      matrix(p + "attn_qkv", queries + 2 * keys, kWidth);
      matrix(p + "ffn_up", 2 * kWide, kWidth);
    } else {
      matrix(p + "attn_q", queries, kWidth);
      matrix(p + "attn_k", keys, kWidth);
      matrix(p + "attn_v", keys, kWidth);
    }
    if (made_.biases)
      for (const auto& [name, length] :
           {std::pair("attn_q", queries), std::pair("attn_k", keys), std::pair("attn_v", keys)})
        vector(p + name + ".bias", length, 0);
    matrix(p + "attn_output", kWidth, queries);
    if (made_.experts > 0) {
      matrix(p + "ffn_gate_inp", made_.experts, kWidth, 1, 0);
      matrix(p + "ffn_gate_exps", kWide, kWidth, made_.experts);
      matrix(p + "ffn_up_exps", kWide, kWidth, made_.experts);
      matrix(p + "ffn_down_exps", kWidth, kWide, made_.experts);
      return;
    }
    if (!made_.joined) {
      matrix(p + "ffn_gate", kWide, kWidth);
      matrix(p + "ffn_up", kWide, kWidth);
    }
    matrix(p + "ffn_down", kWidth, kWide);
  }
  float drawn() { return static_cast<float>(static_cast<int32_t>(random_())) * 0x1p-31f; }
  void norm(const std::string& name, int length) { vector(name + ".weight", length, 1); }
  void vector(const std::string& name, int length, float middle) {
    std::string data;
    for (int i = 0; i < length; i++) {
      const float number = middle + drawn() / 4;
      data.append(reinterpret_cast<const char*>(&number), sizeof number);
    }
    file_.tensor(name, 0, {static_cast<uint64_t>(length)}, data);
  }
  void matrix(const std::string& name, int rows, int columns, int count = 1) {
    matrix(name, rows, columns, count, made_.type);
  }
  void matrix(const std::string& name, int rows, int columns, int count, uint32_t type) {
    std::string data;
    const int blocks = rows * count * columns / 32;
    for (int b = 0; b < blocks; b++) {
      const uint16_t scale = 0x1400;  // 2^-10
      if (type == 8) data.append(reinterpret_cast<const char*>(&scale), 2);
      for (int i = 0; i < 32; i++) {
        if (type == 8) {
          data += static_cast<char>(random_() >> 24);
        } else if (type == 1) {
          // A sign, an exponent for 2^-4 to 2^-3, and any mantissa.
          const auto half = static_cast<uint16_t>((random_() & 0x83ff) | 0x2c00);
          data.append(reinterpret_cast<const char*>(&half), 2);
        } else {
          const float number = drawn() / 4;
          data.append(reinterpret_cast<const char*>(&number), sizeof number);
        }
      }
    }
    std::vector<uint64_t> shape = {static_cast<uint64_t>(columns), static_cast<uint64_t>(rows)};
    if (count > 1) shape.push_back(static_cast<uint64_t>(count));
    file_.tensor(name + ".weight", type, shape, data);
  }

  const Made& made_;
  GgufWriter file_;
  std::mt19937 random_{17};
};

}  // namespace hologram::tests
