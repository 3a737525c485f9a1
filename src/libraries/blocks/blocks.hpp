// Products of rows that were rounded to bytes with matrices in blocks, on the processor: the bits
// are those of the Atlas programs.
#pragma once

#include <memory>
#include <optional>

#include "libraries/blocks/kernels.hpp"
#include "libraries/host_plan.hpp"

namespace hologram::libraries::blocks {

std::optional<hal::Refusal> refuses(const hal::BlocksDesc& desc);

// With the best kernels, or with these.
std::shared_ptr<HostPlan> plan(const hal::BytesDesc& desc);
std::shared_ptr<HostPlan> plan(const hal::BytesDesc& desc, const Kernels& kernels);
std::shared_ptr<HostPlan> plan(const hal::BlocksDesc& desc);  // one that is not refused
std::shared_ptr<HostPlan> plan(const hal::BlocksDesc& desc, const Kernels& kernels);

}  // namespace hologram::libraries::blocks
