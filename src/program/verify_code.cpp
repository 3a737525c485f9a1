// Instructions: operands, types, scopes, nesting, and what may stand where.
#include <bit>

#include "core/messages.hpp"
#include "program/typing.hpp"
#include "program/uniformity.hpp"
#include "program/verify.hpp"

namespace hologram::program {
namespace {

using core::Text;

class CodeVerifier {
 public:
  CodeVerifier(const Module& module, const Code& code, bool host, Mention mention)
      : m_(module), code_(code), host_(host), mention_(mention) {}

  void run() {
    in_scope_.assign(code_.values.size(), false);
    defined_.assign(code_.values.size(), false);
    variable_in_scope_.assign(m_.variables.size(), false);
    variable_declared_.assign(m_.variables.size(), false);
    if (code_.insts.size() >= kNone) fail(Text::VerifyTooLong);
    for (const Inst& inst : code_.insts) {
      inst_ = &inst;
      if (static_cast<size_t>(inst.op) >= kOpCount) fail(Text::VerifyNoInstruction);
      name_ = info(inst.op).name;
      const bool in_host_only = inst.op == Op::Require || inst.op == Op::Lanes;
      const bool in_host = in_host_only || is_pure(inst.op) || inst.op <= Op::Length;
      if (host_ && !in_host) fail(Text::VerifyHostCode, name_);
      if (!host_ && in_host_only) fail(Text::VerifyBodyCode, name_);
      check_operands();
      check_instruction();
      check_result();
    }
    if (blocks_.empty()) return;
    inst_ = blocks_.back().opening;
    fail(Text::VerifyOpenBlock, info(inst_->op).name);
  }

 private:
  struct Block {
    const Inst* opening;
    bool otherwise;            // past its Else
    size_t values, variables;  // how many were in scope before it
  };

  template <class... Args>
  [[noreturn]] void fail(Text text, const Args&... args) const {
    const uint32_t line = inst_ ? inst_->line : 0;
    throw Fault{core::error(text, subject(m_, mention_, line), args...), line};
  }

  DType operand(size_t k) const { return code_.values[inst_->args[k]]; }

  void check_operands() const {
    const size_t wanted = info(inst_->op).arity;
    for (size_t k = 0; k < 3; k++) {
      const uint32_t v = inst_->args[k];
      if ((v != kNone) != (k < wanted)) fail(Text::VerifyOperandCount, name_, wanted);
      if (k < wanted && (v >= in_scope_.size() || !in_scope_[v]))
        fail(Text::VerifyUndefined, name_);
    }
  }

  void expect(DType is, DType wanted, std::string_view what) const {
    if (is != wanted) fail(Text::VerifyType, name_, what, name_in_text(is), name_of(wanted));
  }
  static std::string_view name_in_text(DType type) {
    return static_cast<size_t>(type) < kDTypeCount ? name_of(type) : "no type";
  }

  template <class Range>
  const auto& slot(const Range& range, std::string_view what) const {
    if (inst_->slot >= range.size()) fail(Text::VerifySlot, name_, what);
    return range[inst_->slot];
  }

  void check_axis() const {
    if (inst_->aux > 2) fail(Text::VerifyAxis, name_);
    expect(inst_->type, m_.index, "the result");
  }

  void check_instruction() {
    const Inst& inst = *inst_;
    if (is_pure(inst.op)) return check_pure();
    switch (inst.op) {
      case Op::Const: return check_constant();
      case Op::Scalar: return expect(inst.type, slot(m_.scalars, "scalar").type, "the result");
      case Op::Length: slot(m_.buffers, "buffer"); return expect(inst.type, m_.index, "the result");
      case Op::LaneId:
      case Op::GroupId:
      case Op::GlobalId:
      case Op::GroupCount: return check_axis();
      case Op::Var:
      case Op::Get:
      case Op::Set: return check_variable();
      case Op::Load:
      case Op::Store:
      case Op::Atomic: return check_buffer();
      case Op::SharedLoad:
      case Op::SharedStore:
      case Op::SharedAtomic: return check_shared();
      case Op::GroupReduce:
      case Op::GroupScan:
      case Op::GroupUniform: return check_group();
      case Op::If: expect(operand(0), DType::Bool, "the condition"); return open();
      case Op::Else: return check_else();
      case Op::For: return check_for();
      case Op::Loop: return open();
      case Op::End: return check_end();
      case Op::Break:
      case Op::Continue: return check_in_loop();
      case Op::Require:
        slot(m_.require_texts, "text");
        return expect(operand(0), DType::Bool, "the condition");
      case Op::Lanes: return check_lanes();
      default: return;
    }
  }

