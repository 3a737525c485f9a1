// WGSL, which is no C: what it spells in its own way, piece by piece. 64-bit integers are vec2u,
// the low word first; elements smaller than a word are taken out of words; nothing is a pointer.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "dialects/dialect.hpp"
#include "dialects/uses.hpp"
#include "program/ir.hpp"

namespace hologram::dialects::wgsl {

// The whole text; functions are expanded already.
Printed print(const program::Module& module, const Options& options);

// What stands between the braces of run_lane(group_x: u32, …, lane: u32).
std::string print_body(const program::Module& module, const Uses& uses, const Options& options);

// The expression for a pure instruction; the operands are names or literals.
std::string expression(program::Op op, DType type, DType from,
                       const std::vector<std::string>& operands);

// The functions that `text` calls, and those that they call, each before its use.
std::string helpers_for(std::string_view text);

// The functions that the module's group instructions call, and the call that stands for one.
std::string group_functions(const program::Module& module);
std::string group_call(const program::Inst& inst, const std::string& value);

std::string_view type_name(DType compute);
std::string literal(DType type, uint64_t bits);

// How elements lie in a buffer.
bool in_words(DType storage);  // several in a word
bool is_atomic(const program::BufferParam& buffer);
std::string element_name(const program::BufferParam& buffer);
// load_NAME and store_NAME of a buffer whose elements lie several in a word.
std::string access_functions(const program::Module& module, uint32_t slot);
// The value of the element $e, and the element that the value $a becomes.
std::string_view load_pattern(DType storage);
std::string_view store_pattern(DType storage);

// Names must not begin with two underscores.
std::string word(std::string name);

}  // namespace hologram::dialects::wgsl
