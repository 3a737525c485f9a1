// What the languages spell differently, and the patterns that instructions are printed by.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dialects/dialect.hpp"
#include "hologram/op.hpp"

namespace hologram::dialects {

// One row a language.
struct Spelling {
  Language language;
  std::string_view name, title;  // "cuda", "CUDA C"
  std::string_view prelude;      // pragmas and types other than f64
  std::string_view f64;          // what gives it the type f64; empty if it has none
  std::string_view function;     // in front of a function's type
  std::string_view kernel;  // in front of the kernel's name; $n: threads of a block, $b: blocks
                            // that a multiprocessor shall have room for
  std::string_view global;  // of a pointer to a buffer
  std::string_view local;   // of a pointer to workgroup memory
  // Of a workgroup array in the kernel. Empty: its memory is an argument, in this unit of 16 bytes.
  std::string_view declare_local;
  std::string_view restrict;               // of a pointer that no other overlaps
  std::string_view thread, block, blocks;  // numbers of the thread and block, count of blocks
  std::string_view ids;                    // parameters of the kernel that these need
  std::string_view barrier;
  // What a kernel begins with that may start before the one in front of it has ended. $e: what
  // makes it read without waiting, if it can; it settles before it writes. $p: the last of these
  // for each pointer, $x, so that nothing is read through it earlier.
  std::string_view wait, settle, after;
  // Makes the f32 $x look like another number to the compiler; empty: no such thing.
  std::string_view anew;
  std::string_view shuffle;          // the v of the lane d further, of 32; empty: no such thing
  std::string_view shuffle_up;       // of the lane d before
  std::string_view atomic;           // $k: the kind, $p: the address, $a: the value
  std::string_view atomics[8];       // $k by program::Combine
  std::string_view atomic_types[2];  // of elements changed by atomics: i32, u32
  std::string_view float_suffix;     // of the functions of f32: fmaf
  std::string_view long_suffix;      // of a 64-bit literal
  bool offsets;                      // a buffer's start is an argument of its own
  bool structure;                    // arguments other than buffers stand in a structure
  std::string_view words[3];  // unsigned words of 32 bits that are one access: 1, 2, 4 (or none)
  std::vector<std::string_view> flags;
};

const Spelling& spelling(Language language);

// A function that the text brings along where it is used: "$q $T name_$T(…) { … }".
struct Helper {
  std::string_view name;         // without the type
  std::string_view types;        // "i32 u64": one function each, called name_type; empty: just one
  std::string_view common;       // the text, unless the language has its own
  std::string_view own[4] = {};  // by Language
  bool needs_f16 = false;        // the language's own only where the device converts f16
};

// The functions that `text` calls, and those that they call, each before its use.
std::string helpers_for(std::string_view text, const Spelling& language, const Options& options);

std::set<std::string, std::less<>> identifiers(std::string_view text);

// A pattern with $x replaced by what stands beside 'x' in `values`.
using Replacements = std::vector<std::pair<char, std::string>>;
std::string substitute(std::string_view pattern, const Replacements& values);

// What a type is called: f32, u8; in every language the same.
std::string_view element_name(DType storage);  // of buffers: bool is u8, f16 and bf16 are u16
DType unsigned_of(DType type);

// The expression for a pure instruction; the operands are names or literals.
std::string expression(program::Op op, DType type, DType from,
                       const std::vector<std::string>& operands, const Spelling& language);
program::Op operation_of(program::Combine combine);

// The value of the element $e, and the element that the value $a becomes.
std::string_view load_pattern(DType storage);
std::string_view store_pattern(DType storage);

// Of unsigned words that were loaded as one access, w: one of them, and the element that one of
// neighbouring lanes has in them.
std::string word_of(size_t words, size_t number);
std::string element_of_words(DType type, size_t words, uint32_t lane);

// A number as it is written in the language.
std::string literal(DType type, uint64_t bits, const Spelling& language);

}  // namespace hologram::dialects
