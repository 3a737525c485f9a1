// Indices of several dimensions: (y * w + x) * c + k is below h * w * c where each index is below
// its dimension. Sums and products wrap, but modulo the width (y * w + x) * c + k is what it says,
// so that it is enough to show that the true number lies in the buffer.
#include <algorithm>

#include "program/proofs/facts.hpp"

namespace hologram::program {
namespace {

constexpr int kDepth = 8;

class Inside {
 public:
  Inside(Facts& facts, DType index) : facts_(facts), most_(range_of(index).high) {}

  // Whether 0 <= the sum of the terms < the product. `counted`: the product is known to be at most
  // the largest number of the index type, provided that none of its factors is 0.
  bool shown(const std::vector<uint32_t>& terms, const Factors& product, bool counted, int depth) {
    if (terms.size() == 1 && single(terms[0], product, counted, depth)) return true;
    if (depth == 0) return false;
    if (counted && split(terms, product, depth)) return true;
    for (size_t i = 0; i < terms.size(); i++) {
      const Inst* inst = definition(terms[i]);
      if (inst == nullptr || inst->op != Op::Add || !wide_enough(*inst)) continue;
      std::vector<uint32_t> more = terms;
      more[i] = operand(terms[i], 0);
      more.push_back(operand(terms[i], 1));
      return shown(more, product, counted, depth - 1);
    }
    return false;
  }

 private:
  const Inst* definition(uint32_t node) { return facts_.definition(facts_.resolve(node)); }
  uint32_t operand(uint32_t node, size_t k) { return facts_.operand(facts_.resolve(node), k); }
  bool not_negative(uint32_t node) { return facts_.at_most(Facts::kZero, node, 0); }

  // The arithmetic of a value is modulo at least what lengths are counted with.
  bool wide_enough(const Inst& inst) const { return range_of(inst.type).high >= most_; }

  bool positive(const Factors& factors) {
    return std::all_of(factors.begin(), factors.end(), [&](const Factor& f) {
      return f.node == kNone ? f.number >= 1 : facts_.at_most(Facts::kZero, f.node, -1);
    });
  }

  bool single(uint32_t node, const Factors& product, bool counted, int depth) {
    if (below(node, product) && not_negative(node)) return true;
    const Inst* inst = definition(node);
    if (inst == nullptr || depth == 0) return false;
    if (inst->op == Op::Div) return quotient(node, product, depth);
    if (inst->op == Op::Rem && counted && factors_of(operand(node, 1)) == product)
      return not_negative(operand(node, 0)) && positive(product);
    return false;
  }

  // The node's own number against a product that is one number or the length of a buffer.
  bool below(uint32_t node, const Factors& product) {
    Wide number = 1;
    bool constant = true;
    for (const Factor& f : product) {
      constant = constant && f.node == kNone && number >= 0 && number <= most_;
      if (constant) number *= f.number;
    }
    if (constant) return facts_.at_most(node, Facts::kZero, number - 1);
    if (product.size() == 1) return facts_.at_most(node, product[0].node, -1);
    const auto buffer = facts_.buffer_of(product);
    return buffer && facts_.at_most(node, facts_.length_of(*buffer), -1);
  }

  // a / d < product, where a < product * d.
  bool quotient(uint32_t node, const Factors& product, int depth) {
    const uint32_t a = operand(node, 0);
    const Factors divisor = factors_of(operand(node, 1));
    Factors all = product;
    all.insert(all.end(), divisor.begin(), divisor.end());
    std::sort(all.begin(), all.end());
    const bool counted = facts_.buffer_of(all).has_value();
    // A divisor that is itself a product may have wrapped, unless the whole is counted.
    if (divisor.empty() || (divisor.size() > 1 && !counted)) return false;
    // What is shown of a sum holds modulo the index type: `a` has to be the number itself.
    if (counted && !facts_.at_most(a, Facts::kZero, most_)) return false;
    return not_negative(a) && shown({a}, all, counted, depth - 1) && not_negative(node);
  }

  // A term is a * d, the others are together below d, and a is below the rest of the product.
  bool split(const std::vector<uint32_t>& terms, const Factors& product, int depth) {
    for (size_t i = 0; i < terms.size(); i++) {
      const Inst* inst = definition(terms[i]);
      if (inst == nullptr || !is_integer(inst->type) || !wide_enough(*inst)) continue;
      const bool with_sum = inst->op == Op::Fma || inst->op == Op::Mad;
      if (inst->op != Op::Mul && !with_sum) continue;
      std::vector<uint32_t> others = terms;
      others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
      if (with_sum) others.push_back(operand(terms[i], 2));
      for (size_t k = 0; k < 2; k++)
        if (stripped(operand(terms[i], k), operand(terms[i], 1 - k), others, product, depth))
          return true;
    }
    return false;
  }

  bool stripped(uint32_t a, uint32_t d, const std::vector<uint32_t>& others, const Factors& product,
                int depth) {
    const Factors inner = factors_of(d);
    Factors outer;
    if (inner.empty() || !std::includes(product.begin(), product.end(), inner.begin(), inner.end()))
      return false;
    std::set_difference(product.begin(), product.end(), inner.begin(), inner.end(),
                        std::back_inserter(outer));
    const bool low = others.empty() ? positive(inner) : shown(others, inner, true, depth - 1);
    return low && shown({a}, outer, true, depth - 1);
  }

  // What a value is the product of: dimensions, scalars and numbers. Empty if that is not known.
  Factors factors_of(uint32_t node, int depth = 4) {
    node = facts_.resolve(node);
    const Interval range = facts_.interval(node);
    if (range.low == range.high) return {{kNone, range.low}};
    const Inst* inst = facts_.definition(node);
    if (inst == nullptr) return {{node, 1}};
    if (inst->op != Op::Mul || depth == 0 || !is_integer(inst->type) || !wide_enough(*inst))
      return {};
    Factors factors = factors_of(facts_.operand(node, 0), depth - 1);
    const Factors more = factors_of(facts_.operand(node, 1), depth - 1);
    if (factors.empty() || more.empty()) return {};
    factors.insert(factors.end(), more.begin(), more.end());
    std::sort(factors.begin(), factors.end());
    return factors;
  }

  Facts& facts_;
  const Wide most_;
};

}  // namespace

bool is_inside(Facts& facts, uint32_t index, uint32_t buffer) {
  const Factors& factors = facts.factors_of(buffer);
  if (facts.at_most(Facts::kZero, index, 0) && facts.at_most(index, facts.length_of(buffer), -1))
    return true;
  return !factors.empty() &&
         Inside(facts, facts.index_type()).shown({index}, factors, true, kDepth);
}

bool is_below(Facts& facts, uint32_t index, Wide count) {
  return facts.at_most(Facts::kZero, index, 0) && facts.at_most(index, Facts::kZero, count - 1);
}

bool is_quotient_below(Facts& facts, uint32_t a, uint32_t b) {
  const Inst* inst = facts.definition(facts.resolve(a));
  if (inst == nullptr || inst->op != Op::Div) return false;
  b = facts.resolve(b);
  const Interval& range = facts.interval(b);
  const Factor factor = range.low == range.high ? Factor{kNone, range.low} : Factor{b, 1};
  return Inside(facts, facts.index_type()).shown({a}, {factor}, false, kDepth);
}

}  // namespace hologram::program
