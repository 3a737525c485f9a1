// The statements of one lane in WGSL: one an instruction. Buffers, workgroup arrays and the block
// of parameters are variables of the module, which functions see. Several lanes of a thread are
// printed as in body.cpp.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "dialects/spelling.hpp"
#include "dialects/wgsl.hpp"

namespace hologram::dialects::wgsl {
namespace {

using program::Access;
using program::Inst;
using program::Module;
using program::Op;

constexpr std::string_view kAtomics[] = {"Add", "", "Min", "Max", "And", "Or", "Xor", "Exchange"};

class Body {
 public:
  Body(const Module& module, const Uses& uses, const Quads& quads, const Options& options,
       const OwnLanes* own, bool several)
      : module_(module),
        uses_(uses),
        quads_(quads),
        options_(options),
        own_(own),
        lanes_(several ? &own->lanes : nullptr),
        together_(several),
        wide_index_(size_of(module.index) == 8),
        values_(count(), std::vector<std::string>(module.body.values.size())),
        constants_(module.body.values.size()),
        barriers_(module, options.webgpu.fused) {
    for (const Inst& inst : module.body.insts) {
      const bool memory = inst.op == Op::Load || inst.op == Op::Store || inst.op == Op::Atomic;
      shares_buffers_ =
          shares_buffers_ || (memory && module.buffers[inst.slot].access != Access::In);
    }
  }

  std::string print() {
    lane_ids();
    if (uses_.polls(Poll::Lane)) line("var rounds = 0u;");
    if (uses_.polls(Poll::Lane) && uses_.cooperative) line("var stopped = false;");
    if (uses_.polls(Poll::Group)) line("var group_rounds = 0u;");
    for (at_ = 0; at_ < module_.body.insts.size(); at_++) {
      if (together_) lanes_statement(module_.body.insts[at_]);
      else statement(module_.body.insts[at_]);
    }
    return std::move(text_);
  }

 private:
  // ---- All lanes of the thread.

  uint32_t count() const { return lanes_ != nullptr ? lanes_->count : 1; }

  bool differs(const Inst& inst) const {
    if (inst.op == Op::Var || inst.op == Op::Set) return lanes_->variables[inst.slot];
    return inst.id == program::kNone || lanes_->values[inst.id] != Form::Uniform;
  }

  void lanes_statement(const Inst& inst) {
    if (program::info(inst.op).category == program::Category::Control) return lanes_control(inst);
    if (lanes_->aligned[at_]) return inst.op == Op::Load ? load_own(inst) : store_own(inst);
    for_lanes(differs(inst), [&] { statement(inst); });
  }

  // Once for each lane, or once for all.
  template <class Print>
  void for_lanes(bool each, const Print& print) {
    together_ = !each;
    for (lane_ = 0; lane_ < (each ? count() : 1); lane_++) print();
    lane_ = 0;
    together_ = true;
  }

  void lanes_control(const Inst& inst) {
    if (inst.op != Op::If || lanes_->values[inst.args[0]] == Form::Uniform) return control(inst);
    const size_t begin = at_, end = end_of_block(module_.body, at_);
    if (lanes_->guards[begin]) guarded(inst, end);
    else
      for_lanes(true, [&] {
        for (at_ = begin; at_ <= end; at_++) statement(module_.body.insts[at_]);
      });
    at_ = end;
  }

  void guarded(const Inst& inst, size_t end) {
    const size_t begin = at_;
    std::string all;
    for (lane_ = 0; lane_ < count(); lane_++)
      all.append(all.empty() ? "" : " && ").append(value(inst, 0));
    lane_ = 0;
    open(fmt::format("if (!({})) {{", all));
    line(fmt::format("for (var k = 0u; k < {}u; k++) {{ run_lane({}lane + k); }}", count(),
                     group_arguments(uses_)));
    line("return;");
    depth_--;
    line("}");
    const auto is_else = [&] {
      return module_.body.insts[at_].op == Op::Else && stands_in(module_.body, begin, at_);
    };
    for (at_++; at_ < end && !is_else(); at_++) lanes_statement(module_.body.insts[at_]);
  }

