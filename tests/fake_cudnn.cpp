// A cuDNN for machines without a GPU, beside the driver of fake_cuda.cpp, whose memory is the
// host's: convolutions are plain loops in double. It holds its caller to what the real one asks
// for: every attribute with its type and number of elements, descriptors that are finished before
// others speak of them, sizes that go together, the alignment that was promised, the workspace that
// was asked for, a context that is current. Engines that hologram may not use give wrong results.
#include "fake_cudnn.hpp"

#include <algorithm>
#include <array>
#include <type_traits>
#include <vector>

#include "fake_library.hpp"
#include "libraries/cudnn/api.hpp"

// Names and types are the vendor's.
// NOLINTBEGIN(readability-identifier-naming, bugprone-macro-parentheses)
namespace hologram::libraries::cudnn {
struct CudnnHandle {
  NativeStream stream = nullptr;
};
}  // namespace hologram::libraries::cudnn

namespace {

using namespace hologram;
using namespace hologram::libraries::cudnn;

constexpr Status kBadParameter = 2000;

struct Engine {
  int mode;   // of the heuristics that propose it
  bool runs;  // its plans can be made
  bool right;
  int64_t workspace;
  std::vector<int> notes;
};
const std::vector<Engine>& engines() {
  static const auto* const all = new std::vector<Engine>{
      {kModeA, false, true, 0, {}},
      {kModeA, true, false, 0, {kWinograd, kWinograd4}},
      {kModeA, true, false, 0, {kNondeterministic}},
      {kModeA, true, false, 0, {kFourier}},
      {kModeA, true, false, 0, {kTensorCore, kReducedSums}},
      {kModeA, true, false, int64_t{1} << 40, {}},
      {kModeA, true, true, 512, {kTensorCore}},
      {kFallback, true, false, 0, {kDownConverts, kTensorCore}},
      {kFallback, true, true, 0, {}},
  };
  return *all;
}

struct Attribute {
  int type;
  int64_t count;
  std::vector<std::byte> bytes;
};
struct Thing {
  int kind = 0;
  bool finished = false;
  std::map<int, Attribute> attributes;
  int engine = -1;               // of an engine or its configuration
  const Thing* graph = nullptr;  // of a configuration
};

struct World : fake::Calls {
  std::vector<Thing*> things;
  bool refuses = false;
  int major = 9, cuda = 12, engine = -1;
};
World& world() {
  static auto* const instance = new World;
  return *instance;
}
#define ENTER                          \
  World& w = world();                  \
  const std::lock_guard lock(w.mutex); \
  if (const int status = w.enter(__func__)) return status

int refuse(const std::string& what) { return world().refuse(what, kBadParameter); }

// What each kind of descriptor has to be told: the type, and how many there are.
struct Wanted {
  int kind, attribute, type;
  int64_t count;
};
constexpr Wanted kWanted[] = {
    {kTensor, kTensorType, kTypeData, 1},
    {kTensor, kTensorLengths, kTypeInt64, 4},
    {kTensor, kTensorStrides, kTypeInt64, 4},
    {kTensor, kTensorNumber, kTypeInt64, 1},
    {kTensor, kTensorAlignment, kTypeInt64, 1},
    {kConvolution, kSpatialAxes, kTypeInt64, 1},
    {kConvolution, kComputeType, kTypeData, 1},
    {kConvolution, kConvolutionMode, kTypeMode, 1},
    {kConvolution, kDilations, kTypeInt64, 2},
    {kConvolution, kStrides, kTypeInt64, 2},
    {kConvolution, kPaddingBefore, kTypeInt64, 2},
    {kConvolution, kPaddingBehind, kTypeInt64, 2},
    {kForward, kForwardConvolution, kTypeDescriptor, 1},
    {kForward, kForwardX, kTypeDescriptor, 1},
    {kForward, kForwardW, kTypeDescriptor, 1},
    {kForward, kForwardY, kTypeDescriptor, 1},
    {kForward, kForwardAlpha, -1, 1},
    {kForward, kForwardBeta, -1, 1},
    {kGraph, kGraphOperations, kTypeDescriptor, 1},
    {kGraph, kGraphHandle, kTypeHandle, 1},
    {kHeuristic, kHeuristicGraph, kTypeDescriptor, 1},
    {kHeuristic, kHeuristicMode, kTypeHeuristicMode, 1},
    {kPlan, kPlanConfig, kTypeDescriptor, 1},
    {kPlan, kPlanHandle, kTypeHandle, 1},
    {kVariantPack, kPackNumbers, kTypeInt64, 3},
    {kVariantPack, kPackPointers, kTypePointer, 3},
    {kVariantPack, kPackWorkspace, kTypePointer, 1},
};

size_t bytes_of(int type) {
  switch (type) {
    case kTypeData:
    case kTypeMode:
    case kTypeHeuristicMode:
    case kTypeNote:
    case kTypeFloat: return 4;
    default: return 8;
  }
}

Thing* thing(Descriptor descriptor) {
  const auto& all = world().things;
  const auto found = std::find(all.begin(), all.end(), static_cast<Thing*>(descriptor));
  return found == all.end() ? nullptr : *found;
}
template <class T, size_t n = 1>
std::array<T, n> read(const Thing& of, int attribute) {
  std::array<T, n> values{};
  const auto found = of.attributes.find(attribute);
  if (found != of.attributes.end())
    std::memcpy(values.data(), found->second.bytes.data(),
                std::min(sizeof values, found->second.bytes.size()));
  return values;
}
Thing* child(const Thing& of, int attribute) { return thing(read<Descriptor>(of, attribute)[0]); }

DType dtype(int type) {
  switch (type) {
    case kF32: return DType::F32;
    case kF64: return DType::F64;
    case kF16: return DType::F16;
    case kBF16: return DType::BF16;
    default: return DType::None;
  }
}

// A tensor: image, channel, row, column; or output, channel, row, column.
struct Tensor {
  DType type;
  std::array<int64_t, 4> lengths, strides;
  int64_t alignment, number;
  explicit Tensor(const Thing& t)
      : type(dtype(read<int>(t, kTensorType)[0])),
        lengths(read<int64_t, 4>(t, kTensorLengths)),
        strides(read<int64_t, 4>(t, kTensorStrides)),
        alignment(read<int64_t>(t, kTensorAlignment)[0]),
        number(read<int64_t>(t, kTensorNumber)[0]) {}
  size_t at(int64_t n, int64_t c, int64_t y, int64_t x) const {
    return static_cast<size_t>(n * strides[0] + c * strides[1] + y * strides[2] + x * strides[3]) *
           fake::element_size(type);
  }
};

struct Forward {
  Tensor x, w, y;
  std::array<int64_t, 2> dilations, strides, before, behind;
  int compute;
  explicit Forward(const Thing& operation)
      : x(*child(operation, kForwardX)),
        w(*child(operation, kForwardW)),
        y(*child(operation, kForwardY)) {
    const Thing& c = *child(operation, kForwardConvolution);
    dilations = read<int64_t, 2>(c, kDilations);
    strides = read<int64_t, 2>(c, kStrides);
    before = read<int64_t, 2>(c, kPaddingBefore);
    behind = read<int64_t, 2>(c, kPaddingBehind);
    compute = read<int>(c, kComputeType)[0];
  }
  bool fits() const {
    if (x.lengths[0] != y.lengths[0] || w.lengths[0] != y.lengths[1] ||
        x.lengths[1] % w.lengths[1] != 0 || y.lengths[1] % (x.lengths[1] / w.lengths[1]) != 0)
      return false;
    for (size_t i = 0; i < 2; i++)
      if ((x.lengths[i + 2] + before[i] + behind[i] - (w.lengths[i + 2] - 1) * dilations[i] - 1) /
                  strides[i] +
              1 !=
          y.lengths[i + 2])
        return false;
    return true;
  }
};
const Thing& operation_of(const Thing& graph) { return *child(graph, kGraphOperations); }

int finish_plan(Thing& plan) {
  const Thing* config = child(plan, kPlanConfig);
  return engines()[static_cast<size_t>(config->engine)].runs && !world().refuses
             ? 0
             : kNotSupported + 2;
}

// Its elements in the order of its lengths.
std::vector<double> elements_of(const Tensor& t, const std::byte* base, bool tf32) {
  std::vector<double> all;
  for (int64_t n = 0; n < t.lengths[0]; n++)
    for (int64_t c = 0; c < t.lengths[1]; c++)
      for (int64_t y = 0; y < t.lengths[2]; y++)
        for (int64_t x = 0; x < t.lengths[3]; x++) {
          const double value = fake::load(t.type, base + t.at(n, c, y, x));
          all.push_back(tf32 ? fake::rounded_to_tf32(value) : value);
        }
  return all;
}

void convolve(const Forward& f, const Engine& engine, const std::array<std::byte*, 3>& memory) {
  const bool tf32 = f.x.type == DType::F32 && !engine.notes.empty();
  const std::vector<double> image = elements_of(f.x, memory[0], tf32),
                            filters = elements_of(f.w, memory[1], tf32);
  const int64_t channels = f.w.lengths[1], height = f.x.lengths[2], width = f.x.lengths[3],
                outputs = f.y.lengths[1] * channels / f.x.lengths[1];  // of a group
  for (int64_t n = 0; n < f.y.lengths[0]; n++)
    for (int64_t o = 0; o < f.y.lengths[1]; o++)
      for (int64_t row = 0; row < f.y.lengths[2]; row++)
        for (int64_t column = 0; column < f.y.lengths[3]; column++) {
          double sum = engine.right ? 0 : 1e4;
          const double* weight = filters.data() + o * channels * f.w.lengths[2] * f.w.lengths[3];
          for (int64_t c = 0; c < channels; c++) {
            const double* plane =
                image.data() + (n * f.x.lengths[1] + o / outputs * channels + c) * height * width;
            for (int64_t i = 0; i < f.w.lengths[2]; i++)
              for (int64_t j = 0; j < f.w.lengths[3]; j++, weight++) {
                const int64_t y = row * f.strides[0] + i * f.dilations[0] - f.before[0],
                              x = column * f.strides[1] + j * f.dilations[1] - f.before[1];
                if (y >= 0 && y < height && x >= 0 && x < width)
                  sum += plane[y * width + x] * *weight;
              }
          }
          fake::store(f.y.type, memory[2] + f.y.at(n, o, row, column), sum);
        }
}

}  // namespace

