// What decoders are to give on every device, the emulated ones among them.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "hologram/executor_builder.hpp"
#include "llm/decoder.hpp"
#include "llm/made_models.hpp"
#include "llm/reference.hpp"
#include "llm/rows.hpp"

namespace hologram::tests {

inline void expect_near(const std::vector<float>& logits, const std::vector<double>& expected,
                        double tolerance, const std::string& what) {
  ASSERT_EQ(logits.size(), expected.size());
  for (size_t i = 0; i < logits.size(); i++)
    ASSERT_NEAR(logits[i], expected[i], tolerance) << what << ", token " << i;
}

inline std::shared_ptr<const llm::Source> source_of(const Made& made) {
  const std::string path =
      std::filesystem::temp_directory_path() / ("decoder_" + std::to_string(getpid()) + ".gguf");
  ModelMaker(made).save(path);
  auto source = std::shared_ptr<const llm::Source>(llm::open_source(path));
  std::filesystem::remove(path);
  return source;
}

// To the bit: a prompt, a step of one token and one of two rows, by an executor that is
// reproducible.
inline void expect_bits_of_processor(const Made& made, const Executor& here,
                                     llm::Activations activations) {
  const Executor processor = ExecutorBuilder().backend(BackendType::Cpu).reproducible().build();
  const std::vector<int32_t> tokens = {3, 77, 12, 12, 50, 8, 61};
  const auto source = source_of(made);
  std::vector<std::vector<float>> logits;
  for (const Executor& executor : {processor, here}) {
    llm::Decoder decoder(source, {.capacity = 16, .sequences = 1, .pages = 1}, executor,
                         activations);
    decoder.set_pages(0, std::vector<int32_t>{0});
    const std::span<const int32_t> all(tokens);
    std::vector<float> found = decoder.forward(rows_of(all.first(4), 0), false);
    for (const auto& [begin, count] : {std::pair<size_t, size_t>{4, 1}, {5, 2}}) {
      const auto more =
          decoder.forward(rows_of(all.subspan(begin, count), static_cast<int64_t>(begin)), true);
      found.insert(found.end(), more.begin(), more.end());
    }
    logits.push_back(std::move(found));
  }
  EXPECT_TRUE(logits[0] == logits[1]) << made.architecture << ", " << name_of(activations);
}

// Prompts whose rows go through an attention of their own, beside plain loops in f64.
inline void expect_long_prompts(const Made& made, const Executor& executor,
                                llm::Activations activations) {
  std::vector<int32_t> tokens;
  tokens.reserve(75);
  for (int i = 0; i < 75; i++) tokens.push_back(i * 37 % kVocabulary);
  const auto source = source_of(made);
  const auto expected = Reference(*source).logits(tokens);
  const double tolerance = activations == llm::Activations::Exact ? 2e-4 : 6e-2;
  llm::Decoder decoder(source, {.capacity = 128, .sequences = 1, .pages = 2, .dtype = DType::F32},
                       executor, activations);
  decoder.set_pages(0, std::vector<int32_t>{1, 0});
  const std::span<const int32_t> all(tokens);
  const std::string what =
      std::string(made.architecture) + ", " + std::string(name_of(activations));
  for (const auto& [begin, end] : {std::pair<size_t, size_t>{0, 33}, {33, 74}, {74, 75}})
    expect_near(decoder.forward(
                    rows_of(all.subspan(begin, end - begin), static_cast<int64_t>(begin)), false),
                expected[end - 1], tolerance, what + ", " + std::to_string(end));
}

// Contexts of more positions than a group attends to on GPUs, some parts of which are empty, beside
// plain loops in f64: single tokens and two at a time, of a sequence whose pages lie in no order.
inline void expect_long_contexts(const Made& made, const Executor& executor, int64_t steps) {
  constexpr int kPrompt = 310;
  std::vector<int32_t> tokens;
  tokens.reserve(kPrompt + 24);
  for (int i = 0; i < kPrompt + 24; i++) tokens.push_back(i * 37 % kVocabulary);
  const auto source = source_of(made);
  const auto expected = Reference(*source).logits(tokens);
  llm::Decoder decoder(source, {.capacity = 640, .sequences = 2, .pages = 16, .dtype = DType::F32},
                       executor);
  decoder.set_pages(1, std::vector<int32_t>{4, 0, 2, 9, 7, 15});
  const std::span<const int32_t> all(tokens);
  expect_near(decoder.forward(rows_of(all.first(kPrompt), 0, 1), false), expected[kPrompt - 1],
              2e-4, std::string(made.architecture) + ", the prompt");
  int64_t at = kPrompt;
  for (int64_t step = 0; step < steps; step++) {
    const int64_t count = step % 3 == 2 ? 2 : 1;
    const auto begin = static_cast<size_t>(at);
    const auto found =
        decoder.forward(rows_of(all.subspan(begin, static_cast<size_t>(count)), at, 1), true);
    at += count;
    const size_t length = expected[0].size();
    expect_near({found.end() - static_cast<std::ptrdiff_t>(length), found.end()},
                expected[static_cast<size_t>(at) - 1], 2e-4,
                std::string(made.architecture) + ", position " + std::to_string(at));
  }
}

}  // namespace hologram::tests
