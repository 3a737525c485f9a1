#include "generate/python.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "graph/elementwise.hpp"

namespace hologram::generate {
namespace {

using namespace graph;

template <class... Args>
void print(std::string& to, fmt::format_string<Args...> format, Args&&... args) {
  fmt::format_to(std::back_inserter(to), format, std::forward<Args>(args)...);
}

// Where the array API has another name.
constexpr std::pair<std::string_view, std::string_view> kNames[] = {
    {"sub", "subtract"},
    {"mul", "multiply"},
    {"div", "divide"},
    {"floor_div", "floor_divide"},
    {"rem", "remainder"},
    {"neg", "negative"},
    {"eq", "equal"},
    {"ne", "not_equal"},
    {"lt", "less"},
    {"le", "less_equal"},
    {"gt", "greater"},
    {"ge", "greater_equal"},
    {"bitwise_not", "bitwise_invert"},
    {"shift_left", "bitwise_left_shift"},
    {"shift_right", "bitwise_right_shift"},
};

// Where the array API wants something else: python/src/array_api.cpp has it.
constexpr std::string_view kOwn[] = {"sign", "floor_div", "shift_left", "shift_right"};

std::string_view python_name(std::string_view name) {
  const auto* row = std::find_if(std::begin(kNames), std::end(kNames),
                                 [&](const auto& r) { return r.first == name; });
  return row == std::end(kNames) ? name : row->second;
}

std::string_view dtype_sentence(const ElementwiseOp& op) {
  switch (op.rule) {
    case Rule::Float: return "Floats; integers and bool give float32.";
    case Rule::Test: return "Any dtypes; gives bool.";
    case Rule::Choice: return "A bool, then any dtypes.";
    default: break;
  }
  switch (op.accepts) {
    case Accepts::Any: return "Any dtypes.";
    case Accepts::Number: return "Integers and floats.";
    case Accepts::Integer: return "Integers.";
    case Accepts::IntegerOrBool: return "Integers and bool.";
    case Accepts::Bool: return "Bool.";
  }
  return "";
}

std::string attributes(const ElementwiseOp& op, const char* format, bool values) {
  std::string list;
  for (size_t k = 0; k < op.attribute_count; k++) {
    list += fmt::format(fmt::runtime(format), op.attributes[k].name);
    if (values) list += fmt::format("={}", op.attributes[k].otherwise);
  }
  return list;
}

// The operands of a call in C++: "operand_from(a), operand_from(b)".
std::string converted(std::string_view parameters) {
  std::string list;
  while (!parameters.empty()) {
    const size_t comma = parameters.find(", ");
    list +=
        fmt::format("{}operand_from({})", list.empty() ? "" : ", ", parameters.substr(0, comma));
    parameters =
        comma == std::string_view::npos ? std::string_view() : parameters.substr(comma + 2);
  }
  return list;
}

}  // namespace

std::string python_bindings() {
  std::string text;
  print(text,
        "// Written by scripts/generate from src/graph/elementwise.cpp.\n"
        "#include \"binding.hpp\"\n\nnamespace hologram::python {{\n\n// clang-format off\n"
        "void register_elementwise(nb::module_& m) {{\n");
  for (const ElementwiseOp& op : elementwise_table()) {
    std::string parameters = "nb::handle ";
    for (const char c : op.parameters) {
      parameters += c;
      if (c == ' ') parameters += "nb::handle ";
    }
    print(text, "  m.def(\"{0}\", []({1}{2}) {{ return {6}::{3}({4}{5}); }});\n",
          python_name(op.name), parameters, attributes(op, ", double {}", false), op.name,
          converted(op.parameters), attributes(op, ", {}", false),
          std::find(std::begin(kOwn), std::end(kOwn), op.name) == std::end(kOwn) ? "ops"
                                                                                 : "array_api");
  }
  print(text, "}}\n// clang-format on\n\n}}  // namespace hologram::python\n");
  return text;
}

std::string python_functions() {
  std::string text, names;
  for (const ElementwiseOp& op : elementwise_table())
    names += fmt::format("    \"{}\",\n", python_name(op.name));
  print(
      text,
      "\"\"\"Operations of one element from one element of each operand.\n\n"
      "Operands are tensors, arrays and numbers; they are brought to one dtype and repeated to one "
      "shape.\nWritten by scripts/generate from src/graph/elementwise.cpp.\n\"\"\"\n\n"
      "from . import _core\n\n__all__ = [\n{}]\n",
      names);
  for (const ElementwiseOp& op : elementwise_table()) {
    const std::string_view name = python_name(op.name);
    const std::string given = attributes(op, ", {}", true), passed = attributes(op, ", {}", false);
    print(text, "\n\ndef {0}({1}, /{2}):\n    \"\"\"{3}\n\n    {4}\n    \"\"\"\n", name,
          op.parameters, given, op.meaning, dtype_sentence(op));
    print(text, "    return _core.{}({}{})\n", name, op.parameters, passed);
  }
  return text;
}

}  // namespace hologram::generate
