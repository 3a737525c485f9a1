// What is used of LAPACK's Fortran interface, with 32-bit sizes. Matrices are column-major. Behind
// the arguments stand the lengths of those that are characters, as Fortran compilers pass them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hologram::libraries::lapack {

using Int = int32_t;

template <class T>
using Getrf = void(const Int* m, const Int* n, T* a, const Int* lda, Int* pivots, Int* info);
template <class T>
using Gesv = void(const Int* n, const Int* columns, T* a, const Int* lda, Int* pivots, T* b,
                  const Int* ldb, Int* info);
template <class T>
using Potrf = void(const char* triangle, const Int* n, T* a, const Int* lda, Int* info, size_t);
template <class T>
using Geqrf = void(const Int* m, const Int* n, T* a, const Int* lda, T* tau, T* work,
                   const Int* size, Int* info);
template <class T>
using Orgqr = void(const Int* m, const Int* n, const Int* k, T* a, const Int* lda, const T* tau,
                   T* work, const Int* size, Int* info);
template <class T>
using Syevd = void(const char* job, const char* triangle, const Int* n, T* a, const Int* lda,
                   T* values, T* work, const Int* size, Int* integers, const Int* integer_count,
                   Int* info, size_t, size_t);
template <class T>
using Gesdd = void(const char* job, const Int* m, const Int* n, T* a, const Int* lda, T* s, T* u,
                   const Int* ldu, T* vt, const Int* ldvt, T* work, const Int* size, Int* integers,
                   Int* info, size_t);
template <class T>
using Gelsd = void(const Int* m, const Int* n, const Int* columns, T* a, const Int* lda, T* b,
                   const Int* ldb, T* s, const T* cutoff, Int* rank, T* work, const Int* size,
                   Int* integers, Int* info);

// Member, type, and the routine's name without the letter of its element type.
#define HOLOGRAM_LAPACK(ROW) \
  ROW(getrf, Getrf)          \
  ROW(gesv, Gesv)            \
  ROW(potrf, Potrf)          \
  ROW(geqrf, Geqrf)          \
  ROW(orgqr, Orgqr)          \
  ROW(syevd, Syevd)          \
  ROW(gesdd, Gesdd)          \
  ROW(gelsd, Gelsd)

template <class T>
struct Routines {
#define HOLOGRAM_MEMBER(name, Type) Type<T>* name = nullptr;
  HOLOGRAM_LAPACK(HOLOGRAM_MEMBER)
#undef HOLOGRAM_MEMBER
};

}  // namespace hologram::libraries::lapack
