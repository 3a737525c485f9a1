// Several answers at a time: each is what it is alone; memory is shared and given back; answers
// that have to be JSON are.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>

#include "hologram/error.hpp"
#include "hologram/executor_builder.hpp"
#include "hologram/llm.hpp"
#include "llm/made_models.hpp"
#include "llm/models.hpp"
#include "llm/pages.hpp"

namespace hologram::llm {
namespace {

using Json = nlohmann::ordered_json;

class Engines : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    path_ =
        std::filesystem::temp_directory_path() / ("engine_" + std::to_string(getpid()) + ".gguf");
    tests::ModelMaker(tests::kModels[0]).save(path_);
  }
  static void TearDownTestSuite() { std::filesystem::remove(path_); }

  static Model open(ModelOptions options) {
    options.context = options.context > 0 ? options.context : 256;
    return Model::open(path_, options, ExecutorBuilder().backend(BackendType::Cpu).build());
  }
  static std::vector<int32_t> prompt(uint32_t seed, size_t length) {
    std::mt19937 random(seed);
    std::vector<int32_t> tokens;
    for (size_t i = 0; i < length; i++)
      tokens.push_back(5 + static_cast<int32_t>(random() % (tests::kVocabulary - 5)));
    return tokens;
  }
  static GenerateOptions options(uint32_t seed) {
    GenerateOptions how;
    how.max_tokens = 8 + seed % 11;
    how.sampling.seed = seed;
    how.sampling.greedy = seed % 3 == 0;
    how.sampling.temperature = 1.5;
    return how;
  }
  static std::string path_;
};
std::string Engines::path_;

// Texts beyond the length that a model was trained for at first are turned by other angles from
// their beginning on: what the cache has of them is computed once more, alone and beside others.
TEST_F(Engines, ComputeTextsOnceMoreThatBecomeLong) {
  tests::Made made = tests::kModels[5];
  made.window = 0;
  made.short_texts = 32;
  const std::string path = path_ + ".long";
  tests::ModelMaker(made).save(path);
  const auto executor = ExecutorBuilder().backend(BackendType::Cpu).build();
  const auto fresh = [&](int64_t sequences) {
    return Model::open(path, {.context = 60, .sequences = sequences, .reproducible = true},
                       executor);
  };
  const GenerateOptions how = {.max_tokens = 16, .sampling = {.greedy = true}};
  std::vector<std::vector<int32_t>> expected;
  int become_long = 0;
  for (uint32_t i = 0; i < 6; i++) {
    std::vector<int32_t> text = prompt(i, 14 + 4 * i);
    const std::vector<int32_t> answer = fresh(1).generate(text, how).tokens;
    for (const int32_t token : answer) {
      const std::vector<float> logits = fresh(1).logits(text);
      EXPECT_EQ(token, std::max_element(logits.begin(), logits.end()) - logits.begin())
          << text.size();
      text.push_back(token);
    }
    become_long += text.size() > 34 && text.size() - answer.size() < 32 ? 1 : 0;
    expected.push_back(answer);
  }
  EXPECT_GE(become_long, 2);
  const Model together = fresh(3);
  Engine engine(together);
  for (int round = 0; round < 2; round++) {  // with what the cache has of the first
    std::vector<std::future<Generation>> answers;
    for (uint32_t i = 0; i < 6; i++) answers.push_back(engine.submit(prompt(i, 14 + 4 * i), how));
    for (uint32_t i = 0; i < 6; i++) EXPECT_EQ(answers[i].get().tokens, expected[i]) << i;
  }
  std::filesystem::remove(path);
}

TEST_F(Engines, GiveEachTheAnswerThatItHasAlone) {
  Model alone = open({.reproducible = true});
  std::vector<Generation> expected;
  for (uint32_t i = 0; i < 14; i++)
    expected.push_back(alone.generate(prompt(i, 1 + i * 7 % 90), options(i)));
  const Model together = open({.sequences = 6, .cache_tokens = 512, .reproducible = true});
  Engine engine(together);
  std::vector<std::future<Generation>> answers;
  for (uint32_t i = 0; i < 14; i++)
    answers.push_back(engine.submit(prompt(i, 1 + i * 7 % 90), options(i)));
  for (size_t i = 0; i < answers.size(); i++) {
    const Generation made = answers[i].get();
    EXPECT_EQ(made.tokens, expected[i].tokens) << i;
    EXPECT_EQ(made.text, expected[i].text) << i;
    EXPECT_EQ(made.finish_reason, expected[i].finish_reason) << i;
  }
  const Engine::Load load = engine.load();
  EXPECT_EQ(load.running + load.waiting, 0);
}

