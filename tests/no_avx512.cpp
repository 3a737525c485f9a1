// Loaded before the others, makes Highway, and all that asks it, believe that the processor has
// AVX2 and no more, so that a machine with AVX-512 tests kernels for those without.
#include <hwy/targets.h>

namespace {

// The better a target, the lower its bit.
[[gnu::constructor]] void leave_out() { hwy::DisableTargets(HWY_AVX2 - 1); }

}  // namespace
