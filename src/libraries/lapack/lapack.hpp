// LAPACK, opened when it is first needed.
#pragma once

#include "hologram/device.hpp"
#include "libraries/lapack/api.hpp"
#include "libraries/library.hpp"
#include "libraries/openblas/one_thread.hpp"

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
  openblas::OneThread one_thread() const { return {get_threads_, set_threads_}; }

 private:
  LibraryInfo info_;
  Routines<float> f32_;
  Routines<double> f64_;
  openblas::GetNumThreads* get_threads_ = nullptr;
  openblas::SetNumThreads* set_threads_ = nullptr;
};

}  // namespace hologram::libraries::lapack
