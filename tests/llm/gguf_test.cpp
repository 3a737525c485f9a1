// GGUF files: what is in them, and that no bytes make the reader crash.
#include "files/gguf.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "hologram/error.hpp"
#include "llm/gguf_writer.hpp"

namespace hologram::files {
namespace {

std::string sample() {
  return tests::GgufWriter()
      .text("general.architecture", "llama")
      .number("llama.block_count", 3)
      .real("llama.epsilon", 0.5f)
      .boolean("tokenizer.add", true)
      .texts("tokenizer.tokens", {"a", "", "long piece"})
      .numbers<int32_t>("tokenizer.types", 5, {1, -2, 3})
      .tensor("x", 0, {4, 2}, std::string(32, '\1'))
      .tensor("y", 2, {32, 3}, std::string(54, '\2'))
      .bytes();
}

// From memory that ends where the file ends, so that a sanitizer sees one byte more.
Gguf parse(const std::string& bytes) {
  const auto kept = std::make_shared<std::vector<std::byte>>(bytes.size());
  if (!bytes.empty()) std::memcpy(kept->data(), bytes.data(), bytes.size());
  return Gguf::parse("memory", *kept, kept);
}

// Looks at everything.
size_t touch(const Gguf& file) {
  size_t sum = 0;
  for (const auto& [name, value] : file.metadata()) {
    sum += name.size();
    if (value.type == GgufType::String)
      for (const std::string_view text : file.texts(name)) sum += text.size();
    else if (value.type != GgufType::Array) sum += file.numbers(name).size();
  }
  for (const GgufTensor& tensor : file.tensors())
    for (const std::byte byte : tensor.data) sum += std::to_integer<size_t>(byte);
  return sum;
}

TEST(Gguf, HasWhatWasWritten) {
  const Gguf file = parse(sample());
  EXPECT_EQ(file.version(), 3u);
  EXPECT_EQ(file.text("general.architecture"), "llama");
  EXPECT_EQ(file.integer("llama.block_count"), 3);
  EXPECT_EQ(file.number("llama.epsilon"), 0.5);
  EXPECT_EQ(file.boolean("tokenizer.add"), true);
  EXPECT_EQ(file.texts("tokenizer.tokens"), (std::vector<std::string_view>{"a", "", "long piece"}));
  EXPECT_EQ(file.integers("tokenizer.types"), (std::vector<int64_t>{1, -2, 3}));
  EXPECT_FALSE(file.integer("nothing").has_value());
  const GgufTensor* const y = file.tensor("y");
  ASSERT_NE(y, nullptr);
  EXPECT_EQ(y->encoding->name, "Q4_0");
  EXPECT_EQ(y->rows(), 3u);
  EXPECT_EQ(y->data.size(), 54u);
  EXPECT_EQ(y->data[53], std::byte{2});
}

TEST(Gguf, SaysWhatIsWrong) {
  const Gguf file = parse(sample());
  EXPECT_THROW(file.integer("general.architecture"), Error);
  EXPECT_THROW(file.text("llama.block_count"), Error);
  const std::string big_endian = "GGUF" + std::string("\0\0\0\3", 4) + std::string(16, '\0');
  for (const std::string& bytes : {std::string(), std::string("GGUX"), big_endian}) {
    try {
      parse(bytes);
      ADD_FAILURE();
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("'memory'"), std::string::npos) << error.what();
    }
  }
}

TEST(Gguf, EveryTruncationIsAnError) {
  const std::string bytes = sample();
  const size_t padding = 32 - 54 % 32;  // behind the last tensor
  for (size_t length = 0; length + padding < bytes.size(); length++)
    EXPECT_THROW(parse(bytes.substr(0, length)), Error) << length;
  EXPECT_NO_THROW(parse(bytes.substr(0, bytes.size() - padding)));
}

TEST(Gguf, HugeCountsAreErrors) {
  const std::string bytes = sample();
  for (size_t at = 8; at + 8 <= bytes.size(); at++)
    for (const uint64_t huge :
         {UINT64_MAX, uint64_t{1} << 63, uint64_t{1} << 40, uint64_t{1} << 32}) {
      std::string damaged = bytes;
      std::memcpy(damaged.data() + at, &huge, 8);
      try {
        touch(parse(damaged));
      } catch (const Error&) {
      }
    }
}

TEST(Gguf, RandomDamageNeverCrashes) {
  const std::string bytes = sample();
  std::mt19937 random(11);
  int failures = 0;
  for (int i = 0; i < 20000; i++) {
    std::string damaged = bytes;
    for (unsigned n = 1 + random() % 4; n > 0; n--)
      damaged[random() % damaged.size()] = static_cast<char>(random());
    try {
      touch(parse(damaged));
    } catch (const Error&) {
      failures++;
    }
  }
  EXPECT_GT(failures, 5000);
}

}  // namespace
}  // namespace hologram::files