// Logprobs need all logits; without them the device finds the few tokens that are chosen among.
TEST_F(Engines, ChooseAmongWhatTheDeviceFindsAsAmongAllLogits) {
  Model alone = open({.reproducible = true});
  const Model together = open({.sequences = 6, .reproducible = true});
  Engine engine(together);
  std::vector<std::vector<int32_t>> expected;
  std::vector<std::future<Generation>> answers;
  for (uint32_t i = 0; i < 12; i++) {
    GenerateOptions how = options(i);
    how.sampling.top_k = std::vector<int64_t>{40, 1, 3, 0, 1000}[i % 5];
    how.sampling.repetition_penalty = i % 7 == 6 ? 1.2 : 1;
    answers.push_back(engine.submit(prompt(i, 1 + i * 7 % 90), how));
    how.logprobs = 0;
    expected.push_back(alone.generate(prompt(i, 1 + i * 7 % 90), how).tokens);
  }
  for (size_t i = 0; i < answers.size(); i++) EXPECT_EQ(answers[i].get().tokens, expected[i]) << i;
}

TEST_F(Engines, ReuseWhatIsThere) {
  const Model model = open({.sequences = 4, .reproducible = true});
  Engine engine(model);
  std::vector<int32_t> common = prompt(1, 130);
  engine.submit(common, {.max_tokens = 1}).get();
  std::vector<std::future<Generation>> answers;
  for (int32_t i = 0; i < 4; i++) {
    std::vector<int32_t> own = common;
    own.push_back(6 + i);
    answers.push_back(engine.submit(own, {.max_tokens = 4, .sampling = {.greedy = true}}));
  }
  for (int32_t i = 0; i < 4; i++) {
    const Generation made = answers[static_cast<size_t>(i)].get();
    EXPECT_GE(made.reused_tokens, 128) << i;
    std::vector<int32_t> own = common;
    own.push_back(6 + i);
    Model fresh = open({.reproducible = true});
    EXPECT_EQ(made.tokens,
              fresh.generate(own, {.max_tokens = 4, .sampling = {.greedy = true}}).tokens);
  }
}

TEST_F(Engines, CancelAndFail) {
  const Model model = open({.sequences = 2});
  Engine engine(model, 3);
  GenerateOptions endless = {.max_tokens = 60, .sampling = {.greedy = true}};
  std::atomic<int> pieces = 0;
  GenerateOptions cancelled = endless;
  cancelled.on_text = [&](std::string_view) { return ++pieces < 3; };
  auto first = engine.submit(prompt(1, 10), cancelled);
  GenerateOptions throws = endless;
  throws.on_text = [](std::string_view) -> bool { throw std::runtime_error("mine"); };
  auto second = engine.submit(prompt(2, 10), throws);
  EXPECT_EQ(first.get().finish_reason, FinishReason::Cancelled);
  EXPECT_THROW(second.get(), std::runtime_error);
  EXPECT_THROW(engine.submit({}, endless), Error);
  EXPECT_THROW(engine.submit(std::vector<int32_t>{100000}, endless), Error);
  EXPECT_THROW(engine.submit(prompt(1, 257), endless), Error);
  // Too many that wait.
  std::vector<std::future<Generation>> answers;
  EXPECT_THROW(
      {
        for (int i = 0; i < 20; i++) answers.push_back(engine.submit(prompt(3, 5), endless));
      },
      Error);
  for (auto& each : answers) EXPECT_FALSE(each.get().tokens.empty());
}

TEST_F(Engines, CancelWhatIsUnderWayWhenTheyEnd) {
  const Model model = open({.sequences = 2});
  std::vector<std::future<Generation>> answers;
  {
    Engine engine(model);
    for (int i = 0; i < 5; i++)
      answers.push_back(
          engine.submit(prompt(1, 5), {.max_tokens = 240, .sampling = {.greedy = true}}));
  }
  for (auto& each : answers) each.get();  // none is left without an answer
}

