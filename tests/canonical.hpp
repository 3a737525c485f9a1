// What a program is, apart from how it was made: constants, scalars and lengths stand where they
// are used, values are numbered without them.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>
#include <vector>

#include "program/ir.hpp"

namespace hologram::program {

inline std::string canonical_constant(const Inst& inst) {
  const bool nan = (inst.type == DType::F32 &&
                    std::isnan(std::bit_cast<float>(static_cast<uint32_t>(inst.imm)))) ||
                   (inst.type == DType::F64 && std::isnan(std::bit_cast<double>(inst.imm)));
  return nan ? fmt::format("{} nan", name_of(inst.type))
             : fmt::format("{} {:x}", name_of(inst.type), inst.imm);
}

inline std::vector<std::string> canonical(const Code& code) {
  std::vector<std::string> names(code.values.size()), lines;
  size_t next = 0;
  for (const Inst& inst : code.insts) {
    if (inst.op == Op::Const) {
      names[inst.id] = canonical_constant(inst);
      continue;
    }
    if (inst.op == Op::Scalar || inst.op == Op::Length) {
      names[inst.id] = fmt::format("{} {}", info(inst.op).name, inst.slot);
      continue;
    }
    std::vector<std::string> args;
    for (size_t i = 0; i < arity(inst); i++) args.push_back(names[inst.args[i]]);
    const bool slot = inst.slot != kNone && inst.op != Op::Require;
    std::string line =
        fmt::format("{} {} {} aux {} slot {} imm {} [{}]", info(inst.op).name, name_of(inst.type),
                    name_of(inst.from), inst.aux, slot ? static_cast<int>(inst.slot) : -1, inst.imm,
                    fmt::join(args, ", "));
    if (inst.id != kNone) {
      names[inst.id] = fmt::format("%{}", next++);
      line = names[inst.id] + " = " + line;
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

// The declarations and both codes. The text of a requirement is for messages only.
inline std::vector<std::string> canonical(const Module& m) {
  std::vector<std::string> lines = {fmt::format("{} {} {}", m.name, m.workgroup, name_of(m.index))};
  for (const auto& b : m.buffers) {
    std::string dims;
    for (const Dim& d : b.dims) dims += fmt::format("{}/{} ", d.name, d.length);
    lines.push_back(
        fmt::format("buffer {} {} {} {}", b.name, name_of(b.type), name_of(b.access), dims));
  }
  for (const auto& s : m.scalars) {
    const Inst value{.op = Op::Const, .type = s.type, .imm = s.otherwise.value_or(0)};
    lines.push_back(fmt::format("scalar {} {} {} {}", s.name, name_of(s.type), s.dimension,
                                s.otherwise ? canonical_constant(value) : "none"));
  }
  for (const auto& a : m.shared)
    lines.push_back(fmt::format("shared {} {} {} {}", a.name, name_of(a.type), a.count, a.atomic));
  for (const auto& v : m.variables)
    lines.push_back(fmt::format("variable {} {}", v.name, name_of(v.type)));
  // When the host counts the lanes makes no difference.
  std::vector<std::string> host = canonical(m.host);
  std::stable_partition(host.begin(), host.end(),
                        [](const std::string& line) { return line.starts_with("lanes"); });
  lines.push_back("host code");
  lines.insert(lines.end(), host.begin(), host.end());
  lines.push_back("code");
  for (std::string& line : canonical(m.body)) lines.push_back(std::move(line));
  return lines;
}

}  // namespace hologram::program