extern "C" {

int cudnnGetProperty(int which, int* value) {
  ENTER;
  *value = which == kMajor ? w.major : which == kMinor ? 8 : 2;
  return 0;
}
size_t cudnnGetCudartVersion() { return static_cast<size_t>(world().cuda) * 1000; }
const char* cudnnGetErrorString(Status status) {
  return status == 5000 ? "CUDNN_STATUS_EXECUTION_FAILED" : "CUDNN_STATUS";
}
int cudnnCreate(Handle* handle) {
  ENTER;
  if (!fake::has_context()) return refuse("a handle is made without a context");
  *handle = new CudnnHandle;
  return 0;
}
int cudnnSetStream(Handle handle, NativeStream stream) {
  ENTER;
  handle->stream = stream;
  return 0;
}
int cudnnBackendCreateDescriptor(int kind, Descriptor* created) {
  ENTER;
  auto* const made = new Thing;
  made->kind = kind;
  w.things.push_back(made);
  *created = made;
  return 0;
}
int cudnnBackendDestroyDescriptor(Descriptor descriptor) {
  ENTER;
  Thing* const old = thing(descriptor);
  if (old == nullptr) return refuse("what is destroyed is no descriptor");
  w.things.erase(std::find(w.things.begin(), w.things.end(), old));
  delete old;
  return 0;
}
int cudnnBackendSetAttribute(Descriptor descriptor, int attribute, int type, int64_t count,
                             const void* values) {
  ENTER;
  Thing* const t = thing(descriptor);
  if (t == nullptr || t->finished) return refuse("no descriptor, or one that is finished");
  const auto* const wanted = std::find_if(
      std::begin(kWanted), std::end(kWanted),
      [&](const Wanted& one) { return one.kind == t->kind && one.attribute == attribute; });
  if (wanted == std::end(kWanted)) return refuse("a descriptor has no such attribute");
  if (count != wanted->count || (wanted->type >= 0 && type != wanted->type))
    return refuse("an attribute has another type or number of elements");
  const auto* const bytes = static_cast<const std::byte*>(values);
  t->attributes[attribute] = {
      type, count, {bytes, bytes + static_cast<size_t>(count) * bytes_of(type)}};
  if (type == kTypeDescriptor) {
    const Thing* const it = child(*t, attribute);
    if (it == nullptr || (!it->finished && it->kind != kEngineConfig))
      return refuse("a descriptor that is not finished is spoken of");
    if (it->kind == kEngineConfig && it->engine < 0) return refuse("a configuration is empty");
  }
  return 0;
}
int cudnnBackendFinalize(Descriptor descriptor) {
  ENTER;
  Thing* const t = thing(descriptor);
  if (t == nullptr || t->finished) return refuse("no descriptor, or one that is finished");
  for (const Wanted& one : kWanted)
    if (one.kind == t->kind && t->attributes.count(one.attribute) == 0)
      return refuse("an attribute is missing");
  if (t->kind == kTensor && Tensor(*t).type == DType::None) return refuse("a type is unknown");
  if (t->kind == kForward) {
    const Forward f(*t);
    const bool wide = f.compute == kF64;
    if (t->attributes[kForwardAlpha].type != (wide ? kTypeDouble : kTypeFloat) ||
        (wide ? read<double>(*t, kForwardAlpha)[0] - read<double>(*t, kForwardBeta)[0] != 1
              : read<float>(*t, kForwardAlpha)[0] - read<float>(*t, kForwardBeta)[0] != 1))
      return refuse("alpha is not 1, or beta not 0");
    if (!f.fits()) return refuse("sizes do not go together");
  }
  if (t->kind == kPlan) {
    if (!fake::has_context()) return refuse("a plan is made without a context");
    if (const int status = finish_plan(*t)) return status;
  }
  t->finished = true;
  return 0;
}
int cudnnBackendGetAttribute(Descriptor descriptor, int attribute, int type, int64_t most,
                             int64_t* count, void* values) {
  ENTER;
  Thing* const t = thing(descriptor);
  if (t == nullptr) return refuse("that is no descriptor");
  if (t->kind == kHeuristic && attribute == kHeuristicResults && type == kTypeDescriptor) {
    if (!t->finished) return refuse("heuristics are asked before they are finished");
    const int mode = read<int>(*t, kHeuristicMode)[0];
    std::vector<int> found;
    for (size_t i = 0; i < engines().size(); i++)
      if (engines()[i].mode == mode) found.push_back(static_cast<int>(i));
    *count = static_cast<int64_t>(found.size());
    if (values == nullptr) return 0;
    *count = std::min(*count, most);
    for (int64_t i = 0; i < *count; i++) {
      Thing* const config = thing(static_cast<Descriptor*>(values)[i]);
      if (config == nullptr || config->kind != kEngineConfig)
        return refuse("results go to configurations of engines");
      config->engine = found[static_cast<size_t>(i)];
      config->graph = child(*t, kHeuristicGraph);
    }
    return 0;
  }
  if (t->kind == kEngineConfig && attribute == kConfigEngine && type == kTypeDescriptor) {
    Thing* const engine = thing(*static_cast<Descriptor*>(values));
    if (most != 1 || engine == nullptr || engine->kind != kEngine || t->engine < 0)
      return refuse("an engine goes to an engine");
    engine->engine = t->engine;
    *count = 1;
    return 0;
  }
  if (t->kind == kEngine && attribute == kEngineNotes && type == kTypeNote && t->engine >= 0) {
    const auto& notes = engines()[static_cast<size_t>(t->engine)].notes;
    *count = std::min(most, static_cast<int64_t>(notes.size()));
    std::copy_n(notes.begin(), *count, static_cast<int*>(values));
    return 0;
  }
  if (t->kind == kPlan && attribute == kPlanWorkspace && type == kTypeInt64 && t->finished) {
    *static_cast<int64_t*>(values) =
        engines()[static_cast<size_t>(child(*t, kPlanConfig)->engine)].workspace;
    *count = 1;
    return 0;
  }
  return refuse("an attribute cannot be asked for");
}
int cudnnBackendExecute(Handle handle, Descriptor plan, Descriptor memory) {
  ENTER;
  const Thing *p = thing(plan), *m = thing(memory);
  if (handle == nullptr || handle->stream == nullptr || !fake::has_context())
    return refuse("no handle, no stream or no context");
  if (p == nullptr || m == nullptr || !p->finished || !m->finished)
    return refuse("a plan or its memory is not finished");
  const Thing* const config = child(*p, kPlanConfig);
  if (config == nullptr) return refuse("the configuration of a plan is gone");
  const auto numbers = read<int64_t, 3>(*m, kPackNumbers);
  const auto pointers = read<std::byte*, 3>(*m, kPackPointers);
  const Thing* const graph = thing(const_cast<Thing*>(config->graph));
  if (graph == nullptr) return refuse("the graph of a plan is gone");
  const Forward f(operation_of(*graph));
  const Engine& engine = engines()[static_cast<size_t>(config->engine)];
  std::array<std::byte*, 3> operands{};
  const std::array<const Tensor*, 3> tensors = {&f.x, &f.w, &f.y};
  for (size_t i = 0; i < 3; i++) {
    const auto found = std::find(numbers.begin(), numbers.end(), tensors[i]->number);
    if (found == numbers.end()) return refuse("a tensor has no memory");
    operands[i] = pointers[static_cast<size_t>(found - numbers.begin())];
    if (reinterpret_cast<uintptr_t>(operands[i]) % static_cast<size_t>(tensors[i]->alignment) != 0)
      return refuse("an operand is not aligned as was promised");
  }
  auto* const room = read<std::byte*>(*m, kPackWorkspace)[0];
  if (engine.workspace > 0 && room == nullptr) return refuse("there is no workspace");
  fake::do_on(handle->stream, [=, &w, &engine, number = config->engine] {
    if (engine.workspace > 0) std::memset(room, 0x77, static_cast<size_t>(engine.workspace));
    w.engine = number;
    convolve(f, engine, operands);
  });
  return 0;
}

void fake_cudnn(FakeCudnn* control) {
  control->fail = [](const char* name, int skip, int count, int status) {
    world().fail(name, skip, count, status);
  };
  control->calls = [](const char* name) { return world().count(name); };
  control->alive = [] { return static_cast<int>(world().things.size()); };
  control->wrong = [] { return world().wrong.c_str(); };
  control->refuse = [](bool all) { world().refuses = all; };
  control->version = [](int major, int cuda) {
    world().major = major;
    world().cuda = cuda;
  };
  control->engine = [] { return world().engine; };
}

}  // extern "C"

// What is emulated is what is called.
#define SAME(result, member, symbol, parameters) \
  static_assert(std::is_same_v<decltype(&symbol), decltype(Functions::member)>);
HOLOGRAM_CUDNN(SAME)
#undef SAME
// NOLINTEND(readability-identifier-naming, bugprone-macro-parentheses)
