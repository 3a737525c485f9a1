// Decoders of every architecture on every device, beside plain loops in f64.
#include "llm/decoder.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "llm/decoder_checks.hpp"
#include "llm/made_models.hpp"
#include "llm/places.hpp"
#include "llm/reference.hpp"
#include "llm/rows.hpp"

namespace hologram::llm {
namespace {

using tests::expect_near;

class Decoders : public tests::OnPlaces {};

TEST_P(Decoders, GiveTheLogitsOfPlainLoops) {
  const std::string path =
      std::filesystem::temp_directory_path() / ("decoder_" + std::to_string(getpid()) + ".gguf");
  const std::vector<int32_t> tokens = {3, 77, 12, 12, 50, 8, 61, 0, 29, 41, 5, 66};
  for (const tests::Made& made : tests::kModels) {
    if (is_slow() && &made != &tests::kModels[0] &&
        (GetParam().backend == BackendType::WebGpu || &made != &tests::kModels[8]))
      continue;
    tests::ModelMaker(made).save(path);
    const auto source = std::shared_ptr<const Source>(open_source(path));
    const auto expected = tests::Reference(*source).logits(tokens);
    for (const DType cache : {DType::F32, DType::F16}) {
      if (is_slow() && cache == DType::F16) continue;
      const double tolerance = cache == DType::F32 ? 2e-4 : 2e-2;
      Decoder decoder(source, {.capacity = 16, .sequences = 3, .pages = 4, .dtype = cache},
                      executor());
      decoder.set_pages(0, std::vector<int32_t>{2});
      const std::span<const int32_t> all(tokens);
      const auto forward = [&](size_t begin, size_t count) {
        return decoder.forward(
            tests::rows_of(all.subspan(begin, count), static_cast<int64_t>(begin)), false);
      };
      const std::string what = std::string(made.architecture) + ", " + std::string(name_of(cache));
      // A beginning at once, some more of it, then token by token.
      expect_near(forward(0, 4), expected[3], tolerance, what + ", 4");
      expect_near(forward(4, 2), expected[5], tolerance, what + ", 6");
      for (size_t i = 6; i < tokens.size(); i++)
        expect_near(forward(i, 1), expected[i], tolerance, what + ", " + std::to_string(i + 1));
      EXPECT_THROW(decoder.forward(tests::rows_of(all.subspan(0, 5), 12), false), Error);
      // Two more sequences, which are at other places, and a piece of one's prompt in one step.
      decoder.set_pages(1, std::vector<int32_t>{0});
      decoder.set_pages(2, std::vector<int32_t>{3});
      decoder.forward(tests::rows_of(all.first(5), 0, 1), false);
      std::vector<Row> rows = tests::rows_of(all.first(3), 0, 2);
      rows.push_back({tokens[5], 1, 5});
      rows.push_back({tokens[11], 0, 11});
      const std::vector<float> logits = decoder.forward(rows, true);
      const size_t of_row[] = {0, 1, 2, 5, 11};
      for (size_t r = 0; r < rows.size(); r++) {
        const auto begin = logits.begin() + static_cast<std::ptrdiff_t>(r * expected[0].size());
        expect_near({begin, begin + static_cast<std::ptrdiff_t>(expected[0].size())},
                    expected[of_row[r]], tolerance, what + ", row " + std::to_string(r));
      }
    }
  }
  std::filesystem::remove(path);
}

TEST_P(Decoders, GiveTheProcessorsBitsUnderReproducible) {
  if (GetParam().backend == BackendType::WebGpu && std::getenv("HOLOGRAM_TEST_LONG") == nullptr)
    GTEST_SKIP() << "it takes a minute here: HOLOGRAM_TEST_LONG=1 and scripts/check-all wait";
  const Executor here = builder().reproducible().build();
  for (const tests::Made& made : tests::kModels) {
    if (is_slow() && &made != &tests::kModels[0]) continue;
    for (const Activations activations : {Activations::Exact, Activations::Bytes})
      if (activations == Activations::Exact || (made.type == 8 && !is_slow()))
        tests::expect_bits_of_processor(made, here, activations);
  }
}

TEST_P(Decoders, GiveTheLogitsOfLongPrompts) {
  if (is_slow()) GTEST_SKIP() << "it takes minutes here";
  for (const tests::Made& made : tests::kModels)
    for (const Activations activations : {Activations::Exact, Activations::Halves})
      tests::expect_long_prompts(made, executor(), activations);
}

TEST_P(Decoders, GiveTheLogitsOfLongContexts) {
  // All, or one of them a few steps: without a window and with one.
  if (is_slow()) return tests::expect_long_contexts(tests::kModels[3], executor(), 2);
  for (const size_t which : {3, 5})
    tests::expect_long_contexts(tests::kModels[which], executor(), 12);
}

// Positions that lie in pages in no order.
TEST_P(Decoders, FindPositionsInTheirPages) {
  if (is_slow()) GTEST_SKIP() << "it takes minutes here";
  const std::string path =
      std::filesystem::temp_directory_path() / ("pages_" + std::to_string(getpid()) + ".gguf");
  for (const size_t which : {3, 5}) {  // without a window and with one
    tests::ModelMaker(tests::kModels[which]).save(path);
    const auto source = std::shared_ptr<const Source>(open_source(path));
    std::vector<int32_t> tokens;
    tokens.reserve(150);
    for (int i = 0; i < 150; i++) tokens.push_back(i * 37 % tests::kVocabulary);
    const auto expected = tests::Reference(*source).logits(tokens);
    Decoder decoder(source, {.capacity = 160, .sequences = 2, .pages = 6, .dtype = DType::F32},
                    executor());
    decoder.set_pages(1, std::vector<int32_t>{4, 0, 2});
    const std::span<const int32_t> all(tokens);
    expect_near(decoder.forward(tests::rows_of(all.first(70), 0, 1), false), expected[69], 2e-4,
                "70");
    expect_near(decoder.forward(tests::rows_of(all.subspan(70, 75), 70, 1), false), expected[144],
                2e-4, "145");
    for (size_t i = 145; i < 150; i++)
      expect_near(
          decoder.forward(tests::rows_of(all.subspan(i, 1), static_cast<int64_t>(i), 1), true),
          expected[i], 2e-4, std::to_string(i + 1));
  }
  std::filesystem::remove(path);
}

INSTANTIATE_TEST_SUITE_P(On, Decoders, testing::ValuesIn(tests::kPlaces), tests::place_name);

}  // namespace
}  // namespace hologram::llm
