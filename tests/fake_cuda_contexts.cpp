// What the emulated CUDA driver has in another form than the emulated HIP: contexts, and kernels
// that are started early.
#include <algorithm>
#include <iterator>
#include <map>
#include <string_view>

#include "fake_cuda_world.hpp"

// NOLINTBEGIN(readability-identifier-naming, performance-no-int-to-ptr)
namespace hologram::fake {
namespace {

// Without a destructor: executors of static storage go after the thread's objects.
thread_local Context t_contexts[16];
thread_local size_t t_depth = 0;

constexpr std::string_view kOfContexts[] = {"cuMem",   "cuLaunch", "cuStream",        "cuEvent",
                                            "cuGraph", "cuModule", "cuCtxSynchronize"};

int capability() { return number_from("CAPABILITY", 90); }

}  // namespace

Context current() { return t_depth == 0 ? nullptr : t_contexts[t_depth - 1]; }
int depth() { return static_cast<int>(t_depth); }

bool uses_the_context(std::string_view name) {
  return std::any_of(
      std::begin(kOfContexts), std::end(kOfContexts),
      [&](std::string_view beginning) { return name.substr(0, beginning.size()) == beginning; });
}

}  // namespace hologram::fake

using namespace hologram;
using namespace hologram::fake;

extern "C" {

int cuDeviceGetAttribute(int* value, int attribute, DeviceNumber) {
  ENTER;
  const std::map<int, int> values = {{kMaxThreads, 1024},
                                     {kMaxShared, 48 << 10},
                                     {kMultiprocessors, 132},
                                     {kIntegrated, 0},
                                     {backends::cuda::kMajor, capability() / 10},
                                     {backends::cuda::kMinor, capability() % 10}};
  *value = values.at(attribute);
  return 0;
}
int cuDevicePrimaryCtxRetain(Context* context, DeviceNumber device) {
  ENTER;
  *context = context_of(device);
  w.active.push_back(device);
  return 0;
}
int cuDevicePrimaryCtxGetState(DeviceNumber device, unsigned*, int* active) {
  ENTER;
  *active = std::count(w.active.begin(), w.active.end(), device) > 0 ? 1 : 0;
  return 0;
}
int cuCtxPushCurrent_v2(Context context) {
  ENTER;
  if (t_depth == std::size(t_contexts)) return 1;
  t_contexts[t_depth++] = context;
  return 0;
}
int cuCtxPopCurrent_v2(Context*) {
  ENTER;
  if (t_depth == 0) return 201;
  t_depth--;
  return 0;
}
int cuCtxEnablePeerAccess(Context peer, unsigned flags) {
  ENTER;
  return flags != 0 ? 1 : peer == nullptr ? 201 : 0;
}
int cuCtxGetDevice(DeviceNumber* device) {
  ENTER;
  if (current() == nullptr) return 201;
  *device = device_of(current());
  return 0;
}
int cuMemcpyPeerAsync(Address to, Context to_context, Address from, Context from_context,
                      size_t bytes, NativeStream stream) {
  ENTER;
  return copy_peer(w, to, to_context, from, from_context, bytes, stream);
}
int cuLaunchKernelEx(const LaunchConfig* config, Function function, void** parameters, void**) {
  ENTER;
  if (config->count != 1 || config->attributes->id != kWaitsItself ||
      config->attributes->value != 1 || config->block_y != 1 || config->grid_y != 1)
    return 1;
  return start(w, function, config->grid_x, config->block_x, config->stream, parameters);
}
int cuStreamGetCtx(NativeStream stream, Context* context) {
  ENTER;
  const Object* found = find(stream, "stream");
  if (found == nullptr) return 400;
  *context = found->context;
  return 0;
}
int cuGetErrorName(int status, const char** text) {
  *text = status == 700            ? "CUDA_ERROR_ILLEGAL_ADDRESS"
          : status == world().lost ? "CUDA_ERROR_LAUNCH_FAILED"
                                   : "CUDA_ERROR";
  return 0;
}
int cuGetErrorString(int status, const char** text) {
  *text = status == 700            ? "an illegal memory access was encountered"
          : status == world().lost ? "unspecified launch failure"
                                   : "an injected failure";
  return 0;
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming, performance-no-int-to-ptr)
