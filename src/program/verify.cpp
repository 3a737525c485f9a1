#include "program/verify.hpp"

#include <fmt/format.h>

namespace hologram::program {

std::string subject(const Module& module, Mention mention, uint32_t line) {
  std::string text = fmt::format("program '{}'", module.name);
  if (mention == Mention::Lines && line != 0) text += fmt::format(", line {}", line);
  return text;
}

bool defines_value(Op op) {
  if (is_pure(op) || op <= Op::GroupCount) return true;
  switch (op) {
    case Op::Get:
    case Op::Load:
    case Op::SharedLoad:
    case Op::Atomic:
    case Op::SharedAtomic:
    case Op::GroupReduce:
    case Op::GroupScan:
    case Op::GroupUniform:
    case Op::For: return true;
    default: return false;
  }
}

bool suits(Combine combine, DType type) {
  switch (combine) {
    case Combine::Add:
    case Combine::Mul:
    case Combine::Min:
    case Combine::Max: return type != DType::Bool;
    case Combine::And:
    case Combine::Or:
    case Combine::Xor: return is_integer(type);
    case Combine::Exchange: return false;
  }
  return false;
}

std::optional<Fault> find_fault(const Module& module, Mention mention) {
  try {
    verify_declarations(module, mention);
    verify_host(module, mention);
    verify_body(module, mention);
  } catch (const Fault& fault) {
    return fault;
  }
  return std::nullopt;
}

void verify(const Module& module) {
  if (const auto fault = find_fault(module, Mention::Lines)) throw fault->error;
}

}  // namespace hologram::program
