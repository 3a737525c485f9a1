// Every pure instruction for every type, on every vector instruction set of this machine and by the
// evaluator of constants, against the scalar model: equality of bits, all NaN being one.
//
// HOLOGRAM_TEST_OPERANDS=10000000 sets the number of random operands of each instruction, over all
// its types.
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "interp/targets.hpp"
#include "oracle/choices.hpp"
#include "oracle/kernel_rows.hpp"
#include "oracle/random_values.hpp"
#include "oracle/scalar_model.hpp"
#include "program/ir.hpp"
#include "program/typing.hpp"

namespace hologram {
namespace {

using oracle::Choices;
using oracle::Signature;
using program::Category;
using program::Op;
using program::OpInfo;
using program::Typing;

constexpr size_t kBatch = 1024;

size_t random_operands() {
  const char* text = std::getenv("HOLOGRAM_TEST_OPERANDS");
  return text == nullptr ? 200'000 : std::strtoull(text, nullptr, 10);
}

constexpr DType kTypes[] = {DType::Bool, DType::I32, DType::U32, DType::I64,
                            DType::U64,  DType::F32, DType::F64};

// The instruction in all its types.
std::vector<Signature> signatures(const OpInfo& row) {
  std::vector<Signature> found;
  for (const DType t : kTypes) {
    if (!program::accepts(row.typing, t)) continue;
    Signature s{row.op, t, t, {t, t, t}, row.arity};
    switch (row.typing) {
      case Typing::Compare:
        if (t == DType::Bool && row.op != Op::Eq && row.op != Op::Ne) continue;
        [[fallthrough]];
      case Typing::FloatTest: s.type = DType::Bool; break;
      case Typing::Select: s.operands[0] = DType::Bool; break;
      case Typing::Bytes: s.type = s.operands[1] = s.operands[2] = DType::I32; break;
      case Typing::Shift:
        s.operands[1] = DType::U32;
        found.push_back(s);
        s.operands[1] = DType::I32;
        break;
      case Typing::Cast:
      case Typing::Bitcast:
        for (const DType to : kTypes) {
          const bool same_size = size_of(to) == size_of(t) && to != DType::Bool;
          if (to == t || (row.typing == Typing::Bitcast && !same_size)) continue;
          s.type = to;
          found.push_back(s);
        }
        continue;
      default: break;
    }
    found.push_back(s);
  }
  return found;
}

// Operands in columns: first all tuples of special values (of three operands, of every third value
// so that they stay countable), then random ones.
class Operands {
 public:
  explicit Operands(const Signature& s, size_t random)
      : s_(s), choices_(static_cast<uint64_t>(s.op) * 1000 + static_cast<uint64_t>(s.from)) {
    size_t tuples = 1;
    for (size_t k = 0; k < s.arity; k++) {
      const auto all = values(k);
      const size_t step = s.arity == 3 && all.size() > 9 ? 3 : 1;
      for (size_t i = 0; i < all.size(); i += step) lists_[k].push_back(all[i]);
      tuples *= lists_[k].size();
    }
    special_ = tuples;
    left_ = tuples + random;
  }

  // Up to kBatch tuples; false when there are no more.
  bool next(std::array<std::vector<uint64_t>, 3>& columns) {
    if (left_ == 0) return false;
    const size_t count = std::min(left_, kBatch);
    left_ -= count;
    for (auto& column : columns) column.assign(kBatch, 0);
    for (size_t i = 0; i < kBatch; i++, at_++) {
      size_t rest = at_;
      // Of two operands now and then both the same, or each other's neighbour.
      const uint32_t relation = choices_.below(8);
      for (size_t k = 0; k < s_.arity; k++) {
        uint64_t& bits = columns[k][i];
        bits = at_ < special_ ? lists_[k][rest % lists_[k].size()]
                              : oracle::random_value(s_.operands[k], choices_);
        rest /= lists_[k].size();
        if (at_ >= special_ && k == 1 && relation < 2 && s_.operands[1] == s_.operands[0] &&
            size_of(s_.operands[0]) > 1)
          bits = columns[0][i] ^ relation;
      }
    }
    return true;
  }

 private:
  std::vector<uint64_t> values(size_t k) const {
    if (s_.op == Op::Shl || s_.op == Op::Shr)
      if (k == 1) {
        std::vector<uint64_t> counts;
        for (uint64_t n = 0; n <= 16 * size_of(s_.from); n++) counts.push_back(n);
        for (const uint32_t n : {UINT32_MAX, UINT32_MAX - 30, 0x80000000u}) counts.push_back(n);
        return counts;
      }
    const auto list = oracle::special_values(s_.operands[k]);
    return {list.begin(), list.end()};
  }

