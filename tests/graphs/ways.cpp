#include "graphs/ways.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "graphs/right.hpp"
#include "graphs/rows_way.hpp"
#include "hologram/error.hpp"
#include "hologram/graph.hpp"
#include "hologram/ops.hpp"
#include "interp/targets.hpp"
#include "jit/jit.hpp"

namespace hologram::graphs {
namespace {

using Arrays = std::vector<Array>;

Arrays arrays_of(const std::vector<Tensor>& tensors) {
  Arrays arrays;
  for (const Tensor& t : tensors) arrays.push_back(t.array());
  return arrays;
}

PerRoot each(Arrays arrays) {
  return {std::make_move_iterator(arrays.begin()), std::make_move_iterator(arrays.end())};
}

// A capture has one input at the least: one that nobody reads, where the description has none.
PerRoot captured(const Description& description, const Executor& executor) {
  std::vector<Tensor> inputs;
  for (const Step& step : description.steps)
    if (is_input(step)) inputs.push_back(Tensor::from(values_of(step), executor));
  const size_t count = inputs.size();
  if (count == 0) inputs.push_back(ops::zeros({1}, DType::F32, executor));
  const Graph graph(
      [&](const std::vector<Tensor>& x) {
        return roots_of(description,
                        build(description, executor, nullptr, std::span(x).first(count)));
      },
      inputs);
  return each(arrays_of(graph.launch(inputs)));
}

PerRoot run(const Way& way, const Description& description) {
  switch (way.kind) {
    case Way::Kind::Captured: return captured(description, way.executor);
    case Way::Kind::Text: return as_text(description, way.executor);
    case Way::Kind::ByRows: return by_rows(description, way.executor);
    default: break;
  }
  const std::vector<Tensor> roots = roots_of(description, build(description, way.executor));
  if (way.kind == Way::Kind::Together) eval(roots);
  else
    for (size_t k = roots.size(); k-- > 0;) roots[k].eval();
  return each(arrays_of(roots));
}

bool is_half(DType dtype) { return dtype == DType::F16 || dtype == DType::BF16; }

Evaluated step_by_step(const Description& description, const Executor& executor) {
  Evaluated e;
  const std::vector<Tensor> all = build(description, executor, [](const Tensor& t) { t.eval(); });
  e.arrays = arrays_of(all);
  return e;
}

std::vector<Field> operands_of(const Step& step, const std::function<Field(uint32_t)>& of) {
  std::vector<Field> x;
  for (const Argument& a : step.arguments) x.push_back(a.is_number() ? Field() : of(a.step));
  return x;
}

// Ranges for whatever has come through a 16-bit float, or through any float if `all_floats`.
void add_fields(const Description& description, Evaluated& e, bool all_floats) {
  const auto field = [&](uint32_t i) { return e.fields[i] ? *e.fields[i] : field_of(e.arrays[i]); };
  e.fields.clear();
  const std::vector<bool> live = live_steps(description);
  for (const Step& step : description.steps) {
    if (!live[e.fields.size()]) {
      e.fields.emplace_back();
      continue;
    }
    bool loose = !is_input(step) && (is_half(step.dtype) || (all_floats && is_float(step.dtype)));
    for (const Argument& a : step.arguments)
      if (!a.is_number()) loose = loose || e.fields[a.step];
    e.fields.emplace_back();
    if (loose && !is_input(step))
      e.fields.back() = step.operation->right(step, operands_of(step, field));
  }
}

// Running sums of numbers that are not negative never decrease, in whatever order they are made.
std::string decrease(const Step& step, const Array& operand, const Array& sums) {
  if (step.operation->name != "cumsum" || !is_float(sums.dtype())) return "";
  const Field x = field_of(operand), y = field_of(sums);
  for (const auto& row : rows_along(x.shape, step.axis()).rows)
    for (size_t k = 1; k < row.size(); k++) {
      const bool negative =
          !is_float(x.dtype) ? x.elements[row[k]].whole < 0 : !(x.elements[row[k]].low >= 0);
      if (negative) break;
      if (y.elements[row[k]].low < y.elements[row[k - 1]].low)
        return fmt::format("element {} is {}, less than {} before it", row[k],
                           text_of(sums, row[k]), text_of(sums, row[k - 1]));
    }
  return "";
}

bool is_same(const Array& a, const Array& b, size_t i, double smallest, bool nan_bits) {
  const size_t size = size_of(a.dtype());
  if (std::memcmp(a.data() + i * size, b.data() + i * size, size) == 0) return true;
  if (!is_float(a.dtype())) return false;
  const Wide x = conformance::real_at(a.dtype(), a.data(), i),
             y = conformance::real_at(b.dtype(), b.data(), i);
  if (is_nan(x) && is_nan(y)) return !nan_bits;
  return magnitude(x) < smallest && magnitude(y) < smallest;
}

bool has_nan(const Array& array) {
  if (!is_float(array.dtype())) return false;
  for (size_t i = 0; i < array.size(); i++)
    if (is_nan(conformance::real_at(array.dtype(), array.data(), i))) return true;
  return false;
}

// Whether the sign of each NaN follows from the operands: of two NaN processors pass on either.
bool knows_signs_of_nan(const Description& description, const Evaluated& e) {
  const std::vector<bool> live = live_steps(description);
  for (size_t i = 0; i < live.size(); i++) {
    const Step& step = description.steps[i];
    if (!live[i] || is_input(step)) continue;
    size_t nans = 0;
    for (const Argument& a : step.arguments)
      if (!a.is_number() && has_nan(e.arrays[a.step])) nans++;
    if (nans > 1) return false;
    if (step.operation->row == nullptr && (nans == 1 || has_nan(e.arrays[i]))) return false;
  }
  return true;
}

bool have_their_shapes(const Description& description, const Evaluated& e) {
  for (size_t i = 0; i < e.arrays.size(); i++)
    if (e.arrays[i].shape() != description.steps[i].shape ||
        e.arrays[i].dtype() != description.steps[i].dtype)
      return false;
  return true;
}

// Where they differ and the oracle does not allow it.
std::string difference(const Array& expected, const Array& have, const Field* field,
                       double smallest, bool nan_bits, Tally& tally) {
  if (expected.dtype() != have.dtype() || expected.shape() != have.shape())
    return fmt::format("{}{} in place of {}{}", name_of(have.dtype()), to_string(have.shape()),
                       name_of(expected.dtype()), to_string(expected.shape()));
  std::optional<Field> got;
  for (size_t i = 0; i < have.size(); i++) {
    if (is_same(expected, have, i, smallest, nan_bits)) continue;
    if (field != nullptr) {
      const Element& right = field->elements[i];
      if (!right.known) {
        tally.unknown++;
        continue;
      }
      if (!got) got = field_of(have);
      const Element& g = got->elements[i];
      if (!is_float(have.dtype())
              ? right.whole == g.whole
              : (is_nan(right.low) && is_nan(g.low)) || (right.low <= g.low && g.low <= right.high))
        continue;
    }
    return fmt::format("element {} is {}, not {}{}", i, text_of(have, i), text_of(expected, i),
                       field == nullptr ? "" : ", and must be " + text_of(*field, i));
  }
  return "";
}

}  // namespace

unsigned long setting(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? 0 : std::strtoul(text, nullptr, 10);
}

std::string text_of(const Difference& difference) {
  return fmt::format("{}: {}\n{}", difference.way, difference.what, text_of(difference.smaller));
}

Checker::Checker(Executor reference) : reference_(std::move(reference)) {}

std::optional<Difference> Checker::check(const Description& description, std::string_view only) {
  std::optional<Difference> found = first_difference(description, only, true);
  if (found && setting("HOLOGRAM_TEST_MINIMISE") == 0 &&
      std::getenv("HOLOGRAM_TEST_MINIMISE") != nullptr)
    return found;
  if (found) return shrunk(*std::move(found), only);
  return {};
}

// One step at a time, on the operands that the library gave it.
std::optional<Difference> Checker::by_oracle(const Description& description,
                                             const Evaluated& evaluated, bool counts) {
  const std::vector<bool> live = live_steps(description);
  for (uint32_t i = 0; i < live.size(); i++) {
    const Step& step = description.steps[i];
    if (!live[i] || is_input(step)) continue;
    const Field right = step.operation->right(
        step, operands_of(step, [&](uint32_t k) { return field_of(evaluated.arrays[k]); }));
    Tally here;
    std::string what = graphs::difference(right, evaluated.arrays[i], here);
    if (what.empty() && !step.arguments.empty() && !step.arguments[0].is_number())
      what = decrease(step, evaluated.arrays[step.arguments[0].step], evaluated.arrays[i]);
    if (counts) tally.compared += here.compared, tally.unknown += here.unknown;
    if (!what.empty())
      return Difference{"the oracle", fmt::format("{}: {}", name_of(description, i), what),
                        description};
  }
  return {};
}

std::optional<Difference> Checker::first_difference(const Description& description,
                                                    std::string_view only, bool counts) {
  std::string at = "step by step";
  try {
    Evaluated e = step_by_step(description, reference_);
    if (counts) coverage.count(description, at);
    std::optional<Difference> found = by_oracle(description, e, counts);
    if (found && (!counts || !have_their_shapes(description, e))) return found;
    add_fields(description, e, false);
    const bool nan_bits = knows_signs_of_nan(description, e);
    std::optional<Evaluated> loose;  // of any order of additions
    std::vector<PerRoot> results;
    for (const Way& way : ways_) {
      if (found && !counts) break;  // else the others are counted all the same
      at = way.name;
      results.emplace_back();
      if (!only.empty() && only != way.name) continue;
      results.back() = run(way, description);
      Description done = description;
      done.roots.clear();
      for (size_t k = 0; k < description.roots.size(); k++)
        if (results.back()[k]) done.roots.push_back(description.roots[k]);
      if (counts) coverage.count(done, at);
      const bool rows = way.kind == Way::Kind::ByRows;
      if (rows && !loose && !done.roots.empty()) add_fields(description, loose.emplace(e), true);
      for (size_t k = 0; k < description.roots.size(); k++) {
        const uint32_t root = description.roots[k];
        const std::optional<Array>& have = results.back()[k];
        if (!have) continue;
        // The other way has not run where one is asked for alone.
        const bool compares = way.like && k < results[*way.like].size();
        const Array* const like = compares ? &*results[*way.like][k] : nullptr;
        const std::optional<Field>& field = rows ? loose->fields[root] : e.fields[root];
        const std::string what = difference(like != nullptr ? *like : e.arrays[root], *have,
                                            like == nullptr && field ? &*field : nullptr,
                                            way.smallest, like != nullptr && nan_bits, tally);
        if (!what.empty() && !found)
          found = Difference{way.name, fmt::format("{}: {}", name_of(description, root), what),
                             description};
      }
    }
    return found;
  } catch (const std::exception& error) {
    return Difference{at, error.what(), description};
  }
}

// Fewer roots first; then steps become inputs that hold what the steps gave.
Difference Checker::shrunk(Difference found, std::string_view only) {
  const auto still = [&](const Description& smaller) {
    if (auto difference = first_difference(smaller, only, false)) {
      found = *std::move(difference);
      return true;
    }
    return false;
  };
  for (size_t k = found.smaller.roots.size(); k-- > 0 && found.smaller.roots.size() > 1;) {
    if (k >= found.smaller.roots.size()) continue;
    Description fewer = found.smaller;
    fewer.roots.erase(fewer.roots.begin() + static_cast<int64_t>(k));
    still(fewer);
  }
  std::vector<Array> values;
  try {
    values = step_by_step(found.smaller, reference_).arrays;
  } catch (const std::exception&) {
    return found;
  }
  for (uint32_t i = static_cast<uint32_t>(values.size()); i-- > 0;) {
    if (is_input(found.smaller.steps[i])) continue;
    // A later step as the only root.
    Description earlier = found.smaller;
    earlier.roots = {i};
    if (earlier.roots != found.smaller.roots && live_steps(found.smaller)[i]) still(earlier);
    const bool is_root = std::find(found.smaller.roots.begin(), found.smaller.roots.end(), i) !=
                         found.smaller.roots.end();
    if (is_root || !live_steps(found.smaller)[i]) continue;
    Description cut = found.smaller;
    Step& step = cut.steps[i];
    step.operation = &operation("input");
    step.arguments.clear();
    step.values = std::make_shared<Array>(values[i]);
    still(cut);
  }
  return found;
}

Executor interpreting_cpu() {
  return ExecutorBuilder()
      .backend(BackendType::Cpu)
      .cpu_target(std::string(interp::supported_targets().front().name))
      .jit(Jit::Off)
      .fusion(true)
      .check(false)
      .build();
}

void add_cpu_ways(Checker& checker) {
  const auto made_for = [](std::string_view target, Jit when, bool fusion = true) {
    return ExecutorBuilder()
        .backend(BackendType::Cpu)
        .cpu_target(std::string(target))
        .jit(when)
        .fusion(fusion)
        .check(false)
        .build();
  };
  const auto targets = interp::supported_targets();
  const std::string_view best = targets.front().name;
  const Executor plain = interpreting_cpu();
  checker.add({"fused", Way::Kind::Together, plain});
  const size_t fused = checker.ways().size() - 1;
  for (const interp::Target& t : targets) {
    if (jit::isa_of(t.name) != jit::Isa::None)
      checker.add({fmt::format("compiled {}", t.name), Way::Kind::Together,
                   made_for(t.name, Jit::Always), fused});
    else
      checker.add({fmt::format("interpreted {}", t.name), Way::Kind::Together,
                   made_for(t.name, Jit::Off), fused});
  }
  checker.add({"as set", Way::Kind::Together, Executor(BackendType::Cpu)});
  checker.add({"unfused", Way::Kind::Together, made_for(best, Jit::Off, false)});
  checker.add({"one by one", Way::Kind::Apart, plain});
  checker.add({"captured", Way::Kind::Captured, plain});
  checker.add({"as text", Way::Kind::Text, plain});
  checker.add({"by rows", Way::Kind::ByRows, plain});
}

}  // namespace hologram::graphs
