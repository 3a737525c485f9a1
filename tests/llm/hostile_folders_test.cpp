// Folders of models that are damaged or made to do harm: a clear error, or a model, and nothing
// else.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "hologram/error.hpp"
#include "hologram/receipt.hpp"
#include "llm/config_folder.hpp"
#include "llm/safetensors.hpp"
#include "llm/tokenizer.hpp"

namespace hologram::llm {
namespace {

namespace fs = std::filesystem;

constexpr const char* kConfig = R"({"architectures": ["Qwen3MoeForCausalLM"], "hidden_size": 64,
  "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16,
  "intermediate_size": 96, "moe_intermediate_size": 32, "num_experts": 4, "num_experts_per_tok": 2,
  "max_position_embeddings": 256, "rms_norm_eps": 1e-6, "hidden_act": "silu",
  "layer_types": ["full_attention", "full_attention"], "tie_word_embeddings": true,
  "rope_parameters": {"rope_type": "llama3", "rope_theta": 10000.0, "factor": 4.0,
    "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 32}})";

constexpr const char* kTokenizer = R"({"added_tokens": [
    {"id": 0, "content": "<s>", "special": true}, {"id": 9, "content": "[X]", "special": false}],
  "normalizer": {"type": "BertNormalizer", "lowercase": true, "strip_accents": null},
  "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
    {"type": "Split", "pattern": {"Regex": "\\p{N}{1,3}| ?\\p{L}+"}, "behavior": "Isolated"},
    {"type": "ByteLevel", "use_regex": false}]},
  "post_processor": {"type": "TemplateProcessing", "single": [
    {"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}]},
  "model": {"type": "BPE", "vocab": {"<s>": 0, "a": 1, "b": 2, "ab": 3, "c": 4},
    "merges": [["a", "b"], "ab c"]}})";

constexpr const char* kWords = R"({"added_tokens": [{"id": 0, "content": "[UNK]", "special": true}],
  "normalizer": {"type": "BertNormalizer"}, "pre_tokenizer": {"type": "BertPreTokenizer"},
  "post_processor": {"type": "BertProcessing", "sep": ["b", 2], "cls": ["a", 1]},
  "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
    "max_input_chars_per_word": 100, "vocab": {"[UNK]": 0, "a": 1, "b": 2, "##b": 3}}})";

class Folders : public testing::Test {
 protected:
  Folders()
      : folder_(fs::temp_directory_path() /
                ("hologram-folders-" + std::to_string(std::random_device()()))) {
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  void put(const char* file, const std::string& text) const {
    fs::remove(folder_ / file);  // a file that is cut to nothing and written again goes to the disk
    std::ofstream(folder_ / file, std::ios::binary) << text;
  }
  std::string path() const { return folder_.string(); }

  // Whether it is read; anything but an Error that names the folder fails the test.
  template <class Read>
  bool reads(const Read& read) const {
    try {
      read();
      return true;
    } catch (const Error& e) {
      EXPECT_NE(std::string(e.what()).find("hologram-folders-"), std::string::npos) << e.what();
      EXPECT_FALSE(e.remedy().empty());
      return false;
    }
  }
  bool reads_config(const std::string& text) const {
    put("config.json", text);
    return reads([&] { read_config(path()); });
  }
  bool reads_tokenizer(const std::string& text) const {
    put("tokenizer.json", text);
    return reads([&] {
      const Tokenizer tokenizer(read_vocabulary(path()));
      tokenizer.decode(tokenizer.encode("ab c \xff 12 [X]<s>", true, true), true);
    });
  }

  // Truncations, and some hundred changes of bytes and of words.
  template <class Reads>
  void damage(const std::string& good, const Reads& reads) const {
    EXPECT_TRUE(reads(good));
    for (size_t n = 0; n < good.size(); n += 2) EXPECT_FALSE(reads(good.substr(0, n))) << n;
    std::mt19937 random(1);
    constexpr const char* kWord[] = {
        "null", "-1",  "1e999", "99999999999999999999", "[]",      "{}",
        "true", "0.5", "\"\"",  "18446744073709551615", "[[[[]]]]"};
    for (int i = 0; i < 800; i++) {
      std::string text = good;
      if (i % 2 == 0) {
        for (uint32_t k = 0; k <= random() % 3; k++)
          text[random() % text.size()] = static_cast<char>(random());
      } else {
        const size_t from = text.find(": ", random() % text.size());
        if (from == std::string::npos) continue;
        const size_t end = std::min(text.find_first_of(",}]", from), text.size());
        text.replace(from + 2, end - from - 2, kWord[random() % std::size(kWord)]);
      }
      reads(text);
    }
  }

  const fs::path folder_;
};

TEST_F(Folders, ConfigsThatAreDamagedAreErrors) {
  damage(kConfig, [&](const std::string& text) { return reads_config(text); });
}
TEST_F(Folders, TokenizersThatAreDamagedAreErrors) {
  damage(kTokenizer, [&](const std::string& text) { return reads_tokenizer(text); });
  damage(kWords, [&](const std::string& text) { return reads_tokenizer(text); });
}

TEST_F(Folders, NumbersBeyondReasonAreErrors) {
  const std::string good = kTokenizer;
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    return text.replace(text.find(from), from.size(), to);
  };
  EXPECT_FALSE(reads_tokenizer(with("\"id\": 9", "\"id\": 4000000000")));
  EXPECT_FALSE(reads_tokenizer(with("\"c\": 4", "\"c\": 16000000")));
  EXPECT_FALSE(reads_tokenizer(with("[\"a\", \"b\"]", "[\"a\", 3]")));
  std::string deep = "{\"model\": ";
  for (int i = 0; i < 200000; i++) deep += "[";
  EXPECT_FALSE(reads_tokenizer(deep));
  EXPECT_FALSE(reads_config(deep));
}

TEST_F(Folders, AnIndexNamesFilesOfItsFolderOnly) {
  const auto reads_index = [&](const std::string& text) {
    put("model.safetensors.index.json", text);
    return reads([&] { for_each_member(path(), "model", [](const auto&, const auto&) {}); });
  };
  for (const char* file : {"../x.safetensors", "/etc/passwd", "..", "", ".", "a/b", "none"})
    EXPECT_FALSE(reads_index(R"({"weight_map": {"a": ")" + std::string(file) + "\"}}")) << file;
  EXPECT_FALSE(reads_index(R"({"weight_map": 3})"));
  EXPECT_FALSE(reads_index(R"({"weight_map": {"a": 3}})"));
  EXPECT_FALSE(reads_index("{}"));
  EXPECT_FALSE(reads_index("{"));
}

TEST(Receipts, ThatAreNoneAreErrors) {
  for (const char* text : {"", "{}", "[]", "null", "{\"hologram_receipt\": 1, \"settings\": 3}"})
    EXPECT_THROW(Receipt::from_json(text), Error) << text;
}

}  // namespace
}  // namespace hologram::llm
