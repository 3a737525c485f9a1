// Graphs that differ in one thing only, in random order on one executor, which knows the plans of
// all that came before: each must give what an executor gives that has never seen another.
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "hologram/hologram.hpp"

namespace hologram {
namespace {

struct Recipe {
  uint32_t dtype = 0, rows = 3, columns = 5;
  uint32_t operation = 0, second = 0;  // of the first step and of the one after it
  uint32_t look = 0;                   // how the left operand is looked at
  uint32_t step = 1, offset = 0;       // of the columns that are taken
  uint32_t shape_of_right = 0;         // whole, a row, a column, one number, a number in the code
  uint32_t same = 0;                   // the right operand: of its own, a copy, the left one itself
  uint32_t number = 0;
  uint32_t reduction = 0, axis = 0;
  uint32_t kept = 0;  // what happens to the value in between
};

constexpr uint32_t Recipe::*kFields[] = {
    &Recipe::dtype,          &Recipe::rows, &Recipe::columns, &Recipe::operation,
    &Recipe::second,         &Recipe::look, &Recipe::step,    &Recipe::offset,
    &Recipe::shape_of_right, &Recipe::same, &Recipe::number,  &Recipe::reduction,
    &Recipe::axis,           &Recipe::kept};
constexpr uint32_t kChoices[] = {5, 6, 7, 8, 8, 5, 4, 4, 6, 3, 6, 8, 2, 6};

Recipe draw(std::mt19937& random) {
  Recipe r;
  for (size_t f = 0; f < std::size(kFields); f++) r.*kFields[f] = random() % kChoices[f];
  return r;
}

Executor fresh() {
  BackendConfig config = BackendConfig::from_environment();
  config.backend_type = BackendType::Cpu;
  config.num_threads = 1;
  return Executor::from_config(config);
}

Tensor numbers(int64_t rows, int64_t columns, float first, DType dtype, const Executor& executor) {
  std::vector<float> values(static_cast<size_t>(rows * columns));
  for (size_t i = 0; i < values.size(); i++)
    values[i] = first + static_cast<float>((i * 7) % 11) * (is_float(dtype) ? 0.375f : 1.0f);
  return Tensor::from_vector(std::move(values), {rows, columns}, executor).to(dtype).eval();
}

Tensor apply(uint32_t operation, const Tensor& a, const Operand& b) {
  switch (operation) {
    case 0: return a + b;
    case 1: return a - b;
    case 2: return b - a;
    case 3: return a * b;
    case 4: return ops::maximum(a, b);
    case 5: return ops::where(a < b, a, b);
    case 6: return ops::where(a < b, b, a);
    default: return ops::clamp(a, b, 7);
  }
}

std::vector<Tensor> cook(const Recipe& r, const Executor& executor) {
  constexpr DType kTypes[] = {DType::F32, DType::F64, DType::I32, DType::F16, DType::U8};
  const DType dtype = kTypes[r.dtype];
  const int64_t rows = r.rows + 1, columns = r.columns + 1;
  constexpr int64_t kWidth = 64;  // of what slices are taken from
  Tensor a = numbers(rows, r.step == 0 ? columns : kWidth, 2, dtype, executor);
  if (r.step > 0) a = a.slice(1, {r.offset, r.offset + columns * r.step, r.step});
  switch (r.look) {
    case 1: a = a.flip({0}); break;
    case 2: a = a.flip({1}); break;
    case 3: a = a.transpose().reshape({rows, columns}); break;
    case 4: a = a.select(0, 0).unsqueeze(0).broadcast_to({rows, columns}); break;
    default: break;
  }
  const double number = r.number == 5 ? 3 : r.number;
  Operand b = number;
  switch (r.shape_of_right) {
    case 0: b = numbers(rows, columns, 1, dtype, executor); break;
    case 1: b = numbers(1, columns, 1, dtype, executor); break;
    case 2: b = numbers(rows, 1, 1, dtype, executor); break;
    case 3: b = numbers(1, 1, 1, dtype, executor).reshape({}); break;
    case 4: b = ops::full({rows, columns}, number + 1, dtype, executor); break;
    default: break;
  }
  if (r.same == 1) b = Tensor::from(a.array(), executor);
  if (r.same == 2) b = a;
  const Tensor between = apply(r.operation, a, b);
  if (r.kept == 1) between.eval();
  Tensor result = apply(r.second, between, r.number == 4 ? Operand(a) : Operand(number + 1));
  const int axis = static_cast<int>(r.axis);
  switch (r.reduction) {
    case 1: result = ops::sum(result, axis); break;
    case 2: result = ops::max(result, axis); break;
    case 3: result = result - ops::min(result, axis, true); break;
    case 4: result = ops::concat({result, between}, axis); break;
    case 5: result = ops::sum(result); break;
    case 6: result = ops::pad(result, {{r.axis, 1 - r.axis}, {0, 0}}, 0); break;
    case 7: result = ops::roll(result, axis + 1, 1); break;
    default: break;
  }
  switch (r.kept) {
    case 2:
    case 3:
      if (r.kept == 2) eval({between, result});
      else eval({result, between});
      EXPECT_TRUE(between.ready() && result.ready());
      break;
    case 4: result.eval(); break;  // the value between, when that is read
    case 5: between.eval(); break;
    default: break;
  }
  return {result, between};
}

std::string in_words(const Recipe& r) {
  std::string text;
  for (const auto field : kFields) text += std::to_string(r.*field) + " ";
  return text;
}

void expect_the_same(const Recipe& r, const Executor& experienced) {
  const std::vector<Tensor> got = cook(r, experienced), expected = cook(r, fresh());
  for (size_t k = 0; k < got.size(); k++) {
    const Array a = got[k].array(), b = expected[k].array();
    ASSERT_EQ(a.dtype(), b.dtype()) << in_words(r);
    ASSERT_EQ(a.shape(), b.shape()) << in_words(r);
    ASSERT_EQ(std::memcmp(a.data(), b.data(), a.bytes()), 0)
        << "tensor " << k << " of " << in_words(r);
  }
}

TEST(Plans, GraphsThatDifferInOneThing) {
  std::mt19937 random(20);
  const Executor experienced = fresh();
  for (int family = 0; family < 30 && !HasFatalFailure(); family++) {
    const Recipe base = draw(random);
    std::vector<Recipe> recipes = {base};
    for (size_t f = 0; f < std::size(kFields); f++) {
      for (uint32_t choice = 0; choice < kChoices[f]; choice++) {
        recipes.push_back(base);
        recipes.back().*kFields[f] = choice;
      }
    }
    std::shuffle(recipes.begin(), recipes.end(), random);
    for (const Recipe& r : recipes) {
      expect_the_same(r, experienced);
      if (HasFatalFailure()) return;
    }
  }
}

// The numbers of a plan are those of the graph at hand.
TEST(Plans, NumbersAreNotKept) {
  const Executor executor = fresh();
  const Tensor a = Tensor::from({1.0f, 2.0f}, {}, executor);
  for (int n = 0; n < 5; n++) {
    const Tensor b = (a * n + 2 * n) * (n - 1);
    EXPECT_EQ(b.to_vector<float>(), (std::vector<float>{static_cast<float>(3 * n * (n - 1)),
                                                        static_cast<float>(4 * n * (n - 1))}));
  }
}

TEST(Plans, NothingButSizes) {
  const Executor executor = fresh();
  for (int round = 0; round < 2; round++)
    for (int64_t n = 0; n < 20; n++)
      EXPECT_EQ(ops::neg(ops::full({n}, 2.0f, DType::F32, executor)).to_vector<float>(),
                std::vector<float>(static_cast<size_t>(n), -2));
}

TEST(Plans, WhichOperandComesAgain) {
  const Executor executor = fresh();
  const Tensor a = Tensor::from({1.0f, 5.0f}, {}, executor);
  const Tensor b = Tensor::from({3.0f, 2.0f}, {}, executor);
  using Values = std::vector<float>;
  for (int round = 0; round < 2; round++) {
    EXPECT_EQ(ops::where(a < b, a, b).to_vector<float>(), (Values{1, 2}));
    EXPECT_EQ(ops::where(a < b, b, a).to_vector<float>(), (Values{3, 5}));
    EXPECT_EQ(ops::where(a < b, a, a).to_vector<float>(), (Values{1, 5}));
    EXPECT_EQ(((a - b) * a).to_vector<float>(), (Values{-2, 15}));
    EXPECT_EQ(((a - b) * b).to_vector<float>(), (Values{-6, 6}));
    EXPECT_EQ(((a - b) * (a - b)).to_vector<float>(), (Values{4, 9}));
    const Tensor difference = a - b;
    EXPECT_EQ((difference * difference).to_vector<float>(), (Values{4, 9}));
    EXPECT_EQ((difference * a).to_vector<float>(), (Values{-2, 15}));
  }
}

// The same random numbers do not come again.
TEST(Plans, RandomNumbersGoOn) {
  const Executor executor = fresh();
  const auto draw_some = [&] {
    return (ops::rand({64}, DType::F32, executor) + 1).to_vector<float>();
  };
  const std::vector<float> first = draw_some(), second = draw_some();
  EXPECT_NE(first, second);
  ops::seed(0, executor);
  EXPECT_EQ(draw_some(), first);
  EXPECT_EQ(draw_some(), second);
}

// More structures than plans are kept for.
TEST(Plans, ManyStructures) {
  const Executor executor = fresh();
  for (int round = 0; round < 2; round++)
    for (int64_t n = 1; n < 700; n++) {
      const Tensor a =
          Tensor::from_vector(std::vector<float>(static_cast<size_t>(n), 2), {n}, executor);
      const std::vector<float> got = (a * a + static_cast<float>(n)).to_vector<float>();
      ASSERT_EQ(got, std::vector<float>(static_cast<size_t>(n), static_cast<float>(n) + 4));
    }
}

// What was computed for one graph is not written over by the next of its structure.
TEST(Plans, ResultsAreTheirOwn) {
  const Executor executor = fresh();
  const Tensor a = Tensor::from({1.0f, 2.0f}, {}, executor);
  std::vector<Tensor> results;
  results.reserve(8);
  for (int n = 0; n < 8; n++) results.push_back((a * n + n).eval());
  for (int n = 0; n < 8; n++)
    EXPECT_EQ(results[static_cast<size_t>(n)].to_vector<float>(),
              (std::vector<float>{static_cast<float>(2 * n), static_cast<float>(3 * n)}));
  Tensor x = Tensor::from({1.0f, 2.0f}, {}, executor);
  x += 0;
  for (int n = 0; n < 8; n++) {
    const Tensor before = x;
    x.assign(x * 2);
    EXPECT_EQ(x.to_vector<float>()[0], 2 * before.to_vector<float>()[0]);
  }
}

}  // namespace
}  // namespace hologram
