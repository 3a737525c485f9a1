#include "program/library.hpp"

#include <fmt/format.h>

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "core/messages.hpp"
#include "core/nearest.hpp"
#include "hologram/program_library.hpp"

namespace hologram::program {
namespace {

using core::Text;

constexpr DTypeSet set_of(std::initializer_list<DType> types) {
  DTypeSet set;
  for (const DType t : types) set.bits = static_cast<uint16_t>(set.bits | 1u << unsigned(t));
  return set;
}
constexpr DTypeSet operator|(DTypeSet a, DTypeSet b) {
  return {static_cast<uint16_t>(a.bits | b.bits)};
}

// Narrow types are widened by the load and wrapped or rounded by the store.
using enum DType;
constexpr DTypeSet kFloats = set_of({F32, F64, F16, BF16});
constexpr DTypeSet kSigned = kFloats | set_of({I32, I64, I8, I16});
constexpr DTypeSet kIntegers = set_of({I32, I64, U32, U64, I8, U8, I16, U16});
constexpr DTypeSet kNumbers = kFloats | kIntegers;
constexpr DTypeSet kBits = kIntegers | set_of({Bool});
constexpr DTypeSet kAll = kNumbers | kBits;

struct Row {
  std::string_view operation;
  std::string_view operands;  // "ab": the arrays a and b
  std::string_view scalars;   // "low, high"
  DTypeSet types;
  std::string_view expression;
  std::string_view meaning;
  bool test = false;  // the result is bool
};

// clang-format off
constexpr Row kRows[] = {
    {"add", "ab", "", kNumbers, "a[i] + b[i]", "The sum."},
    {"sub", "ab", "", kNumbers, "a[i] - b[i]", "The difference."},
    {"mul", "ab", "", kNumbers, "a[i] * b[i]", "The product."},
    {"div", "ab", "", kNumbers, "a[i] / b[i]", "The quotient; integers truncate, and by 0 give 0."},
    {"rem", "ab", "", kIntegers, "a[i] % b[i]", "What the quotient leaves, with the sign of a; 0 for b = 0."},
    {"mad", "abc", "", kNumbers, "fma(a[i], b[i], c[i])", "a * b + c, rounded once."},
    {"fma", "abc", "", kNumbers, "fma(a[i], b[i], c[i])", "The same as mad."},
    {"min", "ab", "", kNumbers, "min(a[i], b[i])", "The smaller; NaN if either is."},
    {"max", "ab", "", kNumbers, "max(a[i], b[i])", "The larger; NaN if either is."},
    {"clamp", "a", "low, high", kNumbers, "clamp(a[i], low, high)", "a, but at least low and at most high."},
    {"pow", "ab", "", kFloats, "pow(a[i], b[i])", "a to the power of b."},
    {"atan2", "ab", "", kFloats, "atan2(a[i], b[i])", "The angle of the point (b, a)."},
    {"neg", "a", "", kSigned, "-a[i]", "The negative."},
    {"abs", "a", "", kSigned, "abs(a[i])", "The magnitude."},
    {"sign", "a", "", kSigned, "sign(a[i])", "-1, 0 or 1."},
    {"sqrt", "a", "", kFloats, "sqrt(a[i])", "The square root."},
    {"rsqrt", "a", "", kFloats, "rsqrt(a[i])", "1 / sqrt(a)."},
    {"reciprocal", "a", "", kFloats, "1.0 / a[i]", "1 / a."},
    {"exp", "a", "", kFloats, "exp(a[i])", "e to the power of a."},
    {"exp2", "a", "", kFloats, "exp2(a[i])", "2 to the power of a."},
    {"expm1", "a", "", kFloats, "expm1(a[i])", "exp(a) - 1, accurate near 0."},
    {"log", "a", "", kFloats, "log(a[i])", "The natural logarithm."},
    {"log2", "a", "", kFloats, "log2(a[i])", "The logarithm to base 2."},
    {"log10", "a", "", kFloats, "log10(a[i])", "The logarithm to base 10."},
    {"log1p", "a", "", kFloats, "log1p(a[i])", "log(1 + a), accurate near 0."},
    {"sin", "a", "", kFloats, "sin(a[i])", "The sine of radians."},
    {"cos", "a", "", kFloats, "cos(a[i])", "The cosine of radians."},
    {"tan", "a", "", kFloats, "tan(a[i])", "The tangent of radians."},
    {"asin", "a", "", kFloats, "asin(a[i])", "The arc sine."},
    {"acos", "a", "", kFloats, "acos(a[i])", "The arc cosine."},
    {"atan", "a", "", kFloats, "atan(a[i])", "The arc tangent."},
    {"sinh", "a", "", kFloats, "sinh(a[i])", "The hyperbolic sine."},
    {"cosh", "a", "", kFloats, "cosh(a[i])", "The hyperbolic cosine."},
    {"tanh", "a", "", kFloats, "tanh(a[i])", "The hyperbolic tangent."},
    {"sigmoid", "a", "", kFloats, "sigmoid(a[i])", "1 / (1 + exp(-a))."},
    {"erf", "a", "", kFloats, "erf(a[i])", "The error function."},
    {"relu", "a", "", kNumbers, "max(a[i], 0)", "a, but at least 0."},
    {"silu", "a", "", kFloats, "a[i] * sigmoid(a[i])", "a * sigmoid(a)."},
    {"gelu", "a", "", kFloats, "0.5 * a[i] * (1.0 + erf(a[i] * 0.70710678118654752440))", "a times the normal distribution up to a, with erf."},
    {"floor", "a", "", kFloats, "floor(a[i])", "The largest whole number not above a."},
    {"ceil", "a", "", kFloats, "ceil(a[i])", "The smallest whole number not below a."},
    {"trunc", "a", "", kFloats, "trunc(a[i])", "a without its fraction."},
    {"round", "a", "", kFloats, "round(a[i])", "The nearest whole number, ties to even."},
    {"and", "ab", "", kBits, "a[i] & b[i]", "Bits, or truths, that are in both."},
    {"or", "ab", "", kBits, "a[i] | b[i]", "That are in either."},
    {"xor", "ab", "", kBits, "a[i] ^ b[i]", "That are in one of them."},
    {"not", "a", "", kIntegers, "~a[i]", "Bits that are not in a."},
    {"not", "a", "", set_of({Bool}), "!a[i]", "Whether a is false."},
    {"eq", "ab", "", kAll, "a[i] == b[i]", "Whether they are equal.", true},
    {"ne", "ab", "", kAll, "a[i] != b[i]", "Whether they differ.", true},
    {"lt", "ab", "", kNumbers, "a[i] < b[i]", "Whether a is smaller.", true},
    {"le", "ab", "", kNumbers, "a[i] <= b[i]", "Whether a is not larger, nor either NaN.", true},
    {"gt", "ab", "", kNumbers, "a[i] > b[i]", "Whether a is larger.", true},
    {"ge", "ab", "", kNumbers, "a[i] >= b[i]", "Whether a is not smaller, nor either NaN.", true},
    {"memcpy", "a", "", kAll, "a[i]", "A copy."},
    {"fill", "", "value", kAll, "value", "The same number everywhere; y must be given, or its shape."},
};
// clang-format on

// In the order of the documents: the usual ones first.
constexpr DType kTypes[] = {F32, F64, I32, I64, U32, U64, I8, U8, I16, U16, F16, BF16, Bool};

std::string text_of(const Row& row, std::string_view name, DType type) {
  std::string parameters;
  for (const char operand : row.operands)
    parameters += fmt::format("in {}: {}[n], ", operand, name_of(type));
  parameters += fmt::format("out y: {}[n]", name_of(row.test ? Bool : type));
  std::string_view rest = row.scalars;
  while (!rest.empty()) {
    const size_t comma = rest.find(", ");
    parameters += fmt::format(", {}: {}", rest.substr(0, comma), name_of(compute_type(type)));
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 2);
  }
  return fmt::format(
      "program {}({}) lanes(n) {{\n  i = global_id.x\n  if i < n {{ y[i] = {} }}\n}}\n", name,
      parameters, row.expression);
}

struct Entry {
  const Row* row;
  DType type;
};

class Library {
 public:
  Library() {
    for (const Row& row : kRows)
      for (const DType type : kTypes)
        if (row.types.has(type))
          entries_.emplace(fmt::format("atlas_{}_{}", row.operation, name_of(type)),
                           Entry{&row, type});
    for (const Row& row : kRows)
      for (const DType type : kTypes)
        if (row.types.has(type))
          names_.push_back(
              entries_.find(fmt::format("atlas_{}_{}", row.operation, name_of(type)))->first);
  }

