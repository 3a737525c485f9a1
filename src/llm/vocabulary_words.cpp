#include "llm/vocabulary_words.hpp"

#include <filesystem>

#include "core/mapped_file.hpp"
#include "core/messages.hpp"

namespace hologram::llm {
namespace {

using core::Text;

bool flag(const Json& json, const char* key, bool otherwise) {
  const auto found = json.find(key);
  return found != json.end() && found->is_boolean() ? found->get<bool>() : otherwise;
}

// Accents go where letters become small, unless a file says otherwise.
void read_rules(const Json& json, const char* lowercase, const char* ideographs, WordRules& rules) {
  rules.clean = flag(json, "clean_text", true);
  rules.separate_ideographs = flag(json, ideographs, true);
  rules.lowercase = flag(json, lowercase, true);
  rules.strip_accents = flag(json, "strip_accents", rules.lowercase);
}

int32_t id_of(const Vocabulary& v, const std::string& piece) {
  const auto found = v.ids.find(piece);
  return found == v.ids.end() ? -1 : found->second;
}

void require_unknown(const std::string& folder, const Vocabulary& v) {
  if (v.unknown < 0)
    throw core::error(Text::ModelDamaged, folder, "its words have no token for what is unknown");
}

}  // namespace

void read_words(const std::string& folder, const Json& tokenizer, Vocabulary& v) {
  const auto type_of = [&](const char* part) {
    const auto found = tokenizer.find(part);
    return found != tokenizer.end() && found->is_object() ? found->value("type", std::string())
                                                          : std::string();
  };
  if (type_of("normalizer") != "BertNormalizer" || type_of("pre_tokenizer") != "BertPreTokenizer")
    throw core::error(Text::ModelLacks, folder,
                      "words normalised by '" + type_of("normalizer") + "' and cut by '" +
                          type_of("pre_tokenizer") + "'",
                      "BertNormalizer and BertPreTokenizer");
  read_rules(tokenizer["normalizer"], "lowercase", "handle_chinese_chars", v.words);
  const Json& model = tokenizer["model"];
  v.words.continues = model.value("continuing_subword_prefix", std::string("##"));
  // A float, even a whole one, is no count, and may lie outside of what counts hold.
  const Json longest = model.value("max_input_chars_per_word", Json(100U));
  if (!longest.is_number_unsigned())
    throw core::error(core::Text::ModelDamaged, folder, "max_input_chars_per_word is no count");
  v.words.longest = longest.get<size_t>();
  v.kind = TokenizerKind::WordPiece;
  v.unknown = id_of(v, model.value("unk_token", std::string("[UNK]")));
  require_unknown(folder, v);
}

Vocabulary read_word_list(const std::string& folder) {
  Vocabulary v;
  v.kind = TokenizerKind::WordPiece;
  const Json config = optional_json_of(folder, "tokenizer_config.json");
  read_rules(config, "do_lower_case", "tokenize_chinese_chars", v.words);
  const auto named = [&](const char* key, const char* otherwise) {
    const auto found = config.find(key);
    if (found == config.end()) return std::string(otherwise);
    const Json& text = found->is_object() ? found->value("content", Json()) : *found;
    return text.is_string() ? text.get<std::string>() : std::string(otherwise);
  };
  const std::string begin = named("cls_token", "[CLS]"), end = named("sep_token", "[SEP]"),
                    unknown = named("unk_token", "[UNK]");
  const std::string control[] = {begin, end, unknown, named("pad_token", "[PAD]"),
                                 named("mask_token", "[MASK]")};
  const auto file = core::MappedFile::open((std::filesystem::path(folder) / "vocab.txt").string());
  std::string_view text(reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size());
  while (!text.empty()) {
    const size_t line = std::min(text.find('\n'), text.size());
    std::string piece(text.substr(0, line));
    if (piece.ends_with('\r')) piece.pop_back();
    text.remove_prefix(std::min(line + 1, text.size()));
    bool special = false;
    for (const std::string& name : control) special = special || name == piece;
    v.add(std::move(piece), 0, special ? TokenKind::Control : TokenKind::Normal);
  }
  v.begin = id_of(v, begin);
  v.end = id_of(v, end);
  v.unknown = id_of(v, unknown);
  v.add_begin = v.begin >= 0;
  v.add_end = v.end >= 0;
  require_unknown(folder, v);
  return v;
}

}  // namespace hologram::llm
