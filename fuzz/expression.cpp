// Text that is not an expression gives an Error with its place; what is one is a list of nodes in
// which operands come before those who use them. Nothing is evaluated.
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "expression/syntax.hpp"
#include "hologram/error.hpp"

namespace hologram::expression {
namespace {

void fail(const char* what, std::string_view text) {
  std::fprintf(stderr, "%s\n%.*s\n", what, static_cast<int>(text.size()), text.data());
  std::abort();
}

void check(std::string_view text) {
  Syntax syntax;
  try {
    syntax = parse(text, "fuzz");
  } catch (const Error& error) {
    const bool kind =
        error.kind() == ErrorKind::InvalidProgram || error.kind() == ErrorKind::InvalidArgument;
    if (!kind || !std::string_view(error.what()).starts_with("fuzz:")) fail(error.what(), text);
    return;
  }
  std::vector<int> uses(syntax.nodes.size());
  for (size_t i = 0; i < syntax.nodes.size(); i++) {
    const Node& node = syntax.nodes[i];
    if (size_t{node.offset} + node.length > text.size()) fail("a place outside of the text", text);
    for (const uint32_t child : node.children)
      if (child != kAbsent && (child >= i || uses[child]++ != 0)) fail("no tree", text);
    if (node.definition != kAbsent &&
        (node.definition >= i || syntax.nodes[node.definition].kind != Kind::Assign))
      fail("a name that is defined later", text);
  }
  if (syntax.last >= syntax.nodes.size()) fail("no last statement", text);
}

}  // namespace
}  // namespace hologram::expression

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  hologram::expression::check({reinterpret_cast<const char*>(data), size});
  return 0;
}
