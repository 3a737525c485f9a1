#include "dialects/body.hpp"

#include <fmt/format.h>

#include "dialects/groups.hpp"
#include "dialects/remaking.hpp"
#include "dialects/unrolling.hpp"

namespace hologram::dialects {
namespace {

using program::Inst;
using program::Module;
using program::Op;

// One statement an instruction. A value is a constant of the block that it is computed in, which is
// where it may be used; numbers, scalars and lengths are written where they are used.
//
// Where a thread has several lanes, what differs between them has a statement a lane (`lane_`) and
// names that end in its number; a block that only some of them run stands there once a lane.
class Body {
 public:
  Body(const Module& module, const Uses& uses, const Lanes& lanes, const std::string& one,
       const Spelling& language, const Options& options)
      : module_(module),
        uses_(uses),
        lanes_(lanes),
        one_(one),
        language_(language),
        options_(options),
        unrolled_(options.unroll ? find_unrolled(module) : std::vector<bool>()),
        together_(lanes.count > 1),
        values_(lanes.count, std::vector<std::string>(module.body.values.size())) {
    if (uses.cooperative && !language.anew.empty()) remaking_ = Remaking(module, lanes.count);
  }

  std::string print() {
    lane_ids();
    declare_counts();
    for (at_ = 0; at_ < module_.body.insts.size(); at_++) {
      if (together_) lanes_statement(module_.body.insts[at_]);
      else statement(module_.body.insts[at_]);
    }
    return std::move(text_);
  }

 private:
  // ---- All lanes of the thread.

  bool differs(const Inst& inst) const {
    if (inst.op == Op::Var || inst.op == Op::Set) return lanes_.variables[inst.slot];
    return inst.id == program::kNone || lanes_.values[inst.id] != Form::Uniform;
  }

  void lanes_statement(const Inst& inst) {
    remake_operands(inst);
    if (program::info(inst.op).category == program::Category::Control) return lanes_control(inst);
    if (inst.op == Op::Load || inst.op == Op::Store) {
      const size_t bytes = lanes_.count * size_of(module_.buffers[inst.slot].type);
      if (lanes_.words && lanes_.values[inst.args[0]] == Form::Consecutive && bytes >= 4)
        return inst.op == Op::Load ? load_words(inst, bytes / 4) : store_words(inst, bytes / 4);
    }
    if (inst.op == Op::Barrier) return statement(inst);
    if (inst.op == Op::GroupReduce) return reduce_lanes(inst);
    for_lanes(differs(inst), [&] { statement(inst); });
  }

  void reduce_lanes(const Inst& inst) {
    std::string values;
    for_lanes(true, [&] { values += (lane_ == 0 ? "" : ", ") + value(inst, 0); });
    define(inst, group_call(inst, values));
    begin_span();
  }

  // Once for each lane, or once for all.
  template <class Print>
  void for_lanes(bool each, const Print& print) {
    together_ = !each;
    for (lane_ = 0; lane_ < (each ? lanes_.count : 1); lane_++) print();
    lane_ = 0;
    together_ = true;
  }

  void lanes_control(const Inst& inst) {
    if (inst.op != Op::If || lanes_.values[inst.args[0]] == Form::Uniform) return control(inst);
    const size_t begin = at_, end = end_of_block(module_.body, at_);
    std::string all;
    for (lane_ = 0; lane_ < lanes_.count; lane_++)
      all.append(all.empty() ? "" : " & ").append(value(inst, 0));
    lane_ = 0;
    if (lanes_.mostly_all[begin]) {
      open(fmt::format("if ({}) {{", all));
      for (at_++; at_ < end; at_++) lanes_statement(module_.body.insts[at_]);
      close();
      open("} else {");
      for_lanes(true, [&] {
        for (at_ = begin; at_ <= end; at_++) statement(module_.body.insts[at_]);
      });
      close();
      line("}");
    } else if (lanes_.guards[begin]) {
      open(fmt::format("if (!({})) {{", all));
      line(fmt::format("for (u32 k = 0; k < {}u; k++) {};", lanes_.count, one_));
      line("return;");
      depth_--;
      line("}");
      for (at_++; at_ < end &&
                  !(module_.body.insts[at_].op == Op::Else && stands_in(module_.body, begin, at_));
           at_++)
        lanes_statement(module_.body.insts[at_]);
    } else {
      for_lanes(true, [&] {
        for (at_ = begin; at_ <= end; at_++) statement(module_.body.insts[at_]);
      });
    }
    at_ = end;
  }

