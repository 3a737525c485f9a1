// One row a language: everything that is not the same in all of them.
#include <algorithm>
#include <array>

#include "core/messages.hpp"
#include "dialects/spelling.hpp"
#include "hologram/dialects.hpp"

namespace hologram::dialects {
namespace {

constexpr std::string_view kCTypes =
    "typedef signed char i8;\ntypedef unsigned char u8;\n"
    "typedef short i16;\ntypedef unsigned short u16;\n"
    "typedef int i32;\ntypedef unsigned int u32;\n"
    "typedef long long i64;\ntypedef unsigned long long u64;\n"
    "typedef float f32;\n";

constexpr std::string_view kOpenClTypes =
    "#pragma OPENCL FP_CONTRACT OFF\n"
    "typedef char i8;\ntypedef uchar u8;\ntypedef short i16;\ntypedef ushort u16;\n"
    "typedef int i32;\ntypedef uint u32;\ntypedef long i64;\ntypedef ulong u64;\n"
    "typedef float f32;\n";

constexpr std::string_view kMetalTypes =
    "#include <metal_stdlib>\nusing namespace metal;\n"
    "#pragma clang fp contract(off)\n"
    "typedef char i8;\ntypedef uchar u8;\ntypedef short i16;\ntypedef ushort u16;\n"
    "typedef int i32;\ntypedef uint u32;\ntypedef long i64;\ntypedef ulong u64;\n"
    "typedef float f32;\n";

Spelling cuda() {
  return {
      .language = Language::Cuda,
      .name = "cuda",
      .title = "CUDA C",
      .prelude = kCTypes,
      .f64 = "typedef double f64;\n",
      .function = "static __device__ __forceinline__",
      .kernel = "extern \"C\" __global__ void __launch_bounds__($n$b)",
      .global = "",
      .local = "",
      .declare_local = "__shared__ __attribute__((aligned(16)))",
      .restrict = " __restrict__",
      .thread = "threadIdx.x",
      .block = "blockIdx.x",
      .blocks = "gridDim.x",
      .ids = "",
      .barrier = "__syncthreads()",
      // The next kernel may start when all blocks of this one have. Said before the wait, kernels
      // would queue up on the device and take each other's room.
      .wait =
          "#if __CUDA_ARCH__ >= 900\n"
          "  $easm volatile(\"griddepcontrol.wait;\" ::: \"memory\");\n$p"
          "  asm volatile(\"griddepcontrol.launch_dependents;\");\n#endif\n",
      .settle =
          "#if __CUDA_ARCH__ >= 900\n  asm volatile(\"griddepcontrol.wait;\" ::: \"memory\");\n"
          "#endif\n",
      // It stays known that it points to global memory.
      .after =
          "  {\n    size_t address = __cvta_generic_to_global($x);\n"
          "    asm volatile(\"\" : \"+l\"(address));\n"
          "    $x = (decltype($x))__cvta_global_to_generic(address);\n  }\n",
      .anew = "anew($x);",
      .shuffle = "__shfl_down_sync(0xffffffffu, v, d)",
      .shuffle_up = "__shfl_up_sync(0xffffffffu, v, d)",
      .atomic = "atomic$k($p, $a)",
      .atomics = {"Add", "", "Min", "Max", "And", "Or", "Xor", "Exch"},
      .atomic_types = {"i32", "u32"},
      .float_suffix = "f",
      .long_suffix = "LL",
      .offsets = false,
      .structure = false,
      .words = {"u32", "uint2", "uint4"},
      .flags = {"--fmad=false", "--ftz=false", "--prec-div=true", "--prec-sqrt=true"},
  };
}

Spelling hip() {
  Spelling row = cuda();
  row.language = Language::Hip;
  row.name = "hip";
  row.title = "HIP";
  row.kernel = "extern \"C\" __global__ void __launch_bounds__($n)";
  row.wait = row.settle = row.after = row.anew = "";
  row.shuffle = row.shuffle_up = "";  // waves of 32 and of 64 lanes are spelled apart
  row.flags = {"-ffp-contract=off", "-fno-fast-math", "-fno-gpu-flush-denormals-to-zero"};
  return row;
}

Spelling opencl() {
  return {
      .language = Language::OpenCl,
      .name = "opencl",
      .title = "OpenCL C 1.2",
      .prelude = kOpenClTypes,
      .f64 = "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\ntypedef double f64;\n",
      .function = "static inline",
      .kernel = "__kernel __attribute__((reqd_work_group_size($n, 1, 1))) void",
      .global = "__global ",
      .local = "__local ",
      // PoCL 3.1 gives arrays of large kernels one place for all groups, whose threads then race.
      .declare_local = "",
      .restrict = " restrict",
      .thread = "get_local_id(0)",
      .block = "get_group_id(0)",
      .blocks = "get_num_groups(0)",
      .ids = "",
      .barrier = "barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)",
      .wait = "",
      .settle = "",
      .after = "",
      .anew = "",
      .shuffle = "",
      .shuffle_up = "",
      .atomic = "atomic_$k($p, $a)",
      .atomics = {"add", "", "min", "max", "and", "or", "xor", "xchg"},
      .atomic_types = {"i32", "u32"},
      .float_suffix = "",
      .long_suffix = "L",
      .offsets = true,
      .structure = false,
      .words = {"u32", "uint2", "uint4"},
      .flags = {"-cl-std=CL1.2", "-cl-fp32-correctly-rounded-divide-sqrt"},
  };
}

Spelling metal() {
  return {
      .language = Language::Metal,
      .name = "metal",
      .title = "Metal",
      .prelude = kMetalTypes,
      .f64 = "",
      .function = "static inline",
      .kernel = "kernel void",
      .global = "device ",
      .local = "threadgroup ",
      .declare_local = "threadgroup",
      .restrict = "",
      .thread = "thread_number",
      .block = "block_number",
      .blocks = "block_count",
      .ids =
          "u32 thread_number [[thread_position_in_threadgroup]],\n"
          "    u32 block_number [[threadgroup_position_in_grid]],\n"
          "    u32 block_count [[threadgroups_per_grid]]",
      .barrier = "threadgroup_barrier(mem_flags::mem_device | mem_flags::mem_threadgroup)",
      .wait = "",
      .settle = "",
      .after = "",
      .anew = "",
      .shuffle = "",
      .shuffle_up = "",
      .atomic = "atomic_$k_explicit($p, $a, memory_order_relaxed)",
      .atomics = {"fetch_add", "", "fetch_min", "fetch_max", "fetch_and", "fetch_or", "fetch_xor",
                  "exchange"},
      .atomic_types = {"atomic_int", "atomic_uint"},
      .float_suffix = "",
      .long_suffix = "L",
      .offsets = false,
      .structure = true,
      .words = {},
      .flags = {"-fno-fast-math", "-ffp-contract=off"},
  };
}

// It shares nothing with the others but its name: see wgsl.hpp.
Spelling wgsl() {
  Spelling row = {};
  row.language = Language::Wgsl;
  row.name = "wgsl";
  row.title = "WGSL";
  return row;
}

using Rows = std::array<Spelling, kLanguages.size()>;
const Rows& rows() {
  static const auto* const table = new Rows{cuda(), opencl(), hip(), metal(), wgsl()};
  return *table;
}

}  // namespace

const Spelling& spelling(Language language) { return rows()[static_cast<size_t>(language)]; }

std::string_view name_of(Language language) { return spelling(language).name; }

std::optional<Language> parse_language(std::string_view name) {
  for (const Spelling& row : rows())
    if (row.name == name) return row.language;
  return std::nullopt;
}

std::vector<std::string> compiler_flags(Language language) {
  const auto& flags = spelling(language).flags;
  return {flags.begin(), flags.end()};
}

}  // namespace hologram::dialects

namespace hologram {

std::span<const std::string_view> dialect_names() {
  static const auto names = [] {
    std::array<std::string_view, std::tuple_size_v<decltype(dialects::kLanguages)>> list;
    for (size_t i = 0; i < list.size(); i++) list[i] = name_of(dialects::kLanguages[i]);
    return list;
  }();
  return names;
}

std::string in_dialect(const Program& program, std::string_view dialect) {
  const auto language = dialects::parse_language(dialect);
  if (!language) {
    std::string known;
    for (const std::string_view name : dialect_names())
      known += (known.empty() ? "" : ", ") + std::string(name);
    throw core::error(core::Text::NoDialect, dialect, known);
  }
  return dialects::print(program, *language, {}).text;
}

}  // namespace hologram
