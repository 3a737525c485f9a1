// Sums of products over named axes, two operands at a time.
#include <algorithm>
#include <map>
#include <string>

#include "core/messages.hpp"
#include "hologram/ops.hpp"
#include "tensor/access.hpp"

namespace hologram::ops {

using core::Text;

namespace {

// Names of axes: letters, and, counted from the last, those that "..." stands for.
using Label = int;
using Labels = std::vector<Label>;
constexpr Label kDots = 256;

bool has(const Labels& labels, Label l) {
  return std::find(labels.begin(), labels.end(), l) != labels.end();
}
std::string text_of(Label l) { return l < kDots ? std::string(1, static_cast<char>(l)) : "..."; }

struct Term {
  Tensor tensor;
  Labels labels;

  int axis(Label l) const {
    return static_cast<int>(std::find(labels.begin(), labels.end(), l) - labels.begin());
  }
  int64_t length(Label l) const { return tensor.size(axis(l)); }
  void drop(Label l) {
    tensor = tensor.squeeze(axis(l));
    labels.erase(labels.begin() + axis(l));
  }
  // Sums over the axes that nobody wants.
  void sum_all_but(const Labels& wanted) {
    std::vector<int> axes;
    Labels kept;
    for (const Label l : labels) {
      if (has(wanted, l)) kept.push_back(l);
      else axes.push_back(axis(l));
    }
    if (axes.empty()) return;
    // Of bools `or` takes the place of the sum, as in products.
    const DType dtype = tensor.dtype();
    tensor = dtype == DType::Bool ? any(tensor, axes) : tensor::cast_to(sum(tensor, axes), dtype);
    labels = std::move(kept);
  }
  // Its axes in this order, which names all of them; an axis of length 1 for each one it lacks.
  Tensor arranged(const Labels& order) const {
    std::vector<int> axes;
    for (const Label l : order)
      if (has(labels, l)) axes.push_back(axis(l));
    Tensor t = tensor.permute(std::move(axes));
    for (size_t k = 0; k < order.size(); k++)
      if (!has(labels, order[k])) t = t.unsqueeze(static_cast<int>(k));
    return t;
  }
};

class Einsum {
 public:
  Einsum(std::string_view equation, const std::vector<Tensor>& operands) : given_(equation) {
    std::string text;
    for (const char c : equation)
      if (c != ' ') text += c;
    const size_t arrow = text.find("->");
    const std::string inputs = text.substr(0, arrow);
    size_t start = 0;
    std::vector<std::string> parts;
    for (size_t comma; (comma = inputs.find(',', start)) != std::string::npos; start = comma + 1)
      parts.push_back(inputs.substr(start, comma - start));
    parts.push_back(inputs.substr(start));
    if (parts.size() != operands.size())
      refuse(fmt::format("{} operands are named, {} given", parts.size(), operands.size()));
    for (size_t i = 0; i < parts.size(); i++) terms_.push_back(term(parts[i], operands[i]));
    if (arrow == std::string::npos) imply_result();
    else read_result(text.substr(arrow + 2));
  }

  Tensor run() {
    Term all = std::move(terms_.front());
    for (size_t i = 1; i < terms_.size(); i++) {
      Labels wanted = result_;
      for (size_t k = i + 1; k < terms_.size(); k++)
        wanted.insert(wanted.end(), terms_[k].labels.begin(), terms_[k].labels.end());
      all = product(std::move(all), std::move(terms_[i]), wanted);
    }
    all.sum_all_but(result_);
    return all.arranged(result_);
  }

 private:
  [[noreturn]] void refuse(std::string_view why) const {
    throw core::error(Text::EinsumEquation, given_, why);
  }

  // The labels of a part of the equation, whose "..." stands for `dots` axes.
  Labels read(std::string_view part, int dots) const {
    Labels labels;
    bool seen = false;
    while (!part.empty()) {
      if (part.substr(0, 3) == "...") {
        if (seen) refuse("... stands twice in one operand");
        seen = true;
        for (int k = dots; k > 0; k--) labels.push_back(kDots + k);
        part.remove_prefix(3);
        continue;
      }
      const char c = part.front();
      if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')))
        refuse(fmt::format("'{}' is no letter", c));
      labels.push_back(c);
      part.remove_prefix(1);
    }
    return labels;
  }

  Term term(std::string_view part, const Tensor& tensor) {
    const auto letters = static_cast<int>(read(part, 0).size());
    const bool dots = part.find("...") != std::string_view::npos;
    if (dots ? letters > tensor.rank() : letters != tensor.rank())
      throw core::error(Text::EinsumRank, part, to_string(tensor.shape()));
    most_dots_ = std::max(most_dots_, tensor.rank() - letters);
    Term t{tensor, read(part, tensor.rank() - letters)};
    for (size_t i = 0; i < t.labels.size(); i++) {
      count_[t.labels[i]]++;
      check_length(t.labels[i], tensor.size(static_cast<int>(i)));
    }
    take_diagonals(t);
    return t;
  }