  std::span<const std::string_view> names() const { return names_; }

  Program get(std::string_view name) {
    const auto entry = entries_.find(name);
    if (entry == entries_.end()) {
      const std::string_view near = core::nearest(name, names_);
      throw core::error(Text::NoLibraryProgram, name,
                        near.empty() ? "" : fmt::format(" Did you mean {}?", near));
    }
    const std::lock_guard lock(mutex_);
    const auto known = programs_.find(entry->first);
    if (known != programs_.end()) return known->second;
    const Program program =
        Program::parse(text_of(*entry->second.row, entry->first, entry->second.type), entry->first);
    return programs_.emplace(entry->first, program).first->second;
  }

 private:
  std::map<std::string, Entry, std::less<>> entries_;
  std::vector<std::string_view> names_;  // the keys of entries_
  std::mutex mutex_;
  std::map<std::string_view, Program> programs_;  // what has been asked for
};

Library& the_library() {
  static Library library;
  return library;
}

}  // namespace

Program library(std::string_view name) { return the_library().get(name); }

std::span<const std::string_view> library_names() { return the_library().names(); }

std::string library_reference(std::string_view) {
  std::string text =
      "# The program library\n\n"
      "Written by `scripts/generate` from the table in `src/program/library.cpp`. Each name is "
      "an Atlas\nprogram that `program::library(name)` gives, of one operation on arrays of one "
      "length `n`: operands\n`a`, `b`, `c`, the result `y`, numbers by the names in the table. "
      "Sums, products and the like of\nnarrow integers wrap; f16 and bf16 are computed in f32 and "
      "rounded.\n\n"
      "```atlas\n" +
      text_of(kRows[0], "atlas_add_f32", F32) +
      "```\n\n"
      "| name | types | y[i] | meaning |\n|---|---|---|---|\n";
  for (const Row& row : kRows) {
    std::string types;
    for (const DType type : kTypes)
      if (row.types.has(type))
        types += fmt::format("{}{}", types.empty() ? "" : " ", name_of(type));
    std::string expression;
    for (const char c : row.expression)
      expression += c == '|' ? std::string("\\|") : std::string(1, c);
    text += fmt::format("| `atlas_{}_…` | {} | `{}`{} | {} |\n", row.operation, types, expression,
                        row.test ? ", a bool" : "", row.meaning);
  }
  return text;
}

}  // namespace hologram::program
