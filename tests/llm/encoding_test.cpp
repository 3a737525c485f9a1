// Numbers into blocks and back, and SHA-256.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "core/sha256.hpp"
#include "llm/block_encoding.hpp"

namespace hologram::llm {
namespace {

double lost(const BlockType& type, const std::vector<float>& numbers) {
  std::vector<std::byte> blocks(numbers.size() / type.elements * type.bytes);
  EXPECT_TRUE(
      encode_blocks(type, numbers.data(), static_cast<int64_t>(numbers.size()), blocks.data()));
  std::vector<float> after(numbers.size());
  decode_blocks(type, blocks, after.data());
  double lost = 0, all = 0;
  for (size_t i = 0; i < numbers.size(); i++) {
    EXPECT_TRUE(std::isfinite(after[i])) << type.name;
    lost += std::pow(double{numbers[i]} - double{after[i]}, 2);
    all += std::pow(double{numbers[i]}, 2);
  }
  return all > 0 ? std::sqrt(lost / all) : lost;
}

// How much normally distributed numbers lose at most, by the bits of a type.
double most(const BlockType& type) {
  const double bits = 8.0 * type.bytes / type.elements;
  return bits > 8      ? 0.007
         : bits > 6    ? 0.02
         : bits > 5.4  ? 0.045
         : bits >= 4.2 ? 0.13
         : bits > 3    ? 0.16
                       : 0.28;
}

class Encoding : public testing::Test {
 protected:
  std::vector<float> drawn(size_t count, float scale) {
    std::normal_distribution<float> normal(0, scale);
    std::vector<float> numbers(count);
    for (float& number : numbers) number = normal(random_);
    return numbers;
  }
  std::mt19937 random_{1};
};

TEST_F(Encoding, LosesWhatItsBitsJustify) {
  for (const BlockType& type : block_types()) {
    for (const float scale : {1e-3f, 1.0f, 50.0f})
      EXPECT_LT(lost(type, drawn(4096, scale)), most(type)) << type.name << " " << scale;
    EXPECT_EQ(lost(type, std::vector<float>(512)), 0) << type.name;
  }
}

TEST_F(Encoding, NumbersThatBlocksHaveStayAsTheyAre) {
  for (const BlockType& type : block_types()) {
    const std::vector<float> first = drawn(1024, 1);
    std::vector<std::byte> blocks(first.size() / type.elements * type.bytes);
    encode_blocks(type, first.data(), 1024, blocks.data());
    std::vector<float> once(first.size());
    decode_blocks(type, blocks, once.data());
    // What the search finds a second time need not be the same scales, but nearly as good ones.
    EXPECT_LT(lost(type, once), 0.5 * most(type)) << type.name;
  }
}

TEST_F(Encoding, TakesWhateverThereIs) {
  for (const BlockType& type : block_types()) {
    std::vector<float> numbers = drawn(512, 1);
    numbers[3] = INFINITY;
    numbers[7] = NAN;
    numbers[300] = 3e38f;
    numbers[301] = -1e-42f;
    std::vector<std::byte> blocks(numbers.size() / type.elements * type.bytes);
    encode_blocks(type, numbers.data(), 512, blocks.data());
    std::vector<float> after(numbers.size());
    decode_blocks(type, blocks, after.data());
    for (const float number : after) EXPECT_TRUE(std::isfinite(number)) << type.name;
    const std::vector<float> same(256, 3.0f), negative(256, -0.75f);
    EXPECT_LT(lost(type, same), most(type)) << type.name;
    EXPECT_LT(lost(type, negative), most(type)) << type.name;
  }
}

TEST(Sha256, IsThatOfTheStandard) {
  const auto of = [](const std::string& text, size_t step) {
    core::Sha256 sum;
    for (size_t i = 0; i < text.size(); i += step) sum.add(std::string_view(text).substr(i, step));
    return sum.hex();
  };
  EXPECT_EQ(of("", 1), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(of("abc", 1), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(of(std::string(1000000, 'a'), 777),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

}  // namespace
}  // namespace hologram::llm
