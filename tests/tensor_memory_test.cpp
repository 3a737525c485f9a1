// Memory that runs out in the middle of tensor work, at every place where some is asked for: a
// clear error, nothing lost, nothing half done, and the same work succeeds right afterwards.
#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "failing_new.hpp"
#include "faulty_device.hpp"
#include "hologram/hologram.hpp"
#include "runtime/executor_state.hpp"
#include "runtime/selection.hpp"

namespace hologram {
namespace {

using Tensors = std::vector<Tensor>;
using Bytes = std::vector<std::vector<std::byte>>;

// An executor on a device whose memory can be made to run out.
struct Device {
  explicit Device(int threads = 1) {
    BackendConfig config;
    config.backend_type = BackendType::Cpu;
    config.num_threads = threads;
    config.allow_transfers = true;
    faulty = std::make_shared<FaultyDevice>(runtime::select(config).device);
    faulty->give_at_most(uint64_t{1} << 20);
    executor = std::make_unique<Executor>(
        std::make_shared<Executor::State>(config, faulty, std::string("for the test")));
  }
  std::shared_ptr<FaultyDevice> faulty;
  std::unique_ptr<Executor> executor;
};

constexpr int64_t kRows = 24, kColumns = 300;

// a, b: [24, 300]; row: [300]; weights: [300, 8]; positions: [24, 5] of 300; far: [24, 300] on
// another executor.
struct Inputs {
  Tensor a, b, row, weights, positions, far;
  Tensors all() const { return {a, b, row, weights, positions, far}; }
};

Tensor some(std::mt19937& random, Shape shape, const Executor& executor) {
  std::vector<float> values(static_cast<size_t>(count_of(shape)));
  for (float& v : values) v = static_cast<float>(static_cast<int>(random() % 2001) - 1000) / 256;
  return Tensor::from_vector(values, std::move(shape), executor);
}

Inputs inputs_on(const Executor& executor, const Executor& other) {
  std::mt19937 random(3);
  Inputs in;
  in.a = some(random, {kRows, kColumns}, executor);
  in.b = some(random, {kRows, kColumns}, executor);
  in.row = some(random, {kColumns}, executor);
  in.weights = some(random, {kColumns, 8}, executor);
  std::vector<int64_t> at(kRows * 5);
  for (int64_t& p : at) p = static_cast<int64_t>(random() % kColumns);
  in.positions = Tensor::from_vector(at, {kRows, 5}, executor);
  in.far = some(random, {kRows, kColumns}, other);
  return in;
}

struct Job {
  const char* name;
  std::function<Tensors(const Inputs&)> build;
};

const std::vector<Job>& jobs() {
  static const std::vector<Job> list = {
      {"elementwise chain",
       [](const Inputs& in) -> Tensors {
         const Tensor x = ops::tanh(in.a * 2 + in.b) - 0.5f;
         return {x, ops::where(x < 0, in.b, x)};
       }},
      {"broadcast",
       [](const Inputs& in) -> Tensors {
         return {in.a + in.row, in.row.reshape({1, 1, kColumns}) * in.a.unsqueeze(1)};
       }},
      {"views",
       [](const Inputs& in) -> Tensors {
         return {in.a.transpose().flip({0}).reshape({-1}), in.b.slice({{1, {}, 3}, {{}, {}, -2}})};
       }},
      {"reductions",
       [](const Inputs& in) -> Tensors {
         return {ops::sum(in.a), ops::mean(in.a * in.b, 0), ops::max(in.a, 1), ops::var(in.b, 1),
                 ops::argmax(in.a, 1)};
       }},
      {"reductions in pieces",
       [](const Inputs& in) -> Tensors {
         const Tensor wide = in.a.unsqueeze(0).broadcast_to({9, kRows, kColumns});
         return {ops::sum(wide * 1.5f)};
       }},
      {"softmax",
       [](const Inputs& in) -> Tensors {
         return {ops::softmax(in.a, 1), ops::log_softmax(in.b, 0)};
       }},
      {"matmul",
       [](const Inputs& in) -> Tensors {
         const Tensor doubles = in.a.to(DType::F64);
         return {ops::matmul(in.a, in.weights) + 1, ops::matmul(in.a.transpose(), in.b),
                 ops::matmul(doubles, in.weights.to(DType::F64)),
                 ops::matmul(in.positions, in.positions.transpose())};
       }},
      {"sort",
       [](const Inputs& in) -> Tensors {
         const ops::TopK top = ops::topk(in.b, 3, 1);
         return {ops::sort(in.a, 1), ops::argsort(in.a.slice(1, {0, 100}), 0, true), top.values,
                 top.indices};
       }},
      {"unique",
       [](const Inputs& in) -> Tensors {
         const ops::Unique found = ops::unique(in.positions);
         return {found.values, found.counts, ops::nonzero(in.a > 3.5f)};
       }},
      {"gather and scatter",
       [](const Inputs& in) -> Tensors {
         return {ops::take(in.weights, in.positions, 0), ops::gather(in.a, in.positions, 1),
                 ops::scatter_add(in.a, in.positions, 1.0f, 1)};
       }},
      {"put together",
       [](const Inputs& in) -> Tensors {
         return {ops::concat({in.a, in.b * 2, in.row.reshape({1, -1})}),
                 ops::put(in.a, {{2, 5}}, in.row), ops::pad(in.b, {{1, 2}, {0, 1}}, 7)};
       }},
      {"running sums",
       [](const Inputs& in) -> Tensors {
         return {ops::cumsum(in.a, 1), ops::cumprod(in.b.reshape({-1}) * 0.001f + 1, 0)};
       }},
      {"random numbers",
       [](const Inputs& in) -> Tensors {
         const Executor executor = in.a.executor();
         ops::seed(5, executor);
         return {ops::rand({100}, DType::F32, executor), ops::randn({30, 3}, DType::F64, executor),
                 ops::randint(-3, 9, {50}, DType::I16, executor)};
       }},
      {"a deep chain",
       [](const Inputs& in) -> Tensors {
         Tensor x = in.row;
         for (int k = 0; k < 300; k++) x = x * 0.5f + in.row;
         return {x};
       }},
      {"two executors",
       [](const Inputs& in) -> Tensors {
         return {in.a + in.far, in.b.to(in.far.executor()) * in.far};
       }},
      {"capture and launch",
       [](const Inputs& in) -> Tensors {
         const Tensor constant = ops::exp(in.row);
         const Graph graph = capture(
             [&](const Tensor& x) -> Tensors {
               return {ops::softmax(x * constant, 1), ops::matmul(x, in.weights), x};
             },
             in.a);
         Tensors results = graph.launch(in.b);
         results.push_back(graph.launch(in.a * 2)[0]);
         return results;
       }},
  };
  return list;
}

Bytes bytes_of(const Tensors& tensors) {
  Bytes all;
  for (const Tensor& t : tensors) {
    const Array array = t.array();
    all.emplace_back(array.data(), array.data() + array.bytes());
  }
  return all;
}

enum class Outcome { Done, OutOfMemory, BadAlloc };

// How the work ended; any other error than out of memory is a failed test.
template <class Work>
Outcome attempt(Work work) {
  Outcome outcome = Outcome::Done;
  try {
    work();
  } catch (const Error& error) {
    FailingNew::stop();
    outcome = Outcome::OutOfMemory;
    EXPECT_EQ(error.kind(), ErrorKind::OutOfMemory) << error.what();
    EXPECT_FALSE(error.remedy().empty());
  } catch (const std::bad_alloc&) {
    outcome = Outcome::BadAlloc;
  }
  FailingNew::stop();
  return outcome;
}

// Two executors, what is given to a job, and what must come out.
struct Bench {
  explicit Bench(int threads = 1) : here(threads), there(threads) {}
  Device here, there;
  Inputs in = inputs_on(*here.executor, *there.executor);
  Bytes given = bytes_of(in.all());

