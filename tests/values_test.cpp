// Tensors are values: random mixtures of arithmetic, assignment, views, captured graphs, borrowed
// memory and arrays that share memory, against a model that computes at once and copies everything.
#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <thread>

#include "faulty_device.hpp"
#include "hologram/hologram.hpp"
#include "runtime/executor_state.hpp"
#include "runtime/selection.hpp"

namespace hologram {
namespace {

// A square matrix of the model.
struct Matrix {
  size_t n = 0;
  std::vector<float> values;

  float at(size_t i, size_t k) const { return values[i * n + k]; }
  Matrix made(const std::function<float(size_t, size_t)>& element) const {
    Matrix m{n, std::vector<float>(n * n)};
    for (size_t i = 0; i < n; i++)
      for (size_t k = 0; k < n; k++) m.values[i * n + k] = element(i, k);
    return m;
  }
  Matrix transposed() const {
    return made([&](size_t i, size_t k) { return at(k, i); });
  }
  Matrix flipped() const {
    return made([&](size_t i, size_t k) { return at(n - 1 - i, n - 1 - k); });
  }
  float largest_of_row(size_t i) const {
    float most = at(i, 0);
    for (size_t k = 1; k < n; k++) most = std::max(most, at(i, k));
    return most;
  }
};

struct Pair {
  Tensor tensor;
  Matrix model;
};

// Something made of a tensor, computed or not, that must not notice what becomes of the tensor.
struct Kept {
  std::string what;
  std::vector<float> expected;
  std::function<std::vector<float>()> read;
};

struct Recorded {
  Graph graph;
  Matrix constant;
};

// x and y into x * 0.5 + y, the constant - x transposed, x, and the largest of each row of y beside
// the constant.
Recorded record(const Pair& constant) {
  const Tensor closed = constant.tensor;
  return {capture(
              [&](const Tensor& x, const Tensor& y) -> std::vector<Tensor> {
                Tensor half = x * 0.5f;
                half += y;
                return {half, closed - x.transpose(), x, ops::max(y, 1, true) + closed};
              },
              constant.tensor, constant.tensor),
          constant.model};
}

class Play {
 public:
  Play(uint32_t seed, size_t n, const Executor& executor, const Pair& shared,
       const Recorded& recorded)
      : random_(seed),
        n_(n),
        executor_(executor),
        recorded_(recorded),
        pairs_(4, shared),
        borrowed_(shared.model.made([&](size_t, size_t) { return number(); })),
        lent_(borrowed_) {}

  void step() {
    Pair& to = any();
    const Pair from = any(), other = any();
    switch (below(14)) {
      case 0: return set(to, to.tensor += from.tensor, sum(to.model, from.model));
      case 1:
        return set(to, to.tensor -= from.tensor.transpose(), to.model.made([&](size_t i, size_t k) {
          return to.model.at(i, k) - from.model.at(k, i);
        }));
      case 2: return set(to, from.tensor.flip({0, 1}), from.model.flipped());
      case 3: return launch(to, from, other);
      case 4: return record_anew(to, from);
      case 5: return assign(to, from, other);
      case 6: return put(to, from);
      case 7: return borrow(to);
      case 8: return keep_view(from);
      case 9: return keep_consumer(from, other);
      case 10: return keep_array(from);
      case 11: to.tensor.eval(); return;
      case 12: return check(to);
      default: return check_one_kept();
    }
  }

  void check_all() {
    for (const Pair& pair : pairs_) check(pair);
    while (!kept_.empty()) check_one_kept();
    EXPECT_EQ(lent_.values, borrowed_.values) << "borrowed memory was written to";
  }

 private:
  size_t below(size_t count) { return random_() % count; }
  float number() { return static_cast<float>(static_cast<int>(random_() % 4001) - 2000) / 512; }
  Pair& any() { return pairs_[below(pairs_.size())]; }
  Shape shape() const { return {static_cast<int64_t>(n_), static_cast<int64_t>(n_)}; }
  static Matrix sum(const Matrix& a, const Matrix& b) {
    return a.made([&](size_t i, size_t k) { return a.at(i, k) + b.at(i, k); });
  }
  static void set(Pair& to, const Tensor& tensor, Matrix model) {
    to = Pair{tensor, std::move(model)};
  }
  static void check(const Pair& pair) {
    ASSERT_EQ(pair.tensor.to_vector<float>(), pair.model.values);
  }

