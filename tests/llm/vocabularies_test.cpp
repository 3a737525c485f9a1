// The tokenizers against what llama.cpp makes of the same texts: its own vectors, which
// scripts/models downloads.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "files/gguf.hpp"
#include "hologram/error.hpp"
#include "llm/models.hpp"
#include "llm/tokenizer.hpp"

namespace hologram::llm {
namespace {

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<std::string> inputs(const std::filesystem::path& path) {
  const std::string mark = "\n__ggml_vocab_test__\n";
  const std::string all = text_of(path);
  std::vector<std::string> parts;
  size_t begin = 0;
  for (size_t at = all.find(mark); at != std::string::npos; at = all.find(mark, begin)) {
    parts.push_back(all.substr(begin, at - begin));
    begin = at + mark.size();
  }
  return parts;
}

class Vocabularies : public testing::TestWithParam<const char*> {};

TEST_P(Vocabularies, CutTextAsLlamaCppDoes) {
  const auto folder = tests::model_file("vocabularies");
  if (!folder) GTEST_SKIP() << tests::kNoModels;
  const auto path = *folder / (std::string("ggml-vocab-") + GetParam() + ".gguf");
  const Tokenizer tokenizer(read_vocabulary(files::Gguf::open(path.string())));
  std::ifstream lines(path.string() + ".out");
  size_t cases = 0;
  for (const std::string& input : inputs(path.string() + ".inp")) {
    std::string line;
    std::getline(lines, line);
    std::istringstream numbers(line);
    std::vector<int32_t> expected;
    for (int32_t id = 0; numbers >> id;) expected.push_back(id);
    const std::vector<int32_t> ids = tokenizer.encode(input, false, false);
    EXPECT_EQ(ids, expected) << "'" << input << "'";
    // Small letters without accents do not tell what they were.
    if (tokenizer.vocabulary().kind != TokenizerKind::WordPiece) {
      EXPECT_EQ(tokenizer.decode(ids), input);
    }
    cases++;
  }
  EXPECT_GE(cases, 40u);
}

INSTANTIATE_TEST_SUITE_P(All, Vocabularies,
                         testing::Values("bert-bge", "command-r", "deepseek-coder", "falcon",
                                         "gpt-2", "llama-bpe", "llama-spm", "mpt", "phi-3", "qwen2",
                                         "qwen35", "refact", "starcoder"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace hologram::llm
