#include "generate/operations.hpp"

#include <fmt/format.h>

#include <iterator>

#include "graph/elementwise.hpp"

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
