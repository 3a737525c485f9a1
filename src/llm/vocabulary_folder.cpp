// Vocabularies of folders: tokenizer.json, else tokenizer.model or vocab.txt, and what stands
// beside them.
#include <algorithm>
#include <filesystem>

#include "core/messages.hpp"
#include "llm/json.hpp"
#include "llm/preparation.hpp"
#include "llm/sentencepiece.hpp"
#include "llm/vocabulary.hpp"
#include "llm/vocabulary_words.hpp"

namespace hologram::llm {
namespace {

using core::Text;

constexpr std::string_view kDigits = R"(\p{N})";
constexpr std::string_view kOfByteLevel =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

class JsonReader {
 public:
  explicit JsonReader(std::string folder)
      : folder_(std::move(folder)), json_(json_of(folder_, "tokenizer.json")) {}

  Vocabulary read() {
    const Json& model = json_.value("model", Json::object());
    const std::string type = text_of(model, "type");
    if (type == "WordPiece") {
      pieces(model);
      read_words(folder_, json_, v_);
      ends_of_text();
      return std::move(v_);
    }
    if (type == "Unigram") {
      unigram(model);
      ends_of_text();
      return std::move(v_);
    }
    if (type != "BPE" && !(type.empty() && model.contains("merges")))
      lacks("the tokenizer '" + type + "' in a tokenizer.json",
            "BPE, WordPiece or Unigram there, or as a GGUF file");
    pieces(model);
    merges(model);
    const bool bytes = flag_of(model, "byte_fallback", false);
    v_.kind = bytes ? TokenizerKind::ScoredBpe : TokenizerKind::ByteBpe;
    v_.whole_words = flag_of(model, "ignore_merges", false);
    if (bytes) score();
    else cutting(json_.value("pre_tokenizer", Json()));
    v_.add_space = bytes && (mentions("normalizer", "Prepend") || has_metaspace());
    const std::string unknown = text_of(model, "unk_token");
    if (const auto found = v_.ids.find(unknown); found != v_.ids.end()) v_.unknown = found->second;
    ends_of_text();
    return std::move(v_);
  }

 private:
  [[noreturn]] void lacks(const std::string& what, const std::string& instead) const {
    throw core::error(Text::ModelLacks, folder_, what, instead);
  }
  [[noreturn]] void damaged(const std::string& what) const {
    throw core::error(Text::ModelDamaged, folder_ + "/tokenizer.json", what);
  }
  bool mentions(const char* part, const char* word) const {
    return json_.contains(part) && json_[part].dump().find(word) != std::string::npos;
  }
  bool has_metaspace() const {
    return mentions("pre_tokenizer", "Metaspace") && !mentions("pre_tokenizer", "\"never\"");
  }

  void pieces(const Json& model) {
    struct Entry {
      std::string piece;
      TokenKind kind;
    };
    const Json vocabulary = model.value("vocab", Json::object());
    const Json added = json_.value("added_tokens", Json::array());
    // Some numbers may have no token, but memory is for those that do.
    const uint64_t most = 2 * (vocabulary.size() + added.size()) + 1024;
    std::vector<Entry> entries;
    const auto put = [&](const Json& id, const std::string& piece, TokenKind kind) {
      if (!id.is_number_unsigned()) damaged("a token has no number");
      const auto at = id.get<uint64_t>();
      if (at > most) damaged("a token's number is too large");
      if (at >= entries.size()) entries.resize(at + 1, {"", TokenKind::Unused});
      entries[at] = {piece, kind};
    };
    const auto put_normal = [&](const Json& id, const std::string& piece) {
      put(id, piece,
          piece.size() == 6 && piece.starts_with("<0x") ? TokenKind::Byte : TokenKind::Normal);
    };
    if (vocabulary.is_array())  // of pairs of a piece and its score
      for (size_t i = 0; i < vocabulary.size(); i++)
        put_normal(i, vocabulary[i].at(0).get<std::string>());
    else
      for (const auto& [piece, id] : vocabulary.items()) put_normal(id, piece);
    for (const Json& token : added)
      put(token.value("id", Json()), text_of(token, "content"),
          flag_of(token, "special", false) ? TokenKind::Control : TokenKind::User);
    for (Entry& entry : entries) v_.add(std::move(entry.piece), 0, entry.kind);
  }

  void unigram(const Json& model) {
    pieces(model);
    auto how = std::make_shared<Preparation>(folder_, json_);
    const Json vocabulary = model.value("vocab", Json::array());
    if (!vocabulary.is_array()) damaged("its pieces have no scores");
    for (const Json& pair : vocabulary) how->scores.push_back(pair.at(1).get<double>());
    for (size_t i = 0; i < how->scores.size(); i++)
      v_.scores[i] = static_cast<float>(how->scores[i]);
    how->bytes = flag_of(model, "byte_fallback", false);
    const Json unknown = model.value("unk_id", Json());
    if (!unknown.is_number_unsigned() || unknown.get<uint64_t>() >= how->scores.size())
      lacks("a Unigram without a token for what is unknown", "one with 'unk_id'");
    v_.kind = TokenizerKind::Unigram;
    v_.unknown = unknown.get<int32_t>();
    v_.add_space = how->adds_space();
    v_.preparation = std::move(how);
  }

  void merges(const Json& model) {
    for (const Json& merge : model.value("merges", Json::array())) {
      std::string key;
      if (merge.is_string()) key = merge.get<std::string>();
      else if (merge.is_array() && merge.size() == 2 && merge[0].is_string() &&
               merge[1].is_string())
        key = merge[0].get<std::string>() + " " + merge[1].get<std::string>();
      else damaged("a merge is wrong");
      v_.ranks.emplace(std::move(key), static_cast<int32_t>(v_.ranks.size()));
    }
  }

