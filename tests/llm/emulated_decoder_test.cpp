// A decoder on the emulated CUDA driver, which executes its kernels: a prompt, then captured steps.
#include "cuda_fixture.hpp"
#include "llm/decoder.hpp"
#include "llm/decoder_checks.hpp"
#include "llm/made_models.hpp"
#include "llm/reference.hpp"
#include "llm/rows.hpp"

namespace hologram {
namespace {

class EmulatedDecoder : public CudaTest {
 protected:
  void SetUp() override { driver_.execute(&how_); }
  fake::Execution how_;
};

TEST_F(EmulatedDecoder, GivesTheLogitsOfPlainLoops) {
  const std::string path =
      fs::temp_directory_path() / ("emulated_decoder_" + std::to_string(getpid()) + ".gguf");
  tests::ModelMaker(tests::kModels[0]).save(path);
  const auto source = std::shared_ptr<const llm::Source>(llm::open_source(path));
  fs::remove(path);
  const std::vector<int32_t> tokens = {3, 77, 12, 12, 50, 8};
  const auto expected = tests::Reference(*source).logits(tokens);
  llm::Decoder decoder(source, {.capacity = 16, .sequences = 2, .pages = 3, .dtype = DType::F32},
                       executor());
  decoder.set_pages(0, std::vector<int32_t>{2});
  decoder.set_pages(1, std::vector<int32_t>{1});
  const std::span<const int32_t> all(tokens);
  for (size_t begin = 0, end = 3; end <= tokens.size(); begin = end++) {
    const auto logits = decoder.forward(
        tests::rows_of(all.subspan(begin, end - begin), static_cast<int64_t>(begin)), false);
    for (size_t i = 0; i < logits.size(); i++)
      ASSERT_NEAR(logits[i], expected[end - 1][i], 2e-4) << end << " tokens, " << i;
  }
  // Another sequence beside it, at another place.
  decoder.forward(tests::rows_of(all.first(3), 0, 1), false);
  const std::vector<llm::Row> rows = {{tokens[3], 1, 3}, {tokens[5], 0, 5}, {tokens[4], 1, 4}};
  const auto logits = decoder.forward(rows, true);
  const size_t count = expected[0].size();
  for (size_t r = 0; r < rows.size(); r++)
    for (size_t i = 0; i < count; i++)
      ASSERT_NEAR(logits[r * count + i], expected[static_cast<size_t>(rows[r].position)][i], 2e-4)
          << "row " << r << ", " << i;
}

TEST_F(EmulatedDecoder, GivesTheProcessorsBitsUnderReproducible) {
  const Executor here = ExecutorBuilder().backend(BackendType::Cuda).reproducible().build();
  for (const llm::Activations activations : {llm::Activations::Exact, llm::Activations::Bytes})
    tests::expect_bits_of_processor(tests::kModels[0], here, activations);
}

TEST_F(EmulatedDecoder, GivesTheLogitsOfLongPrompts) {
  for (const llm::Activations activations : {llm::Activations::Exact, llm::Activations::Halves})
    tests::expect_long_prompts(tests::kModels[7], executor(), activations);
}

// A group attends to a part of the positions here.
TEST_F(EmulatedDecoder, GivesTheLogitsOfLongContexts) {
  for (const size_t which : {3, 5})  // without a window and with one
    tests::expect_long_contexts(tests::kModels[which], executor(), 3);
}

}  // namespace
}  // namespace hologram
