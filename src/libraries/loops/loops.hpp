// Order, running sums, places of elements and transposed copies by loops of our own on the
// processor: bit for bit what the programs make that all devices have for them
// (algorithms/sort.cpp, select.cpp, scan.cpp, nonzero.cpp, index.cpp; any kernel that only
// copies), which are many small launches, or read memory across its lines.
#pragma once

#include "libraries/host_plan.hpp"

namespace hologram::libraries::loops {

// Why the loops do not take it.
std::optional<hal::Refusal> refuses(const hal::OrderDesc& desc);
std::optional<hal::Refusal> refuses(const hal::ScanDesc& desc);
std::optional<hal::Refusal> refuses(const hal::CopyDesc& desc);

// What is not refused, on so many threads.
std::shared_ptr<HostPlan> plan(const hal::OrderDesc& desc, int threads);
std::shared_ptr<HostPlan> plan(const hal::SearchDesc& desc);
std::shared_ptr<HostPlan> plan(const hal::NonzeroDesc& desc);
std::shared_ptr<HostPlan> plan(const hal::ScanDesc& desc);
std::shared_ptr<HostPlan> plan(const hal::IndexDesc& desc);
std::shared_ptr<HostPlan> plan(const hal::CopyDesc& desc);

}  // namespace hologram::libraries::loops