  // When the elements of all lanes are there: no lane counts from outside to inside.
  std::string all_inside(const Inst& inst) {
    lane_ = count() - 1;
    std::string test = place(inst).inside;
    lane_ = 0;
    return test;
  }

  void load_own(const Inst& inst) {
    const DType type = module_.buffers[inst.slot].type;
    const Place at = place(inst);
    const std::string own = fmt::format("w{}", inst.id),
                      word = fmt::format("{}[{} / {}u]", at.memory, at.index, count());
    const auto element = [&] {
      return substitute(load_pattern(type), {{'e', own_element(type, count(), lane_, own)}});
    };
    if (inst.proved) {
      line(fmt::format("let {} = {};", own, word));
      for_lanes(true, [&] { define(inst, element()); });
      return;
    }
    for_lanes(true, [&] { declare(inst); });
    open(fmt::format("if ({}) {{", all_inside(inst)));
    line(fmt::format("let {} = {};", own, word));
    for_lanes(true, [&] { line(fmt::format("{} = {};", value_name(inst), element())); });
    depth_--;
    open("} else {");
    for_lanes(true, [&] {
      const Place one = place(inst);
      const std::string found = fmt::format("load_{}({})", one.memory, one.index);
      line(fmt::format("if ({}) {{ {} = {}; }}", one.inside, value_name(inst),
                       substitute(load_pattern(type), {{'e', found}})));
    });
    depth_--;
    line("}");
  }

  void store_own(const Inst& inst) {
    const DType type = module_.buffers[inst.slot].type;
    const Place at = place(inst);
    if (!inst.proved) open(fmt::format("if ({}) {{", all_inside(inst)));
    std::vector<std::string> elements;
    for_lanes(true, [&] {
      elements.push_back(substitute(store_pattern(type), {{'a', value(inst, 1)}}));
    });
    line(fmt::format("{}[{} / {}u] = {};", at.memory, at.index, count(), own_word(type, elements)));
    if (inst.proved) return;
    depth_--;
    open("} else {");
    for_lanes(true, [&] { store(inst); });
    depth_--;
    line("}");
  }

  // ---- One lane, or what is the same in all.

  void line(std::string_view text) { text_.append(2 * depth_, ' ').append(text).append("\n"); }
  void open(std::string_view text) {
    line(text);
    depth_++;
  }

  const std::string& value(const Inst& inst, size_t k) const {
    return values_[lane_][inst.args[k]];
  }
  std::string value_name(const Inst& inst) const {
    return lanes_ == nullptr || lanes_->values[inst.id] == Form::Uniform
               ? fmt::format("v{}", inst.id)
               : fmt::format("v{}_{}", inst.id, lane_);
  }
  void set(const Inst& inst, const std::string& text) {
    if (!together_) values_[lane_][inst.id] = text;
    else
      for (auto& values : values_) values[inst.id] = text;
  }
  void define(const Inst& inst, std::string_view expression) {
    set(inst, value_name(inst));
    line(fmt::format("let {} = {};", value_name(inst), expression));
  }

  // As a 0 that may be changed.
  void declare(const Inst& inst) {
    set(inst, value_name(inst));
    line(fmt::format("var {} = {};", value_name(inst), literal(inst.type, 0)));
  }

  // The number of the lane along an axis, as u32.
  std::string lane_number(uint32_t axis) const {
    return axis == 0 && lane_ != 0 ? fmt::format("(lane_x + {}u)", lane_)
                                   : fmt::format("lane_{}", kAxes[axis]);
  }

  // A count of u32 as the type of ids.
  std::string as_index(std::string_view count) const {
    return wide_index_ ? fmt::format("vec2u({}, 0u)", count) : fmt::format("i32({})", count);
  }

  // The number of the lane, taken apart along the axes of its workgroup.
  void lane_ids() {
    uint32_t before = 1;
    for (uint32_t axis = 0; axis < 3; axis++) {
      const uint32_t size = module_.workgroup[axis];
      if (uses_.lane_ids[axis]) {
        std::string number = before == 1 ? "lane" : fmt::format("lane / {}u", before);
        if (before * size != module_.lanes()) number += fmt::format(" % {}u", size);
        line(fmt::format("let lane_{} = {};", kAxes[axis], number));
      }
      before *= size;
    }
  }

