// hologram's own products of f32 and f64 on the processor. They have the bits of the Atlas program
// of libraries/product.hpp, on any number of threads: an element is the sum, from the first to the
// last, of sums of kTermsOfBlock terms, each a chain of fused multiply-adds.
//
// A slice of terms of both matrices is copied first, by panels: rows as many as a rectangle of d is
// high, columns as many as it is wide. Then the rectangles are computed, each in registers. A small
// matrix b is read where it lies, and so is a, if it is multiplied by a few columns.
#pragma once

#include <type_traits>

#include "libraries/accumulation.hpp"
#include "libraries/host_plan.hpp"
#include "libraries/matrix_view.hpp"

namespace hologram::libraries::packed {

inline constexpr int64_t kMostApart = 16, kMostColumns = 32;  // of any kernels
inline constexpr int64_t kFewRows = 3;  // that read the other matrix where it lies

// Rows of a: copied, so that those of a term lie together, or as they lie, so many elements apart.
template <class T>
struct RowsOfA {
  const T* first;
  int64_t apart = 0;  // 0: copied
};

// Terms of as many columns of b as a rectangle has: a term of one panel lies so many elements
// behind the one before, the first of the next panel so many behind the first of this. Columns that
// are fewer than a rectangle's have a panel of their own, of as many.
template <class T>
struct Panels {
  const T* first;
  int64_t term, apart;
  const T* rest;
  bool far = false;     // b as it lies in memory, read for the first time
  T* copies = nullptr;  // then, with rows of a rectangle's height: panels that it is copied into
};

// Bits of f16 and of bf16.
enum class Half : uint16_t {};
enum class BFloat : uint16_t {};

// All terms of up to kFewRows rows of d: a and b as they lie, a's elements so far apart, b `far`
// off if no cache holds it. Of b that is narrower than the others, at least half the columns of a
// rectangle.
template <class T, class B>
using MultiplyRows = void(const T* a, int64_t a_row, int64_t a_term, const B* b, int64_t ldb,
                          int64_t terms, int64_t rows, int64_t columns, bool far, T* d,
                          int64_t ldd);

// to[i * ld_to + j] of so many rows and columns of from[i * ld + j], and zeros to the end of a
// vector.
template <class T, class B>
using Widen = void(const B* from, int64_t ld, int64_t rows, int64_t columns, T* to, int64_t ld_to);

template <class T, class B>
struct Narrow {
  MultiplyRows<T, B>* multiply_rows = nullptr;
  Widen<T, B>* widen = nullptr;
};

// For one type and the best vector instructions of this processor.
template <class T>
struct Kernels {
  int64_t rows;     // of a rectangle
  int64_t apart;    // elements from one term of a panel of a to the next
  int64_t columns;  // of a rectangle
  // to[i * ld_to + j] of so many rows and columns of from[i * ld + j], and zeros to the end of a
  // vector, or, transposed, of from[j * ld + i].
  void (*copy)(const T* from, int64_t ld, bool transposed, int64_t rows, int64_t columns, T* to,
               int64_t ld_to);
  // Adds so many terms to a rectangle's height of rows of d, or sets them.
  void (*multiply)(const RowsOfA<T>& a, const Panels<T>& b, int64_t terms, int64_t rows,
                   int64_t columns, bool add, T* d, int64_t ldd);
  MultiplyRows<T, T>* multiply_rows;
  // Of f32, for narrower matrices; null where there are none.
  Narrow<T, Half> f16 = {};
  Narrow<T, BFloat> bf16 = {};

  template <class B>
  const Narrow<T, B>& narrow() const {
    if constexpr (std::is_same_v<B, Half>) return f16;
    else return bf16;
  }
};

// Null where the processor has no fused multiply-add.
const Kernels<float>* kernels(float);
const Kernels<double>* kernels(double);

// Why a product is not for these kernels.
std::optional<hal::Refusal> refuses(const hal::GemmDesc& desc);
// Whether these kernels take a product whose b alone is of f16 or bf16, or a and b alone.
bool takes_narrow_b(const hal::GemmDesc& desc);
bool takes_narrow(const hal::GemmDesc& desc);
// Of one that is not refused, or that is taken, for so many threads at most.
std::shared_ptr<HostPlan> plan(const hal::GemmDesc& desc, int threads);

}  // namespace hologram::libraries::packed
