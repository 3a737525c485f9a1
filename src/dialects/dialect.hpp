// Atlas programs in the languages of GPUs: text that a driver compiles at run time.
//
// Every language gets the same program, with the interpreter's results bit for bit (a NaN is a NaN,
// whatever its other bits). What a language spells in its own way stands in the table of
// language.cpp, what an instruction is in that of operations.cpp.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hologram/program.hpp"

namespace hologram::dialects {

enum class Language : uint8_t { Cuda, OpenCl, Hip, Metal, Wgsl };
inline constexpr std::array kLanguages = {Language::Cuda, Language::OpenCl, Language::Hip,
                                          Language::Metal, Language::Wgsl};

// What ends a loop that may go on for ever. A stopped lane computes nothing of worth from there on;
// all lanes still come to the end.
enum class Stop : uint8_t {
  None,
  Flag,    // the host raises a flag, which such loops look at every 1,024 rounds; not in WGSL,
           // whose host cannot write to a buffer that a kernel uses
  Budget,  // a lane may go around such loops so many times in all
};

// What of the device the text depends on. Part of the key of what is compiled from it.
struct Options {
  bool f64 = true;   // the device has f64
  bool f16 = false;  // the device converts f16 itself; otherwise bits are taken apart
  Stop stop = Stop::None;
  // A thread may do so many lanes that are neighbours, and then loads and stores 16 bytes at once:
  // 1 to kLanesOfAccess. The results stay the same. Programs with scans, atomics or lanes that
  // return by themselves, with loops that Stop::Budget counts, and Metal keep to one. In WGSL a
  // thread has several if the launch has Printed::multiples, and several of a group that works
  // together never.
  uint32_t lanes_a_thread = 1;
  // The same for programs whose lanes work together, where 32 threads are left of a group.
  uint32_t lanes_a_group_thread = 1;
  // CUDA: groups that work together, and loops that are written out, get no more registers than let
  // so many threads share a multiprocessor (of large groups and such loops 1,024 at most), so that
  // one group computes while another waits for memory. 0: as many as the compiler likes.
  uint32_t min_threads_per_sm = 0;
  // Not WGSL: the compiler is asked to write out short loops that load, so that several rounds'
  // loads are under way at a time.
  bool unroll = false;
  // WGSL: what the device gives. Every one gives what is said here, but for `fused` and `divides`.
  struct WebGpu {
    uint32_t lanes = 256;           // maxComputeInvocationsPerWorkgroup, maxComputeWorkgroupSizeX
    uint32_t shared_bytes = 16384;  // maxComputeWorkgroupStorageSize
    uint32_t storage_buffers = 8;   // maxStorageBuffersPerShaderStage
    // Its fma rounds once, as GPUs do although nothing says so. Devices in software round twice,
    // and functions would be off by far: it is then done with whole numbers, for some 60
    // operations. A test: fma(1 + 2^-23, 1 + 2^-23, -(1 + 2^-22)) is 2^-46 if it rounds once and 0
    // if twice.
    bool fused = true;
    // Its quotients and square roots are rounded correctly, which nothing says either. Where they
    // are not, they are made so, for some 25 operations: a test divides and takes roots.
    bool divides = true;
    // Its compiler makes one fma of a product and a sum, which WGSL cannot forbid: products are fma
    // themselves then, which costs nothing. A test: p * p - (1 + 2^-22) of p = 1 + 2^-23 is 0 if it
    // does not.
    bool contracts = false;
    // Where it is not fused: by pairs of floats, which is less for compilers that take ever longer
    // for the whole numbers, as SwiftShader's does. It rounds once as well, but for products below
    // 2^-100.
    bool pairs = false;
    // The feature shader-f16 is there, and its conversions round to nearest and keep denormals: a
    // test converts. Otherwise bits are taken apart.
    bool halves = false;
    // The language has the products of packed bytes: a test multiplies. Otherwise they are taken
    // apart.
    bool packed = false;
    // The feature subgroups is there, and so many lanes in a row, at most 32, are always of one: a
    // test reduces. Used by programs that reduce more than once. 0: lanes hand values to each other
    // through workgroup memory only.
    uint32_t subgroup = 0;
  } webgpu = {};
};

// One argument of the kernel. Scalar arguments are passed in the size and form of `type`; a bool is
// one byte, 0 or 1.
struct Argument {
  enum class Kind : uint8_t {
    Buffer,      // pointer to the first element
    Offset,      // where the buffer starts, counted in elements from the pointer (OpenCL only)
    Length,      // elements of the buffer
    Scalar,      // the launch's scalar
    Groups,      // workgroups of the whole launch along an axis
    FirstGroup,  // the first workgroup to do, numbered x + groups.x * (y + groups.y * z)
    EndGroup,    // the one after the last: groups.x * groups.y * groups.z, unless a launch is cut
    Stop,    // Stop::Flag: pointer to a u32 that the host makes 1, which it can while the kernel
             // runs. Stop::Budget: pointer to a u32 that is 0 and becomes 1 if a lane ran out.
    Budget,  // Stop::Budget only: rounds that a lane may go
    Local,   // OpenCL only: `place` bytes of workgroup memory
    Early,  // CUDA only: 1 lets the kernel read, though not write, before those in front have ended
    Zero,   // WGSL only: a 0 that compilers do not know; they may take it that every number they
            // know is finite, and that a + b - b is a
  };
  Kind kind = Kind::Buffer;
  uint32_t slot = 0;         // of the buffer or scalar; the axis of Groups
  DType type = DType::None;  // of the value; of the elements for Buffer
  // WGSL: the binding of a Buffer or Stop, and where in the block of parameters anything else
  // stands, in bytes. Of a Local: its bytes.
  uint32_t place = 0;
  bool read_only = false;  // WGSL: how the binding of a buffer is declared
  uint32_t unit = 4;       // WGSL: bytes that the length of a binding is a multiple of
};

// A kernel is launched in one dimension: blocks of `lanes` threads, any number of blocks from 1 on.
// Blocks share out the workgroups from FirstGroup to EndGroup among themselves, `groups` at a time
// each, so that more than (EndGroup - FirstGroup) / groups, rounded up, have nothing to do.
struct Printed {
  std::string
      text;  // a whole translation unit; includes at most what the language's compiler brings
  std::string entry;  // the kernel's name in it
  // In the order of the kernel's parameters. For Metal pointers are [[buffer(0)]] and so on in this
  // order, and all other arguments are the members of one structure, [[buffer(number of
  // pointers)]], in this order, each aligned to its size.
  //
  // For WGSL everything is in @group(0). Buffers, in the program's order, and then Stop are storage
  // buffers, read-only where Argument::read_only says so; the text uses every one of them, so that
  // a pipeline's own layout has them all. Elements narrower than 4 bytes lie several in a word: a
  // binding is as long as its elements, rounded up to its Argument::unit, and at least one element
  // or unit. All other arguments stand in a uniform buffer behind those, each at its `place` and in
  // the size of its type, which is 4 or 8 bytes: lengths, groups and the budget are U32 there, a
  // bool is a U32 of 0 or 1, 64-bit integers have their low word first. Nothing is needed but the
  // limits that Options::webgpu says and WebGPU's defaults for the rest; a dispatch is (blocks, 1,
  // 1).
  std::vector<Argument> arguments;
  uint32_t lanes = 0;
  uint32_t groups = 1;
  uint64_t most_groups = UINT64_MAX;            // that EndGroup may be
  uint32_t block_binding = 0, block_bytes = 0;  // WGSL: of the block of parameters
  // WGSL: a thread has so many lanes, and the text is for launches whose scalars of these slots are
  // multiples of that number.
  uint32_t lanes_a_thread = 1;
  std::vector<uint32_t> multiples;
};

// Bytes that a thread loads and stores at once, so many lanes of the narrowest elements.
inline constexpr uint32_t kLanesOfAccess = 16;

// What is best for Options::lanes_a_group_thread on devices with many threads: two of large groups,
// whose rows fill registers, and of narrow elements beside wide ones; of narrow ones alone as many
// as 8 bytes hold.
uint32_t lanes_a_group_thread(const program::Program& program);

// UnsupportedOperation, naming what the language or device lacks.
Printed print(const program::Program& program, Language language, const Options& options);

// "cuda", "opencl", "hip", "metal", "wgsl".
std::string_view name_of(Language language);
std::optional<Language> parse_language(std::string_view name);

// What the compiler of the language has to be told so that arithmetic is exact.
std::vector<std::string> compiler_flags(Language language);

}  // namespace hologram::dialects
