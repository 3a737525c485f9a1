// The order in which values are combined is the language's, and the same as the interpreter's. What
// lanes hand to each other goes through workgroup memory as bits.
#include "dialects/groups.hpp"

#include <fmt/format.h>

#include <set>

namespace hologram::dialects {
namespace {

using program::Combine;
using program::Inst;
using program::Op;

// $q: in front of a function. $N: its name. $T: the type, $W: what holds its bits. $s: of a pointer
// to workgroup memory. $B: the barrier. $L: lanes. $p: bits of v. The value of bits x is $ox
// $x. $e: the combination of a and b. $c: columns of 32 lanes. $S: the v of the lane d further.

// v[l] = v[l] op v[l + d] for d = L/2, L/4, … 1; then v[0] is everyone's.
constexpr std::string_view kReduce = R"($q $T $N($s$W* group_values, u32 lane, $T v) {
  $B;
  group_values[lane] = $p;
  $B;
  for (u32 d = $h; d > 0; d /= 2) {
    if (lane < d) {
      const $T a = v;
      const $T b = $ogroup_values[lane + d]$x;
      v = $e;
      group_values[lane] = $p;
    }
    $B;
  }
  return $ogroup_values[0]$x;
}
)";

// The same where the first 32 lanes can hand values to each other: each of them takes in the steps
// down to 32 of its column by itself.
constexpr std::string_view kReduceByShuffle = R"($q $T $N($s$W* group_values, u32 lane, $T v) {
  $B;
  group_values[lane] = $p;
  $B;
  if (lane < 32u) {
    $T column[$c];
    for (u32 k = 0; k < $c; k++) column[k] = $ogroup_values[lane + 32u * k]$x;
    for (u32 d = $c / 2; d > 0; d /= 2) {
      for (u32 k = 0; k < d; k++) {
        const $T a = column[k];
        const $T b = column[k + d];
        column[k] = $e;
      }
    }
    v = column[0];
    for (u32 d = 16; d > 0; d /= 2) {
      const $T a = v;
      const $T b = $S;
      v = $e;
    }
    if (lane == 0) group_values[0] = $p;
  }
  $B;
  return $ogroup_values[0]$x;
}
)";

// The same where a thread has $k lanes that are neighbours: the steps between threads first, then
// those between its own lanes. $v: a parameter a lane, $i: their names, $t: threads.
constexpr std::string_view kReduceLanes = R"($q $T $N($s$W* group_values, u32 lane, $v) {
  $T lanes[$k] = {$i};
  const u32 thread = lane / $k;
  $B;
  for (u32 i = 0; i < $k; i++) {
    const $T v = lanes[i];
    group_values[i * $t + thread] = $p;
  }
  $B;
  for (u32 d = $t / 2; d > 0; d /= 2) {
    if (thread < d) {
      for (u32 i = 0; i < $k; i++) {
        const $T a = lanes[i];
        const $T b = $ogroup_values[i * $t + thread + d]$x;
        const $T v = $e;
        lanes[i] = v;
        group_values[i * $t + thread] = $p;
      }
    }
    $B;
  }
)";
constexpr std::string_view kReduceLanesByShuffle = R"($q $T $N($s$W* group_values, u32 lane, $v) {
  $T lanes[$k] = {$i};
  const u32 thread = lane / $k;
  $B;
  if ($t > 32u) {
    for (u32 i = 0; i < $k; i++) {
      const $T v = lanes[i];
      group_values[i * $t + thread] = $p;
    }
    $B;
  }
  if (thread < 32u) {
    for (u32 i = 0; i < $k; i++) {
      $T column[$c];
      column[0] = lanes[i];
      for (u32 k = 1; k < $c; k++) column[k] = $ogroup_values[i * $t + thread + 32u * k]$x;
      for (u32 d = $c / 2; d > 0; d /= 2) {
        for (u32 k = 0; k < d; k++) {
          const $T a = column[k];
          const $T b = column[k + d];
          column[k] = $e;
        }
      }
      $T v = column[0];
      for (u32 d = 16; d > 0; d /= 2) {
        const $T a = v;
        const $T b = $S;
        v = $e;
      }
      lanes[i] = v;
    }
  }
)";
constexpr std::string_view kReduceOwnLanes = R"(  for (u32 d = $k / 2; d > 0; d /= 2) {
    for (u32 i = 0; i < d; i++) {
      const $T a = lanes[i];
      const $T b = lanes[i + d];
      lanes[i] = $e;
    }
  }
  if (thread == 0) {
    const $T v = lanes[0];
    group_values[0] = $p;
  }
  $B;
  return $ogroup_values[0]$x;
}
)";

// v[l] = v[l - d] op v[l] for l >= d, all at once, for d = 1, 2, 4, …
constexpr std::string_view kScan = R"($q $T $N($s$W* group_values, u32 lane, $T v) {
  $B;
  group_values[lane] = $p;
  $B;
  for (u32 d = 1; d < $L; d *= 2) {
    const $T a = $ogroup_values[lane < d ? lane : lane - d]$x;
    const $T b = v;
    $B;
    if (lane >= d) {
      v = $e;
      group_values[lane] = $p;
    }
    $B;
  }
  return v;
}
)";

