// Reductions, scans and the value of the first lane. Values are combined in the order that the
// interpreter keeps to; what all lanes get comes through workgroupUniformLoad, which waits for all
// and is the same for all.
#include <fmt/format.h>

#include <set>

#include "dialects/spelling.hpp"
#include "dialects/wgsl.hpp"

namespace hologram::dialects::wgsl {
namespace {

using program::Combine;
using program::Inst;
using program::Op;

// $N: the function's name. $T: the type. $m: the workgroup array. $p: v as the array holds it; the
// value of element x is $ox$x. $e: the combination of a and b. $L: lanes, $h: half of them.
// Nothing is read after the last barrier, so that the next such function may write at once.

// v[l] = v[l] op v[l + d] for d = L/2, L/4, … 1; then v[0] is everyone's.
constexpr std::string_view kReduce = R"(fn $N(lane: u32, value: $T) -> $T {
  var v = value;
  $m[lane] = $p;
  workgroupBarrier();
  for (var d = $h; d > 0u; d /= 2u) {
    if (lane < d) {
      let a = v;
      let b = $o$m[lane + d]$x;
      v = $e;
      $m[lane] = $p;
    }
    workgroupBarrier();
  }
  let first = workgroupUniformLoad(&$m[0]);
  return $ofirst$x;
}
)";

// v[l] = v[l - d] op v[l] for l >= d, all at once, for d = 1, 2, 4, …
constexpr std::string_view kScan = R"(fn $N(lane: u32, value: $T) -> $T {
  var v = value;
  $m[lane] = $p;
  workgroupBarrier();
  for (var d = 1u; d < $L; d *= 2u) {
    let before = $m[select(lane - d, lane, lane < d)];
    let a = $obefore$x;
    let b = v;
    workgroupBarrier();
    if (lane >= d) {
      v = $e;
      $m[lane] = $p;
    }
    workgroupBarrier();
  }
  return v;
}
)";

constexpr std::string_view kUniform = R"(fn $N(lane: u32, v: $T) -> $T {
  if (lane == 0u) { $m[0] = $p; }
  let first = workgroupUniformLoad(&$m[0]);
  return $ofirst$x;
}
)";

std::string name_of_call(const Inst& inst) {
  const std::string_view type = hologram::name_of(inst.type);
  if (inst.op == Op::GroupUniform) return fmt::format("group_uniform_{}", type);
  return fmt::format("group_{}_{}_{}", inst.op == Op::GroupReduce ? "reduce" : "scan",
                     name_of(static_cast<Combine>(inst.aux)), type);
}

struct AsWords {
  std::string_view value, open, close;
};
AsWords as_words(DType type) {
  switch (type) {
    case DType::Bool: return {"u32(v)", "(", " != 0u)"};
    case DType::I32: return {"u32(v)", "i32(", ")"};
    case DType::F32: return {"bitcast<u32>(v)", "bitcast<f32>(", ")"};
    default: return {"v", "", ""};
  }
}

std::string group_function(const Inst& inst, uint32_t lanes) {
  const AsWords words = as_words(inst.type);
  Replacements values = {
      {'N', name_of_call(inst)},
      {'T', std::string(type_name(inst.type))},
      {'m', size_of(inst.type) == 8 ? "group_values64" : "group_values32"},
      {'p', std::string(words.value)},
      {'o', std::string(words.open)},
      {'x', std::string(words.close)},
      {'L', fmt::format("{}u", lanes)},
      {'h', fmt::format("{}u", lanes / 2)},
  };
  if (inst.op == Op::GroupUniform) return substitute(kUniform, values);
  values.emplace_back('e', expression(operation_of(static_cast<Combine>(inst.aux)), inst.type,
                                      inst.type, {"a", "b"}));
  return substitute(inst.op == Op::GroupScan ? kScan : kReduce, values);
}

}  // namespace

std::string group_functions(const program::Module& module) {
  std::string text;
  std::set<std::string> done;
  for (const Inst& inst : module.body.insts)
    if (inst.op == Op::GroupReduce || inst.op == Op::GroupScan || inst.op == Op::GroupUniform)
      if (done.insert(name_of_call(inst)).second) text += group_function(inst, module.lanes());
  return text;
}

std::string group_call(const Inst& inst, const std::string& value) {
  return fmt::format("{}(lane, {})", name_of_call(inst), value);
}

}  // namespace hologram::dialects::wgsl
