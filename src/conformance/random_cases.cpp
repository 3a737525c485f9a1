// Random numbers: those of Philox4x32-10, in every layout, for seeds of 64 bits and one operation
// after another; and that they are the same however they are shaped, fused and dealt to threads.
#include <fmt/format.h>

#include <array>
#include <cmath>

#include "conformance/arrays.hpp"
#include "hologram/ops.hpp"

namespace hologram::conformance {
namespace {

using Words = std::array<uint32_t, 4>;

// J. K. Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
Words philox(Words counter, uint64_t seed) {
  auto key0 = static_cast<uint32_t>(seed), key1 = static_cast<uint32_t>(seed >> 32);
  for (int round = 0; round < 10; round++) {
    const uint64_t a = uint64_t{0xD2511F53} * counter[0], b = uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<uint32_t>(b >> 32) ^ counter[1] ^ key0, static_cast<uint32_t>(b),
               static_cast<uint32_t>(a >> 32) ^ counter[3] ^ key1, static_cast<uint32_t>(a)};
    key0 += 0x9E3779B9;
    key1 += 0xBB67AE85;
  }
  return counter;
}

struct Place {
  uint64_t seed, operation, element;
};

// Blocks of words, numbered by the operation and by the place, are shared by so many elements, each
// of which is 256 behind the one before.
struct Block {
  Words words;
  size_t turn;  // which of the elements this is
};
Block block_of(const Place& p, size_t sharing) {
  const uint64_t number = p.element / (256 * sharing) * 256 + p.element % 256;
  return {philox({static_cast<uint32_t>(p.operation), static_cast<uint32_t>(p.operation >> 32),
                  static_cast<uint32_t>(number), static_cast<uint32_t>(number >> 32)},
                 p.seed),
          static_cast<size_t>(p.element / 256 % sharing)};
}

// In [0, 1), of 53 bits or as many as f32 holds, or fewer.
Wide unit(uint32_t first, uint32_t second, int digits) {
  if (digits == 53)
    return std::ldexp(static_cast<long double>(uint64_t{first >> 5} << 26 | second >> 6), -53);
  return std::ldexp(static_cast<long double>(first >> (32 - digits)), -digits);
}

struct Answer {
  Wide exact, allowed;  // 0: exactly
};

Answer uniform(const Place& place, DType dtype) {
  if (dtype == DType::F64) {
    const auto [w, turn] = block_of(place, 2);
    return {unit(w[2 * turn], w[2 * turn + 1], 53), 0};
  }
  const auto [w, turn] = block_of(place, 4);
  return {unit(w[turn], 0, digits_of(dtype)), 0};
}

// By Box and Muller, the cosine and the sine of one angle in turns. The errors of the angle, of the
// logarithm, root and cosine, and the products'.
Answer normal(const Place& place, DType dtype) {
  const bool wide = dtype == DType::F64;
  const int digits = wide ? 53 : 24;
  const auto [w, turn] = block_of(place, wide ? 2 : 4);
  const Words of_two = wide ? w : Words{w[turn / 2 * 2], 0, w[turn / 2 * 2 + 1], 0};
  constexpr long double kTurn = 6.283185307179586476925286766559L;
  const auto u = static_cast<long double>(1 - unit(of_two[0], of_two[1], digits));
  const auto angle = kTurn * static_cast<long double>(unit(of_two[2], of_two[3], digits));
  const long double radius = std::sqrt(-2 * std::log(u));
  const Wide exact = radius * (turn % 2 == 0 ? std::cos(angle) : std::sin(angle));
  Wide allowed = std::ldexp(1.0L, -digits) * (kTurn * 2 + 6) * radius;
  if (size_of(dtype) == 2)
    allowed += std::ldexp(1.0L, -digits_of(dtype)) * (magnitude(exact) + allowed) +
               std::ldexp(1.0L, dtype == DType::F16 ? -25 : -134);
  return {exact, allowed};
}

constexpr int64_t kLow = 3, kHigh = 118;  // every dtype of integers holds them

Answer integers(const Place& place, DType) {
  __extension__ using Double = unsigned __int128;
  const auto [w, turn] = block_of(place, 2);
  const uint64_t word = uint64_t{w[2 * turn + 1]} << 32 | w[2 * turn];
  const auto range = static_cast<uint64_t>(kHigh - kLow);
  const auto above = static_cast<int64_t>(static_cast<Double>(word) * range >> 64);
  return {static_cast<Wide>(kLow + above), 0};
}

struct Random {
  std::string_view name;
  bool floats;  // or integers; others are refused
  Tensor (*run)(const Shape& shape, DType dtype, const Executor& executor);
  Answer (*element)(const Place& place, DType dtype);
};

constexpr Random kRandom[] = {
    {"rand", true, [](const Shape& s, DType t, const Executor& e) { return ops::rand(s, t, e); },
     uniform},
    {"randn", true, [](const Shape& s, DType t, const Executor& e) { return ops::randn(s, t, e); },
     normal},
    {"randint", false,
     [](const Shape& s, DType t, const Executor& e) { return ops::randint(kLow, kHigh, s, t, e); },
     integers},
};

// An executor of the suite's own is seeded, not the caller's.
const Executor& own(const Suite& suite) { return suite.ways().two; }

void compare(const Random& r, DType dtype, const Place& place, const Array& result, size_t i,
             const Arithmetic& arithmetic, Finding& found) {
  Answer answer = r.element(place, dtype);
  // The root is a factor, and the logarithm takes a quotient; there are 18 half units already.
  answer.allowed *= 1 + (arithmetic.units_of_quotient() + arithmetic.units_of_root()) / 9;
  const Wide have = real_at(dtype, result.data(), i), off = magnitude(have - answer.exact);
  found.measure(off == 0             ? 0
                : answer.allowed > 0 ? static_cast<double>(off / answer.allowed)
                                     : INFINITY,
                i, have, answer.exact);
  found.elements++;
}

constexpr size_t kOperations = 3;  // one after another

Finding laid_out_one(const Suite& suite, const Random& r, DType dtype, const Layout& layout) {
  const uint64_t seed = seed_of(r.name, dtype, layout.name);
  const Shape stored = stored_shape(layout, 0, 1);
  const auto make = [&] { return r.run(dense_shape(layout, stored), dtype, own(suite)); };
  ops::seed(seed, own(suite));
  std::vector<Tensor> tensors;
  tensors.reserve(kOperations);
  for (size_t k = 0; k < kOperations; k++) tensors.push_back(looked_at(layout, make(), stored));
  const std::vector<Array> results = arrays_of(tensors);
  Finding found;
  found.bound = r.element == normal ? 1 : 0;
  for (size_t k = 0; k < results.size(); k++) {
    if (results[k].dtype() != dtype || results[k].shape() != layout.shape) {
      found.wrong = "dtype or shape is wrong";
      return found;
    }
    for (size_t i = 0; i < results[k].size(); i++) {
      const size_t element = dense_at(layout, stored, stored_at(layout.shape, stored, i));
      compare(r, dtype, {seed, k, element}, results[k], i, suite.arithmetic(), found);
    }
  }
  return found;
}

// A row of numbers, longer than what its blocks are dealt to at once; the same seen as a box, put
// together from parts, and from the middle on.
Finding shaped(const Suite& suite, const Random& r, DType dtype) {
  constexpr uint64_t kSeed = 5;
  constexpr int64_t kLength = 2520, kMiddle = 1100;
  const auto again = [&](const Shape& shape) {
    ops::seed(kSeed, own(suite));
    return r.run(shape, dtype, own(suite));
  };
  const Array row = again({kLength}).array();
  Finding found;
  found.bound = r.element == normal ? 1 : 0;
  for (size_t i = 0; i < row.size(); i++)
    compare(r, dtype, {kSeed, 0, i}, row, i, suite.arithmetic(), found);
  if (!found.wrong.empty() || found.error > found.bound) return found;
  const Tensor box = again({7, 24, 15}), parts = again({2, kLength / 2});
  const Tensor rest = again({kLength}).slice(0, {kMiddle, kLength}),
               tail = Tensor::from(row, own(suite)).slice(0, {kMiddle, kLength});
  return same_arrays(arrays_of({box.reshape({kLength}),
                                ops::concat({parts.select(0, 0), parts.select(0, 1)}), rest * 1}),
                     std::vector<Array>{row, row, tail.array()});
}

void bits_of(Suite& suite, const Random& r, DType dtype) {
  attempt_both(suite, r.name, dtype, [&](const Executor& executor) {
    // One with the same settings: a seed is the executor's.
    BackendConfig config = executor.config();
    config.backend_type = executor.device().backend;
    config.device_id = executor.device().index;
    const Executor fresh = Executor::from_config(config);
    ops::seed(11, fresh);
    const Tensor x = r.run({150, 301}, dtype, fresh), y = x * 3 + x.transpose().transpose();
    return arrays_of({x, y, ops::max(y, 1), ops::sum(y, 0)});
  });
}

}  // namespace

void random_cases(Suite& suite) {
  for (const Random& r : kRandom) {
    for (const DType dtype : all_dtypes()) {
      if (r.floats ? !is_float(dtype) : !is_integer(dtype)) {
        suite.attempt(r.name, dtype, "refused", [&] {
          return refused(ErrorKind::DTypeMismatch, [&] { r.run({3}, dtype, own(suite)); });
        });
        continue;
      }
      for (const Layout& layout : layouts())
        suite.attempt(r.name, dtype, layout.name,
                      [&] { return laid_out_one(suite, r, dtype, layout); });
      suite.attempt(r.name, dtype, "of any shape", [&] { return shaped(suite, r, dtype); });
    }
    for (const DType dtype : {DType::F32, DType::F64, DType::I64})
      if (is_float(dtype) == r.floats) bits_of(suite, r, dtype);
  }
}

}  // namespace hologram::conformance
