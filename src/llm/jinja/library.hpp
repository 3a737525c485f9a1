// What templates can do with values: attributes, methods of texts and dictionaries, filters, tests.
#pragma once

#include <optional>
#include <string_view>

#include "llm/jinja/value.hpp"

namespace hologram::llm::jinja {

// The most bytes that one operation may make.
inline constexpr size_t kMostBytes = size_t{1} << 26;
void require_size(double bytes);  // Failure

Value attribute(const Value& of, const std::string& name);  // of.name; Failure of Undefined
Value item(const Value& of, const Value& key);              // of[key]
Value slice(const Value& of, const Value& first, const Value& last, const Value& step);

// A function that is bound to the value, or nothing.
std::optional<Value> method(const Value& of, std::string_view name);

Value filtered(std::string_view name, const Value& operand, const Arguments& arguments);
bool tested(std::string_view name, const Value& operand, const Arguments& arguments);

Value binary(std::string_view op, const Value& a, const Value& b);

// What methods and filters share. `characters`: white space if empty.
std::string stripped(const std::string& text, const std::string& characters, bool front, bool back);
std::string replaced(const std::string& text, const std::string& from, const std::string& to,
                     int64_t most);
std::string lower(const std::string& text);  // Latin, Greek and Cyrillic letters
std::string upper(const std::string& text);
std::string capitalized(const std::string& text);
std::string title(const std::string& text);

}  // namespace hologram::llm::jinja
