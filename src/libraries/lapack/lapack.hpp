// LAPACK, opened when it is first needed.
#pragma once

#include "hologram/device.hpp"
#include "libraries/cblas/one_thread.hpp"
#include "libraries/lapack/api.hpp"
#include "libraries/library.hpp"

namespace hologram::libraries::lapack {

inline constexpr const char* kVariable = "HOLOGRAM_LAPACK_LIBRARY";

class Lapack {
 public:
  explicit Lapack(const core::DynamicLibrary& library);
  // From where kVariable says, else OpenBLAS, which has all of it, or the system's LAPACK.
  static const Lapack& instance();

  const LibraryInfo& info() const { return info_; }  // `reason`: why it cannot be used
  template <class T>
  const Routines<T>& routines() const {
    if constexpr (sizeof(T) == 4) return f32_;
    else return f64_;
  }
  cblas::OneThread one_thread() const { return {get_threads_, set_threads_}; }

 private:
  LibraryInfo info_;
  Routines<float> f32_;
  Routines<double> f64_;
  cblas::GetNumThreads* get_threads_ = nullptr;
  cblas::SetNumThreads* set_threads_ = nullptr;
};

}  // namespace hologram::libraries::lapack