  // When the words of all lanes are one access; empty: always.
  std::string lanes_inside(const Inst& inst, size_t words) const {
    const Place at = place(inst);
    std::string test;
    if (!lanes_.aligned[at_])
      test = fmt::format("((u64)({} + {}) & {}u) == 0", at.memory, at.index, words * 4 - 1);
    if (!at.inside.empty())
      test = fmt::format("{} && {} + {}u < {}{}{}", at.inside, wrapping(at.index), lanes_.count - 1,
                         at.length, test.empty() ? "" : " && ", test);
    return test;
  }

  std::string_view words_type(size_t words) const {
    return language_.words[words == 4 ? 2 : words - 1];
  }
  void load_words(const Inst& inst, size_t words) {
    const DType type = module_.buffers[inst.slot].type;
    std::string names;
    for_lanes(true,
              [&] { names += fmt::format("{}{}", lane_ == 0 ? "" : ", ", value_name(inst)); });
    line(fmt::format("{} {};", name_of(inst.type), names));
    const std::string test = lanes_inside(inst, words);
    open(test.empty() ? "{" : fmt::format("if ({}) {{", test));
    const Place at = place(inst);
    line(fmt::format("const {0} w = *({1}const {0}*)({2} + {3});", words_type(words),
                     language_.global, at.memory, at.index));
    for_lanes(true, [&] {
      line(fmt::format(
          "{} = {};", value_name(inst),
          substitute(load_pattern(type), {{'e', element_of_words(type, words, lane_)}})));
    });
    depth_--;
    if (!test.empty()) {
      open("} else {");
      for_lanes(true, [&] { line(fmt::format("{} = {};", value_name(inst), loaded(inst))); });
      depth_--;
    }
    line("}");
    for_lanes(true, [&] { values_[lane_][inst.id] = value_name(inst); });
  }

  void store_words(const Inst& inst, size_t words) {
    const DType type = module_.buffers[inst.slot].type;
    const size_t size = size_of(type);
    std::vector<std::string> parts(words);
    const std::string test = lanes_inside(inst, words);
    if (uses_.writes_late) text_.append(language_.settle);
    open(test.empty() ? "{" : fmt::format("if ({}) {{", test));
    line(fmt::format("{} w;", words_type(words)));
    for_lanes(true, [&] {
      const std::string one = substitute(store_pattern(type), {{'a', value(inst, 1)}});
      const size_t bit = lane_ * size * 8;
      std::string& part = parts[bit / 32];
      if (size == 8) {
        const std::string bits = type == DType::F64 ? "bits_f64(" + one + ")" : "(u64)" + one;
        part = fmt::format("(u32)({})", bits);
        parts[bit / 32 + 1] = fmt::format("(u32)({} >> 32)", bits);
      } else if (size == 4) {
        part = type == DType::F32 ? "bits_f32(" + one + ")" : "(u32)" + one;
      } else {
        part += fmt::format("{}(u32)({}){} << {}u", part.empty() ? "" : " | ",
                            size == 2 ? "u16" : "u8", one, bit % 32);
      }
    });
    for (size_t k = 0; k < words; k++) line(fmt::format("{} = {};", word_of(words, k), parts[k]));
    const Place at = place(inst);
    line(fmt::format("*({}{}*)({} + {}) = w;", language_.global, words_type(words), at.memory,
                     at.index));
    depth_--;
    if (!test.empty()) {
      open("} else {");
      for_lanes(true, [&] { store(inst); });
      depth_--;
    }
    line("}");
  }

  // ---- One lane, or what is the same in all.

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
        if (number != "lane") number = fmt::format("({})", number);
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

  const std::string& value(const Inst& inst, size_t k) const {
    return values_[lane_][inst.args[k]];
  }

  std::string value_name(const Inst& inst) const {
    return lanes_.count == 1 || lanes_.values[inst.id] == Form::Uniform
               ? fmt::format("v{}", inst.id)
               : fmt::format("v{}_{}", inst.id, lane_);
  }
  std::string variable(const Inst& inst) const {
    const std::string name = variable_name(module_, inst.slot);
    return lanes_.variables[inst.slot] ? fmt::format("{}_{}", name, lane_) : name;
  }

