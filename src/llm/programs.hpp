// What the programs of language models have in common.
#pragma once

#include <utility>

#include "hologram/builder.hpp"
#include "program/ir.hpp"
#include "tensor/access.hpp"

namespace hologram::llm {

// The program, with no access tested: works here launch programs on memory that is of the shapes
// which they are made for, and positions have been looked at before.
inline Program finish_trusted(program::Builder& builder) {
  program::Module module = builder.finish_unverified();
  for (program::Inst& inst : module.body.insts)
    inst.trusted = inst.op == program::Op::Load || inst.op == program::Op::Store ||
                   inst.op == program::Op::SharedLoad || inst.op == program::Op::SharedStore;
  return Program::from(std::move(module));
}

// a b + c as the device does it fastest: whoever adds up so many products may round them either
// way.
inline program::Value mad(program::Value a, program::Value b, program::Value c) {
  return program::apply(program::Op::Mad, {a, b, c});
}

// The tensor [m, length], if its rows are dense wherever they lie; else a copy.
inline Tensor with_rows(const Tensor& t) {
  const graph::View view = tensor::Access::view(t);
  return view.strides[1] == 1 && view.strides[0] >= 0 ? t : tensor::dense(t);
}

}  // namespace hologram::llm
