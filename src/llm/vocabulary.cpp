#include "llm/vocabulary.hpp"

#include <algorithm>
#include <array>

#include "core/messages.hpp"
#include "files/gguf.hpp"

namespace hologram::llm {
namespace {

using core::Text;

// What models call the token behind an answer.
constexpr std::string_view kEndNames[] = {"<|eot_id|>",    "<|im_end|>",
                                          "<|end|>",       "<end_of_turn>",
                                          "<|endoftext|>", "<|end_of_text|>",
                                          "<EOT>",         "<|eom_id|>",
                                          "_<EOT>",        "<｜end▁of▁sentence｜>",
                                          "</s>",          "<eos>",
                                          "<turn|>"};

struct KindRow {
  std::string_view name;
  TokenizerKind kind;
};
constexpr KindRow kKinds[] = {
    {"gpt2", TokenizerKind::ByteBpe},
    {"llama", TokenizerKind::ScoredBpe},
    {"t5", TokenizerKind::Unigram},
    {"bert", TokenizerKind::WordPiece},
};

// What `quantize` writes beside, where GGUF has no words for it.
void read_own(const files::Gguf& file, Vocabulary& v) {
  const std::string prefix = "hologram.tokenizer.";
  if (const auto texts = file.texts(prefix + "patterns"); !texts.empty()) {
    v.patterns.clear();
    v.pattern_texts.assign(texts.begin(), texts.end());
    for (const std::string_view text : texts) {
      auto pattern = Pattern::parse(text);
      if (!pattern) throw core::error(Text::ModelDamaged, file.path(), "a pattern does not parse");
      v.patterns.push_back(*std::move(pattern));
    }
  }
  const auto flag = [&](const char* name, bool& value) {
    value = file.boolean(prefix + name).value_or(value);
  };
  flag("whole_words", v.whole_words);
  flag("clean", v.words.clean);
  flag("separate_ideographs", v.words.separate_ideographs);
  flag("strip_accents", v.words.strip_accents);
  flag("lowercase", v.words.lowercase);
  for (const int64_t id : file.integers(prefix + "ends"))
    if (id >= 0 && id < static_cast<int64_t>(v.size())) v.ends.push_back(static_cast<int32_t>(id));
}

}  // namespace

void Vocabulary::add(std::string piece, float score, TokenKind token) {
  ids.emplace(piece, static_cast<int32_t>(pieces.size()));
  pieces.push_back(std::move(piece));
  scores.push_back(score);
  kinds.push_back(token);
}

std::optional<int32_t> Vocabulary::byte_token(uint8_t byte) const {
  constexpr char kHex[] = "0123456789ABCDEF";
  const auto found = ids.find(std::string("<0x") + kHex[byte / 16] + kHex[byte % 16] + ">");
  return found == ids.end() ? std::nullopt : std::optional(found->second);
}

std::string Vocabulary::marked(std::string_view text, bool first) const {
  constexpr std::string_view kMark = "\u2581";
  std::string made;
  if (first && add_space) made += kMark;
  for (const char c : text)
    if (c == ' ') made += kMark;
    else made += c;
  return made;
}

void Vocabulary::find_ends() {
  if (end >= 0) ends.push_back(end);
  for (const std::string_view name : kEndNames) {
    const auto found = ids.find(std::string(name));
    if (found != ids.end() && kind_of(found->second) != TokenKind::Normal &&
        std::find(ends.begin(), ends.end(), found->second) == ends.end())
      ends.push_back(found->second);
  }
}

Vocabulary read_vocabulary(const files::Gguf& file) {
  Vocabulary v;
  const std::string prefix = "tokenizer.ggml.";
  const std::string model(file.text(prefix + "model").value_or(""));
  const auto* const row = std::find_if(std::begin(kKinds), std::end(kKinds),
                                       [&](const KindRow& k) { return k.name == model; });
  if (row == std::end(kKinds))
    throw core::error(Text::ModelLacks, file.path(), "the tokenizer '" + model + "'",
                      "one of gpt2, llama, t5, bert");
  v.kind = row->kind;
  const auto tokens = file.texts(prefix + "tokens");
  if (tokens.empty()) throw core::error(Text::ModelDamaged, file.path(), "it has no tokens");
  const auto scores = file.numbers(prefix + "scores");
  const auto kinds = file.integers(prefix + "token_type");
  for (size_t i = 0; i < tokens.size(); i++) {
    const int64_t kind = i < kinds.size() ? kinds[i] : 1;
    v.add(std::string(tokens[i]), i < scores.size() ? static_cast<float>(scores[i]) : 0.0f,
          kind >= 0 && kind <= 6 ? static_cast<TokenKind>(kind) : TokenKind::Normal);
  }
  const auto merges = file.texts(prefix + "merges");
  for (size_t i = 0; i < merges.size(); i++)
    v.ranks.emplace(std::string(merges[i]), static_cast<int32_t>(i));

  const auto id = [&](const char* name) {
    const int64_t value = file.integer(prefix + name).value_or(-1);
    return value >= 0 && value < static_cast<int64_t>(v.size()) ? static_cast<int32_t>(value) : -1;
  };
  v.begin = id("bos_token_id");
  v.end = id("eos_token_id");
  v.unknown = id("unknown_token_id");
  const bool words = v.kind == TokenizerKind::WordPiece;
  if (words) {
    v.words.begins = "\u2581";
    v.words.continues = "";
    v.begin = v.begin < 0 ? id("cls_token_id") : v.begin;
    v.end = id("seperator_token_id");  // so spelled in the files
    if (v.end < 0) v.end = id("eos_token_id");
  }
  v.add_begin = words || v.kind == TokenizerKind::ScoredBpe;
  v.add_end = words || v.kind == TokenizerKind::Unigram;
  v.add_space = v.kind == TokenizerKind::ScoredBpe || v.kind == TokenizerKind::Unigram;
  if (v.kind == TokenizerKind::ByteBpe) {
    const std::string pre(file.text(prefix + "pre").value_or("default"));
    const PreTokenizer* const how = pre_tokenizer(pre);
    if (how == nullptr)
      throw core::error(Text::ModelLacks, file.path(), "the pre-tokenizer '" + pre + "'",
                        "one of those of Llama 3, Qwen 2, SmolLM, GPT-2 and their kin");
    v.patterns = parse_patterns(how->patterns);
    v.pattern_texts.assign(how->patterns.begin(), how->patterns.end());
    v.whole_words = how->whole_words;
    v.add_begin = how->add_begin;
  }
  v.add_begin = file.boolean(prefix + "add_bos_token").value_or(v.add_begin);
  v.add_end = file.boolean(prefix + "add_eos_token").value_or(v.add_end);
  v.add_space = file.boolean(prefix + "add_space_prefix").value_or(v.add_space);
  v.add_end = v.add_end && v.end >= 0;
  v.chat_template = std::string(file.text("tokenizer.chat_template").value_or(""));
  read_own(file, v);
  v.find_ends();
  return v;
}

}  // namespace hologram::llm
