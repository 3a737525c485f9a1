// Products of narrow elements, bf16, i8, u8 and i16, in tiles: what instructions for them work on,
// AMX's and those of vectors.
//
// A tile has 16 lines of 64 bytes. One of a has 16 rows and as many terms as fit a line; one of b
// has 16 columns: a line of it has words of 32 bits, each as many terms of one column as fit. Both
// matrices are copied into tiles first, with zeros behind their ends. Two panels of tiles side by
// side give a square of d, of 32 rows and columns, in numbers of 32 bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "hologram/dtype.hpp"

namespace hologram::libraries::narrow {

inline constexpr int64_t kLines = 16, kLineBytes = 64, kTileBytes = kLines * kLineBytes;
inline constexpr int64_t kSide = 2 * kLines;           // of a square
inline constexpr int64_t kStepBytes = 2 * kTileBytes;  // of a panel: two tiles of the same terms

// How elements become those of a tile. `Flipped`: their top bits are flipped, so that i8
// are u8 that are 128 larger, and u8 i8 that are 128 less.
enum class Form : uint8_t { Halves, Bytes, FlippedBytes, UpcastI8, UpcastU8 };

constexpr int64_t element_bytes(Form form) { return form == Form::Halves ? 2 : 1; }
constexpr int64_t terms_of_tile(Form form) {
  return form == Form::Bytes || form == Form::FlippedBytes ? 64 : 32;
}

// Rows of a, or columns of b, as they lie in memory.
struct Strip {
  const std::byte* from;
  int64_t step;         // bytes from a row of memory to the next
  bool along_terms;     // rows of memory are those of a, columns of b; or else each is a term
  int64_t side, terms;  // how many rows or columns, of how many terms
};

// Copies them into tiles of a or of b: panels of kSide, so many bytes apart.
struct Copies {
  void (*rows)(Form form, const Strip& a, std::byte* to, int64_t apart);
  void (*columns)(Form form, const Strip& b, std::byte* to, int64_t apart);
  // Whether one of so many bf16 is subnormal.
  bool (*subnormal)(const uint16_t* from, int64_t count);
};
const Copies& copies();

// c[i * ldc + j] of a square, f32 or i32: the products of so many steps of two panels, added to
// what it holds or set. `high` and `wide`: more than the first 16 rows, columns, are asked for.
struct Square {
  const std::byte *a, *b;
  int64_t steps;
  bool add, high, wide;
  std::byte* c;
  int64_t ldc;
};

// When a kernel is faster than what else there is: libraries, products of f32 copies.
enum class Pays : uint8_t { Always, WithoutLibrary, Never };

// For one pair of types and some instructions of this processor.
struct Kernel {
  std::string_view name;
  DType a, b;
  Form form_a, form_b;
  Pays pays;
  bool (*there)();
  void (*multiply)(const Square& square);
  // Around the squares that a thread computes in one go; null if nothing is to be done.
  void (*begin)();
  void (*end)();
  bool flushes = false;  // takes subnormal elements, and sums, for 0
};

// Best first. Sums are of f32 for bf16, and of i32, which wrap, for integers.
std::span<const Kernel> x86_kernels();   // AMX; vectors of bf16 and of bytes
std::span<const Kernel> pair_kernels();  // vectors of pairs of i16 and, of f32, of bf16

}  // namespace hologram::libraries::narrow
