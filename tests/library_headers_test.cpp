// Our declarations of other libraries' functions against their own headers, where those are
// installed. Compiling is the test.
#include <gtest/gtest.h>

#include <type_traits>

#include "libraries/onednn/api.hpp"
#include "libraries/openblas/api.hpp"

#if __has_include(<oneapi/dnnl/dnnl.h>)
#include <oneapi/dnnl/dnnl.h>
#define HOLOGRAM_HAS_ONEDNN_HEADER
#endif
#if __has_include(<cblas-openblas.h>)
#include <cblas-openblas.h>
#define HOLOGRAM_HAS_OPENBLAS_HEADER
#elif __has_include(<openblas/cblas.h>)
#include <openblas/cblas.h>
#define HOLOGRAM_HAS_OPENBLAS_HEADER
#endif

namespace hologram::libraries {
namespace {

template <class T>
constexpr size_t kSize = sizeof(T);
template <>
constexpr size_t kSize<void> = 0;

// The same to a caller: an enumeration is passed like an integer of its size, a pointer to a
// structure like any other.
template <class Ours, class Theirs>
constexpr bool kSameType = std::is_same_v<std::remove_cv_t<Ours>, std::remove_cv_t<Theirs>> ||
                           (std::is_integral_v<Ours> && std::is_enum_v<Theirs> &&
                            kSize<Ours> == kSize<Theirs>) ||
                           (std::is_pointer_v<Ours> && std::is_pointer_v<Theirs> &&
                            std::is_class_v<std::remove_pointer_t<Ours>> &&
                            std::is_class_v<std::remove_pointer_t<Theirs>>);

template <class Ours, class Theirs>
struct SameCall : std::false_type {};
template <class R, class... P, class S, class... Q>
requires(sizeof...(P) == sizeof...(Q)) struct SameCall<R(P...), S(Q...)>
    : std::bool_constant<(kSameType<R, S> && ... && kSameType<P, Q>)> {
};
static_assert(SameCall<int(char, const float*), int(char, const float*)>::value);
static_assert(!SameCall<int(char, float*), int(char, const float*)>::value);
static_assert(!SameCall<int(int64_t), int(int32_t)>::value);
static_assert(!SameCall<int(int), int(int, int)>::value);

TEST(LibraryHeaders, OneDnn) {
#ifdef HOLOGRAM_HAS_ONEDNN_HEADER
  static_assert(SameCall<onednn::GetVersion, decltype(dnnl_version)>::value);
  static_assert(SameCall<onednn::Sgemm, decltype(dnnl_sgemm)>::value);
  static_assert(SameCall<onednn::Igemm<int8_t>, decltype(dnnl_gemm_s8s8s32)>::value);
  static_assert(SameCall<onednn::Igemm<uint8_t>, decltype(dnnl_gemm_u8s8s32)>::value);
  using Ours = onednn::Version;
  static_assert(sizeof(Ours) == sizeof(dnnl_version_t));
  static_assert(offsetof(Ours, major) == offsetof(dnnl_version_t, major));
  static_assert(offsetof(Ours, patch) == offsetof(dnnl_version_t, patch));
  static_assert(offsetof(Ours, cpu_runtime) == offsetof(dnnl_version_t, cpu_runtime));
  static_assert(onednn::kSequential == DNNL_RUNTIME_SEQ && onednn::kOpenMp == DNNL_RUNTIME_OMP &&
                onednn::kThreadPool == DNNL_RUNTIME_THREADPOOL);
#else
  GTEST_SKIP() << "libdnnl-dev is not installed";
#endif
}

TEST(LibraryHeaders, OpenBlas) {
#ifdef HOLOGRAM_HAS_OPENBLAS_HEADER
  static_assert(SameCall<openblas::Gemm<float>, decltype(cblas_sgemm)>::value);
  static_assert(SameCall<openblas::Gemm<double>, decltype(cblas_dgemm)>::value);
  static_assert(SameCall<openblas::GetConfig, decltype(openblas_get_config)>::value);
  static_assert(SameCall<openblas::GetNumThreads, int()>::value);
  static_assert(SameCall<openblas::SetNumThreads, decltype(openblas_set_num_threads)>::value);
  static_assert(openblas::kRowMajor == CblasRowMajor && openblas::kPlain == CblasNoTrans &&
                openblas::kTransposed == CblasTrans);
#else
  GTEST_SKIP() << "libopenblas-dev is not installed";
#endif
}

}  // namespace
}  // namespace hologram::libraries
