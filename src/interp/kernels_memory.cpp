// Every second, third or fourth element of memory: the channels of interleaved pictures.
#include "interp/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "interp/kernels_memory.cpp"
#include <hwy/foreach_target.h>

#include "interp/map-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace hologram::interp::HWY_NAMESPACE {
namespace {  // the files of kernels share names

template <size_t kStep>
void load_strided(std::byte* out, const std::byte* data, size_t groups) {
  const Tag<uint32_t> d;
  const size_t n = hn::Lanes(d);
  const uint32_t* from = lanes<uint32_t>(data);
  uint32_t* to = lanes<uint32_t>(out);
  for (size_t i = 0; i < groups * kGroup; i += n) {
    hn::Vec<Tag<uint32_t>> first, others[3];
    if constexpr (kStep == 2) hn::LoadInterleaved2(d, from + i * kStep, first, others[0]);
    if constexpr (kStep == 3)
      hn::LoadInterleaved3(d, from + i * kStep, first, others[0], others[1]);
    if constexpr (kStep == 4)
      hn::LoadInterleaved4(d, from + i * kStep, first, others[0], others[1], others[2]);
    hn::StoreU(first, d, to + i);
  }
}

}  // namespace

void fill_memory(KernelTable& table) {
  table.strided[2] = load_strided<2>;
  table.strided[3] = load_strided<3>;
  table.strided[4] = load_strided<4>;
}

}  // namespace hologram::interp::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hologram::interp {
HOLOGRAM_EXPORT_FILL(fill_memory)
}
#endif
