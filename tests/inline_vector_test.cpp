// InlineVector beside std::vector: the same calls, the same elements.
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "hologram/shape.hpp"

namespace hologram {
namespace {

template <class T>
T value_of(uint32_t n) {
  if constexpr (std::is_same_v<T, std::string>) return std::string(n % 40, 'x') + std::to_string(n);
  else return T(n);
}

template <class T>
class InlineVectors : public testing::Test {
 protected:
  using Ours = InlineVector<T, 3>;
  using Theirs = std::vector<T>;

  void expect_same(const Ours& ours, const Theirs& theirs) {
    ASSERT_EQ(ours.size(), theirs.size());
    EXPECT_TRUE(std::equal(ours.begin(), ours.end(), theirs.begin()));
    EXPECT_EQ(ours, Ours(theirs));
    EXPECT_EQ(static_cast<Theirs>(ours), theirs);
    EXPECT_TRUE(std::equal(ours.rbegin(), ours.rend(), theirs.rbegin()));
    if (!theirs.empty()) {
      EXPECT_EQ(ours.front(), theirs.front());
      EXPECT_EQ(ours.back(), theirs.back());
    }
  }

  // One call of any kind to a pair, possibly with another pair.
  void play(std::mt19937& random, Ours& a, Theirs& b, Ours& c, Theirs& d) {
    const T v = value_of<T>(random() % 1000);
    const auto at = static_cast<std::ptrdiff_t>(random() % (b.size() + 1));
    const auto to =
        at + static_cast<std::ptrdiff_t>(random() % (b.size() + 1 - static_cast<size_t>(at)));
    const size_t count = random() % 8;
    switch (random() % 17) {
      case 0: a.push_back(v), b.push_back(v); break;
      case 1: a.emplace_back(v), b.emplace_back(v); break;
      case 2:
        if (!b.empty()) a.pop_back(), b.pop_back();
        break;
      case 3: a.insert(a.begin() + at, v), b.insert(b.begin() + at, v); break;
      case 4:
        a.insert(a.begin() + at, d.begin(), d.end()), b.insert(b.begin() + at, d.begin(), d.end());
        break;
      case 5:
        a.erase(a.begin() + at, a.begin() + to), b.erase(b.begin() + at, b.begin() + to);
        break;
      case 6:
        if (to > at) a.erase(a.begin() + at), b.erase(b.begin() + at);
        break;
      case 7: a.resize(count), b.resize(count); break;
      case 8: a.resize(count, v), b.resize(count, v); break;
      case 9: a.assign(count, v), b.assign(count, v); break;
      case 10: a.assign(d.begin(), d.end()), b.assign(d.begin(), d.end()); break;
      case 11: a = c, b = d; break;
      case 12: a = std::exchange(c, {}), b = std::exchange(d, {}); break;
      case 13: a.swap(c), b.swap(d); break;
      case 14: {
        Ours e(std::move(a));
        a = std::move(e);
      } break;
      case 15:
        if (!b.empty()) a.push_back(a.front()), b.push_back(T(b.front()));
        break;
      default: a.clear(), b.clear(); break;
    }
    EXPECT_EQ(a == c, b == d);
    EXPECT_EQ(a < c, b < d);
  }
};

using Elements = testing::Types<int64_t, std::string>;
TYPED_TEST_SUITE(InlineVectors, Elements);

TYPED_TEST(InlineVectors, DoWhatVectorsDo) {
  std::mt19937 random(1);
  for (int round = 0; round < 200 && !this->HasFailure(); round++) {
    typename TestFixture::Ours a, c;
    typename TestFixture::Theirs b, d;
    for (int k = 0; k < 60 && !this->HasFailure(); k++) {
      this->play(random, a, b, c, d);
      this->play(random, c, d, a, b);
      this->expect_same(a, b);
      this->expect_same(c, d);
    }
  }
}

TEST(Shapes, LongerThanAnyTensorCanHave) {
  Shape shape(kMaxRank + 3, 2);
  EXPECT_EQ(to_string(shape), "[2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2]");
  const Shape copy = shape;
  shape.resize(2);
  EXPECT_EQ(shape, (Shape{2, 2}));
  EXPECT_EQ(copy.size(), kMaxRank + 3);
  EXPECT_ANY_THROW(count_of(copy));
}

}  // namespace
}  // namespace hologram
