// From instructions to text that assembles to the same instructions in the same order.
//
// A value used once is written where it is used if that keeps the order of the instructions: the
// assembler emits operands from left to right and then the operation, so the values that wait for
// their use form a stack, and an instruction may swallow its operands from the top of it. All other
// values become bindings. Constants, scalars and lengths depend on nothing and are written wherever
// they are used.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>
#include <vector>

#include "program/ir.hpp"
#include "program/text/lexer.hpp"
#include "program/text/spelling.hpp"

namespace hologram::program {
namespace {

// A longer expression becomes a binding.
constexpr size_t kMaxPhrase = 72;
constexpr size_t kMaxWidth = 96;  // of the lines of parameters
constexpr std::string_view kAxes[] = {"x", "y", "z"};

class Writer {
 public:
  explicit Writer(const Module& module) : m_(module) {
    for (const auto& buffer : m_.buffers) taken_.insert(buffer.name);
    for (const auto& scalar : m_.scalars) taken_.insert(scalar.name);
    for (const auto& array : m_.shared) taken_.insert(array.name);
    for (const auto& variable : m_.variables) taken_.insert(variable.name);
  }

  std::string run() {
    host();
    std::vector<Line> host_lines = std::move(lines_);
    lines_.clear();
    body();
    std::string text = header();
    for (const SharedArray& array : m_.shared)
      text += fmt::format("  shared {}: {}{}[{}]\n", array.name, array.atomic ? "atomic " : "",
                          name_of(array.type), array.count);
    for (const auto* lines : {&host_lines, &lines_})
      for (const Line& line : *lines) text += std::string(2 * line.indent, ' ') + line.text + '\n';
    return text + "}\n";
  }

 private:
  struct Line {
    size_t indent;
    std::string text;
  };
  struct Waiting {
    uint32_t id;
    Phrase phrase;
  };
  struct Block {
    Op op;          // If, Else, For, Loop
    size_t opened;  // the line that opens it
  };

  void line(std::string text) { lines_.push_back({blocks_.size() + 1, std::move(text)}); }

  std::string fresh(std::string_view prefix, uint32_t& counter) {
    std::string name;
    do name = fmt::format("{}{}", prefix, counter++);
    while (taken_.contains(name) || is_reserved(name));  // i8, i16, … are types
    return name;
  }

  void start(const Code& code, bool is_host) {
    code_ = &code;
    is_host_ = is_host;
    phrases_.assign(code.values.size(), {});
    uses_.assign(code.values.size(), 0);
    waiting_.clear();
    waits_.assign(code.values.size(), false);
    for (const Inst& inst : code.insts)
      for (size_t i = 0; i < arity(inst); i++) uses_[inst.args[i]]++;
  }

  // The waiting values before the last `keep` become bindings.
  void flush(size_t keep = 0) {
    const size_t n = waiting_.size() - std::min(keep, waiting_.size());
    for (size_t i = 0; i < n; i++) {
      waits_[waiting_[i].id] = false;
      bind(waiting_[i].id, waiting_[i].phrase.text);
    }
    waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<long>(n));
  }

  void bind(uint32_t id, const std::string& text) {
    const std::string name = fresh("v", next_value_);
    line(fmt::format("{}{} = {}", is_host_ ? "host " : "", name, text));
    phrases_[id] = {.text = name};
  }

  // The operands as text. Those on top of the waiting values, in order, are swallowed.
  std::array<Phrase, 3> operands(const Inst& inst) {
    std::vector<uint32_t> wanted;
    const size_t n = arity(inst);
    for (size_t i = 0; i < n; i++)
      if (waits_[inst.args[i]]) wanted.push_back(inst.args[i]);
    size_t swallowed = 0;
    while (swallowed < wanted.size() &&
           waiting_[waiting_.size() - 1 - swallowed].id == wanted[wanted.size() - 1 - swallowed])
      swallowed++;
    if (swallowed < wanted.size()) flush(swallowed);
    const size_t base = waiting_.size() - swallowed;
    for (size_t i = base; i < waiting_.size(); i++) {
      waits_[waiting_[i].id] = false;
      phrases_[waiting_[i].id] = std::move(waiting_[i].phrase);
    }
    waiting_.resize(base);
    std::array<Phrase, 3> out;
    for (size_t i = 0; i < n; i++) out[i] = phrases_[inst.args[i]];
    return out;
  }