  // The first statement of a loop. Where others wait at barriers for this lane, it leaves this and
  // all later loops but does not return.
  void poll() {
    const Poll how = uses_.poll[at_];
    if (how != Poll::Group && how != Poll::Lane) return;
    const bool waits = how == Poll::Lane && uses_.cooperative;
    const std::string_view rounds = how == Poll::Group ? "group_rounds" : "rounds";
    open(fmt::format("if ({}{} >= parameters.budget) {{", waits ? "stopped || " : "", rounds));
    line("atomicStore(&stop, 1u);");
    if (waits) line("stopped = true;");
    line(waits ? "break;" : "return;");
    depth_--;
    line("}");
    line(fmt::format("{}++;", rounds));
  }

  void statement(const Inst& inst) {
    if (is_pure(inst.op)) return pure(inst);
    switch (inst.op) {
      case Op::Const:
        constants_[inst.id] = inst.imm;
        set(inst, literal(inst.type, inst.imm));
        break;
      case Op::Scalar: scalar(inst); break;
      case Op::Length: set(inst, as_index(length(inst.slot))); break;
      case Op::LaneId: define(inst, as_index(lane_number(inst.aux))); break;
      case Op::GroupId: define(inst, as_index(fmt::format("group_{}", kAxes[inst.aux]))); break;
      case Op::GroupCount:
        set(inst, as_index(fmt::format("parameters.groups_{}", kAxes[inst.aux])));
        break;
      case Op::GlobalId: global_id(inst); break;
      case Op::Var: line(fmt::format("var {} = {};", variable(inst), value(inst, 0))); break;
      case Op::Get: define(inst, variable(inst)); break;
      case Op::Set: line(fmt::format("{} = {};", variable(inst), value(inst, 0))); break;
      case Op::SharedLoad:
        if (quads_.arrays[inst.slot]) return load_four(inst);
        [[fallthrough]];
      case Op::Load: load(inst); break;
      case Op::SharedStore:
        if (quads_.arrays[inst.slot]) return store_four();
        [[fallthrough]];
      case Op::Store: store(inst); break;
      case Op::Atomic:
      case Op::SharedAtomic: atomic(inst); break;
      case Op::Barrier:
        if (shares_buffers_) line("storageBarrier();");
        line("workgroupBarrier();");
        break;
      case Op::GroupReduce:
      case Op::GroupScan:
      case Op::GroupUniform: define(inst, group_call(inst, value(inst, 0))); break;
      default: control(inst);
    }
  }

  void pure(const Inst& inst) {
    std::vector<std::string> operands;
    for (size_t k = 0; k < arity(inst); k++) operands.push_back(value(inst, k));
    if (inst.type == DType::F32 || inst.from == DType::F32)
      for (size_t k = 0; k < operands.size(); k++)
        if (barriers_(inst, k)) operands[k] = fmt::format("kept_f32({})", operands[k]);
    const std::string text = expression(inst.op, inst.type, inst.from, operands);
    if (inst.from != DType::F32) return define(inst, text);
    const bool itself = inst.args[0] == inst.args[1];
    // The ways to ask for NaN that compilers know the answer to.
    if (itself && inst.op == Op::Ne) return define(inst, fmt::format("is_nan({})", operands[0]));
    if (itself && inst.op == Op::Eq) return define(inst, fmt::format("!is_nan({})", operands[0]));
    const std::string_view replaced = replaced_by(inst.op, options_.webgpu);
    define(inst,
           replaced.empty() ? text : fmt::format("{}({})", replaced, fmt::join(operands, ", ")));
  }

  void scalar(const Inst& inst) {
    const std::string name = "parameters." + word(scalar_name(module_, inst.slot));
    set(inst, inst.type == DType::Bool ? "(" + name + " != 0u)" : name);
  }

  std::string variable(const Inst& inst) const {
    const std::string name = word(variable_name(module_, inst.slot));
    return lanes_ != nullptr && lanes_->variables[inst.slot] ? fmt::format("{}_{}", name, lane_)
                                                             : name;
  }
  std::string length(uint32_t slot) const {
    return "parameters." + word(length_name(module_, slot));
  }