  void set(const Inst& inst, const std::string& text) {
    if (!together_) values_[lane_][inst.id] = text;
    else
      for (auto& values : values_) values[inst.id] = text;
  }

  void define(const Inst& inst, std::string_view expression) {
    set(inst, value_name(inst));
    const bool changes = remaking_.is_element(inst.id);
    line(fmt::format("{}{} {} = {};", changes ? "" : "const ", name_of(inst.type), value_name(inst),
                     expression));
  }

  // After a reduction: elements look like others from here on.
  void begin_span() {
    if (!remaking_.ends_span(at_)) return;
    const auto all = [&] {
      for (const uint32_t id : remaking_.elements_at(at_))
        line(substitute(language_.anew, {{'x', values_[lane_][id]}}));
    };
    if (lanes_.count > 1) for_lanes(true, all);
    else all();
  }

  void remake_operands(const Inst& inst) {
    if (!remaking_.any()) return;
    const auto make = [&](const Inst& made, uint32_t span) {
      std::string name = fmt::format("v{}_{}_{}", made.id, lane_, span);
      line(fmt::format("const {} {} = {};", name_of(made.type), name, computed(made)));
      return name;
    };
    const auto all = [&] {
      for (size_t k = 0; k < program::arity(inst); k++)
        remaking_.remake(inst.args[k], at_, lane_, depth_, values_, make);
    };
    if (together_ && lanes_.count > 1) for_lanes(true, all);
    else all();
  }

  // The end of a block, and of what was made again in it.
  void close() {
    depth_--;
    remaking_.close(depth_, values_);
  }

  // The number of the lane along an axis.
  std::string lane_number(uint32_t axis) const {
    return axis == 0 && lane_ != 0 ? fmt::format("(lane_x + {})", lane_)
                                   : fmt::format("lane_{}", kAxes[axis]);
  }

  void statement(const Inst& inst) {
    if (!together_ || lanes_.count == 1) remake_operands(inst);
    if (is_pure(inst.op)) return pure(inst);
    switch (inst.op) {
      case Op::Const: set(inst, literal(inst.type, inst.imm, language_)); break;
      case Op::Scalar: set(inst, scalar_name(module_, inst.slot)); break;
      case Op::Length: set(inst, length_name(module_, inst.slot)); break;
      case Op::LaneId: set(inst, lane_number(inst.aux)); break;
      case Op::GroupId: set(inst, fmt::format("group_{}", kAxes[inst.aux])); break;
      case Op::GroupCount:
        set(inst, fmt::format("(({})groups_{})", index_type(), kAxes[inst.aux]));
        break;
      case Op::GlobalId: global_id(inst); break;
      case Op::Var:
        line(fmt::format("{} {} = {};", name_of(inst.type), variable(inst), value(inst, 0)));
        break;
      case Op::Get: define(inst, variable(inst)); break;
      case Op::Set: line(fmt::format("{} = {};", variable(inst), value(inst, 0))); break;
      case Op::Load:
      case Op::SharedLoad: load(inst); break;
      case Op::Store:
      case Op::SharedStore: store(inst); break;
      case Op::Atomic:
      case Op::SharedAtomic: atomic(inst); break;
      case Op::Barrier: line(fmt::format("{};", language_.barrier)); break;
      case Op::GroupReduce:
        define(inst, group_call(inst, value(inst, 0)));
        begin_span();
        break;
      case Op::GroupScan:
      case Op::GroupUniform: define(inst, group_call(inst, value(inst, 0))); break;
      default: control(inst);
    }
  }

  std::string computed(const Inst& inst) const {
    std::vector<std::string> operands;
    for (size_t k = 0; k < arity(inst); k++) operands.push_back(value(inst, k));
    return expression(inst.op, inst.type, inst.from, operands, language_);
  }
  void pure(const Inst& inst) { define(inst, computed(inst)); }

  // An integer seen as unsigned, so that it wraps around.
  std::string wrapping(std::string_view number) const {
    return fmt::format("({}){}", name_of(unsigned_of(module_.index)), number);
  }

