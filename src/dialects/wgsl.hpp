// WGSL, which is no C: what it spells in its own way, piece by piece. 64-bit integers are vec2u,
// the low word first; elements smaller than a word are taken out of words; nothing is a pointer.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "dialects/dialect.hpp"
#include "dialects/lanes.hpp"
#include "dialects/quads.hpp"
#include "dialects/uses.hpp"
#include "program/ir.hpp"

namespace hologram::dialects::wgsl {

// The whole text; functions are expanded already.
Printed print(const program::Module& module, const Options& options);

// What stands between the braces of run_lane(group_x: u32, …, lane: u32), or run_lanes, which does
// all lanes of a thread or calls run_lane for each; `lane` is the first of them. `own`: of the
// kernel, if its threads have several.
std::string print_body(const program::Module& module, const Uses& uses, const Quads& quads,
                       const Options& options, const OwnLanes* own, bool several);

// What run_lane is given before `lane`: "group_x, ".
std::string group_arguments(const Uses& uses);

// The expression for a pure instruction; the operands are names or literals.
std::string expression(program::Op op, DType type, DType from,
                       const std::vector<std::string>& operands);

// Compilers of WGSL may take floats for real numbers: x * 0 is 0 to them, x - x too, x / x is 1,
// a + b - b is a, although functions find out by it what was rounded off, and x < c ? c : x is an
// extremum, which no NaN passes; and they add and multiply in an order of their own, as Mesa and
// NVIDIA were seen to do. Tells which operands of f32 they must not see through.
class OptimizationBarriers {
 public:
  OptimizationBarriers(const program::Module& module, bool fused);
  bool operator()(const program::Inst& inst, size_t operand) const;

 private:
  const program::Inst* magnitude(uint32_t value) const;
  bool is_sum(uint32_t value) const;
  bool is_selected(uint32_t value) const;
  bool is_computed(uint32_t value) const;
  bool share(uint32_t a, uint32_t b) const;
  bool interpolates(uint32_t product, uint32_t from) const;
  bool is_of_extremum(const program::Inst& select) const;
  bool is_number(uint32_t value) const { return definitions_[value]->op == program::Op::Const; }

  std::vector<const program::Inst*> definitions_;  // by id
  const bool fused_;
};

// The function that computes an operation on f32 which the device does not do well; empty: it does.
std::string_view replaced_by(program::Op op, const Options::WebGpu& device);

// The functions that `text` calls, and those that they call, each before its use.
std::string helpers_for(std::string_view text, const Options::WebGpu& device);

// The functions that the module's group instructions call, and the call that stands for one.
std::string group_functions(const program::Module& module, uint32_t subgroup);
std::string group_call(const program::Inst& inst, const std::string& value);

std::string_view type_name(DType compute);
std::string literal(DType type, uint64_t bits);

// How elements lie in a buffer.
bool in_words(DType storage);  // several in a word
bool is_atomic(const program::BufferParam& buffer);
std::string element_name(const program::BufferParam& buffer);
// load_NAME and store_NAME of a buffer whose elements lie several in a word.
std::string access_functions(const program::Module& module, uint32_t slot);
// The same of one that is made of words of so many lanes, all of which are one thread's to store.
std::string own_access_functions(const program::Module& module, uint32_t slot, uint32_t lanes);
std::string own_word_name(DType storage, uint32_t lanes);
// The element of a lane of the word $w, and the word that such elements become.
std::string own_element(DType storage, uint32_t lanes, uint32_t lane, std::string_view word);
std::string own_word(DType storage, const std::vector<std::string>& elements);
// The value of the element $e, and the element that the value $a becomes.
std::string_view load_pattern(DType storage);
std::string_view store_pattern(DType storage);

// Names must not begin with two underscores.
std::string word(std::string name);

}  // namespace hologram::dialects::wgsl
