// The library as one device has it, and its engines.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>

#include "hologram/hal/expected.hpp"
#include "libraries/cudnn/cudnn.hpp"
#include "libraries/gpu_plan.hpp"

namespace hologram::libraries::cudnn {

// A handle has one stream at a time.
struct Session {
  explicit Session(const Cudnn& library) : library(library) {}
  const Cudnn& library;
  Handle handle = nullptr;
  mutable std::mutex mutex;  // around calls that use the handle's stream
};

// Why it does not do something that it ought to: counted as a fallback.
hal::Refusal fallback(std::string reason);
bool is_not_supported(Status status);
std::optional<int> data_type(DType type);

// Of a device whose context is current.
hal::Expected<std::unique_ptr<Session>> open_session(int driver_major);

// What computes a graph.
struct Engine {
  Object config, plan;
  uint64_t workspace = 0;
};

// The first engine that `judge` lets pass and that takes the graph, by the library's own order.
Status choose_engine(const Session& session, const Object& graph, uint64_t most_workspace,
                     const std::function<Status(const Object& config)>& judge,
                     std::optional<Engine>& chosen);

// Puts the plan on a stream; `pointers` are those of the tensors of these numbers.
std::optional<GpuPlan::Failure> execute(const Session& session, const Object& plan,
                                        std::span<const int64_t> numbers,
                                        std::span<void* const> pointers, void* workspace,
                                        void* stream);

}  // namespace hologram::libraries::cudnn