  void global_id(const Inst& inst) {
    const char axis = kAxes[inst.aux];
    define(inst,
           fmt::format("({})({} * {}u + {})", index_type(), wrapping(fmt::format("group_{}", axis)),
                       module_.workgroup[inst.aux], wrapping(lane_number(inst.aux))));
  }

  // Where an access goes: the memory, its elements, and when it lies inside (empty: always).
  struct Place {
    std::string memory, index, inside, length;
    DType type;
  };
  Place place(const Inst& inst) const {
    const bool shared =
        inst.op == Op::SharedLoad || inst.op == Op::SharedStore || inst.op == Op::SharedAtomic;
    const std::string& index = value(inst, 0);
    if (shared) {
      const program::SharedArray& array = module_.shared[inst.slot];
      return {shared_name(module_, inst.slot), index,
              inst.proved ? "" : fmt::format("{} < {}u", wrapping(index), array.count), "",
              array.type};
    }
    const std::string length =
        inst.proved ? std::string() : wrapping(length_name(module_, inst.slot));
    return {buffer_name(module_, inst.slot), index,
            inst.proved ? "" : fmt::format("{} < {}", wrapping(index), length), length,
            module_.buffers[inst.slot].type};
  }

  std::string loaded(const Inst& inst) const {
    const Place at = place(inst);
    std::string value =
        substitute(load_pattern(at.type), {{'e', fmt::format("{}[{}]", at.memory, at.index)}});
    if (at.inside.empty()) return value;
    return fmt::format("{} ? {} : ({})0", at.inside, value, name_of(inst.type));
  }
  void load(const Inst& inst) { define(inst, loaded(inst)); }

  void store(const Inst& inst) {
    const Place at = place(inst);
    if (uses_.writes_late && inst.op == Op::Store) text_.append(language_.settle);
    const std::string stored =
        fmt::format("{}[{}] = {};", at.memory, at.index,
                    substitute(store_pattern(at.type), {{'a', value(inst, 1)}}));
    line(at.inside.empty() ? stored : fmt::format("if ({}) {}", at.inside, stored));
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
        close();
        open("} else {");
        break;
      case Op::For: counted_loop(inst); break;
      case Op::Loop:
        open("for (;;) {");
        poll();
        break;
      case Op::End:
        close();
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
    const std::string counter = value_name(inst);
    set(inst, counter);
    count_rounds(inst);
    const char* const unroll = !unrolled_.empty() && unrolled_[at_] ? "#pragma unroll" : nullptr;
    if (inst.imm == 1) {
      if (unroll != nullptr) line(unroll);
      open(fmt::format("for ({0} {1} = {2}; {1} < {3}; {1}++) {{", type, counter, value(inst, 0),
                       value(inst, 1)));
      return poll();
    }
    const std::string step = literal(unsigned_of(inst.type), inst.imm, language_);
    line(fmt::format("const {0} {1}_rounds = {2} < {3} ? (({0}){3} - ({0}){2} - 1) / {4} + 1 : 0;",
                     wide, counter, value(inst, 0), value(inst, 1), step));
    if (unroll != nullptr) line(unroll);
    open(fmt::format("for ({0} {1}_round = 0; {1}_round < {1}_rounds; {1}_round++) {{", wide,
                     counter));
    line(fmt::format("const {0} {1} = ({0})(({2}){3} + {1}_round * {4});", type, counter, wide,
                     value(inst, 0), step));
    poll();
  }

  const Module& module_;
  const Uses& uses_;
  const Lanes& lanes_;
  const std::string& one_;
  const Spelling& language_;
  const Options& options_;
  const std::vector<bool> unrolled_;  // by instruction, or empty
  bool together_;                     // what is printed is the same in all lanes of the thread
  uint32_t lane_ = 0;                 // of the thread; the one that is printed
  std::vector<std::vector<std::string>> values_;  // by lane and id: what stands for it
  std::string text_;
  size_t at_ = 0;
  size_t depth_ = 1;
  Remaking remaking_;
};

}  // namespace

std::string print_body(const Module& module, const Uses& uses, const Lanes& lanes,
                       const std::string& one, const Spelling& language, const Options& options) {
  return Body(module, uses, lanes, one, language, options).print();
}

}  // namespace hologram::dialects
