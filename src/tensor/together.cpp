// Operands of several executors meet on one.
#include <fmt/format.h>

#include <atomic>
#include <climits>

#include "core/log.hpp"
#include "core/messages.hpp"
#include "engine/context.hpp"
#include "tensor/access.hpp"

namespace hologram::tensor {

using core::Text;
using graph::Context;

namespace {

// The device's name, with its number where the other one has the same name.
std::string place_of(const Executor& executor, const Executor& other) {
  const DeviceInfo &info = executor.device(), &beside = other.device();
  if (info.name != beside.name) return info.name;
  return fmt::format("{} ({}:{})", info.name, name_of(info.backend), info.index);
}

// Which backend does the work on operands of several: the CPU, then the others from the last in
// the order of automatic choice.
int claim(const Tensor& tensor) {
  const BackendType backend = context_of(tensor).device().backend;
  return backend == BackendType::Cpu ? INT_MAX : static_cast<int>(backend);
}

bool is_same_device(const Context& a, const Context& b) {
  return a.device().backend == b.device().backend && a.device().index == b.device().index;
}

// A tensor that leaves its device is counted; the first of the process is a warning.
void count_transfer(std::string_view operation, const Tensor& t, Context& to) {
  const Executor from = t.executor(), there = to.handle();
  if (!to.config().allow_transfers || to.config().strict)
    throw core::error(Text::OperandsApart, operation, place_of(from, there), place_of(there, from));
  to.executor().fallbacks++;
  static std::atomic<bool> is_told = false;
  core::log(is_told.exchange(true) ? LogLevel::Debug : LogLevel::Warning,
            fmt::format("{}: a tensor of shape {} goes from {} to {}", operation,
                        to_string(t.shape()), place_of(from, there), place_of(there, from)));
}

}  // namespace

std::vector<Tensor> together(std::string_view operation, std::vector<Tensor> tensors) {
  size_t home = 0;
  bool apart = false;
  for (size_t i = 1; i < tensors.size(); i++) {
    if (&context_of(tensors[i]) == &context_of(tensors[home])) continue;
    apart = true;
    // A single number follows the others.
    if (tensors[i].rank() == 0) continue;
    if (tensors[home].rank() == 0 || claim(tensors[i]) > claim(tensors[home])) home = i;
  }
  if (!apart) return tensors;
  Context& context = context_of(tensors[home]);
  const Executor to = tensors[home].executor();
  for (Tensor& t : tensors) {
    if (&context_of(t) == &context) continue;
    // Two executors of one device share its memory, or copy there.
    if (t.rank() != 0 && !is_same_device(context_of(t), context))
      count_transfer(operation, t, context);
    t = t.to(to);
  }
  return tensors;
}

}  // namespace hologram::tensor