  void global_id(const Inst& inst) {
    const char axis = kAxes[inst.aux];
    const uint32_t size = module_.workgroup[inst.aux];
    const std::string lane = lane_number(inst.aux);
    define(inst, wide_index_ ? fmt::format("add_u64(wide_u32(group_{}, {}u), vec2u({}, 0u))", axis,
                                           size, lane)
                             : fmt::format("i32(group_{} * {}u + {})", axis, size, lane));
  }

  struct Place {
    std::string memory, index;  // as u32
    std::string inside;         // when the access lies inside; empty: always
    DType type;
    bool atomic, words;
    bool never = false;  // lies outside, and known to: compilers refuse it
  };

  bool is_own(uint32_t slot) const { return own_ != nullptr && own_->words[slot]; }

  Place place(const Inst& inst) const {
    const std::string& index = value(inst, 0);
    const std::string low = wide_index_ ? index + ".x" : "u32(" + index + ")";
    const auto inside = [&](std::string_view count) {
      if (inst.proved) return std::string();
      return wide_index_ ? fmt::format("{0}.y == 0u && {0}.x < {1}", index, count)
                         : fmt::format("{} < {}", low, count);
    };
    const auto constant = constants_[inst.args[0]];
    if (inst.op == Op::Load || inst.op == Op::Store || inst.op == Op::Atomic) {
      const program::BufferParam& buffer = module_.buffers[inst.slot];
      const uint64_t most = wide_index_ ? UINT32_MAX : INT32_MAX;
      return {word(buffer_name(module_, inst.slot)),
              low,
              inside(length(inst.slot)),
              buffer.type,
              is_atomic(buffer) && !is_own(inst.slot),
              in_words(buffer.type) || is_own(inst.slot),
              constant && number(*constant) > most};
    }
    const program::SharedArray& array = module_.shared[inst.slot];
    const bool never = constant && number(*constant) >= array.count;
    return {word(shared_name(module_, inst.slot)),
            low,
            inside(fmt::format("{}u", array.count)),
            array.type,
            array.atomic,
            false,
            never};
  }

  // A constant index, seen as unsigned.
  uint64_t number(uint64_t index) const {
    return wide_index_ ? index : static_cast<uint32_t>(index);
  }

  static std::string element(const Place& at) { return fmt::format("{}[{}]", at.memory, at.index); }

  // Values of memory that are only there under a condition, and 0 elsewhere.
  void define_inside(const Inst& inst, const Place& at, const std::string& found) {
    if (at.never) return set(inst, literal(inst.type, 0));
    if (at.inside.empty()) return define(inst, found);
    declare(inst);
    line(fmt::format("if ({}) {{ {} = {}; }}", at.inside, value_name(inst), found));
  }

  void load(const Inst& inst) {
    const Place at = place(inst);
    const std::string from = at.words    ? fmt::format("load_{}({})", at.memory, at.index)
                             : at.atomic ? fmt::format("atomicLoad(&{})", element(at))
                                         : element(at);
    define_inside(inst, at, substitute(load_pattern(at.type), {{'e', from}}));
  }

  void store(const Inst& inst) {
    const Place at = place(inst);
    if (at.never) return;
    const std::string what = substitute(store_pattern(at.type), {{'a', value(inst, 1)}});
    const std::string stored = at.words
                                   ? fmt::format("store_{}({}, {});", at.memory, at.index, what)
                               : at.atomic ? fmt::format("atomicStore(&{}, {});", element(at), what)
                                           : fmt::format("{} = {};", element(at), what);
    line(at.inside.empty() ? stored : fmt::format("if ({}) {{ {} }}", at.inside, stored));
  }

