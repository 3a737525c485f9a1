// Real models, which scripts/models downloads: what they say.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "hologram/error.hpp"
#include "hologram/llm.hpp"
#include "llm/models.hpp"
#include "message_of.hpp"

namespace hologram::llm {
namespace {

// With exact products: by bytes a choice between two tokens that are about as likely is another
// here and there, as it is from one processor to the next in llama.cpp.
Model open(const std::string& name) {
  ModelOptions options = {.context = 256};
  options.activations = Activations::Exact;
  return Model::open(tests::model_file(name)->string(), options, Executor(BackendType::Cpu));
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
  EXPECT_EQ(answer.finish_reason, FinishReason::EndOfText);

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
  EXPECT_EQ(g.finish_reason, FinishReason::StopText);
  EXPECT_NE(message_of([&] {
              model.generate(std::string(2000, '1'), greedy(1));
            }).find("do not fit into a context of 256"),
            std::string::npos);
}

// What a model thinks of a text's tokens, one after the other.
struct Opinions {
  std::vector<std::vector<float>> logits;
  double perplexity = 0;
};
Opinions opinions_of(const std::string& file, const std::string& text, Activations activations) {
  ModelOptions options = {.context = 512};
  options.activations = activations;
  Model model = Model::open(tests::model_file(file)->string(), options, Executor(BackendType::Cpu));
  EXPECT_EQ(model.activations(), activations);
  const std::vector<int32_t> tokens = model.tokenize(text);
  Opinions all;
  double sum = 0;
  for (size_t i = 1; i < tokens.size(); i++) {
    all.logits.push_back(model.logits(std::span(tokens).first(i)));
    const std::vector<float>& now = all.logits.back();
    const double most = *std::max_element(now.begin(), now.end());
    double exps = 0;
    for (const float logit : now) exps += std::exp(logit - most);
    sum += now[static_cast<size_t>(tokens[i])] - most - std::log(exps);
  }
  all.perplexity = std::exp(-sum / static_cast<double>(all.logits.size()));
  return all;
}

// Of bytes, docs/llm.md promises that little is lost beside the exact products.
TEST(Models, BytesAreNearExactProducts) {
  const std::string story =
      "Once upon a time, there was a little girl named Lily. She loved to play outside in the "
      "park. One day, she saw a big, red ball. She wanted to play with it, but it was too high. "
      "Tom and Sam were good friends who liked to run near the old tree. One sunny day they found "
      "a small blue bird that could not fly, and they took it home to their mom.";
  const std::string article =
      "The city of Rome was founded, according to tradition, in the middle of the eighth century "
      "before Christ. Over the following centuries it grew from a small town on the Tiber into "
      "the capital of an empire that reached from Britain to the banks of the Euphrates. Roman "
      "engineers built roads, bridges and aqueducts, many of which are still in use today. Water "
      "boils at one hundred degrees at sea level, but at a lower temperature in the mountains, "
      "because the pressure of the air is lower there. This is why food takes longer to cook.";
  bool any = false;
  for (const auto& [file, text] :
       {std::pair("stories260K-Q4_0.gguf", story), std::pair("stories260K-Q8_0.gguf", story),
        std::pair("SmolLM2-135M-Instruct.Q4_1.gguf", article)}) {
    if (!tests::model_file(file)) continue;
    any = true;
    const Opinions exact = opinions_of(file, text, Activations::Exact),
                   bytes = opinions_of(file, text, Activations::Bytes);
    double lost = 0, all = 0;
    for (size_t i = 0; i < exact.logits.size(); i++)
      for (size_t k = 0; k < exact.logits[i].size(); k++) {
        lost += std::pow(double{bytes.logits[i][k]} - exact.logits[i][k], 2);
        all += std::pow(double{exact.logits[i][k]}, 2);
      }
    EXPECT_LE(lost, 5e-3 * all) << file;
    EXPECT_GT(lost, 0) << file;
    EXPECT_NEAR(bytes.perplexity / exact.perplexity, 1, 5e-3) << file;
    std::printf("%s: of squares %.1e lost, perplexity %.4f in place of %.4f\n", file, lost / all,
                bytes.perplexity, exact.perplexity);
  }
  if (!any) GTEST_SKIP() << tests::kNoModels;
}

}  // namespace
}  // namespace hologram::llm