  void check_one_kept() {
    if (kept_.empty()) return;
    std::swap(kept_[below(kept_.size())], kept_.back());
    const Kept kept = std::move(kept_.back());
    kept_.pop_back();
    ASSERT_EQ(kept.read(), kept.expected) << kept.what;
  }
  void keep(std::string what, std::vector<float> expected,
            std::function<std::vector<float>()> read) {
    if (kept_.size() >= 8) check_one_kept();
    kept_.push_back({std::move(what), std::move(expected), std::move(read)});
  }

  void launch_with(const Recorded& recorded, Pair& to, const Pair& x, const Pair& y) {
    const std::vector<Tensor> results = recorded.graph.launch(x.tensor, y.tensor);
    const Matrix& c = recorded.constant;
    const std::vector<Matrix> expected = {
        x.model.made(
            [&](size_t i, size_t k) { return x.model.at(i, k) * 0.5f + y.model.at(i, k); }),
        x.model.made([&](size_t i, size_t k) { return c.at(i, k) - x.model.at(k, i); }), x.model,
        x.model.made([&](size_t i, size_t k) { return y.model.largest_of_row(i) + c.at(i, k); })};
    ASSERT_EQ(results.size(), expected.size());
    const size_t chosen = below(expected.size());
    for (size_t r = 0; r < expected.size(); r++)
      if (r != chosen)
        keep("a result of a launch", expected[r].values,
             [result = results[r]] { return result.to_vector<float>(); });
    set(to, results[chosen], expected[chosen]);
  }
  void launch(Pair& to, const Pair& x, const Pair& y) { launch_with(recorded_, to, x, y); }
  // With a graph that closes over a tensor, which changes right afterwards.
  void record_anew(Pair& to, const Pair& from) {
    const Recorded recorded = record(to);
    to.tensor.assign(from.tensor + 1);
    to.model = from.model.made([&](size_t i, size_t k) { return from.model.at(i, k) + 1; });
    const Pair x = to;
    launch_with(recorded, to, x, from);
  }

  void assign(Pair& to, const Pair& from, const Pair& other) {
    switch (below(6)) {
      case 0:
        to.tensor.assign(from.tensor + other.tensor);
        to.model = sum(from.model, other.model);
        break;
      case 1:
        to.tensor.assign(1.25f);
        to.model = to.model.made([](size_t, size_t) { return 1.25f; });
        break;
      case 2:  // of itself
        to.tensor.assign(to.tensor.transpose() + from.tensor);
        to.model = sum(to.model.transposed(), from.model);
        break;
      case 3:  // a view, repeated
        to.tensor.assign(from.tensor.slice(0, {1, 2}));
        to.model = from.model.made([&](size_t, size_t k) { return from.model.at(1, k); });
        break;
      case 4:  // itself, and what it shares with others
        to.tensor.assign(to.tensor);
        to.tensor.assign(to.tensor.flip({0, 1}));
        to.model = to.model.flipped();
        break;
      default: {  // something lazy that somebody else holds
        const Tensor lazy = from.tensor * 2;
        to.tensor.assign(lazy);
        to.model = sum(from.model, from.model);
        keep("what was assigned", to.model.values, [lazy] { return lazy.to_vector<float>(); });
      }
    }
  }

  void put(Pair& to, const Pair& from) {
    set(to, ops::put(to.tensor, {{1, 3}}, from.tensor.slice(0, {-3, -1})),
        to.model.made([&](size_t i, size_t k) {
          return i >= 1 && i < 3 ? from.model.at(n_ - 4 + i, k) : to.model.at(i, k);
        }));
  }

  void borrow(Pair& to) {
    set(to, Tensor::from_span(std::span<const float>(lent_.values), shape(), {}, executor_),
        borrowed_);
  }

  void keep_view(const Pair& from) {
    const bool columns = below(2) == 0;
    const Tensor view = columns ? from.tensor.slice({{}, {{}, {}, -2}}).transpose()
                                : from.tensor.slice({{1, {}, 2}, {2, {}}}).flip({1});
    std::vector<float> expected;
    if (columns)
      for (size_t c = 0; c < (n_ + 1) / 2; c++)
        for (size_t i = 0; i < n_; i++) expected.push_back(from.model.at(i, n_ - 1 - 2 * c));
    else
      for (size_t i = 1; i < n_; i += 2)
        for (size_t k = n_; k-- > 2;) expected.push_back(from.model.at(i, k));
    keep("a view", std::move(expected), [view] { return view.to_vector<float>(); });
  }