  // What an instruction gives: waits for its use or becomes a binding.
  void give(const Inst& inst, Phrase phrase, bool may_wait = true) {
    if (may_wait && uses_[inst.id] == 1 && phrase.text.size() <= kMaxPhrase) {
      waits_[inst.id] = true;
      waiting_.push_back({inst.id, std::move(phrase)});
      return;
    }
    flush();
    bind(inst.id, phrase.text);
  }

  void statement(std::string text) {
    flush();
    line(std::move(text));
  }

  std::string element(const std::string& name, const Phrase& index) const {
    return fmt::format("{}[{}]", name, weak_text(index));
  }

  std::string header() const {
    std::vector<std::string> params;
    size_t scalar = 0;
    const auto scalars_until_dimension = [&] {
      for (; scalar < m_.scalars.size() && !m_.scalars[scalar].dimension; scalar++)
        params.push_back(scalar_text(m_.scalars[scalar]));
    };
    std::unordered_set<std::string_view> known;
    for (const BufferParam& buffer : m_.buffers) {
      std::string dims;
      for (const Dim& dim : buffer.dims) {
        if (!dim.name.empty() && known.insert(dim.name).second) {
          scalars_until_dimension();
          scalar++;
        }
        dims += fmt::format("{}{}", dims.empty() ? "" : ", ",
                            dim.name.empty() ? std::to_string(dim.length) : dim.name);
      }
      params.push_back(fmt::format("{} {}: {}[{}]", name_of(buffer.access), buffer.name,
                                   name_of(buffer.type), dims));
    }
    scalars_until_dimension();
    std::string text = fmt::format("program {}(", m_.name);
    size_t width = text.size();
    for (size_t i = 0; i < params.size(); i++) {
      if (i != 0) text += ",";
      const bool wraps = i != 0 && width + params[i].size() + 3 > kMaxWidth;
      text += i == 0 ? "" : wraps ? "\n    " : " ";
      width = (wraps ? 4 : width + 2) + params[i].size();
      text += params[i];
    }
    text += fmt::format(")\n    workgroup({}", m_.workgroup[0]);
    const size_t axes = m_.workgroup[2] != 1 ? 3 : m_.workgroup[1] != 1 ? 2 : 1;
    for (size_t axis = 1; axis < axes; axis++) text += fmt::format(", {}", m_.workgroup[axis]);
    text += ")";
    if (m_.index == DType::I64) text += " index(i64)";
    if (!lanes_clause_.empty()) text += " " + lanes_clause_;
    return text + " {\n";
  }

  static std::string scalar_text(const ScalarParam& scalar) {
    const std::string text = fmt::format("{}: {}", scalar.name, name_of(scalar.type));
    return scalar.otherwise
               ? fmt::format("{} = {}", text, weak_literal(scalar.type, *scalar.otherwise))
               : text;
  }

  // Values that depend on nothing; empty for other instructions.
  bool source(const Inst& inst) {
    Phrase phrase;
    switch (inst.op) {
      case Op::Const: phrase.constant = &inst; break;
      case Op::Scalar: phrase.text = m_.scalars[inst.slot].name; break;
      case Op::Length: phrase.text = fmt::format("len({})", m_.buffers[inst.slot].name); break;
      default: return false;
    }
    phrase.source = true;
    phrases_[inst.id] = std::move(phrase);
    return true;
  }

