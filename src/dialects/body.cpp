#include "dialects/body.hpp"

#include <fmt/format.h>

#include "dialects/groups.hpp"

namespace hologram::dialects {
namespace {

using program::Inst;
using program::Module;
using program::Op;

// One statement an instruction. A value is a constant of the block that it is computed in, which is
// where it may be used; numbers, scalars and lengths are written where they are used.
class Body {
 public:
  Body(const Module& module, const Uses& uses, const Spelling& language, const Options& options)
      : module_(module),
        uses_(uses),
        language_(language),
        options_(options),
        values_(module.body.values.size()) {}

  std::string print() {
    lane_ids();
    declare_counts();
    for (at_ = 0; at_ < module_.body.insts.size(); at_++) statement(module_.body.insts[at_]);
    return std::move(text_);
  }

 private:
  void line(std::string_view text) { text_.append(2 * depth_, ' ').append(text).append("\n"); }

  std::string index_type() const { return std::string(name_of(module_.index)); }

  // The number of the lane, taken apart along the axes of its workgroup.
  void lane_ids() {
    uint32_t before = 1;
    for (uint32_t axis = 0; axis < 3; axis++) {
      const uint32_t size = module_.workgroup[axis];
      if (uses_.lane_ids[axis]) {
        std::string number = before == 1 ? "lane" : fmt::format("lane / {}u", before);
        if (before * size != module_.lanes()) number = fmt::format("{} % {}u", number, size);
        if (number != "lane") number = "(" + number + ")";
        line(fmt::format("const {0} lane_{1} = ({0}){2};", index_type(), kAxes[axis], number));
      }
      before *= size;
    }
  }

  // What the polls of the program need.
  void declare_counts() {
    const std::string_view type = options_.stop == Stop::Budget ? "u64" : "u32";
    if (uses_.polls(Poll::Lane)) line(fmt::format("{} rounds = 0;", type));
    if (uses_.polls(Poll::Lane) && uses_.cooperative) line("bool stopped = false;");
    if (uses_.polls(Poll::Group)) line(fmt::format("{} group_rounds = 0;", type));
  }

  // The first statement of a loop. Where others wait at barriers for this lane, it leaves this and
  // all later loops but does not return.
  void poll() {
    const Poll how = uses_.poll[at_];
    const bool budget = options_.stop == Stop::Budget;
    if (how == Poll::Group)
      line(budget ? "if (group_rounds++ >= budget) { *stop = 1; return; }"
                  : "if (++group_rounds >= 1024u) { group_rounds = 0; "
                    "if (group_stopped(stop, stop_seen, lane)) return; }");
    if (how != Poll::Lane) return;
    if (!uses_.cooperative)
      line(budget ? "if (rounds++ >= budget) { *stop = 1; return; }"
                  : "if (++rounds >= 1024u) { rounds = 0; if (*stop != 0) return; }");
    else
      line(budget ? "if (stopped || rounds++ >= budget) { stopped = true; *stop = 1; break; }"
                  : "if (++rounds >= 1024u) { rounds = 0; stopped = stopped || *stop != 0; } "
                    "if (stopped) break;");
  }

  // In front of a loop that does not poll inside one that does.
  void count_rounds(const Inst& inst) {
    const Poll how = uses_.poll[at_];
    if (options_.stop != Stop::Flag || (how != Poll::Counted && how != Poll::GroupCounted)) return;
    const std::string_view counter = how == Poll::Counted ? "rounds" : "group_rounds";
    if (!uses_.polls(how == Poll::Counted ? Poll::Lane : Poll::Group)) return;
    line(fmt::format("{0} += {1} < {2} ? (u32){2} - (u32){1} : 0;", counter, value(inst, 0),
                     value(inst, 1)));
  }

  const std::string& value(const Inst& inst, size_t k) const { return values_[inst.args[k]]; }

  void define(const Inst& inst, std::string_view expression) {
    values_[inst.id] = fmt::format("v{}", inst.id);
    line(fmt::format("const {} v{} = {};", name_of(inst.type), inst.id, expression));
  }

  void statement(const Inst& inst) {
    if (is_pure(inst.op)) return pure(inst);
    switch (inst.op) {
      case Op::Const: values_[inst.id] = literal(inst.type, inst.imm, language_); break;
      case Op::Scalar: values_[inst.id] = scalar_name(module_, inst.slot); break;
      case Op::Length: values_[inst.id] = length_name(module_, inst.slot); break;
      case Op::LaneId: values_[inst.id] = fmt::format("lane_{}", kAxes[inst.aux]); break;
      case Op::GroupId: values_[inst.id] = fmt::format("group_{}", kAxes[inst.aux]); break;
      case Op::GroupCount:
        values_[inst.id] = fmt::format("(({})groups_{})", index_type(), kAxes[inst.aux]);
        break;
      case Op::GlobalId: global_id(inst); break;
      case Op::Var:
        line(fmt::format("{} {} = {};", name_of(inst.type), variable_name(module_, inst.slot),
                         value(inst, 0)));
        break;
      case Op::Get: define(inst, variable_name(module_, inst.slot)); break;
      case Op::Set:
        line(fmt::format("{} = {};", variable_name(module_, inst.slot), value(inst, 0)));
        break;
      case Op::Load:
      case Op::SharedLoad: load(inst); break;
      case Op::Store:
      case Op::SharedStore: store(inst); break;
      case Op::Atomic:
      case Op::SharedAtomic: atomic(inst); break;
      case Op::Barrier: line(fmt::format("{};", language_.barrier)); break;
      case Op::GroupReduce:
      case Op::GroupScan:
      case Op::GroupUniform: define(inst, group_call(inst, value(inst, 0))); break;
      default: control(inst);
    }
  }