  const Signature& s_;
  Choices choices_;
  std::array<std::vector<uint64_t>, 3> lists_;
  size_t special_ = 0, left_ = 0, at_ = 0;
};

std::string describe(const Signature& s, const std::array<uint64_t, 3>& args, uint64_t got,
                     uint64_t want) {
  std::string text{program::info(s.op).name};
  text += "." + std::string(name_of(s.from)) + " -> " + std::string(name_of(s.type)) + " of";
  char number[40];
  for (size_t k = 0; k < s.arity; k++) {
    std::snprintf(number, sizeof number, " %#llx", static_cast<unsigned long long>(args[k]));
    text += number;
  }
  std::snprintf(number, sizeof number, " is %#llx", static_cast<unsigned long long>(got));
  text += number;
  std::snprintf(number, sizeof number, ", not %#llx", static_cast<unsigned long long>(want));
  return text + number;
}

// The functions' bits are what their expansions say; here only that they are the functions they
// are called.
double libm(Op op, double a, double b) {
  switch (op) {
    case Op::Rsqrt: return 1 / std::sqrt(a);
    case Op::Exp: return std::exp(a);
    case Op::Exp2: return std::exp2(a);
    case Op::Expm1: return std::expm1(a);
    case Op::Log: return std::log(a);
    case Op::Log2: return std::log2(a);
    case Op::Log10: return std::log10(a);
    case Op::Log1p: return std::log1p(a);
    case Op::Sin: return std::sin(a);
    case Op::Cos: return std::cos(a);
    case Op::Tan: return std::tan(a);
    case Op::Asin: return std::asin(a);
    case Op::Acos: return std::acos(a);
    case Op::Atan: return std::atan(a);
    case Op::Atan2: return std::atan2(a, b);
    case Op::Sinh: return std::sinh(a);
    case Op::Cosh: return std::cosh(a);
    case Op::Tanh: return std::tanh(a);
    case Op::Sigmoid: return a < 0 ? std::exp(a) / (1 + std::exp(a)) : 1 / (1 + std::exp(-a));
    case Op::Erf: return std::erf(a);
    case Op::Pow: return std::pow(a, b);
    default: return 0;
  }
}

bool near(const Signature& s, const std::array<uint64_t, 3>& args, uint64_t bits) {
  const auto number = [&](uint64_t b) {
    return s.type == DType::F32 ? std::bit_cast<float>(static_cast<uint32_t>(b))
                                : std::bit_cast<double>(b);
  };
  // libm's pow does not take 1 for the answer if the NaN is a signalling one.
  const auto quiet = [](double x) {
    return std::isnan(x) ? std::numeric_limits<double>::quiet_NaN() : x;
  };
  const double got = number(bits);
  double want = libm(s.op, quiet(number(args[0])), quiet(number(args[1])));
  if (s.type == DType::F32) want = static_cast<float>(want);
  if (std::isnan(want) || std::isnan(got)) return std::isnan(want) && std::isnan(got);
  if (want == got) return std::signbit(want) == std::signbit(got);
  const double least = s.type == DType::F32 ? 0x1p-147 : 0x1p-1072;
  const double largest = s.type == DType::F32 ? 0x1.fffffep127 : 0x1.fffffffffffffp1023;
  const double bound = s.type == DType::F32 ? 1e-6 : 4e-15;
  if (std::isinf(want) || std::isinf(got))
    return std::min(std::abs(want), std::abs(got)) >= largest * (1 - bound);
  return std::abs(got - want) <= bound * std::abs(want) + least;
}

class Instructions : public testing::TestWithParam<Op> {};

TEST_P(Instructions, AreWhatTheModelSays) {
  const OpInfo& row = program::info(GetParam());
  const bool function = row.category == Category::Function;
  const auto targets = interp::supported_targets();
  const std::vector<Signature> all = signatures(row);
  for (const Signature& s : all) {
    Operands operands(s, random_operands() / all.size());
    std::array<std::vector<uint64_t>, 3> columns;
    std::vector<uint64_t> expected(kBatch), other(kBatch), got(kBatch);
    size_t batch = 0;
    int complaints = 0;
    const auto complain = [&](std::string_view where, size_t i, uint64_t bits) {
      if (complaints++ < 3)
        ADD_FAILURE() << where << ": "
                      << describe(s, {columns[0][i], columns[1][i], columns[2][i]}, bits,
                                  expected[i]);
    };
    for (; operands.next(columns) && complaints < 3; batch++) {
      // Now and then an operand is the same in every lane, or the result takes its place.
      const auto layout = oracle::row_layout(s, batch);
      if (layout.uniform < 3)
        columns[layout.uniform].assign(kBatch, columns[layout.uniform][batch % kBatch]);
      for (size_t i = 0; i < kBatch; i++) {
        const std::array<uint64_t, 3> args = {columns[0][i], columns[1][i], columns[2][i]};
        const auto evaluated = program::evaluate(s.op, s.type, s.from, args);
        ASSERT_TRUE(evaluated) << row.name << " of " << name_of(s.from);
        expected[i] = function ? *evaluated : *oracle::scalar_model(s.op, s.type, s.from, args);
        other[i] = s.op == Op::Mad ? oracle::mad_in_two_steps(s.type, args) : expected[i];
        if (function && !near(s, args, *evaluated)) complain("libm", i, *evaluated);
        if (!oracle::same(s.type, *evaluated, expected[i]) &&
            !oracle::same(s.type, *evaluated, other[i]))
          complain("evaluate", i, *evaluated);
      }
      for (const interp::Target& target : targets) {
        ASSERT_TRUE(oracle::run_rows(interp::kernel_table(target), s, layout, columns, got))
            << target.name << " has no " << row.name << " of " << name_of(s.from)
            << ", or it wrote past its row";
        for (size_t i = 0; i < kBatch; i++)
          if (!oracle::same(s.type, got[i], expected[i]) && !oracle::same(s.type, got[i], other[i]))
            complain(target.name, i, got[i]);
      }
    }
  }
}

std::vector<Op> pure_ops() {
  std::vector<Op> ops;
  for (const OpInfo& row : program::all_ops())
    if (program::is_pure(row.op)) ops.push_back(row.op);
  return ops;
}

INSTANTIATE_TEST_SUITE_P(All, Instructions, testing::ValuesIn(pure_ops()), [](const auto& name) {
  return std::string(program::info(name.param).name);
});

}  // namespace
}  // namespace hologram
