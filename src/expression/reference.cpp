#include "expression/reference.hpp"

#include <fmt/format.h>

#include "hologram/expression.hpp"

namespace hologram::expression {

std::string with_function_reference(std::string_view document) {
  constexpr std::string_view kHeading = "## Functions\n";
  std::string text(document.substr(0, document.find(kHeading)));
  text += kHeading;
  text +=
      "\nWritten by `scripts/generate` from the tables in `src/expression/functions.cpp`,\n"
      "`src/expression/array_functions.cpp` and `src/graph/elementwise.cpp`; docs/operations.md\n"
      "says more of the elementwise ones.\n\n"
      "| function | meaning |\n|---|---|\n";
  for (const FunctionInfo& f : expression_functions()) {
    std::string meaning;
    for (const char c : f.meaning) meaning += c == '|' ? std::string("\\|") : std::string(1, c);
    text += fmt::format("| `{}` | {} |\n", f.signature, meaning);
  }
  return text;
}

}  // namespace hologram::expression
