// Real models, which scripts/models downloads: what they say.
#include <gtest/gtest.h>

#include "hologram/error.hpp"
#include "hologram/llm.hpp"
#include "llm/models.hpp"
#include "message_of.hpp"

namespace hologram::llm {
namespace {

Model open(const std::string& name) {
  return Model::open(tests::model_file(name)->string(), {.context = 256},
                     Executor(BackendType::Cpu));
}
GenerateOptions greedy(int64_t tokens) {
  return {.max_tokens = tokens, .sampling = {.greedy = true}};
}

// Karpathy's stories260K, which is in no package: put it there as GGUF in F32. The first tokens of
// the text that llama2.c's documentation shows; llama.cpp gives the same.
TEST(Models, StoriesBeginAsTheyDoElsewhere) {
  if (!tests::model_file("stories260K-F32.gguf"))
    GTEST_SKIP() << "stories260K-F32.gguf is not there";
  Model model = open("stories260K-F32.gguf");
  const std::vector<int32_t> begin = {1};
  const Generation g = model.generate(begin, greedy(12));
  EXPECT_EQ(g.tokens,
            (std::vector<int32_t>{403, 407, 261, 378, 432, 383, 286, 261, 376, 298, 315, 421}));
  EXPECT_EQ(model.generate("Once upon a time", greedy(60)).text.substr(0, 92),
            ", there was a little girl named Lily. She loved to play outside in the park. One day, "
            "she sa");
}

TEST(Models, SmolLm2SaysWhatItSaysInLlamaCpp) {
  constexpr const char* kFile = "SmolLM2-135M-Instruct.Q4_1.gguf";
  if (!tests::model_file(kFile)) GTEST_SKIP() << tests::kNoModels;
  Model model = open(kFile);
  EXPECT_EQ(model.architecture(), "llama");
  // Where llama.cpp's choice is clear: further on two tokens are as likely.
  EXPECT_EQ(model.generate("The capital of France is", greedy(4)).tokens,
            (std::vector<int32_t>{7042, 30, 198, 198}));
  EXPECT_EQ(model.generate("Once upon a time", greedy(4)).tokens,
            (std::vector<int32_t>{28, 260, 2240, 282}));
  const std::vector<Message> question = {{"user", "What is the capital of France?"}};
  const Generation answer = model.chat(question, greedy(20));
  EXPECT_EQ(answer.text, "The capital of France is Paris.");
  EXPECT_EQ(answer.ending, Ending::EndOfText);

  // What is drawn depends on the seed alone.
  GenerateOptions drawn = {.max_tokens = 8, .sampling = {.seed = 5}};
  const auto first = model.generate("Once upon a time", drawn).tokens;
  EXPECT_EQ(model.generate("Once upon a time", drawn).tokens, first);
  drawn.sampling.seed = 6;
  EXPECT_NE(model.generate("Once upon a time", drawn).tokens, first);

  GenerateOptions stopped = greedy(30);
  stopped.stop = {"Paris"};
  const Generation g = model.chat(question, stopped);
  EXPECT_EQ(g.text, "The capital of France is ");
  EXPECT_EQ(g.ending, Ending::StopText);
  EXPECT_NE(message_of([&] {
              model.generate(std::string(2000, '1'), greedy(1));
            }).find("do not fit into a context of 256"),
            std::string::npos);
}

}  // namespace
}  // namespace hologram::llm
