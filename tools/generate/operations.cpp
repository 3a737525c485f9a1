#include "generate/operations.hpp"

#include <fmt/format.h>

#include <cctype>
#include <iterator>
#include <vector>

#include "graph/elementwise.hpp"
#include "tensor/elementwise_gradients.hpp"

namespace hologram::generate {
namespace {

using namespace graph;

template <class... Args>
void print(std::string& to, fmt::format_string<Args...> format, Args&&... args) {
  fmt::format_to(std::back_inserter(to), format, std::forward<Args>(args)...);
}

std::string declaration(const ElementwiseOp& op) {
  std::string list;
  std::string_view rest = op.parameters;
  while (!rest.empty()) {
    const size_t comma = rest.find(", ");
    list += fmt::format("{}const Operand& {}", list.empty() ? "" : ", ", rest.substr(0, comma));
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 2);
  }
  return list;
}

std::string attributes(const ElementwiseOp& op, bool values) {
  std::string list;
  for (size_t k = 0; k < op.attribute_count; k++) {
    list += fmt::format(", double {}", op.attributes[k].name);
    if (values) list += fmt::format(" = {}", op.attributes[k].otherwise);
  }
  return list;
}

std::string_view group_name(Group group) {
  constexpr std::string_view kNames[] = {
      "Arithmetic",  "Rounding",   "Powers and roots", "Functions",
      "Activations", "Comparison", "Logic and bits",   ""};
  return kNames[static_cast<size_t>(group)];
}

std::string_view dtype_words(const ElementwiseOp& op) {
  switch (op.rule) {
    case Rule::Float: return "floats; integers and bool become f32";
    case Rule::Test: return "any dtype; gives bool";
    case Rule::Choice: return "a bool, then any dtype";
    default: break;
  }
  switch (op.accepts) {
    case Accepts::Any: return "any dtype";
    case Accepts::Number: return "integers and floats";
    case Accepts::Integer: return "integers";
    case Accepts::IntegerOrBool: return "integers and bool";
    case Accepts::Bool: return "bool";
  }
  return "";
}

// What stands between these separators, without the space around it.
std::vector<std::string_view> split(std::string_view list, char separator) {
  std::vector<std::string_view> parts;
  while (!list.empty()) {
    const size_t end = std::min(list.find(separator), list.size());
    std::string_view part = list.substr(0, end);
    while (part.starts_with(' ')) part.remove_prefix(1);
    while (part.ends_with(' ')) part.remove_suffix(1);
    parts.push_back(part);
    list.remove_prefix(std::min(list.size(), end + 1));
  }
  return parts;
}

// Whether a formula has this word in it.
bool names_word(std::string_view formula, std::string_view word) {
  const auto is_of_word = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
  };
  for (size_t at = formula.find(word); at != std::string_view::npos;
       at = formula.find(word, at + 1)) {
    const size_t end = at + word.size();
    if ((at == 0 || !is_of_word(formula[at - 1])) &&
        (end == formula.size() || !is_of_word(formula[end])))
      return true;
  }
  return false;
}

// Lines of at most 100 columns.
void comment(std::string& to, std::string_view text) {
  while (!text.empty()) {
    size_t end = text.size();
    if (end > 97) {
      end = text.rfind(' ', 97);
      if (end == std::string_view::npos) end = text.size();
    }
    print(to, "// {}\n", text.substr(0, end));
    text.remove_prefix(std::min(text.size(), end + 1));
  }
}

}  // namespace

std::string elementwise_header() {
  std::string text;
  print(
      text,
      "// Operations of one element from one element of each operand, which are brought to one "
      "dtype\n"
      "// and repeated to one shape. Written by scripts/generate from src/graph/elementwise.cpp.\n"
      "#pragma once\n\n#include \"hologram/tensor.hpp\"\n\nnamespace hologram::ops {{\n\n"
      "// clang-format off\n");
  for (const ElementwiseOp& op : elementwise_table()) {
    comment(text, op.meaning);
    print(text, "HOLOGRAM_API Tensor {}({}{});\n", op.name, declaration(op), attributes(op, true));
  }
  print(text, "// clang-format on\n\n}}  // namespace hologram::ops\n");
  return text;
}

