#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/digest.hpp"
#include "core/dynamic_library.hpp"
#include "core/log.hpp"
#include "core/messages.hpp"
#include "core/nearest.hpp"
#include "core/parallel.hpp"
#include "hologram/array.hpp"
#include "hologram/dtype.hpp"

namespace hologram {
namespace {

TEST(DType, NamesRoundTrip) {
  for (size_t i = 1; i < kDTypeCount; i++) {
    const auto type = static_cast<DType>(i);
    EXPECT_EQ(parse_dtype(name_of(type)), type);
    EXPECT_GT(size_of(type), 0u);
    EXPECT_TRUE(is_compute_type(compute_type(type)));
  }
  EXPECT_FALSE(parse_dtype("float"));
  EXPECT_FALSE(parse_dtype("none"));
}

// Every text is whole: it names a culprit, ends its remedy as a sentence, and has no gap in its
// placeholders.
TEST(Messages, TableIsWellFormed) {
  std::set<std::string_view> ids;
  for (size_t i = 0; i < core::message_count(); i++) {
    const core::Message& m = core::message(static_cast<core::Text>(i));
    EXPECT_TRUE(ids.insert(m.id).second) << m.id;
    const std::string what = m.what, remedy = m.remedy;
    EXPECT_FALSE(what.empty()) << m.id;
    EXPECT_NE(what.back(), '.') << m.id;
    ASSERT_FALSE(remedy.empty()) << m.id;
    EXPECT_TRUE(remedy.back() == '.' || remedy.back() == '}') << m.id;
    int highest = -1;
    std::set<int> used;
    for (const std::string& text : {what, remedy})
      for (size_t p = text.find('{'); p != std::string::npos; p = text.find('{', p + 1)) {
        ASSERT_LT(p + 2, text.size()) << m.id;
        ASSERT_TRUE(text[p + 1] >= '0' && text[p + 1] <= '9' && text[p + 2] == '}') << m.id;
        used.insert(text[p + 1] - '0');
        highest = std::max(highest, text[p + 1] - '0');
      }
    EXPECT_EQ(static_cast<int>(used.size()), highest + 1) << m.id;
  }
}

TEST(Log, ReachesTheCallbackAtItsLevelOnly) {
  std::string seen;
  set_log_callback([&](LogLevel, std::string_view text) { seen += text; }, LogLevel::Info);
  core::log(LogLevel::Info, "a");
  core::log(LogLevel::Debug, "b");
  set_log_callback({});
  core::log(LogLevel::Error, "c");
  EXPECT_EQ(seen, "a");
}

TEST(DynamicLibrary, OpensTheFirstThatIsThereAndSaysWhyNot) {
  const core::DynamicLibrary math({"libthere-is-no-such-thing.so.1", "libm.so.6"});
  ASSERT_TRUE(math.loaded()) << math.reason();
  EXPECT_EQ(math.name(), "libm.so.6");
  auto* const cosine = math.get<double(double)>("cos");
  ASSERT_NE(cosine, nullptr);
  EXPECT_EQ(cosine(0.0), 1.0);
  EXPECT_EQ(math.get<void()>("there_is_no_such_function"), nullptr);

  const core::DynamicLibrary none({"libnone-of-these.so.1", "libnor-this.so.2"});
  EXPECT_FALSE(none.loaded());
  EXPECT_NE(none.reason().find("libnone-of-these.so.1"), std::string::npos) << none.reason();
  EXPECT_NE(none.reason().find("libnor-this.so.2"), std::string::npos) << none.reason();
  EXPECT_EQ(none.get<void()>("cos"), nullptr);
}

TEST(Threads, CoverTheRangeOnceAndPassExceptionsOn) {
  for (const int count : {1, 2, 5}) {
    core::Threads threads(count);
    EXPECT_EQ(threads.count(), count);
    for (const uint64_t n : {uint64_t{0}, uint64_t{1}, uint64_t{7}, uint64_t{10007}}) {
      for (const auto direction : {core::Direction::Forward, core::Direction::Backward}) {
        std::vector<std::atomic<int>> touched(n);
        const auto touch = [&](uint64_t begin, uint64_t end) {
          for (uint64_t i = begin; i < end; i++) touched[i]++;
        };
        threads.run(n, 3, touch, direction);
        for (const auto& t : touched) ASSERT_EQ(t, 1);
      }
    }
    EXPECT_THROW(threads.run(1000, 1, [](uint64_t, uint64_t) { throw std::runtime_error("stop"); }),
                 std::runtime_error);
  }
  EXPECT_GE(core::available_threads(), 1);
}

// More loops than there are workers for, some within others: each does all of its parts, once.
TEST(Threads, ManyLoopsAtOnceAndLoopsWithinLoops) {
  constexpr int kCallers = 20, kRounds = 50;
  std::atomic<int> wrong{0}, thrown{0};
  std::vector<std::thread> callers;
  callers.reserve(kCallers);
  for (int c = 0; c < kCallers; c++)
    callers.emplace_back([&, c] {
      core::Threads threads(2 + c % 3);
      for (int round = 0; round < kRounds; round++) {
        std::atomic<uint64_t> sum{0};
        threads.run(40, 1, [&](uint64_t begin, uint64_t end) {
          for (uint64_t i = begin; i < end; i++)
            threads.run(100, 7, [&](uint64_t from, uint64_t to) {
              for (uint64_t k = from; k < to; k++) sum += i * 100 + k;
            });
        });
        wrong += sum != 4000 * 3999 / 2;
        try {
          threads.run(40, 1, [&](uint64_t begin, uint64_t) {
            if (begin % 16 == 0) throw std::runtime_error("stop");
          });
        } catch (const std::runtime_error&) {
          thrown++;
        }
      }
    });
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(thrown, kCallers * kRounds);
}

// Workers that sleep are woken, and those that turn notice.
TEST(Threads, LoopsAfterPausesOfAnyLength) {
  core::Threads threads(3);
  for (int round = 0; round < 300; round++) {
    std::this_thread::sleep_for(std::chrono::microseconds(round % 30 * 10));
    std::atomic<uint64_t> sum{0};
    threads.run(12, 1, [&](uint64_t begin, uint64_t end) { sum += begin + end; });
    ASSERT_EQ(sum, 144u);
  }
}

// Whether a thread other than the caller takes part in a loop, which waits for that.
bool has_workers() {
  core::Threads threads(2);
  std::atomic<bool> helped{false};
  const std::thread::id caller = std::this_thread::get_id();
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  threads.run(2, 1, [&](uint64_t, uint64_t) {
    if (std::this_thread::get_id() != caller) helped = true;
    while (!helped && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  });
  return helped;
}

#if defined(__has_feature)
#define HOLOGRAM_WATCHES_THREADS __has_feature(thread_sanitizer)
#else
#define HOLOGRAM_WATCHES_THREADS 0
#endif

TEST(Workers, AForkedProcessHasItsOwn) {
  if (HOLOGRAM_WATCHES_THREADS)
    GTEST_SKIP() << "the sanitizer of threads ends a forked process that begins one";
  ASSERT_TRUE(has_workers());
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) _exit(has_workers() ? 0 : 1);
  int status = 1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_TRUE(has_workers());
}

TEST(Nearest, FindsWhatWasMeant) {
  constexpr std::string_view kNames[] = {"sigma_space", "sigma_range", "src"};
  EXPECT_EQ(core::nearest("sigma_rang", kNames), "sigma_range");
  EXPECT_EQ(core::nearest("sirc", kNames), "src");
  EXPECT_EQ(core::nearest("completely_else", kNames), "");
}

TEST(Array, SharesItsMemoryAndChecksItsUse) {
  Array a = Array::from(std::vector<float>{1, 2, 3, 4, 5, 6}, {2, 3});
  Array b = a.reshaped({3, 2});
  b.mutable_as<float>()[5] = 7;
  EXPECT_EQ(a.as<float>()[5], 7.0f);
  EXPECT_THROW(a.as<double>(), Error);
  EXPECT_THROW(a.reshaped({4, 2}), Error);
  EXPECT_THROW(Array(DType::F32, {-1}), Error);
  EXPECT_THROW(Array(DType::F32, {int64_t{1} << 40, int64_t{1} << 40}), Error);
  const float value = 1;
  Array c = Array::borrow(DType::F32, {}, &value);
  EXPECT_EQ(c.size(), 1u);
  EXPECT_THROW(c.mutable_data(), Error);
}

TEST(Digest, SeesEachChange) {
  core::Threads one(1), several(3);
  for (const size_t size : {size_t{0}, size_t{1}, size_t{63}, size_t{64}, size_t{200},
                            size_t{70'000}, size_t{200'001}}) {
    std::vector<std::byte> bytes(size);
    for (size_t i = 0; i < size; i++) bytes[i] = static_cast<std::byte>(i * i >> 3);
    const core::Digest128 whole = core::digest(bytes, one);
    EXPECT_EQ(core::digest(bytes, several), whole) << size;
    std::set<std::pair<uint64_t, uint64_t>> seen = {{whole.low, whole.high}};
    for (size_t i = 0; i < size; i += size / 97 + 1)
      for (const int bit : {0, 7}) {
        bytes[i] ^= static_cast<std::byte>(1 << bit);
        const core::Digest128 now = core::digest(bytes, one);
        EXPECT_TRUE(seen.emplace(now.low, now.high).second) << size << " " << i;
        bytes[i] ^= static_cast<std::byte>(1 << bit);
      }
  }
  // Signs of two numbers, two numbers that change places, zeros, and how many there are.
  std::vector<float> numbers(4096, 1.5f);
  numbers[7] = 2;
  std::set<std::pair<uint64_t, uint64_t>> seen;
  const auto add = [&](size_t count) {
    const core::Digest128 now = core::digest(std::as_bytes(std::span(numbers).first(count)), one);
    EXPECT_TRUE(seen.emplace(now.low, now.high).second);
  };
  add(4096);
  for (const size_t other : {8, 9, 12, 23, 1033}) {
    numbers[7] = -numbers[7], numbers[other] = -numbers[other];
    add(4096);
    numbers[7] = -numbers[7], numbers[other] = -numbers[other];
    std::swap(numbers[7], numbers[other]);
    add(4096);
    std::swap(numbers[7], numbers[other]);
  }
  std::fill(numbers.begin(), numbers.end(), 0.0f);
  for (const size_t count : {1, 2, 4, 15, 16, 17, 32, 4096}) add(count);
}

}  // namespace
}  // namespace hologram
