// Reductions, scans and the value of the first lane. Values are combined in the order that the
// interpreter keeps to; what all lanes get comes through workgroupUniformLoad, which waits for all
// and is the same for all.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <set>
#include <vector>

#include "dialects/spelling.hpp"
#include "dialects/wgsl.hpp"

namespace hologram::dialects::wgsl {
namespace {

using program::Combine;
using program::Inst;
using program::Op;

// $N: the function's name. $T: the type. $m: the workgroup array. $p: v as the array holds it; the
// value of element x is $ox$x. $e: the combination of a and b. $L: lanes.
// Nothing is read after the last barrier, so that the next such function may write at once.

// v[l] = v[l] op v[l + d] for d = L/2, L/4, … 1; then v[0] is everyone's. In two steps, so that few
// barriers are waited at: $c lanes take values that are $c apart, and the first lane takes theirs;
// $R and $C are these two trees.
constexpr std::string_view kReduce = R"(fn $N(lane: u32, value: $T) -> $T {
  var v = value;
  $m[lane] = $p;
  workgroupBarrier();
  if (lane < $c) {
$R    $m[lane] = $p;
  }
  workgroupBarrier();
  if (lane == 0u) {
$C    $m[0] = $p;
  }
  let first = workgroupUniformLoad(&$m[0]);
  return $ofirst$x;
}
)";

// The same where the first $c lanes hand values to each other: each takes what is $c apart, and $S
// are the steps between them. Lanes of other subgroups take them too, to no end.
constexpr std::string_view kReduceBySubgroup = R"(fn $N(lane: u32, value: $T) -> $T {
  var v = value;
  $m[lane] = $p;
  workgroupBarrier();
  if (lane < $c) {
$R  }
$S  if (lane == 0u) { $m[0] = $p; }
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

// The tree of so many values of the array, `step` apart from the one of `lane` on, as statements
// that leave v.
std::string tree(const Inst& inst, const AsWords& words, std::string_view memory, uint32_t count,
                 uint32_t step) {
  std::string text;
  for (uint32_t k = 0; k < count; k++)
    text += fmt::format("    let v{0} = {1}{2}[lane + {3}u]{4};\n", k, words.open, memory, k * step,
                        words.close);
  std::vector<std::string> names;
  for (uint32_t k = 0; k < count; k++) names.push_back(fmt::format("v{}", k));
  const Op op = operation_of(static_cast<Combine>(inst.aux));
  for (uint32_t d = count / 2; d > 0; d /= 2)
    for (uint32_t k = 0; k < d; k++) {
      const std::string sum = fmt::format("{}_{}", names[k], k + d);
      text += fmt::format("    let {} = {};\n", sum,
                          expression(op, inst.type, inst.type, {names[k], names[k + d]}));
      names[k] = sum;
    }
  return text + fmt::format("    v = {};\n", names[0]);
}

// v = v op the v of the lane d further, for d = count/2, … 1.
std::string steps(const Inst& inst, const AsWords& words, uint32_t count) {
  const Op op = operation_of(static_cast<Combine>(inst.aux));
  std::string text;
  for (uint32_t d = count / 2; d > 0; d /= 2)
    text += fmt::format("  let from{0} = {1}subgroupShuffleDown({2}, {0}u){3};\n  v = {4};\n", d,
                        words.open, words.value, words.close,
                        expression(op, inst.type, inst.type, {"v", fmt::format("from{}", d)}));
  return text;
}

std::string group_function(const Inst& inst, uint32_t lanes, uint32_t subgroup) {
  const AsWords words = as_words(inst.type);
  Replacements values = {
      {'N', name_of_call(inst)},
      {'T', std::string(type_name(inst.type))},
      {'m', size_of(inst.type) == 8 ? "group_values64" : "group_values32"},
      {'p', std::string(words.value)},
      {'o', std::string(words.open)},
      {'x', std::string(words.close)},
      {'L', fmt::format("{}u", lanes)},
  };
  if (inst.op == Op::GroupUniform) return substitute(kUniform, values);
  if (inst.op == Op::GroupReduce) {
    const bool by_subgroup = subgroup > 1;
    const uint32_t columns =
        by_subgroup ? std::min(subgroup, lanes) : uint32_t{1} << std::bit_width(lanes) / 2;
    const std::string_view memory = size_of(inst.type) == 8 ? "group_values64" : "group_values32";
    values.emplace_back('c', fmt::format("{}u", columns));
    values.emplace_back('R', tree(inst, words, memory, lanes / columns, columns));
    if (by_subgroup) {
      values.emplace_back('S', steps(inst, words, columns));
      return substitute(kReduceBySubgroup, values);
    }
    values.emplace_back('C', tree(inst, words, memory, columns, 1));
    return substitute(kReduce, values);
  }
  values.emplace_back('e', expression(operation_of(static_cast<Combine>(inst.aux)), inst.type,
                                      inst.type, {"a", "b"}));
  return substitute(kScan, values);
}

}  // namespace

// Compilers keep the lanes of a kernel that uses subgroups together at every branch. Seen on an
// H200: a sum's long loop took 164 us and not 127, norms with their two reductions 181 and not 189.
std::string group_functions(const program::Module& module, uint32_t subgroup) {
  const auto& insts = module.body.insts;
  if (std::count_if(insts.begin(), insts.end(),
                    [](const Inst& inst) { return inst.op == Op::GroupReduce; }) < 2)
    subgroup = 0;
  std::string text;
  std::set<std::string> done;
  for (const Inst& inst : module.body.insts)
    if (inst.op == Op::GroupReduce || inst.op == Op::GroupScan || inst.op == Op::GroupUniform)
      if (done.insert(name_of_call(inst)).second)
        text += group_function(inst, module.lanes(), subgroup);
  return text;
}

std::string group_call(const Inst& inst, const std::string& value) {
  return fmt::format("{}(lane, {})", name_of_call(inst), value);
}

}  // namespace hologram::dialects::wgsl