  void pure(const Inst& inst) {
    std::vector<std::string> operands;
    for (size_t k = 0; k < arity(inst); k++) operands.push_back(value(inst, k));
    define(inst, expression(inst.op, inst.type, inst.from, operands, language_));
  }

  // An integer seen as unsigned, so that it wraps around.
  std::string wrapping(std::string_view number) const {
    return fmt::format("({}){}", name_of(unsigned_of(module_.index)), number);
  }

  void global_id(const Inst& inst) {
    const char axis = kAxes[inst.aux];
    define(inst,
           fmt::format("({})({} * {}u + {})", index_type(), wrapping(fmt::format("group_{}", axis)),
                       module_.workgroup[inst.aux], wrapping(fmt::format("lane_{}", axis))));
  }

  // Where an access goes: the memory, its elements, and when it lies inside (empty: always).
  struct Place {
    std::string memory, index, inside;
    DType type;
  };
  Place place(const Inst& inst) const {
    const bool shared =
        inst.op == Op::SharedLoad || inst.op == Op::SharedStore || inst.op == Op::SharedAtomic;
    const std::string& index = value(inst, 0);
    if (shared) {
      const program::SharedArray& array = module_.shared[inst.slot];
      return {shared_name(module_, inst.slot), index,
              inst.proved ? "" : fmt::format("{} < {}u", wrapping(index), array.count), array.type};
    }
    const std::string length =
        inst.proved ? std::string() : wrapping(length_name(module_, inst.slot));
    return {buffer_name(module_, inst.slot), index,
            inst.proved ? "" : fmt::format("{} < {}", wrapping(index), length),
            module_.buffers[inst.slot].type};
  }

  void load(const Inst& inst) {
    const Place at = place(inst);
    const std::string loaded =
        substitute(load_pattern(at.type), {{'p', at.memory}, {'i', at.index}});
    if (at.inside.empty()) return define(inst, loaded);
    define(inst, fmt::format("{} ? {} : ({})0", at.inside, loaded, name_of(inst.type)));
  }

  void store(const Inst& inst) {
    const Place at = place(inst);
    const std::string stored = substitute(
        store_pattern(at.type), {{'p', at.memory}, {'i', at.index}, {'a', value(inst, 1)}});
    line(at.inside.empty() ? stored + ";" : fmt::format("if ({}) {};", at.inside, stored));
  }

  void atomic(const Inst& inst) {
    const Place at = place(inst);
    const std::string changed =
        substitute(language_.atomic, {{'k', std::string(language_.atomics[inst.aux])},
                                      {'p', fmt::format("&{}[{}]", at.memory, at.index)},
                                      {'a', value(inst, 1)}});
    define(inst, at.inside.empty()
                     ? changed
                     : fmt::format("{} ? {} : ({})0", at.inside, changed, name_of(inst.type)));
  }

  void open(std::string_view text) {
    line(text);
    depth_++;
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
        open("for (;;) {");
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
    const std::string type(name_of(inst.type)), wide(name_of(unsigned_of(inst.type)));
    const std::string counter = fmt::format("v{}", inst.id);
    values_[inst.id] = counter;
    count_rounds(inst);
    if (inst.imm == 1) {
      open(fmt::format("for ({0} {1} = {2}; {1} < {3}; {1}++) {{", type, counter, value(inst, 0),
                       value(inst, 1)));
      return poll();
    }
    const std::string step = literal(unsigned_of(inst.type), inst.imm, language_);
    line(fmt::format("const {0} {1}_rounds = {2} < {3} ? (({0}){3} - ({0}){2} - 1) / {4} + 1 : 0;",
                     wide, counter, value(inst, 0), value(inst, 1), step));
    open(fmt::format("for ({0} {1}_round = 0; {1}_round < {1}_rounds; {1}_round++) {{", wide,
                     counter));
    line(fmt::format("const {0} {1} = ({0})(({2}){3} + {1}_round * {4});", type, counter, wide,
                     value(inst, 0), step));
    poll();
  }

  const Module& module_;
  const Uses& uses_;
  const Spelling& language_;
  const Options& options_;
  std::vector<std::string> values_;  // by id: what stands for it
  std::string text_;
  size_t at_ = 0;
  size_t depth_ = 1;
};

}  // namespace

std::string print_body(const Module& module, const Uses& uses, const Spelling& language,
                       const Options& options) {
  return Body(module, uses, language, options).print();
}

}  // namespace hologram::dialects
