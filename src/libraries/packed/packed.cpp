#include "libraries/packed/packed.hpp"

#include <fmt/format.h>

namespace hologram::libraries::packed {
namespace {

template <class T>
Operands<T> operands(const hal::GemmDesc& desc, const Tile& tile) {
  return {.a = reinterpret_cast<const T*>(tile.a),
          .b = reinterpret_cast<const T*>(tile.b),
          .d = reinterpret_cast<T*>(tile.d),
          .lda = desc.lda,
          .ldb = desc.ldb,
          .ldd = desc.ldd,
          .transpose_a = desc.transpose_a,
          .transpose_b = desc.transpose_b,
          .m = tile.m,
          .n = tile.n,
          .k = desc.k};
}

}  // namespace

const Packed& Packed::instance() {
  static const auto* const library = new Packed;
  return *library;
}

std::optional<hal::Refusal> Packed::refuses(const hal::GemmDesc& desc) const {
  if (!all_of_type(desc, DType::F32) && !all_of_type(desc, DType::F64))
    return no_such_product(desc);
  if (kernels().f32 == nullptr)
    return hal::Refusal{"this processor has no fused multiply-add"};
  return {};
}

std::string Packed::routine(const hal::GemmDesc& desc) const {
  return fmt::format("{} product", name_of(desc.a));
}

void Packed::multiply(const hal::GemmDesc& desc, const Tile& tile) const {
  if (desc.a == DType::F32) kernels().f32(operands<float>(desc, tile));
  else kernels().f64(operands<double>(desc, tile));
}

}  // namespace hologram::libraries::packed