  void check_pure() const {
    const Inst& inst = *inst_;
    std::array<DType, 3> types = {};
    const size_t n = arity(inst);
    for (size_t k = 0; k < n; k++) types[k] = operand(k);
    Typed typed{};
    try {
      if (static_cast<size_t>(inst.type) >= kDTypeCount) fail(Text::VerifyValueType, name_);
      typed = result_type(inst.op, {types.data(), n}, inst.type);
    } catch (const Error& error) {
      fail(Text::VerifyOperation, error.what(), error.remedy());
    }
    expect(inst.type, typed.result, "the result");
    expect(inst.from, typed.from, "the operand");
  }

  void check_constant() const {
    const Inst& inst = *inst_;
    if (static_cast<size_t>(inst.type) >= kDTypeCount || !is_compute_type(inst.type))
      fail(Text::VerifyValueType, name_);
    const uint64_t most = inst.type == DType::Bool  ? 1
                          : size_of(inst.type) == 4 ? UINT32_MAX
                                                    : UINT64_MAX;
    if (inst.imm > most) fail(Text::VerifyConstant, name_of(inst.type));
  }

  void check_variable() {
    const Inst& inst = *inst_;
    const Variable& variable = slot(m_.variables, "variable");
    if (inst.op == Op::Var) {
      if (variable_declared_[inst.slot]) fail(Text::VerifyVariableTwice, variable.name);
      variable_declared_[inst.slot] = variable_in_scope_[inst.slot] = true;
      variable_scope_.push_back(inst.slot);
    } else if (!variable_in_scope_[inst.slot]) {
      fail(Text::VerifyVariableScope, variable.name);
    }
    expect(inst.type, variable.type, "the variable");
    if (inst.op != Op::Get) expect(operand(0), variable.type, "the value");
  }

  void check_access(bool atomic, std::string_view name) const {
    const bool by_atomic = inst_->op == Op::Atomic || inst_->op == Op::SharedAtomic;
    if (atomic && !by_atomic) fail(Text::VerifyAtomicOnly, name_, name);
    if (!atomic && by_atomic) fail(Text::VerifyNotAtomic, name_, name);
    expect(operand(0), m_.index, "the index");
    if (!by_atomic) return;
    const auto combine = static_cast<Combine>(inst_->aux);
    if (combine > Combine::Exchange || combine == Combine::Mul) fail(Text::VerifyCombine, name_);
  }

  void check_buffer() const {
    const BufferParam& buffer = slot(m_.buffers, "buffer");
    check_access(buffer.access == Access::Atomic, buffer.name);
    if (inst_->op == Op::Load && buffer.access == Access::Out)
      fail(Text::VerifyLoadOut, buffer.name);
    if (inst_->op == Op::Store && buffer.access == Access::In)
      fail(Text::VerifyStoreIn, buffer.name);
    const DType type = compute_type(buffer.type);
    if (inst_->op != Op::Load) expect(operand(1), type, "the value");
    expect(inst_->type, type, "the element");
  }

  void check_shared() const {
    const SharedArray& array = slot(m_.shared, "workgroup array");
    check_access(array.atomic, array.name);
    if (inst_->op != Op::SharedLoad) expect(operand(1), array.type, "the value");
    expect(inst_->type, array.type, "the element");
  }