TEST_F(Engines, TellProbabilities) {
  Model model = open({});
  const std::vector<int32_t> tokens = prompt(1, 10);
  const Generation made =
      model.generate(tokens, {.max_tokens = 3, .sampling = {.greedy = true}, .logprobs = 4});
  ASSERT_EQ(made.logprobs.size(), made.tokens.size());
  std::vector<float> logits = model.logits(tokens);
  double sum = 0;
  for (const float logit : logits) sum += std::exp(logit);
  const TokenLogprob& first = made.logprobs[0];
  EXPECT_EQ(first.chosen.token, made.tokens[0]);
  EXPECT_NEAR(first.chosen.logprob, logits[static_cast<size_t>(made.tokens[0])] - std::log(sum),
              1e-3);
  ASSERT_EQ(first.likeliest.size(), 4u);
  EXPECT_EQ(first.likeliest[0].token, made.tokens[0]);
  for (size_t i = 1; i < 4; i++)
    EXPECT_GE(first.likeliest[i - 1].logprob, first.likeliest[i].logprob);
}

// Whatever a model of noise says, it is what the schema describes.
TEST_F(Engines, AnswerInJson) {
  const auto file = tests::model_file("SmolLM2-135M-Instruct.Q4_1.gguf");
  if (!file) GTEST_SKIP() << "SmolLM2: " << tests::kNoModels;
  Model model = Model::open(file->string(), {.context = 512});
  const char* const schema = R"({"type": "object", "properties": {
      "name": {"type": "string", "maxLength": 6}, "age": {"type": "integer"},
      "tags": {"type": "array", "items": {"enum": ["a", "b\"c"]}, "minItems": 1, "maxItems": 3},
      "next": {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/point"}]}},
      "required": ["name", "tags"], "$defs": {"point": {"type": "object",
      "properties": {"x": {"type": "number"}}, "required": ["x"]}}})";
  for (uint64_t seed = 0; seed < 2; seed++) {
    GenerateOptions how;
    how.max_tokens = 200;
    how.sampling = {.temperature = 1.5, .top_k = 0, .top_p = 1, .min_p = 0, .seed = seed};
    how.json_schema = schema;
    const Generation made = model.chat(std::vector<Message>{{"user", "Describe a person."}}, how);
    ASSERT_EQ(made.finish_reason, FinishReason::EndOfText) << made.text;
    const Json json = Json::parse(made.text, nullptr, false);
    ASSERT_TRUE(json.is_object()) << made.text;
    EXPECT_TRUE(json["name"].is_string() && json["tags"].size() >= 1) << made.text;
    for (const Json& tag : json["tags"]) EXPECT_TRUE(tag == "a" || tag == "b\"c") << made.text;
  }
  EXPECT_THROW(model.generate("x", {.json_schema = R"({"type": "string", "pattern": "a"})"}),
               Error);
  EXPECT_THROW(model.generate("x", {.json_schema = "[1, "}), Error);
}

TEST(Pages, AreSharedTakenOverAndGivenBack) {
  Pages pages(4);
  std::vector<int32_t> tokens(150);
  for (size_t i = 0; i < tokens.size(); i++) tokens[i] = static_cast<int32_t>(i);
  const auto fill = [&](Pages::Held& held, const std::vector<int32_t>& all, size_t until) {
    while (static_cast<size_t>(held.known) < until) {
      if (held.pages.size() * 64 == static_cast<size_t>(held.known)) {
        ASSERT_TRUE(pages.add(held));
      }
      pages.note(held, all[static_cast<size_t>(held.known)]);
    }
  };
  Pages::Held first = pages.find(tokens);
  EXPECT_EQ(first.known, 0);
  fill(first, tokens, 150);
  Pages::Held second = pages.find(tokens);  // shares the full pages, not the one in use
  EXPECT_EQ(second.known, 128);
  EXPECT_EQ(pages.held(), 3);
  fill(second, tokens, 129);
  Pages::Held third;
  EXPECT_FALSE(pages.add(third));
  pages.release(first);
  pages.release(second);
  EXPECT_EQ(pages.held(), 0);
  tokens[140] = -1;
  third = pages.find(tokens);  // takes over the part that is the same
  EXPECT_EQ(third.known, 140);
  pages.release(third, false);
  std::vector<int32_t> other(250, 7);
  Pages::Held fourth = pages.find(other);
  EXPECT_EQ(fourth.known, 0);
  fill(fourth, other, 250);  // those of before are forgotten
  EXPECT_EQ(pages.find(tokens).known, 0);
  EXPECT_TRUE(pages.reserve(4));
  EXPECT_FALSE(pages.reserve(1));
}

}  // namespace
}  // namespace hologram::llm