  // Pairs by their scores: the earlier a piece is merged, the more it is worth.
  void score() {
    for (const auto& [pair, rank] : v_.ranks) {
      const size_t space = pair.find(' ');
      const auto found = v_.ids.find(pair.substr(0, space) + pair.substr(space + 1));
      if (found == v_.ids.end()) continue;
      float& score = v_.scores[static_cast<size_t>(found->second)];
      const float worth = -1.0f - static_cast<float>(rank);
      score = score == 0 ? worth : std::max(score, worth);
    }
  }

  void cutting(const Json& how) {
    const std::string type = text_of(how, "type");
    const auto add = [&](const std::string& text) {
      auto pattern = Pattern::parse(text);
      if (!pattern) lacks("text cut by '" + text.substr(0, 60) + "'", "a GGUF file of the model");
      v_.patterns.push_back(*std::move(pattern));
      v_.pattern_texts.push_back(text);
    };
    if (type == "Sequence") {
      for (const Json& part : how.value("pretokenizers", Json::array())) cutting(part);
    } else if (type == "Split") {
      const Json& pattern = how.value("pattern", Json::object());
      if (!pattern.contains("Regex") || text_of(how, "behavior") == "Removed")
        lacks("a pre-tokenizer that splits otherwise than by a pattern",
              "a GGUF file of the model");
      add(text_of(pattern, "Regex"));
    } else if (type == "Digits") {
      add(std::string(kDigits) + (flag_of(how, "individual_digits", false) ? "" : "+"));
    } else if (type == "ByteLevel") {
      if (flag_of(how, "use_regex", true)) add(std::string(kOfByteLevel));
    } else {
      lacks("the pre-tokenizer '" + type + "'", "a GGUF file of the model");
    }
  }

  // The tokens that the model's processor puts in front and behind.
  void ends_of_text() {
    const auto put = [&](const std::string& piece, int32_t& token, bool& added) {
      const auto found = v_.ids.find(piece);
      if (found == v_.ids.end()) return;
      token = found->second;
      added = true;
    };
    const auto look = [&](const Json& processor, const auto& self) -> void {
      for (const Json& part : processor.value("processors", Json::array())) self(part, self);
      // As BERT and RoBERTa have it: the text of a token and its number.
      const auto named = [&](const char* key) {
        const Json token = processor.value(key, Json());
        return token.is_array() && !token.empty() && token[0].is_string()
                   ? token[0].get<std::string>()
                   : std::string();
      };
      put(named("cls"), v_.begin, v_.add_begin);
      put(named("sep"), v_.end, v_.add_end);
      const Json& single = processor.value("single", Json::array());
      if (!single.is_array() || single.empty()) return;
      const auto special = [&](const Json& item) {
        return item.contains("SpecialToken") ? text_of(item["SpecialToken"], "id") : std::string();
      };
      put(special(single.front()), v_.begin, v_.add_begin);
      if (single.size() > 1) put(special(single.back()), v_.end, v_.add_end);
    };
    const Json processor = json_.value("post_processor", Json());
    if (processor.is_object()) look(processor, look);
  }

  const std::string folder_;
  const Json json_;
  Vocabulary v_;
};

// A token as tokenizer_config.json names it: its text, or an object with that.
std::string named_token(const Json& config, const char* key) {
  const auto found = config.find(key);
  if (found == config.end()) return {};
  return found->is_object() ? text_of(*found, "content") : text_of(config, key);
}

void read_beside(const std::string& folder, Vocabulary& v) {
  const Json config = optional_json_of(folder, "tokenizer_config.json");
  const auto id = [&](const char* key, int32_t otherwise) {
    const auto found = v.ids.find(named_token(config, key));
    return found == v.ids.end() ? otherwise : found->second;
  };
  v.begin = id("bos_token", v.begin);
  v.end = id("eos_token", v.end);
  v.add_begin = flag_of(config, "add_bos_token", v.add_begin) && v.begin >= 0;
  v.add_end = flag_of(config, "add_eos_token", v.add_end) && v.end >= 0;
  v.chat_template = text_of(config, "chat_template");
  for (const char* file : {"generation_config.json", "config.json"}) {
    const Json json = optional_json_of(folder, file);
    Json ends = json.value("eos_token_id", Json());
    if (!ends.is_array()) ends = Json::array({ends});
    for (const Json& end : ends)
      if (end.is_number_unsigned() && end.get<uint64_t>() < v.size())
        v.ends.push_back(end.get<int32_t>());
  }
  v.find_ends();
}

}  // namespace

namespace {

Vocabulary read_all(const std::string& folder) {
  namespace fs = std::filesystem;
  const fs::path path(folder);
  const bool has_json = fs::exists(path / "tokenizer.json");
  const bool has_model = fs::exists(path / "tokenizer.model");
  if (!has_json && !has_model && !fs::exists(path / "vocab.txt"))
    throw core::error(Text::ModelDamaged, folder,
                      "it has none of tokenizer.json, tokenizer.model and vocab.txt");
  Vocabulary v = has_json    ? JsonReader(folder).read()
                 : has_model ? read_sentencepiece((path / "tokenizer.model").string())
                             : read_word_list(folder);
  read_beside(folder, v);
  return v;
}

}  // namespace

Vocabulary read_vocabulary(const std::string& folder) {
  return checked(folder, [&] { return read_all(folder); });
}

}  // namespace hologram::llm
