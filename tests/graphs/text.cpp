// Descriptions as expressions, and as text for people.
#include <fmt/args.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "graphs/description.hpp"
#include "graphs/field.hpp"

namespace hologram::graphs {
namespace {

constexpr std::string_view kProfileNames[] = {"moderate", "anything", "positive", "scaled",
                                              "twos",     "equal",    "offset",   "ascending"};

std::string text_of(double x) {
  if (std::isnan(x)) return "nan";
  if (std::isinf(x)) return x > 0 ? "inf" : "-inf";
  const std::string digits = fmt::format("{:.17g}", x);
  return digits.find_first_of(".e") == std::string::npos ? digits + ".0" : digits;
}
std::string text_of(const Number& number) {
  if (const bool* truth = std::get_if<bool>(&number)) return *truth ? "true" : "false";
  if (const double* x = std::get_if<double>(&number)) return text_of(*x);
  if (const int64_t* x = std::get_if<int64_t>(&number)) return fmt::format("{}", *x);
  return fmt::format("{}", std::get<uint64_t>(number));
}

template <class List>
std::string list_of(const List& list) {
  return fmt::format("[{}]", fmt::join(list.begin(), list.end(), ", "));
}
std::string pairs_of(const std::vector<int64_t>& list) {
  std::string text;
  for (size_t k = 0; k + 1 < list.size(); k += 2)
    text += fmt::format("{}[{}, {}]", k == 0 ? "" : ", ", list[k], list[k + 1]);
  return "[" + text + "]";
}
std::string slices_of(const std::vector<Slice>& slices) {
  std::string text;
  const auto end = [](const std::optional<int64_t>& x) {
    return x ? fmt::format("{}", *x) : std::string();
  };
  for (const Slice& s : slices)
    text += fmt::format("{}{}:{}{}", text.empty() ? "" : ", ", end(s.begin), end(s.end),
                        s.step == 1 ? "" : fmt::format(":{}", s.step));
  return text;
}

bool is_small(const Step& input) { return elements_in(input.shape) <= 12; }

// Some inputs as lists of numbers; those of one axis, every second time.
bool is_written(const Step& input) {
  return input.shape.size() == 1 && input.shape[0] > 0 && is_small(input) && input.seed % 2 == 0;
}
std::string written(const Step& input) {
  const Array values = values_of(input);
  std::string list;
  for (size_t i = 0; i < values.size(); i++) {
    const std::string sign = i == 0 ? "" : ", ";
    if (is_float(values.dtype()))
      list += sign +
              text_of(static_cast<double>(conformance::real_at(values.dtype(), values.data(), i)));
    else list += sign + graphs::text_of(values, i);
  }
  return fmt::format("tensor([{}], {})", list, name_of(input.dtype));
}

}  // namespace

std::string name_of(const Description& description, uint32_t step) {
  return fmt::format("{}{}", is_input(description.steps[step]) ? "x" : "t", step);
}

std::string text_of(const Step& step, std::span<const std::string> names) {
  std::vector<std::string> operands = {"", "", ""};
  for (size_t k = 0; k < step.arguments.size(); k++)
    operands[k] = step.arguments[k].is_number() ? text_of(step.arguments[k].number)
                                                : names[step.arguments[k].step];
  const auto integer = [&](size_t k) { return k < step.integers.size() ? step.integers[k] : 0; };
  const auto real = [&](size_t k) { return k < step.reals.size() ? step.reals[k] : 0; };
  const auto length = [&](size_t k) { return k < step.shape.size() ? step.shape[k] : 0; };
  return fmt::format(
      fmt::runtime(step.operation->text), integer(0), integer(1),
      fmt::arg("name", step.operation->name), fmt::arg("a", operands[0]),
      fmt::arg("b", operands[1]), fmt::arg("c", operands[2]),
      fmt::arg("axes", step.integers.empty() ? "none" : list_of(step.integers)),
      fmt::arg("list", list_of(step.integers)), fmt::arg("pairs", pairs_of(step.integers)),
      fmt::arg("slices", slices_of(step.slices)), fmt::arg("shape", list_of(step.shape)),
      fmt::arg("dtype", name_of(step.dtype)), fmt::arg("real", text_of(step.real)),
      fmt::arg("p", text_of(real(0))), fmt::arg("q", text_of(real(1))), fmt::arg("flag", step.flag),
      fmt::arg("eye", step.flag ? "tri" : "eye"), fmt::arg("rows", length(0)),
      fmt::arg("columns", length(1)), fmt::arg("end", integer(0) + integer(1) * length(0)));
}

std::string expression_of(const Description& description, bool literals) {
  std::string text;
  std::vector<std::string> names;
  const std::vector<bool> live = live_steps(description);
  for (uint32_t i = 0; i < description.steps.size(); i++) {
    const Step& step = description.steps[i];
    names.push_back(name_of(description, i));
    if (!live[i]) continue;
    if (is_input(step)) {
      if (literals && is_written(step))
        text += fmt::format("{} = {}\n", names.back(), written(step));
      continue;
    }
    if (!step.operation->is_expression) return "";
    text += fmt::format("{} = {}\n", names.back(), text_of(step, names));
  }
  return text;
}

std::string text_of(const Description& description) {
  std::string text;
  std::vector<std::string> names;
  const std::vector<bool> live = live_steps(description);
  for (uint32_t i = 0; i < description.steps.size(); i++) {
    const Step& step = description.steps[i];
    names.push_back(name_of(description, i));
    if (!live[i]) continue;
    text += fmt::format("  {} = ", names.back());
    if (!is_input(step)) {
      text += text_of(step, names);
    } else if (is_small(step)) {
      const Array values = values_of(step);
      std::vector<std::string> list;
      for (size_t k = 0; k < values.size(); k++) list.push_back(text_of(values, k));
      text += list_of(list);
    } else if (step.values != nullptr) {
      text += "what the seed's description gave there";
    } else {
      text += fmt::format("input of {} values, seed {}",
                          kProfileNames[static_cast<size_t>(step.profile)], step.seed);
    }
    text += fmt::format("  # {}{}\n", name_of(step.dtype), to_string(step.shape));
  }
  text += "  roots:";
  for (const uint32_t k : description.roots) text += " " + names[k];
  return text;
}

}  // namespace hologram::graphs