  void host();
  bool host_code(bool late);
  void body();
  void value(const Inst& inst);
  void memory(const Inst& inst);
  size_t control(size_t at);
  void open(Op op, std::string text);
  void close();
  void merge_else_if(const Block& block);

  const Module& m_;
  const Code* code_ = nullptr;
  bool is_host_ = false;
  std::vector<Phrase> phrases_;  // by value
  std::vector<uint32_t> uses_;
  std::vector<Waiting> waiting_;
  std::vector<bool> waits_;  // by value
  std::vector<Line> lines_;
  std::vector<Block> blocks_;
  std::string lanes_clause_;
  std::unordered_set<std::string> taken_;
  uint32_t next_value_ = 0, next_counter_ = 0;
};

// The clause `lanes` comes before all else of the host. Where the instructions have it otherwise,
// it becomes a statement after them, of values that have names.
void Writer::host() {
  if (host_code(false)) return;
  lines_.clear();
  next_value_ = 0;
  host_code(true);
}

// False if the clause cannot come first.
bool Writer::host_code(bool late) {
  start(m_.host, true);
  std::array<std::string, 3> counts;
  size_t axes = 0;
  bool plain = true;  // nothing but scalars, lengths and numbers
  for (const Inst& inst : m_.host.insts) {
    if (source(inst)) continue;
    if (inst.op == Op::Require) {
      statement(fmt::format("require {}", weak_text(operands(inst)[0])));
    } else if (inst.op == Op::Lanes) {
      const size_t alone = waits_[inst.args[0]] ? 1 : 0;
      const bool early = lines_.empty() && inst.aux == axes && waiting_.size() == alone;
      if (!late && !early) return false;
      if (late) flush();
      plain = plain && phrases_[inst.args[0]].source;
      counts[inst.aux] = weak_text(operands(inst)[0]);
      axes = std::max<size_t>(axes, inst.aux + 1u);
    } else {
      give(inst, operation(inst, operands(inst)));
    }
  }
  flush();
  if (axes == 0) return true;
  std::string text = "lanes(";
  for (size_t axis = 0; axis < axes; axis++)
    text += fmt::format("{}{}", axis == 0 ? "" : ", ", counts[axis].empty() ? "1" : counts[axis]);
  text += ")";
  if (late && !plain) line(text);
  else lanes_clause_ = text;
  return true;
}

void Writer::body() {
  start(m_.body, false);
  for (size_t i = 0; i < m_.body.insts.size(); i++) {
    const Inst& inst = m_.body.insts[i];
    if (source(inst)) continue;
    if (inst.op >= Op::If && inst.op <= Op::Return) i += control(i);
    else if (inst.op == Op::Barrier) statement("barrier()");
    else if (info(inst.op).category == Category::Memory) memory(inst);
    else value(inst);
  }
  flush();
}

void Writer::value(const Inst& inst) {
  const auto args = operands(inst);
  switch (inst.op) {
    case Op::LaneId:
    case Op::GroupId:
    case Op::GlobalId:
    case Op::GroupCount:
      return give(inst, {.text = fmt::format("{}.{}", info(inst.op).name, kAxes[inst.aux])});
    case Op::GroupReduce:
    case Op::GroupScan:
      return give(
          inst,
          {.text = fmt::format("{}_{}({})", info(inst.op).name,
                               name_of(static_cast<Combine>(inst.aux)), typed_text(args[0]))},
          false);
    case Op::GroupUniform:
      return give(inst, {.text = fmt::format("group_uniform({})", typed_text(args[0]))}, false);
    default: return give(inst, operation(inst, args));
  }
}

void Writer::memory(const Inst& inst) {
  const auto args = operands(inst);
  switch (inst.op) {
    case Op::Var: {
      const Variable& v = m_.variables[inst.slot];
      return statement(fmt::format("var {}: {} = {}", v.name, name_of(v.type), weak_text(args[0])));
    }
    case Op::Get: return give(inst, {.text = m_.variables[inst.slot].name});
    case Op::Set:
      return statement(fmt::format("{} = {}", m_.variables[inst.slot].name, weak_text(args[0])));
    default: break;
  }
  const bool shared =
      inst.op == Op::SharedLoad || inst.op == Op::SharedStore || inst.op == Op::SharedAtomic;
  const std::string where =
      element(shared ? m_.shared[inst.slot].name : m_.buffers[inst.slot].name, args[0]);
  if (inst.op == Op::Load || inst.op == Op::SharedLoad) return give(inst, {.text = where});
  if (inst.op == Op::Store || inst.op == Op::SharedStore)
    return statement(fmt::format("{} = {}", where, weak_text(args[1])));
  const std::string text = fmt::format("atomic_{}({}, {})", name_of(static_cast<Combine>(inst.aux)),
                                       where, weak_text(args[1]));
  if (uses_[inst.id] == 0) return statement(text);
  give(inst, {.text = text}, false);
}

void Writer::open(Op op, std::string text) {
  statement(std::move(text));
  blocks_.push_back({op, lines_.size() - 1});
}

void Writer::close() {
  flush();
  const Block block = blocks_.back();
  blocks_.pop_back();
  line("}");
  if (block.op == Op::Else) merge_else_if(block);
}

// } else { if c { … } }  becomes  } else if c { … }
void Writer::merge_else_if(const Block& block) {
  const size_t inner = block.opened + 1, deep = blocks_.size() + 2;
  if (inner + 1 >= lines_.size() || !lines_[inner].text.starts_with("if ")) return;
  for (size_t i = inner + 1; i + 2 < lines_.size(); i++)
    if (lines_[i].indent == deep && !lines_[i].text.starts_with("} ")) return;
  lines_[block.opened].text = "} else " + lines_[inner].text;
  lines_.erase(lines_.begin() + static_cast<long>(inner));
  lines_.pop_back();
  for (size_t i = inner; i < lines_.size(); i++) lines_[i].indent--;
}

// Returns how many instructions behind this one are written with it.
size_t Writer::control(size_t at) {
  const Inst& inst = m_.body.insts[at];
  const auto args = operands(inst);
  switch (inst.op) {
    case Op::If: {
      const auto is = [&](size_t i, Op op) {
        return i < m_.body.insts.size() && m_.body.insts[i].op == op;
      };
      const bool starts_loop = !blocks_.empty() && blocks_.back().op == Op::Loop &&
                               blocks_.back().opened + 1 == lines_.size() && waiting_.empty();
      if (starts_loop && !args[0].negated.empty() && is(at + 1, Op::Break) && is(at + 2, Op::End)) {
        lines_.back().text = fmt::format("while {} {{", args[0].negated);
        return 2;
      }
      open(Op::If, fmt::format("if {} {{", weak_text(args[0])));
      return 0;
    }
    case Op::Else: {
      flush();
      blocks_.pop_back();
      open(Op::Else, "} else {");
      return 0;
    }
    case Op::For: {
      const bool weak = !args[0].constant || !args[1].constant || inst.type == m_.index;
      const std::string name = fresh("i", next_counter_);
      std::string text =
          fmt::format("for {} in {}..{}", name, weak ? weak_text(args[0]) : typed_text(args[0]),
                      weak ? weak_text(args[1]) : typed_text(args[1]));
      if (inst.imm != 1) text += fmt::format(" step {}", inst.imm);
      open(Op::For, text + " {");
      phrases_[inst.id] = {.text = name};
      return 0;
    }
    case Op::Loop: open(Op::Loop, "loop {"); return 0;
    case Op::End: close(); return 0;
    default: statement(std::string(info(inst.op).name)); return 0;
  }
}

}  // namespace

std::string to_text(const Module& module) { return Writer(module).run(); }

}  // namespace hologram::program
