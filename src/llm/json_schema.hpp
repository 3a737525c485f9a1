// JSON schemas as rules of a grammar.
#pragma once

#include <string_view>

#include "llm/grammar.hpp"

namespace hologram::llm {

// The rule of the values that a schema describes, between two texts. InvalidArgument for what is no
// schema, and, with its name, for a keyword that is not known.
//
// Objects have their properties in the order of the schema, and others only where it names none.
// Between values there is a space or a line with an indent at most. Numbers have up to 16 digits.
int add_json_schema(Grammar& grammar, std::string_view schema, std::string_view before,
                    std::string_view behind);

}  // namespace hologram::llm