  // That all memory but that of the inputs is back, and that they are what they were.
  void expect_nothing_lost() const {
    for (const Device* device : {&here, &there}) {
      ASSERT_EQ(device->executor->pool_statistics().live_blocks, device == &here ? 5u : 1u);
      device->executor->trim();
      ASSERT_EQ(device->faulty->given(), device->executor->pool_statistics().slab_bytes);
    }
    ASSERT_EQ(bytes_of(in.all()), given);
  }
};

// Not every place where there are thousands.
int64_t step_for(int64_t places, int64_t tries) { return std::max<int64_t>(1, places / tries); }

class TensorMemory : public testing::TestWithParam<size_t> {
 protected:
  const Job& job() const { return jobs()[GetParam()]; }
};

std::string name_of_job(const testing::TestParamInfo<size_t>& info) {
  std::string name;
  for (const char c : std::string_view(jobs()[info.param].name)) name += c == ' ' ? '_' : c;
  return name;
}
INSTANTIATE_TEST_SUITE_P(Jobs, TensorMemory, testing::Range<size_t>(0, jobs().size()), name_of_job);

TEST_P(TensorMemory, OfTheDevice) {
  const Bench bench;
  const Bytes expected = bytes_of(job().build(bench.in));
  uint64_t failures = 0;
  for (const Device* device : {&bench.here, &bench.there}) {
    FaultyDevice& faulty = *device->faulty;
    for (int n = 0;; n++) {
      SCOPED_TRACE(n);
      Tensors made;
      device->executor->trim();
      faulty.fail(n, 1);
      const Outcome outcome = attempt([&] {
        made = job().build(bench.in);
        eval(made);
      });
      const bool all = faulty.asked() <= n;
      faulty.fail(0, 0);
      ASSERT_EQ(outcome, all ? Outcome::Done : Outcome::OutOfMemory);
      failures += all ? 0 : 1;
      // The very same tensors, and new ones.
      if (!made.empty()) {
        ASSERT_EQ(bytes_of(made), expected);
      }
      made.clear();
      ASSERT_NO_FATAL_FAILURE(bench.expect_nothing_lost());
      ASSERT_EQ(bytes_of(job().build(bench.in)), expected);
      if (all) break;
    }
  }
  EXPECT_GE(failures, 1u);
}

// Tensors that are built already: computing and reading them tells what it lacks in an Error.
TEST_P(TensorMemory, OfTheHostInTheWork) {
  const Bench bench;
  const Bytes expected = bytes_of(job().build(bench.in));
  for (int64_t n = 1, step = 1;; n += step) {
    SCOPED_TRACE(n);
    const Tensors made = job().build(bench.in);
    std::vector<Array> arrays(made.size());
    FailingNew::fail(n);
    const Outcome outcome = attempt([&] {
      eval(made);
      for (size_t i = 0; i < made.size(); i++) arrays[i] = made[i].array();
    });
    const bool all = FailingNew::asked() < n;
    ASSERT_TRUE(outcome != Outcome::BadAlloc);
    FailingNew::fail(0);
    eval(made);
    FailingNew::stop();
    if (n == 1) step = step_for(FailingNew::asked(), 200);
    ASSERT_EQ(bytes_of(made), expected);
    if (all) break;
  }
  ASSERT_NO_FATAL_FAILURE(bench.expect_nothing_lost());
}

// All of it, in an executor that knows the kernels, or one that has yet to make them.
TEST_P(TensorMemory, OfTheHostInBuildingAndCompiling) {
  constexpr int64_t kTries = 40;
  for (const bool warm : {true, false}) {
    auto bench = std::make_unique<Bench>();
    if (warm) job().build(bench->in);
    FailingNew::fail(0);
    const Bytes expected = bytes_of(job().build(bench->in));
    FailingNew::stop();
    const int64_t asked = FailingNew::asked(), step = step_for(asked, kTries);
    for (int64_t n = 1; n <= asked; n += step) {
      SCOPED_TRACE(n);
      if (!warm) bench = std::make_unique<Bench>();
      FailingNew::fail(n);
      attempt([&] { eval(job().build(bench->in)); });
      ASSERT_NO_FATAL_FAILURE(bench->expect_nothing_lost());
      ASSERT_EQ(bytes_of(job().build(bench->in)), expected);
    }
  }
}

struct Value {
  const char* name;
  std::function<Tensor(const Inputs&)> make;  // [9, 24, 300]
};

const std::vector<Value>& values() {
  static const auto wide = [](const Tensor& x) {
    return x.unsqueeze(0).broadcast_to({9, kRows, kColumns});
  };
  static const std::vector<Value> list = {
      {"elementwise", [](const Inputs& in) { return wide(in.a) * 2 + in.row; }},
      {"a view", [](const Inputs& in) { return wide(in.a); }},
      {"sums", [](const Inputs& in) { return ops::softmax(ops::cumsum(wide(in.b), 0), 2); }},
      {"a product",
       [](const Inputs& in) {
         return ops::matmul(ops::matmul(in.a, in.b.transpose()), wide(in.b));
       }},
      {"parts",
       [](const Inputs& in) {
         return ops::concat({ops::exp(in.a).unsqueeze(0), wide(in.b).slice(0, {0, 8})});
       }},
      {"gathered", [](const Inputs& in) { return ops::roll(ops::sort(wide(in.a), 2), 2, 0); }},
  };
  return list;
}

// Assigning writes into the memory of the value that is assigned to: a failure must not show.
TEST(AssignMemory, AFailureLeavesTheOldValue) {
  for (const int threads : {1, 2}) {
    const Bench bench(threads);
    for (const Value& value : values()) {
      const Bytes expected = bytes_of({value.make(bench.in)});
      const Bytes old =
          bytes_of({ops::zeros({9, kRows, kColumns}, DType::F32, *bench.here.executor) - 1});
      for (const bool host : {true, false})
        for (int n = 0, step = 1;; n += step) {
          SCOPED_TRACE(std::string(value.name) + (host ? ", host " : ", device ") +
                       std::to_string(n));
          Tensor x = ops::zeros({9, kRows, kColumns}, DType::F32, *bench.here.executor) - 1;
          x.eval();
          bench.here.executor->trim();
          const Tensor made = value.make(bench.in);
          if (host) FailingNew::fail(n + 1);
          else bench.here.faulty->fail(n, 1);
          const Outcome outcome = attempt([&] { x.assign(made); });
          const bool all = host ? FailingNew::asked() <= n : bench.here.faulty->asked() <= n;
          bench.here.faulty->fail(0, 0);
          ASSERT_TRUE(outcome != Outcome::BadAlloc);
          ASSERT_EQ(bytes_of({x}), outcome == Outcome::Done ? expected : old);
          FailingNew::fail(0);
          x.assign(made);
          FailingNew::stop();
          if (host && n == 0) step = static_cast<int>(step_for(FailingNew::asked(), 50));
          ASSERT_EQ(bytes_of({x}), expected);
          if (all) break;
        }
    }
    ASSERT_NO_FATAL_FAILURE(bench.expect_nothing_lost());
  }
}

TEST(AssignMemory, OtherFailuresLeaveTheOldValue) {
  const Bench bench;
  Tensor x = (bench.in.positions * 2).eval();
  const Bytes old = bytes_of({x});
  const Tensor wrong = ops::take(bench.in.positions.reshape({-1}), bench.in.positions + 1000, 0);
  EXPECT_THROW(x.assign(wrong), Error);
  EXPECT_EQ(bytes_of({x}), old);
}

TEST(AssignMemory, IsUsedAgain) {
  const Bench bench;
  Tensor x = (bench.in.a * 2).eval();
  const std::byte* memory = x.array().data();
  x.assign(bench.in.b + 1);
  EXPECT_EQ(x.array().data(), memory);
  EXPECT_EQ(bytes_of({x}), bytes_of({bench.in.b + 1}));
}

// What a failed step had begun to write keeps no memory until it is tried again.
TEST(FailedMemory, AFailureHoldsNothing) {
  const Bench bench;
  const Tensor one = bench.in.a * 2, two = one + bench.in.b;  // by one kernel
  bench.here.executor->trim();
  bench.here.faulty->fail(1, 1);
  EXPECT_THROW(eval({one, two}), Error);
  EXPECT_EQ(bench.here.executor->pool_statistics().live_blocks, 5u);
  EXPECT_EQ(bytes_of({one, two}), bytes_of({bench.in.a * 2, bench.in.a * 2 + bench.in.b}));
}

}  // namespace
}  // namespace hologram