  // Of an array that is made of fours: all of one by the first that loads, or the last that stores.
  void load_four(const Inst& inst) {
    const std::vector<size_t>& four = quads_.fours[at_];
    const size_t first = *std::min_element(four.begin(), four.end());
    const std::string all = fmt::format("four{}", module_.body.insts[first].id);
    if (at_ == first) line(fmt::format("let {} = {};", all, element_of_fours(inst)));
    set(inst, fmt::format("{}.{}", all, "xyzw"[quads_.place[at_]]));
  }
  void store_four() {
    const std::vector<size_t>& four = quads_.fours[at_];
    if (at_ != *std::max_element(four.begin(), four.end())) return;
    const auto stored = [&](size_t k) { return value(module_.body.insts[four[k]], 1); };
    line(fmt::format("{} = vec4({}, {}, {}, {});", element_of_fours(module_.body.insts[at_]),
                     stored(0), stored(1), stored(2), stored(3)));
  }
  std::string element_of_fours(const Inst& inst) const {
    const Place at = place(inst);
    return fmt::format("{}[{} / 4u]", at.memory, at.index);
  }

  void atomic(const Inst& inst) {
    const Place at = place(inst);
    define_inside(
        inst, at,
        fmt::format("atomic{}(&{}, {})", kAtomics[inst.aux], element(at), value(inst, 1)));
  }

  void control(const Inst& inst) {
    switch (inst.op) {
      case Op::If: open(fmt::format("if ({}) {{", value(inst, 0))); break;
      case Op::Else:
        depth_--;
        open("} else {");
        break;
      case Op::For: counted_loop(inst); break;
      case Op::Loop:
        open("while (true) {");  // `loop` would have to show how it ends
        poll();
        break;
      case Op::End:
        depth_--;
        line("}");
        break;
      case Op::Break: line("break;"); break;
      case Op::Continue: line("continue;"); break;
      case Op::Return: line("return;"); break;
      default: break;  // of the host
    }
  }

  // With a step of 1 the counter cannot pass the end; otherwise rounds are counted, since the
  // counter may wrap around.
  void counted_loop(const Inst& inst) {
    const bool wide = size_of(inst.type) == 8;
    const std::string counter = value_name(inst);
    const std::string &begin = value(inst, 0), &end = value(inst, 1);
    const std::string_view name = hologram::name_of(inst.type);
    set(inst, counter);
    if (inst.imm == 1) {
      open(wide
               ? fmt::format("for (var {0} = {1}; less_{2}({0}, {3}); {0} = add_u64({0}, vec2u(1u, "
                             "0u))) {{",
                             counter, begin, name, end)
               : fmt::format("for (var {0} = {1}; {0} < {2}; {0}++) {{", counter, begin, end));
      return poll();
    }
    const DType type = unsigned_of(inst.type);
    const std::string step = literal(type, inst.imm);
    line(fmt::format("let {}_rounds = rounds_{}({}, {}, {});", counter, name, begin, end, step));
    if (wide) {
      open(
          fmt::format("for (var {0}_round = vec2u(); less_u64({0}_round, {0}_rounds); {0}_round = "
                      "add_u64({0}_round, vec2u(1u, 0u))) {{",
                      counter));
      line(fmt::format("let {0} = add_u64({1}, mul_u64({0}_round, {2}));", counter, begin, step));
    } else {
      open(
          fmt::format("for (var {0}_round = 0u; {0}_round < {0}_rounds; {0}_round++) {{", counter));
      line(fmt::format("let {0} = {1} + {2}({0}_round * {3});", counter, begin, name, step));
    }
    poll();
  }

  const Module& module_;
  const Uses& uses_;
  const Quads& quads_;
  const Options& options_;
  const OwnLanes* const own_;  // of the kernel; null: a thread has one lane
  const Lanes* const lanes_;   // of this function; null: it does one
  bool together_;              // what is printed is the same in all lanes of the thread
  uint32_t lane_ = 0;          // of the thread; the one that is printed
  const bool wide_index_;
  bool shares_buffers_ = false;                     // lanes may read what others wrote to a buffer
  std::vector<std::vector<std::string>> values_;    // by lane and id: what stands for it
  std::vector<std::optional<uint64_t>> constants_;  // by id
  const OptimizationBarriers barriers_;
  std::string text_;
  size_t at_ = 0, depth_ = 1;
};

}  // namespace

std::string print_body(const Module& module, const Uses& uses, const Quads& quads,
                       const Options& options, const OwnLanes* own, bool several) {
  return Body(module, uses, quads, options, own, several).print();
}

}  // namespace hologram::dialects::wgsl