  void check_group() const {
    expect(inst_->type, operand(0), "the result");
    if (inst_->op == Op::GroupUniform) return;
    const auto combine = static_cast<Combine>(inst_->aux);
    if (combine > Combine::Exchange || !suits(combine, inst_->type))
      fail(Text::VerifyGroupCombine, name_, name_of(inst_->type));
    if (inst_->op == Op::GroupReduce && !std::has_single_bit(m_.lanes()))
      fail(Text::VerifyPowerOfTwo, name_, m_.lanes());
  }

  void check_for() {
    const Inst& inst = *inst_;
    if (!is_integer(operand(0))) fail(Text::VerifyForType, name_of(operand(0)));
    expect(operand(1), operand(0), "the end");
    expect(inst.type, operand(0), "the counter");
    const uint64_t most = inst.type == DType::I32   ? INT32_MAX
                          : inst.type == DType::U32 ? UINT32_MAX
                          : inst.type == DType::I64 ? INT64_MAX
                                                    : UINT64_MAX;
    if (inst.imm == 0 || inst.imm > most) fail(Text::VerifyForStep, inst.imm, name_of(inst.type));
    open();
  }

  void check_lanes() {
    check_axis();
    expect(operand(0), m_.index, "the count");
    if (lanes_given_[inst_->aux]) fail(Text::VerifyLanesTwice, "xyz"[inst_->aux]);
    lanes_given_[inst_->aux] = true;
  }

  void check_else() {
    if (blocks_.empty() || blocks_.back().opening->op != Op::If || blocks_.back().otherwise)
      fail(Text::VerifyElse);
    leave_scope();
    blocks_.back().otherwise = true;
  }

  void check_end() {
    if (blocks_.empty()) fail(Text::VerifyEnd);
    leave_scope();
    blocks_.pop_back();
  }

  void check_in_loop() const {
    for (const Block& block : blocks_)
      if (block.opening->op != Op::If) return;
    fail(Text::VerifyNoLoop, name_);
  }

  void open() {
    if (blocks_.size() == kMaxNesting) fail(Text::VerifyNesting, kMaxNesting);
    blocks_.push_back({inst_, false, value_scope_.size(), variable_scope_.size()});
  }

  void leave_scope() {
    for (size_t& n = blocks_.back().values; value_scope_.size() > n; value_scope_.pop_back())
      in_scope_[value_scope_.back()] = false;
    for (size_t& n = blocks_.back().variables; variable_scope_.size() > n;
         variable_scope_.pop_back())
      variable_in_scope_[variable_scope_.back()] = false;
  }

  // Last, so that no operand is the instruction's own result. The counter of a For belongs to its
  // block, which is open by now.
  void check_result() {
    const Inst& inst = *inst_;
    if (!defines_value(inst.op)) {
      if (inst.id != kNone) fail(Text::VerifyId, name_);
      return;
    }
    if (inst.id >= defined_.size() || defined_[inst.id] || code_.values[inst.id] != inst.type)
      fail(Text::VerifyId, name_);
    defined_[inst.id] = in_scope_[inst.id] = true;
    value_scope_.push_back(inst.id);
  }

  const Module& m_;
  const Code& code_;
  const bool host_;
  const Mention mention_;
  const Inst* inst_ = nullptr;
  std::string_view name_;
  std::vector<Block> blocks_;
  std::vector<bool> in_scope_, defined_, variable_in_scope_, variable_declared_;
  std::vector<uint32_t> value_scope_, variable_scope_;
  std::array<bool, 3> lanes_given_ = {};
};

}  // namespace

void verify_host(const Module& module, Mention mention) {
  CodeVerifier(module, module.host, true, mention).run();
}

void verify_body(const Module& module, Mention mention) {
  CodeVerifier(module, module.body, false, mention).run();
  const Uniformity uniformity = find_uniformity(module);
  for (size_t i = 0; i < module.body.insts.size(); i++) {
    const Inst& inst = module.body.insts[i];
    if (info(inst.op).category == Category::Group && !uniformity.flow[i])
      throw Fault{
          core::error(Text::VerifyUniform, subject(module, mention, inst.line), info(inst.op).name),
          inst.line};
  }
}

}  // namespace hologram::program
