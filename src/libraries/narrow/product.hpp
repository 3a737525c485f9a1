// Products of bf16, summed in f32, and of i8, u8 and i16, summed in i32, on processors with
// instructions for them: AMX, vectors of bf16, pairs of i16. Of integers every bit is that of the
// Atlas program; sums of bf16 are as exact, but not the same: terms are added by pairs, and sums
// below f32's smallest normal number may become 0. The instructions for bf16 take subnormal
// elements for 0, too: operands that have any are multiplied as f32.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "libraries/host_plan.hpp"
#include "libraries/narrow/tiles.hpp"

namespace hologram::libraries::narrow {

// All for these operands that run on this processor, best first.
std::vector<const Kernel*> kernels_for(const hal::GemmDesc& desc);

// Why a product is not for them, or not where it pays only without a library.
std::optional<hal::Refusal> refuses(const hal::GemmDesc& desc, Pays pays);
// Of one that is not refused, for so many threads at most, with the best kernel or this one.
std::shared_ptr<HostPlan> plan(const hal::GemmDesc& desc, int threads);
std::shared_ptr<HostPlan> plan(const hal::GemmDesc& desc, const Kernel& kernel, int threads);

}  // namespace hologram::libraries::narrow
