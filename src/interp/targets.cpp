#include "interp/targets.hpp"

#include <hwy/targets.h>

#include <array>
#include <memory>
#include <mutex>
#include <vector>

namespace hologram::interp {

// One row a file of kernels.
#define HOLOGRAM_FILLS(ROW) \
  ROW(fill_convert)         \
  ROW(fill_float)           \
  ROW(fill_integer)         \
  ROW(fill_memory)          \
  ROW(fill_functions_f32)   \
  ROW(fill_functions_f64)

#define DECLARE(fill) void fill(int64_t hwy, KernelTable& table);
HOLOGRAM_FILLS(DECLARE)
#undef DECLARE

namespace {

constexpr Target kTargets[] = {
    {"avx512", HWY_AVX3}, {"avx2", HWY_AVX2}, {"sse4", HWY_SSE4},
    {"neon", HWY_NEON},   {"wasm", HWY_WASM}, {"scalar", HWY_SCALAR | HWY_EMU128},
};

// The targets of this build that the processor has, with "scalar" narrowed to the one that is
// built.
std::vector<Target> detect() {
  std::vector<Target> found;
  int64_t available = HWY_STATIC_TARGET;
  if constexpr ((HWY_TARGETS) != HWY_STATIC_TARGET) available |= hwy::SupportedTargets();
  for (const Target& t : kTargets)
    if (const int64_t bit = t.hwy & available & (HWY_TARGETS); bit != 0)
      found.push_back({t.name, bit});
  return found;
}

const std::vector<Target>& targets() {
  static const std::vector<Target> found = detect();
  return found;
}

}  // namespace

std::span<const Target> supported_targets() { return targets(); }

std::optional<Target> find_target(std::string_view name) {
  for (const Target& t : targets())
    if (t.name == name) return t;
  return std::nullopt;
}

const KernelTable& kernel_table(const Target& target) {
  struct Slot {
    std::once_flag once;
    std::unique_ptr<KernelTable> table;
  };
  static std::array<Slot, std::size(kTargets)> slots;
  size_t index = 0;
  while (index + 1 < std::size(kTargets) && kTargets[index].name != target.name) ++index;
  Slot& slot = slots[index];
  std::call_once(slot.once, [&] {
    slot.table = std::make_unique<KernelTable>();
#define FILL(fill) fill(target.hwy, *slot.table);
    HOLOGRAM_FILLS(FILL)
#undef FILL
  });
  return *slot.table;
}

}  // namespace hologram::interp
