#include "eval_inputs.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "arguments.hpp"
#include "errors.hpp"
#include "hologram/files.hpp"
#include "spelling.hpp"

namespace hologram::tool {
Expression::Inputs EvalInputs::without(const std::map<std::string, RowSource>& by_rows,
                                       const Executor& executor) const {
  Expression::Inputs inputs;
  for (const auto& [name, number] : numbers) inputs.emplace(name, number);
  for (const auto& [name, array] : arrays)
    if (!by_rows.contains(name)) inputs.emplace(name, Tensor::from(array, executor));
  return inputs;
}

Expression::Inputs EvalInputs::all(const Executor& executor) const { return without({}, executor); }

uint64_t EvalInputs::bytes() const {
  uint64_t total = 0;
  for (const auto& [name, array] : arrays) total += array.bytes();
  return total;
}

std::map<std::string, RowSource> EvalInputs::large_sources(uint64_t limit) const {
  const RowSource* largest = nullptr;
  for (const auto& [name, source] : sources)
    if (largest == nullptr || source.whole.bytes() > largest->whole.bytes()) largest = &source;
  std::map<std::string, RowSource> found;
  if (largest == nullptr) return found;
  for (const auto& [name, source] : sources)
    if (source.shape[0] == largest->shape[0] &&
        (&source == largest || source.whole.bytes() > limit / 16))
      found.emplace(name, source);
  return found;
}

EvalInputs read_inputs(const Expression& expression, const std::vector<std::string>& texts,
                       bool linear) {
  const std::vector<std::string>& names = expression.inputs();
  const std::string list = names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "));
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const std::string& text : texts) {
    pairs.push_back(split_assignment(
        text,
        fmt::format("Write name=file or name=number; the expression's inputs are: {}.", list)));
    const std::string& name = pairs.back().first;
    if (std::find(names.begin(), names.end(), name) == names.end())
      throw UsageError(fmt::format("the expression has no input '{}'", name),
                       fmt::format("Its inputs are: {}.{}", list, suggestion(name, names)));
    for (size_t i = 0; i + 1 < pairs.size(); i++)
      if (pairs[i].first == name)
        throw UsageError(fmt::format("'{}' is given twice", name), "Give it once.");
    if (pairs.back().second.empty())
      throw UsageError(fmt::format("{}= names no file", name),
                       fmt::format("Write {}=FILE, or {}=NUMBER.", name, name));
  }
  std::string missing, example;
  for (const std::string& name : names) {
    if (std::any_of(pairs.begin(), pairs.end(), [&](const auto& p) { return p.first == name; }))
      continue;
    missing += (missing.empty() ? "'" : ", '") + name + "'";
    example += fmt::format(" {}=FILE", name);
  }
  if (!missing.empty())
    throw UsageError(fmt::format("the expression needs {}", missing),
                     fmt::format("Add{}, or a number.", example));
  EvalInputs inputs;
  for (const auto& [name, value] : pairs) {
    if (const auto number = parse_operand(name, value)) {
      inputs.numbers.emplace(name, *number);
      continue;
    }
    const files::Rows rows = files::Rows::open(value, {.member = {}, .linear = linear});
    const Array& whole = rows.whole();
    inputs.arrays.emplace(name, whole);
    if (rows.on_demand() && !whole.shape().empty() && whole.size() > 0)
      inputs.sources.emplace(name, RowSource{whole.dtype(), whole.shape(), whole,
                                             [rows](int64_t first, int64_t count) {
                                               return rows.read(first, count);
                                             }});
  }
  return inputs;
}

}  // namespace hologram::tool
