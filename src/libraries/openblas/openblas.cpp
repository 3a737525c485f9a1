#include "libraries/openblas/openblas.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <climits>
#include <string_view>

#include "libraries/openblas/one_thread.hpp"

namespace hologram::libraries::openblas {

OpenBlas::OpenBlas(const core::DynamicLibrary& library) {
  info_.name = "OpenBLAS";
  if (!library.loaded()) {
    info_.reason = fmt::format("not found ({})", library.reason());
    return;
  }
  info_.path = library.path();
  auto* config = library.get<GetConfig>("openblas_get_config");
  sgemm_ = library.get<Gemm<float>>("cblas_sgemm");
  dgemm_ = library.get<Gemm<double>>("cblas_dgemm");
  get_threads_ = library.get<GetNumThreads>("openblas_get_num_threads");
  set_threads_ = library.get<SetNumThreads>("openblas_set_num_threads");
  if (config == nullptr || sgemm_ == nullptr || dgemm_ == nullptr || get_threads_ == nullptr ||
      set_threads_ == nullptr) {
    info_.reason = "not usable (it lacks openblas_get_config, cblas_dgemm or the like)";
    return;
  }
  // "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH …"
  const std::string_view text = config();
  if (text.find("USE64BITINT") != std::string_view::npos) {
    info_.reason = "not usable (it is built with 64-bit sizes)";
    return;
  }
  const size_t first = text.find(' ');
  info_.version = first == std::string_view::npos
                      ? std::string(text)
                      : std::string(text.substr(first + 1, text.find(' ', first + 1) - first - 1));
}

OpenBlas& OpenBlas::instance() {
  static auto* const library =
      new OpenBlas(open("HOLOGRAM_OPENBLAS_LIBRARY", {"libopenblas.so.0"}));
  return *library;
}

std::optional<hal::Refusal> OpenBlas::refuses(const hal::GemmDesc& desc) const {
  if (!info_.reason.empty()) return hal::Refusal{info_.reason};
  if (!all_of_type(desc, DType::F32) && !all_of_type(desc, DType::F64))
    return no_such_product(desc);
  if (std::max({desc.m, desc.n, desc.k, desc.lda, desc.ldb, desc.ldd}) > INT_MAX)
    return hal::Refusal{"a side or stride is more than 2147483647"};
  return {};
}

std::string OpenBlas::routine(const hal::GemmDesc& desc) const {
  return desc.a == DType::F32 ? "sgemm" : "dgemm";
}

void OpenBlas::multiply(const hal::GemmDesc& desc, const Tile& tile) const {
  const auto call = [&]<class T>(Gemm<T>* gemm, T one) {
    gemm(kRowMajor, desc.transpose_a ? kTransposed : kPlain,
         desc.transpose_b ? kTransposed : kPlain, static_cast<int>(tile.m),
         static_cast<int>(tile.n), static_cast<int>(desc.k), one,
         reinterpret_cast<const T*>(tile.a), static_cast<int>(desc.lda),
         reinterpret_cast<const T*>(tile.b), static_cast<int>(desc.ldb), T{0},
         reinterpret_cast<T*>(tile.d), static_cast<int>(desc.ldd));
  };
  if (desc.a == DType::F32) call(sgemm_, 1.0f);
  else call(dgemm_, 1.0);
}

void OpenBlas::begin() const { hold(get_threads_, set_threads_); }
void OpenBlas::end() const { release(set_threads_); }

}  // namespace hologram::libraries::openblas
