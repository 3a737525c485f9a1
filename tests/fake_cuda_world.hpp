// What the parts of the emulated driver share.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "emulated/executor.hpp"
#include "emulated/kernel_library.hpp"
#include "emulated/streams.hpp"
#include "fake_cuda.hpp"
#ifdef EMULATES_HIP
#include "fake_hip_names.hpp"
#else
#include "fake_cuda_names.hpp"
#endif

// NOLINTBEGIN(readability-identifier-naming, bugprone-macro-parentheses, performance-no-int-to-ptr)
namespace hologram::fake {

using namespace backends::driver;

struct Failure {
  int skip, count, status;
};

struct Allocation {
  size_t bytes;
  Context context;
  bool host;
};

// A launch: what is recorded of it, and what runs where kernels are executed.
struct KernelRun {
  Ran ran{};
  emulated::Launch launch{};
};

// Of a graph: a kernel, or other work, or a graph.
struct Node {
  KernelRun kernel{};
  std::function<void()> call{};
  std::vector<Node> children{};
  bool is_graph = false;
};

struct Object {
  std::string kind;  // "stream", "event", "module", "graph", "ready graph"
  Context context;
  unsigned flags = 0;
  double recorded = -1;      // of an event: when, in milliseconds
  std::vector<Node> nodes;   // of a graph, or what a stream's capture has so far
  bool captures = false;     // of a stream
  bool awaits_edge = false;  // of a graph: its last node has yet to be told what it comes after
  uint64_t code = 0;         // of a module: what it was compiled from
  const emulated::Kernel* kernel = nullptr;  // of a module, where kernels are executed
  emulated::Streams::Ticket ticket = 0;      // of an event: its record
};

inline constexpr int kLaunchFailed = 719;  // CUDA_ERROR_LAUNCH_FAILED
inline constexpr int kCodeRounds = 12;     // times that the text's number stands in its code
// What code begins with; that of kernels to be executed ends with their text.
inline constexpr char kRecorded[] = "fake", kExecuted[] = "text";

struct World {
  std::recursive_mutex mutex;
  std::map<std::string, int> calls;
  std::map<std::string, Failure> failures;
  std::map<Address, Allocation> memory;
  std::map<uintptr_t, Object> objects;
  uintptr_t next = 1000;
  int foreign_contexts = 0;
  std::vector<DeviceNumber> active;  // devices whose primary context is there
  FakeCuda::Hang hang = FakeCuda::Never;
  FakeCuda::Hang running = FakeCuda::Never;  // the last launch
  double clock = 0;                          // milliseconds that kernels took
  size_t copied = 0;                         // bytes that a kernel copies
  int marks = -1;                            // which argument it writes to
  std::vector<Ran> ran;
  std::string options;
  std::map<uintptr_t, std::string> texts;                        // being compiled
  std::string log = "program.cu(1): error: injected\n  here\n";  // of what does not compile
  uint64_t loaded = 0;                         // what the newest module was compiled from
  emulated::KernelLibrary* kernels = nullptr;  // null: they are recorded, not executed
  emulated::Executor executor;
  emulated::Streams streams;
  std::atomic<int> lost = 0;  // what every call gives since a kernel failed
};

World& world();
// PREFIX_SETTING of the environment: null or `otherwise` if it is not set.
const char* setting_of(const char* setting);
int number_from(const char* setting, int otherwise);
// What every call begins with: 0, or the status that it is to give.
int enter(const char* name);
bool uses_the_context(std::string_view name);  // so that after a failed kernel it fails, too
Context current();                             // null: none
int depth();                                   // contexts that were entered and not left
// The primary one, of the first device 7. Others are hundreds more.
inline Context context_of(DeviceNumber device) {
  return reinterpret_cast<Context>(static_cast<uintptr_t>(device - kFirstDevice + 7));
}
inline DeviceNumber device_of(Context context) {
  return static_cast<DeviceNumber>(reinterpret_cast<uintptr_t>(context) % 100) - 7 + kFirstDevice;
}
bool is_stream(NativeStream stream);
// The allocation that all of these bytes are in; null: none.
const std::pair<const Address, Allocation>* around(const World& w, Address address, size_t bytes);
// Whether the work is taken down, as the stream is being captured.
bool taken_down(NativeStream stream, Node work);
// Takes it down, or does it when the stream comes to it. `kind` says whether it runs kernels.
emulated::Streams::Ticket put(NativeStream stream, std::function<void()> work,
                              emulated::Streams::Kind kind = emulated::Streams::Kind::Any);
int copy_peer(World& w, Address to, Context to_context, Address from, Context from_context,
              size_t bytes, NativeStream stream);
int start(World& w, Function function, unsigned blocks, unsigned threads, NativeStream stream,
          void** parameters);
void run(World& w, const KernelRun& kernel);
// Whether a word of the host that a kernel may look at is 1.
bool has_raised_word(const World& w);
KernelRun kernel_of(Function function, unsigned blocks, unsigned threads, void** parameters);
// Null: kernels are recorded and not executed.
void execute(World& w, const Execution* how);

template <class Handle>
Handle handle(uintptr_t number) {
  return reinterpret_cast<Handle>(number);
}
// A new object in the current context.
template <class Handle>
int make(Handle* made, const char* kind, unsigned flags = 0) {
  World& w = world();
  if (current() == nullptr) return 201;
  *made = handle<Handle>(w.next);
  Object& object = w.objects[w.next++];
  object.kind = kind;
  object.context = current();
  object.flags = flags;
  return 0;
}
template <class Handle>
Object* find(Handle which, const char* kind) {
  const auto found = world().objects.find(reinterpret_cast<uintptr_t>(which));
  return found == world().objects.end() || found->second.kind != kind ? nullptr : &found->second;
}
template <class Handle>
int destroy(Handle which, const char* kind) {
  if (find(which, kind) == nullptr) return 400;
  world().objects.erase(reinterpret_cast<uintptr_t>(which));
  return 0;
}

// What is emulated is what is called: with other types this would be an error.
#define DECLARE(member, symbol) \
  extern "C" std::remove_pointer_t<decltype(DriverFunctions::member)> symbol;
EMULATED_FUNCTIONS(DECLARE)
#undef DECLARE

#define ENTER                                                  \
  if (const int status = fake::enter(__func__)) return status; \
  fake::World& w = fake::world();                              \
  const std::lock_guard lock(w.mutex)

}  // namespace hologram::fake
// NOLINTEND(readability-identifier-naming, bugprone-macro-parentheses, performance-no-int-to-ptr)