// The same of integers, which may be combined in any order: within 32 lanes by handing values on,
// then with what comes of the 32s before. $U: the v of the lane d before.
constexpr std::string_view kScanByShuffle = R"($q $T $N($s$W* group_values, u32 lane, $T v) {
  const u32 column = lane / 32u, place = lane % 32u;
  for (u32 d = 1; d < 32u; d *= 2) {
    const $T a = $U;
    const $T b = v;
    if (place >= d) v = $e;
  }
  $B;
  if (place == 31u) group_values[column] = $p;
  $B;
  for (u32 k = 0; k < column; k++) {
    const $T a = $ogroup_values[k]$x;
    const $T b = v;
    v = $e;
  }
  return v;
}
)";

constexpr std::string_view kUniform = R"($q $T $N($s$W* group_values, u32 lane, $T v) {
  $B;
  if (lane == 0) group_values[0] = $p;
  $B;
  return $ogroup_values[0]$x;
}
)";

constexpr std::string_view kStopped =
    R"($q bool group_stopped($gconst volatile u32* stop, $su32* stop_seen, u32 lane) {
  $B;
  if (lane == 0) stop_seen[0] = *stop;
  $B;
  return stop_seen[0] != 0;
}
)";

std::string name_of_call(const Inst& inst) {
  const std::string_view type = hologram::name_of(inst.type);
  if (inst.op == Op::GroupUniform) return fmt::format("group_uniform_{}", type);
  return fmt::format("group_{}_{}_{}", inst.op == Op::GroupReduce ? "reduce" : "scan",
                     name_of(static_cast<Combine>(inst.aux)), type);
}

std::string group_function(const Inst& inst, uint32_t lanes, uint32_t lanes_a_thread,
                           const Spelling& language) {
  const bool real = is_float(inst.type);
  const std::string type(hologram::name_of(inst.type));
  Replacements values = {
      {'q', std::string(language.function)},
      {'N', name_of_call(inst)},
      {'T', type},
      {'W', size_of(inst.type) == 8 ? "u64" : "u32"},
      {'s', std::string(language.local)},
      {'B', std::string(language.barrier)},
      {'L', fmt::format("{}u", lanes)},
      {'h', fmt::format("{}u", lanes / 2)},
      {'p', real                      ? "bits_" + type + "(v)"
            : size_of(inst.type) == 8 ? "(u64)v"
                                      : "(u32)v"},
      {'o', real                       ? "as_" + type + "("
            : inst.type == DType::Bool ? "("
                                       : "(" + type + ")("},
      {'x', inst.type == DType::Bool ? " != 0)" : ")"},
  };
  if (inst.op == Op::GroupUniform) return substitute(kUniform, values);
  values.emplace_back('e', expression(operation_of(static_cast<Combine>(inst.aux)), inst.type,
                                      inst.type, {"a", "b"}, language));
  if (inst.op == Op::GroupScan) {
    values.emplace_back('U', language.shuffle_up);
    const bool by_shuffle =
        !language.shuffle_up.empty() && is_integer(inst.type) && lanes % 32 == 0;
    return substitute(by_shuffle ? kScanByShuffle : kScan, values);
  }
  const uint32_t threads = lanes / lanes_a_thread;
  values.emplace_back('c', fmt::format("{}u", threads / 32));
  values.emplace_back('S', language.shuffle);
  const bool by_shuffle = !language.shuffle.empty() && threads >= 32;
  if (lanes_a_thread == 1) return substitute(by_shuffle ? kReduceByShuffle : kReduce, values);
  std::string parameters, names;
  for (uint32_t k = 0; k < lanes_a_thread; k++) {
    const std::string_view comma = k == 0 ? "" : ", ";
    parameters += fmt::format("{}{} v{}", comma, type, k);
    names += fmt::format("{}v{}", comma, k);
  }
  values.emplace_back('k', fmt::format("{}u", lanes_a_thread));
  values.emplace_back('t', fmt::format("{}u", threads));
  values.emplace_back('v', parameters);
  values.emplace_back('i', names);
  return substitute(by_shuffle ? kReduceLanesByShuffle : kReduceLanes, values) +
         substitute(kReduceOwnLanes, values);
}

}  // namespace

std::string group_functions(const program::Module& module, uint32_t lanes_a_thread,
                            const Spelling& language) {
  std::string text;
  std::set<std::string> done;
  for (const Inst& inst : module.body.insts)
    if (inst.op == Op::GroupReduce || inst.op == Op::GroupScan || inst.op == Op::GroupUniform)
      if (done.insert(name_of_call(inst)).second)
        text += group_function(inst, module.lanes(), lanes_a_thread, language) + "\n";
  return text;
}

std::string stop_function(const Spelling& language) {
  return substitute(kStopped, {{'q', std::string(language.function)},
                               {'g', std::string(language.global)},
                               {'s', std::string(language.local)},
                               {'B', std::string(language.barrier)}});
}

std::string group_call(const Inst& inst, const std::string& values) {
  return fmt::format("{}(group_values{}, lane, {})", name_of_call(inst),
                     size_of(inst.type) == 8 ? "64" : "32", values);
}

}  // namespace hologram::dialects
