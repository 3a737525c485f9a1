#include "libraries/cudnn/session.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace hologram::libraries::cudnn {

namespace {

constexpr int64_t kMostConfigs = 64;

// NotSupported, too, if it wants more workspace.
Status take(const Session& session, Object config, uint64_t most_workspace,
            std::optional<Engine>& chosen) {
  Object plan(session.library, kPlan);
  plan.set_one(kPlanConfig, config);
  plan.set_one(kPlanHandle, kTypeHandle, session.handle);
  if (const Status status = plan.finish(); status != kSuccess) return status;
  int64_t bytes = 0, count = 0;
  if (const Status status = plan.get(kPlanWorkspace, kTypeInt64, 1, count, &bytes);
      status != kSuccess)
    return status;
  if (bytes < 0 || static_cast<uint64_t>(bytes) > most_workspace) return kNotSupported;
  chosen.emplace(Engine{std::move(config), std::move(plan), static_cast<uint64_t>(bytes)});
  return kSuccess;
}

}  // namespace

hal::Refusal fallback(std::string reason) { return {"cuDNN: " + std::move(reason), true}; }

bool is_not_supported(Status status) {
  return status >= kNotSupported && status < kNotSupported + 1000;
}

std::optional<int> data_type(DType type) {
  switch (type) {
    case DType::F32: return kF32;
    case DType::F64: return kF64;
    case DType::F16: return kF16;
    case DType::BF16: return kBF16;
    default: return std::nullopt;
  }
}

hal::Expected<std::unique_ptr<Session>> open_session(int driver_major) {
  const Cudnn& library = Cudnn::instance(driver_major);
  if (!library.info().reason.empty()) return fallback(library.info().reason);
  auto session = std::make_unique<Session>(library);
  if (const Status status = library->create(&session->handle); status != kSuccess)
    return fallback("it does not start: " + library.text(status));
  return session;
}

Status choose_engine(const Session& session, const Object& graph, uint64_t most_workspace,
                     const std::function<Status(const Object& config)>& judge,
                     std::optional<Engine>& chosen) {
  Status failed = kNotSupported;
  const auto note = [&](Status status) {
    if (!is_not_supported(status)) failed = status;
  };
  for (const int mode : {kModeA, kFallback}) {
    Object heuristic(session.library, kHeuristic);
    heuristic.set_one(kHeuristicGraph, graph);
    heuristic.set_one(kHeuristicMode, kTypeHeuristicMode, mode);
    heuristic.finish();
    int64_t count = 0;
    Status status = heuristic.get(kHeuristicResults, kTypeDescriptor, 0, count, nullptr);
    if (status != kSuccess) {
      note(status);
      continue;
    }
    std::vector<Object> configs;
    std::vector<Descriptor> descriptors;
    for (int64_t i = 0; i < std::min(count, kMostConfigs); i++) {
      configs.emplace_back(session.library, kEngineConfig);
      if (configs.back().status() != kSuccess) return configs.back().status();
      descriptors.push_back(configs.back().descriptor());
    }
    if (descriptors.empty()) continue;
    status = heuristic.get(kHeuristicResults, kTypeDescriptor,
                           static_cast<int64_t>(descriptors.size()), count, descriptors.data());
    if (status != kSuccess) {
      note(status);
      continue;
    }
    const auto found = std::clamp<int64_t>(count, 0, static_cast<int64_t>(configs.size()));
    for (size_t i = 0; i < static_cast<size_t>(found); i++) {
      status = judge(configs[i]);
      if (status == kSuccess) status = take(session, std::move(configs[i]), most_workspace, chosen);
      if (status == kSuccess) return status;
      note(status);
    }
  }
  return failed;
}

std::optional<GpuPlan::Failure> execute(const Session& session, const Object& plan,
                                        std::span<const int64_t> numbers,
                                        std::span<void* const> pointers, void* workspace,
                                        void* stream) {
  const Cudnn& library = session.library;
  Object memory(library, kVariantPack);
  memory.set(kPackNumbers, kTypeInt64, numbers);
  memory.set(kPackPointers, kTypePointer, pointers);
  memory.set_one(kPackWorkspace, kTypePointer, workspace);
  Status status = memory.finish();
  if (status == kSuccess) {
    const std::lock_guard lock(session.mutex);
    status = library->set_stream(session.handle, static_cast<NativeStream>(stream));
    if (status == kSuccess)
      status = library->execute(session.handle, plan.descriptor(), memory.descriptor());
  }
  if (status == kSuccess) return {};
  return GpuPlan::Failure{status == kNoHostMemory || status == kNoDeviceMemory,
                          library.text(status)};
}

}  // namespace hologram::libraries::cudnn
