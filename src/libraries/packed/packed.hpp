// hologram's own products of f32 and f64 on the processor, for where no library is installed. They
// have the bits of the Atlas program of libraries/product.hpp: an element is the sum, from the first
// to the last, of sums of kTermsOfBlock terms, each a chain of fused multiply-adds.
#pragma once

#include "libraries/library.hpp"

namespace hologram::libraries::packed {

// One tile of a product; transposed matrices lie by columns.
template <class T>
struct Operands {
  const T* a;
  const T* b;
  T* d;
  int64_t lda, ldb, ldd;
  bool transpose_a, transpose_b;
  int64_t m, n, k;
};

// The kernels for the best vector instructions of this processor; none where it has no fused
// multiply-add.
struct Kernels {
  void (*f32)(const Operands<float>&);
  void (*f64)(const Operands<double>&);
};
const Kernels& kernels();

class Packed : public HostLibrary {
 public:
  Packed() { info_.name = "packed"; }
  static const Packed& instance();

  std::optional<hal::Refusal> refuses(const hal::GemmDesc& desc) const override;
  std::string routine(const hal::GemmDesc& desc) const override;
  void multiply(const hal::GemmDesc& desc, const Tile& tile) const override;
};

}  // namespace hologram::libraries::packed
