// Descriptions as expressions, in memory and by rows of inputs.
#include "graphs/rows_way.hpp"

#include <algorithm>
#include <cstring>
#include <map>

#include "hologram/error.hpp"
#include "hologram/expression.hpp"
#include "row_source.hpp"

namespace hologram::graphs {
namespace {

using tests::source_of;

struct Inputs {
  std::map<std::string, Array> arrays;
  int64_t rows = 0;  // of the longest first axis
};
Inputs inputs_of(const Description& description, const Expression& expression) {
  Inputs inputs;
  for (uint32_t i = 0; i < description.steps.size(); i++) {
    const std::string name = name_of(description, i);
    const auto& wanted = expression.inputs();
    if (std::find(wanted.begin(), wanted.end(), name) == wanted.end()) continue;
    const Array values = values_of(description.steps[i]);
    if (!values.shape().empty()) inputs.rows = std::max(inputs.rows, values.shape()[0]);
    inputs.arrays.emplace(name, values);
  }
  return inputs;
}

// The roots that can be written down, as a description of their own.
Description writable(const Description& description, std::vector<size_t>& which) {
  Description some = description;
  some.roots.clear();
  for (size_t k = 0; k < description.roots.size(); k++) {
    Description one = description;
    one.roots = {description.roots[k]};
    if (expression_of(one).empty()) continue;
    which.push_back(k);
    some.roots.push_back(description.roots[k]);
  }
  return some;
}

// Which inputs are read by rows: all that have the rows, or the first one, beside whole others.
enum class Which : uint8_t { All, First };

std::optional<std::vector<Array>> try_by_rows(const Description& description,
                                              const Executor& executor, Which which) {
  const Expression expression = Expression::parse(expression_of(description));
  const Inputs all = inputs_of(description, expression);
  std::string first;
  for (uint32_t i = 0; i < description.steps.size() && first.empty(); i++)
    if (all.arrays.contains(name_of(description, i))) first = name_of(description, i);
  Expression::Inputs inputs;
  std::map<std::string, RowSource> sources;
  uint64_t row = 1;
  for (const auto& [name, array] : all.arrays) {
    const bool by_rows = !array.shape().empty() && array.shape()[0] == all.rows && all.rows > 0 &&
                         (which == Which::All || name == first);
    if (!by_rows) inputs.emplace(name, Tensor::from(array, executor));
    else sources.emplace(name, source_of(array));
    if (by_rows) row += array.bytes() / static_cast<size_t>(all.rows);
  }
  if (sources.empty()) return {};
  std::map<std::string, Array> results;
  const auto sink = [&](const std::string& name, const Shape& whole, int64_t first,
                        const Array& rows) {
    if (first == 0) results[name] = Array(rows.dtype(), whole);
    Array& to = results[name];
    if (rows.bytes() == 0) return;
    const size_t each = whole.empty() ? rows.bytes() : to.bytes() / static_cast<size_t>(whole[0]);
    std::memcpy(to.mutable_data() + static_cast<size_t>(first) * each, rows.data(), rows.bytes());
  };
  std::vector<std::string> outputs;
  for (const uint32_t root : description.roots) outputs.push_back(name_of(description, root));
  // Pieces of a fifth of the rows, if a row of outputs is not much longer than one of inputs.
  const auto piece = static_cast<uint64_t>(std::max<int64_t>(4, all.rows / 5));
  for (uint64_t bytes = 4 * piece * row;; bytes *= 8) {
    try {
      expression.evaluate_by_rows(inputs, sources, outputs, sink, {.bytes = bytes, .progress = {}},
                                  executor);
      break;
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::OutOfMemory && bytes < 1000 * piece * row) continue;
      // What needs all rows at once is refused, and so are lengths that were written down.
      const ErrorKind kind = error.kind();
      if (kind == ErrorKind::UnsupportedOperation || kind == ErrorKind::ShapeMismatch ||
          kind == ErrorKind::InvalidArgument || kind == ErrorKind::OutOfMemory)
        return {};
      throw;
    }
  }
  std::vector<Array> arrays;
  arrays.reserve(outputs.size());
  for (const std::string& name : outputs) arrays.push_back(results.at(name));
  return arrays;
}

}  // namespace

PerRoot as_text(const Description& description, const Executor& executor) {
  PerRoot found(description.roots.size());
  std::vector<size_t> which;
  const Description some = writable(description, which);
  if (which.empty()) return found;
  const Expression expression = Expression::parse(expression_of(some, true));
  Expression::Inputs inputs;
  for (const auto& [name, array] : inputs_of(some, expression).arrays)
    inputs.emplace(name, Tensor::from(array, executor));
  std::map<std::string, Tensor> results;
  for (const auto& [name, tensor] : expression.evaluate(inputs, executor)) results[name] = tensor;
  for (const size_t k : which)
    found[k] = results.at(name_of(description, description.roots[k])).array();
  return found;
}

// All roots at once if that can be, else those that can by themselves.
PerRoot by_rows(const Description& description, const Executor& executor) {
  PerRoot found(description.roots.size());
  std::vector<size_t> which;
  const Description some = writable(description, which);
  if (which.empty()) return found;
  if (const auto arrays = try_by_rows(some, executor, Which::All)) {
    for (size_t k = 0; k < which.size(); k++) found[which[k]] = (*arrays)[k];
    return found;
  }
  for (const size_t k : which) {
    Description one = description;
    one.roots = {description.roots[k]};
    auto arrays = try_by_rows(one, executor, Which::All);
    if (!arrays) arrays = try_by_rows(one, executor, Which::First);
    if (arrays) found[k] = arrays->front();
  }
  return found;
}

}  // namespace hologram::graphs