  void keep_consumer(const Pair& from, const Pair& other) {
    const Tensor lazy = ops::maximum(from.tensor, other.tensor.transpose());
    keep("something lazy",
         from.model
             .made([&](size_t i, size_t k) {
               return std::max(from.model.at(i, k), other.model.at(k, i));
             })
             .values,
         [lazy] { return lazy.to_vector<float>(); });
  }

  void keep_array(const Pair& from) {
    const Array array = from.tensor.array();
    keep("an array", from.model.values, [array] {
      const auto values = array.as<float>();
      return std::vector<float>(values.begin(), values.end());
    });
  }

  std::mt19937 random_;
  const size_t n_;
  const Executor executor_;
  const Recorded& recorded_;
  std::vector<Pair> pairs_;
  std::vector<Kept> kept_;
  Matrix borrowed_, lent_;  // equal, as long as nobody writes to what is lent
};

Pair start(size_t n, const Executor& executor) {
  Matrix model{n, std::vector<float>(n * n)};
  for (size_t k = 0; k < n * n; k++) model.values[k] = static_cast<float>(k % 37) / 8 - 2;
  const auto side = static_cast<int64_t>(n);
  // Lazy: whoever is first computes it.
  return {Tensor::from_vector(model.values, {side, side}, executor) + 0.0f, model};
}

void play(uint32_t seed, size_t n, const Executor& executor, const Pair& shared,
          const Recorded& recorded) {
  SCOPED_TRACE(seed);
  Play game(seed, n, executor, shared, recorded);
  for (int k = 0; k < 120; k++) {
    game.step();
    if (testing::Test::HasFatalFailure()) return;
  }
  game.check_all();
}

// The CPU, with fusion and without, and a device that memory is copied to and from.
std::vector<Executor> executors() {
  BackendConfig config;
  config.backend_type = BackendType::Cpu;
  std::vector<Executor> list = {Executor::from_config(config)};
  config.fusion = false;
  list.push_back(Executor::from_config(config));
  config.fusion = true;
  list.emplace_back(std::make_shared<Executor::State>(
      config, std::make_shared<FaultyDevice>(runtime::select(config).device), std::string()));
  return list;
}

TEST(Values, StayValues) {
  for (const Executor& executor : executors())
    for (const size_t n : {5, 4, 70}) {
      const Pair shared = start(n, executor);
      const Recorded recorded = record(shared);
      for (uint32_t seed = 0; seed < (n > 10 ? 10 : 60) && !HasFatalFailure(); seed++)
        play(seed, n, executor, shared, recorded);
      EXPECT_EQ(shared.tensor.to_vector<float>(), shared.model.values);
    }
}

TEST(Values, StayValuesOnEightThreads) {
  for (const Executor& executor : executors()) {
    const Pair shared = start(6, executor);
    const Recorded recorded = record(shared);
    std::vector<std::thread> threads;
    for (uint32_t t = 0; t < 8; t++)
      threads.emplace_back([&, t] {
        for (uint32_t k = 0; k < 6 && !HasFatalFailure(); k++)
          play(1000 + t * 100 + k, 6, executor, shared, recorded);
      });
    for (std::thread& t : threads) t.join();
    EXPECT_EQ(shared.tensor.to_vector<float>(), shared.model.values);
  }
}

// Memory that the caller keeps is read and never written to, and let go with the last who needs it.
TEST(Values, BorrowedMemoryIsLetGo) {
  auto owner = std::make_shared<std::vector<float>>(64, 3.0f);
  const std::weak_ptr<std::vector<float>> watched = owner;
  const std::span<const float> span(*owner);
  Tensor x = Tensor::from_span(span, {8, 8}, std::move(owner));
  Tensor lazy = x.transpose() * 2;
  x.assign(7.0f);
  EXPECT_EQ(lazy.to_vector<float>(), std::vector<float>(64, 6.0f));
  EXPECT_TRUE(watched.expired());
  EXPECT_EQ(x.to_vector<float>(), std::vector<float>(64, 7.0f));
}

}  // namespace
}  // namespace hologram
