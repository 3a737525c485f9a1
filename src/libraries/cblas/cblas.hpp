// A library that has the C interface of BLAS: products of f64, and of f32.
#pragma once

#include <string>

#include "libraries/cblas/api.hpp"
#include "libraries/library.hpp"

namespace hologram::libraries::cblas {

class Cblas : public HostLibrary {
 public:
  // `name`: what it is called if it is not there, or does not say.
  Cblas(const core::DynamicLibrary& library, const char* name);
  // OpenBLAS, from where the system or HOLOGRAM_OPENBLAS_LIBRARY says: for what hologram's kernels
  // and oneDNN refuse.
  static const Cblas& openblas();
  // That of a setting: a file, or "auto" for the first of OpenBLAS, MKL, BLIS and Accelerate that
  // the system has. The same object for the same words.
  static const Cblas& named(const std::string& setting);

  std::optional<hal::Refusal> refuses(const hal::GemmDesc& desc) const override;
  std::string routine(const hal::GemmDesc& desc) const override;
  void multiply(const hal::GemmDesc& desc, const Tile& tile) const override;
  bool divides() const override { return get_threads_ != nullptr || set_local_ != nullptr; }
  void begin() const override;
  void end() const override;

 private:
  // Functions of 32-bit sizes, or of 64-bit ones.
  template <class T>
  struct Routine {
    Gemm<T>* narrow = nullptr;
    Gemm<T, int64_t>* wide = nullptr;
  };
  template <class T>
  static void call(const Routine<T>& gemm, const hal::GemmDesc& desc, const Tile& tile);
  void find_openblas(const core::DynamicLibrary& library, GetConfig* config, const char* prefix,
                     const char* suffix);
  void find_mkl(const core::DynamicLibrary& library, GetVersionString* version);
  void find_blis(const core::DynamicLibrary& library, GetVersion* version);
  void find_gemm(const core::DynamicLibrary& library, const std::string& prefix,
                 const std::string& suffix, bool wide);
  bool multiplies_rightly() const;

  Routine<float> f32_;
  Routine<double> f64_;
  GetNumThreads* get_threads_ = nullptr;
  SetNumThreads* set_threads_ = nullptr;
  SetNumThreadsLocal* set_local_ = nullptr;
};

}  // namespace hologram::libraries::cblas