  void check_length(Label l, int64_t n) {
    int64_t& known = lengths_.emplace(l, n).first->second;
    if (known == 1) known = n;
    else if (n != 1 && n != known) throw core::error(Text::EinsumLength, text_of(l), known, n);
  }

  // A letter twice in one operand, whose axes become one.
  static void take_diagonals(Term& t) {
    for (size_t i = 0; i < t.labels.size(); i++) {
      const auto again =
          std::find(t.labels.begin() + static_cast<int64_t>(i) + 1, t.labels.end(), t.labels[i]);
      if (again == t.labels.end()) continue;
      const Label l = *again;
      const int a = static_cast<int>(i), b = static_cast<int>(again - t.labels.begin());
      if (t.tensor.size(a) != t.tensor.size(b))
        throw core::error(Text::EinsumLength, text_of(l), t.tensor.size(a), t.tensor.size(b));
      t.tensor = diagonal(t.tensor, 0, a, b);
      t.labels.erase(again);
      t.labels.erase(t.labels.begin() + static_cast<int64_t>(i));
      t.labels.push_back(l);
      i = static_cast<size_t>(-1);  // a third one may be left
    }
  }

  void imply_result() {
    for (int k = most_dots_; k > 0; k--) result_.push_back(kDots + k);
    for (const auto& [label, times] : count_)  // in alphabetical order
      if (label < kDots && times == 1) result_.push_back(label);
  }

  void read_result(std::string_view part) {
    result_ = read(part, most_dots_);
    for (size_t i = 0; i < result_.size(); i++) {
      if (!lengths_.contains(result_[i]))
        refuse(fmt::format("no operand has the result's '{}'", text_of(result_[i])));
      if (std::count(result_.begin(), result_.end(), result_[i]) > 1)
        refuse(fmt::format("'{}' stands twice in the result", text_of(result_[i])));
    }
  }

  // What both have stays where it is wanted, and is summed over where it is not.
  Term product(Term a, Term b, const Labels& wanted) const {
    const auto repeat = [](Term& one, const Term& other) {  // lengths of 1
      for (const Label l : Labels(one.labels))
        if (has(other.labels, l) && one.length(l) == 1 && other.length(l) != 1) one.drop(l);
    };
    repeat(a, b);
    repeat(b, a);
    const auto needed = [&](const Term& other) {
      Labels all = wanted;
      all.insert(all.end(), other.labels.begin(), other.labels.end());
      return all;
    };
    a.sum_all_but(needed(b));
    b.sum_all_but(needed(a));
    Labels batch, summed, of_a, of_b;
    for (const Label l : a.labels)
      (!has(b.labels, l) ? of_a : has(wanted, l) ? batch : summed).push_back(l);
    for (const Label l : b.labels)
      if (!has(a.labels, l)) of_b.push_back(l);
    Labels result = batch;
    result.insert(result.end(), of_a.begin(), of_a.end());
    result.insert(result.end(), of_b.begin(), of_b.end());
    if (result.size() > kMaxRank) throw core::error(Text::EinsumAxes, given_, result.size());
    if (summed.empty()) return {multiplied(a.arranged(result), b.arranged(result)), result};
    return {contracted(a, b, {batch, of_a, summed}, {batch, summed, of_b}), result};
  }

  static Tensor multiplied(const Tensor& a, const Tensor& b) {
    const bool bits = promote(a.dtype(), b.dtype()) == DType::Bool;
    return bits ? bitwise_and(a, b) : a * b;
  }

  // By matmul: the axes of each group as one.
  static Tensor contracted(const Term& a, const Term& b, const std::vector<Labels>& groups_of_a,
                           const std::vector<Labels>& groups_of_b) {
    const auto matrices = [](const Term& t, const std::vector<Labels>& groups) {
      Labels order;
      Shape shape;
      for (const Labels& group : groups) {
        shape.push_back(1);
        for (const Label l : group) {
          shape.back() *= t.length(l);
          order.push_back(l);
        }
      }
      if (groups[0].empty()) shape.erase(shape.begin());
      return t.arranged(order).reshape(std::move(shape));
    };
    Shape shape;
    for (const Label l : groups_of_a[0]) shape.push_back(a.length(l));
    for (const Label l : groups_of_a[1]) shape.push_back(a.length(l));
    for (const Label l : groups_of_b[2]) shape.push_back(b.length(l));
    return matmul(matrices(a, groups_of_a), matrices(b, groups_of_b)).reshape(std::move(shape));
  }

  std::string_view given_;
  std::vector<Term> terms_;
  std::map<Label, int> count_;
  std::map<Label, int64_t> lengths_;
  int most_dots_ = 0;
  Labels result_;
};

}  // namespace

Tensor einsum(std::string_view equation, const std::vector<Tensor>& operands) {
  DType dtype = DType::Bool;
  for (const Tensor& t : operands) dtype = promote(dtype, t.dtype());
  return tensor::cast_to(Einsum(equation, tensor::together("einsum", operands)).run(), dtype);
}

}  // namespace hologram::ops
