#include "openblas.hpp"

#include <string_view>

#include "core/dynamic_library.hpp"
#include "libraries/cblas/api.hpp"

namespace openblas {
namespace {

using namespace hologram::libraries::cblas;

using Gemv = void(int order, int transpose, int m, int n, float alpha, const float* a, int lda,
                  const float* x, int step_x, float beta, float* y, int step_y);

struct Opened {
  hologram::core::DynamicLibrary file{{"libopenblas.so.0"}};
  Gemm<float>* sgemm = file.get<Gemm<float>>("cblas_sgemm");
  Gemm<double>* dgemm = file.get<Gemm<double>>("cblas_dgemm");
  Gemv* sgemv = file.get<Gemv>("cblas_sgemv");
  SetNumThreads* set_threads = file.get<SetNumThreads>("openblas_set_num_threads");
  GetNumThreads* get_threads = file.get<GetNumThreads>("openblas_get_num_threads");
  GetConfig* config = file.get<GetConfig>("openblas_get_config");
  bool there = sgemm != nullptr && dgemm != nullptr && sgemv != nullptr && set_threads != nullptr &&
               get_threads != nullptr && config != nullptr;

  static const Opened& with(size_t threads) {
    const Opened& opened = instance();
    const auto count = static_cast<int>(threads);
    if (opened.get_threads() != count) opened.set_threads(count);
    return opened;
  }
  static const Opened& instance() {
    static const auto* const opened = new Opened;
    return *opened;
  }
};

template <class T>
void product(Gemm<T>* gemm, const void* a, const void* b, void* out, size_t side) {
  const auto n = static_cast<int>(side);
  gemm(kRowMajor, kPlain, kPlain, n, n, n, 1, static_cast<const T*>(a), n, static_cast<const T*>(b),
       n, 0, static_cast<T*>(out), n);
}

void matmul_loop(const float* const* in, float* out, size_t, size_t threads, size_t side) {
  product(Opened::with(threads).sgemm, in[0], in[1], out, side);
}

void matmul_f64_loop(const float* const* in, float* out, size_t, size_t threads, size_t side) {
  product(Opened::with(threads).dgemm, in[0], in[1], out, side);
}

template <int transpose>
void with_vector(const float* const* in, float* out, size_t, size_t threads, size_t side) {
  const auto n = static_cast<int>(side);
  Opened::with(threads).sgemv(kRowMajor, transpose, n, n, 1, in[0], n, in[1], 1, 0, out, 1);
}

Loop where_there(Loop loop) { return Opened::instance().there ? loop : nullptr; }

}  // namespace

std::string version() {
  if (!Opened::instance().there) return {};
  // "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH …"
  const std::string_view text = Opened::instance().config();
  return std::string(text.substr(0, text.find(' ', text.find(' ') + 1)));
}

Loop matmul() { return where_there(matmul_loop); }
Loop matmul_f64() { return where_there(matmul_f64_loop); }
Loop vector_matrix() { return where_there(with_vector<kTransposed>); }
Loop matrix_vector() { return where_there(with_vector<kPlain>); }

}  // namespace openblas