std::string elementwise_source() {
  std::string text;
  print(text,
        "// Written by scripts/generate from src/graph/elementwise.cpp.\n"
        "#include \"hologram/elementwise.hpp\"\n\n#include \"graph/elementwise.hpp\"\n"
        "#include \"tensor/access.hpp\"\n\nnamespace hologram::ops {{\n\n// clang-format off\n");
  size_t row = 0;
  for (const ElementwiseOp& op : elementwise_table()) {
    std::string names;
    for (size_t k = 0; k < op.attribute_count; k++)
      names += fmt::format("{}{}", k ? ", " : "", op.attributes[k].name);
    std::string addresses;  // "&a, &b"
    for (const char c : op.parameters) {
      if (addresses.empty() || addresses.back() == ' ') addresses += '&';
      addresses += c;
    }
    const std::string values = names.empty() ? "" : fmt::format(", std::array{{{}}}", names);
    print(text,
          "Tensor {}({}{}) {{ return tensor::apply(graph::elementwise_table()[{}], "
          "std::array<const Operand*, {}>{{{}}}{}); }}\n",
          op.name, declaration(op), attributes(op, false), row++, op.arity, addresses, values);
  }
  print(text, "// clang-format on\n\n}}  // namespace hologram::ops\n");
  return text;
}

std::string elementwise_gradients() {
  std::string functions, rows;
  for (const ElementwiseOp& op : elementwise_table()) {
    const std::vector<std::string_view> operands = split(op.parameters, ','),
                                        formulas = split(op.gradients, ';');
    print(rows, "    {{{{");
    for (size_t i = 0; i < operands.size() && !op.gradients.empty(); i++) {
      const std::string_view formula = i < formulas.size() ? formulas[i] : std::string_view();
      if (formula.empty()) {
        print(rows, "{}{{}}", i ? ", " : "");
        continue;
      }
      uint32_t names = 0;
      std::string values;
      for (size_t k = 0; k < operands.size(); k++) {
        if (!names_word(formula, operands[k])) continue;
        names |= 1u << k;
        print(values, "T {} = s.operands[{}]; ", operands[k], k);
      }
      if (names_word(formula, "out")) {
        names |= tensor::ElementwiseGradient::kOut;
        values += "T out = s.out; ";
      }
      for (size_t k = 0; k < op.attribute_count; k++)
        if (names_word(formula, op.attributes[k].name))
          print(values, "const double {} = s.attributes[{}]; ", op.attributes[k].name, k);
      print(functions, "Tensor {}_{}(S{}, T{}) {{ {}return {}; }}\n", op.name, operands[i],
            values.empty() ? "" : " s", names_word(formula, "g") ? " g" : "", values, formula);
      print(rows, "{}{{{}_{}, {}}}", i ? ", " : "", op.name, operands[i], names);
    }
    print(rows, "}}}},  // {}\n", op.name);
  }
  return fmt::format(
      "// Written by scripts/generate from src/graph/elementwise.cpp.\n"
      "#include \"tensor/elementwise_gradients.hpp\"\n\n#include <numbers>\n\n"
      "#include \"hologram/ops.hpp\"\n\nnamespace hologram::tensor {{\nnamespace {{\n\n"
      "using namespace ops;\nusing S = const Saved&;\nusing T = const Tensor&;\n\n"
      "// clang-format off\n{}\nconstexpr ElementwiseGradients kRows[] = {{\n{}}};\n"
      "// clang-format on\n\n}}  // namespace\n\n"
      "std::span<const ElementwiseGradients> elementwise_gradients() {{ return kRows; }}\n\n"
      "}}  // namespace hologram::tensor\n",
      functions, rows);
}

std::string elementwise_reference() {
  std::string text;
  print(text,
        "# Elementwise operations\n\nWritten by `scripts/generate` from the table in "
        "`src/graph/elementwise.cpp`. An error is in units of the last place of f32 and f64, and "
        "holds "
        "for operands in the range; where it says \"of the operand\", it is measured against the "
        "larger "
        "of result and operand.\n");
  Group group = Group::Internal;
  for (const ElementwiseOp& op : elementwise_table()) {
    if (op.group != group) {
      group = op.group;
      print(text, "\n## {}\n\n| operation | dtypes | meaning | error |\n|---|---|---|---|\n",
            group_name(group));
    }
    std::string meaning;
    for (const char c : op.meaning) meaning += c == '|' ? std::string("\\|") : std::string(1, c);
    print(text, "| `{}({}{})` | {} | {} | {}{} |\n", op.name, op.parameters, attributes(op, true),
          dtype_words(op), meaning, op.ulps == 0 ? "exact" : fmt::format("{}", op.ulps),
          op.absolute ? " of the operand" : "");
  }
  return text;
}

}  // namespace hologram::generate
