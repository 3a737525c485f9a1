// The transcendental functions on blocks of f32 lanes.
#include "interp/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "interp/kernels_functions_f32.cpp"
#include <hwy/foreach_target.h>

#include "interp/functions-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace hologram::interp::HWY_NAMESPACE {

void fill_functions_f32(KernelTable& table) { fill_functions<float>(table); }

}  // namespace hologram::interp::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hologram::interp {
HOLOGRAM_EXPORT_FILL(fill_functions_f32)
}  // namespace hologram::interp
#endif
