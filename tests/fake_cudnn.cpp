// A cuDNN for machines without a GPU, beside the driver of fake_cuda.cpp, whose memory is the
// host's: convolutions are plain loops in double, and so is what fake_cudnn_graphs.cpp makes of
// graphs of several operations. It holds its caller to what the real one asks
// for: every attribute with its type and number of elements, descriptors that are finished before
// others speak of them, sizes that go together, the alignment that was promised, the workspace that
// was asked for, a context that is current. Engines that hologram may not use give wrong results.
#include "fake_cudnn.hpp"

#include <type_traits>

#include "fake_cudnn_graphs.hpp"

// Names and types are the vendor's.
// NOLINTBEGIN(readability-identifier-naming, bugprone-macro-parentheses)
namespace hologram::libraries::cudnn {
struct CudnnHandle {
  NativeStream stream = nullptr;
};
}  // namespace hologram::libraries::cudnn

namespace hologram::fake::cudnn {

World& world() {
  static auto* const instance = new World;
  return *instance;
}

}  // namespace hologram::fake::cudnn

namespace {

using namespace hologram;
using namespace hologram::fake::cudnn;

struct Engine {
  int mode;   // of the heuristics that propose it
  bool runs;  // its plans can be made
  bool right;
  int64_t workspace;  // of graphs: beside what the graph takes
  std::vector<int> notes;
  enum { Convolution, Graph, FastGraph } of = Convolution;
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
      {kModeA, false, true, 0, {}, Engine::FastGraph},
      {kModeA, true, true, int64_t{1} << 40, {kTensorCore}, Engine::FastGraph},
      {kModeA, true, true, 256, {kTensorCore}, Engine::FastGraph},
      {kModeA, true, true, 256, {kTensorCore}, Engine::Graph},
  };
  return *all;
}

#define ENTER                          \
  World& w = world();                  \
  const std::lock_guard lock(w.mutex); \
  if (const int status = w.enter(__func__)) return status

// What each kind of descriptor has to be told: the type, and how many there are.
constexpr int64_t kAny = -1;
struct Wanted {
  int kind, attribute, type;
  int64_t count = 1;
  bool is_optional = false;
};
constexpr Wanted kWanted[] = {
    {kTensor, kTensorType, kTypeData},
    {kTensor, kTensorLengths, kTypeInt64, 4},
    {kTensor, kTensorStrides, kTypeInt64, 4},
    {kTensor, kTensorNumber, kTypeInt64},
    {kTensor, kTensorAlignment, kTypeInt64},
    {kTensor, kTensorVirtual, kTypeBool, 1, true},
    {kTensor, kTensorByValue, kTypeBool, 1, true},
    {kConvolution, kSpatialAxes, kTypeInt64},
    {kConvolution, kComputeType, kTypeData},
    {kConvolution, kConvolutionMode, kTypeMode},
    {kConvolution, kDilations, kTypeInt64, 2},
    {kConvolution, kStrides, kTypeInt64, 2},
    {kConvolution, kPaddingBefore, kTypeInt64, 2},
    {kConvolution, kPaddingBehind, kTypeInt64, 2},
    {kForward, kForwardConvolution, kTypeDescriptor},
    {kForward, kForwardX, kTypeDescriptor},
    {kForward, kForwardW, kTypeDescriptor},
    {kForward, kForwardY, kTypeDescriptor},
    {kForward, kForwardAlpha, -1},
    {kForward, kForwardBeta, -1},
    {kPointwise, kPointwiseMode, kTypePointwiseMode},
    {kPointwise, kPointwiseComputeType, kTypeData},
    {kPointwise, kPointwiseAxis, kTypeInt64, 1, true},
    {kOperationPointwise, kPointwiseDescriptor, kTypeDescriptor},
    {kOperationPointwise, kPointwiseX, kTypeDescriptor},
    {kOperationPointwise, kPointwiseB, kTypeDescriptor, 1, true},
    {kOperationPointwise, kPointwiseT, kTypeDescriptor, 1, true},
    {kOperationPointwise, kPointwiseY, kTypeDescriptor, 1, true},
    {kOperationPointwise, kPointwiseDy, kTypeDescriptor, 1, true},
    {kOperationPointwise, kPointwiseDx, kTypeDescriptor, 1, true},
    {kMatmul, kMatmulComputeType, kTypeData},
    {kOperationMatmul, kMatmulDescriptor, kTypeDescriptor},
    {kOperationMatmul, kMatmulA, kTypeDescriptor},
    {kOperationMatmul, kMatmulB, kTypeDescriptor},
    {kOperationMatmul, kMatmulC, kTypeDescriptor},
    {kReduction, kReductionOperator, kTypeReductionOperator},
    {kReduction, kReductionComputeType, kTypeData},
    {kOperationReduction, kReductionDescriptor, kTypeDescriptor},
    {kOperationReduction, kReductionX, kTypeDescriptor},
    {kOperationReduction, kReductionY, kTypeDescriptor},
    {kOperationReshape, kReshapeX, kTypeDescriptor},
    {kOperationReshape, kReshapeY, kTypeDescriptor},
    {kGraph, kGraphOperations, kTypeDescriptor, kAny},
    {kGraph, kGraphHandle, kTypeHandle},
    {kHeuristic, kHeuristicGraph, kTypeDescriptor},
    {kHeuristic, kHeuristicMode, kTypeHeuristicMode},
    {kPlan, kPlanConfig, kTypeDescriptor},
    {kPlan, kPlanHandle, kTypeHandle},
    {kVariantPack, kPackNumbers, kTypeInt64, kAny},
    {kVariantPack, kPackPointers, kTypePointer, kAny},
    {kVariantPack, kPackWorkspace, kTypePointer},
};

size_t bytes_of(int type) {
  switch (type) {
    case kTypeBool: return 1;
    case kTypeData:
    case kTypeMode:
    case kTypeHeuristicMode:
    case kTypeNote:
    case kTypePointwiseMode:
    case kTypeReductionOperator:
    case kTypeFloat: return 4;
    default: return 8;
  }
}

struct Forward {
  Tensor x, w, y;
  std::array<int64_t, 2> dilations, strides, before, behind;
  int compute;
  explicit Forward(const Thing& operation)
      : x(*child(operation, kForwardX)),
        w(*child(operation, kForwardW)),
        y(*child(operation, kForwardY)) {
    const Thing& c = *child(operation, kForwardConvolution);
    dilations = c.read<int64_t, 2>(kDilations);
    strides = c.read<int64_t, 2>(kStrides);
    before = c.read<int64_t, 2>(kPaddingBefore);
    behind = c.read<int64_t, 2>(kPaddingBehind);
    compute = c.read<int>(kComputeType)[0];
  }
  bool fits() const {
    for (const Tensor* t : {&x, &w, &y})
      if (t->is_virtual || t->by_value || t->type == DType::I32 || t->type == DType::Bool)
        return false;
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

// One convolution, or what can be evaluated.
int finish_graph(Thing& graph) {
  std::vector<const Thing*> operations;
  for (Descriptor descriptor : graph.all<Descriptor>(kGraphOperations)) {
    operations.push_back(thing(descriptor));
    if (operations.back() == nullptr) return refuse("an operation of a graph is gone");
  }
  if (operations.size() == 1 && operations[0]->kind == kForward) return 0;
  const auto program = std::make_shared<Program>();
  if (const std::string wrong = program->make(operations); !wrong.empty()) return refuse(wrong);
  graph.program = program;
  return 0;
}

// The engines of a mode for a graph, by the library's own order.
std::vector<int> engines_for(const Thing& graph, int mode) {
  Offer offer;
  if (graph.program != nullptr) offer = offer_for(*graph.program);
  world().reason = offer.reason;
  if (offer.is_fatal) refuse("a graph does harm: " + offer.reason);
  std::vector<int> found;
  for (size_t i = 0; i < engines().size() && offer.reason.empty(); i++)
    if (const Engine& e = engines()[i];
        e.mode == mode && (e.of != Engine::Convolution) == (graph.program != nullptr) &&
        (e.of != Engine::FastGraph || !offer.by_the_general))
      found.push_back(static_cast<int>(i));
  return found;
}
int64_t workspace_of(const Thing& config) {
  const Thing* const graph = thing(const_cast<Thing*>(config.graph));
  const bool is_program = graph != nullptr && graph->program != nullptr;
  return engines()[static_cast<size_t>(config.engine)].workspace +
         (is_program ? offer_for(*graph->program).workspace : 0);
}

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

std::string refuses(const Forward& f, const Program::Memory& memory) {
  for (const Tensor* t : {&f.x, &f.w, &f.y}) {
    const auto found = memory.find(t->number);
    if (found == memory.end()) return "a tensor has no memory";
    if (reinterpret_cast<uintptr_t>(found->second) % static_cast<size_t>(t->alignment) != 0)
      return "an operand is not aligned as was promised";
  }
  return memory.size() == 3 ? "" : "there is memory for a tensor that the graph has not";
}

void convolve(const Forward& f, const Engine& engine, const Program::Memory& memory) {
  const bool tf32 = f.x.type == DType::F32 && !engine.notes.empty();
  const std::vector<double> image = elements_of(f.x, memory.at(f.x.number), tf32),
                            filters = elements_of(f.w, memory.at(f.w.number), tf32);
  std::byte* const result = memory.at(f.y.number);
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
          fake::store(f.y.type, result + f.y.at(n, o, row, column), sum);
        }
}

}  // namespace

extern "C" {

int cudnnGetProperty(int which, int* value) {
  ENTER;
  *value = which == kMajor ? w.major : which == kMinor ? 14 : 2;
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
  if ((wanted->count == kAny ? count < 1 : count != wanted->count) ||
      (wanted->type >= 0 && type != wanted->type))
    return refuse("an attribute has another type or number of elements");
  const auto* const bytes = static_cast<const std::byte*>(values);
  t->attributes[attribute] = {
      type, count, {bytes, bytes + static_cast<size_t>(count) * bytes_of(type)}};
  if (type != kTypeDescriptor) return 0;
  for (Descriptor one : t->all<Descriptor>(attribute)) {
    const Thing* const it = thing(one);
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
    if (one.kind == t->kind && !one.is_optional && !t->has(one.attribute))
      return refuse("an attribute is missing");
  if (t->kind == kTensor && Tensor(*t).type == DType::None) return refuse("a type is unknown");
  if (t->kind == kForward) {
    const Forward f(*t);
    const bool wide = f.compute == kF64;
    if (t->attributes[kForwardAlpha].type != (wide ? kTypeDouble : kTypeFloat) ||
        (wide ? t->read<double>(kForwardAlpha)[0] - t->read<double>(kForwardBeta)[0] != 1
              : t->read<float>(kForwardAlpha)[0] - t->read<float>(kForwardBeta)[0] != 1))
      return refuse("alpha is not 1, or beta not 0");
    if (!f.fits()) return refuse("sizes do not go together");
  }
  if (t->kind == kGraph)
    if (const int status = finish_graph(*t)) return status;
  if (t->kind == kVariantPack &&
      t->attributes[kPackNumbers].count != t->attributes[kPackPointers].count)
    return refuse("there are not as many pointers as numbers");
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
    const Thing* const graph = child(*t, kHeuristicGraph);
    if (graph == nullptr) return refuse("the graph of heuristics is gone");
    const std::vector<int> found = engines_for(*graph, t->read<int>(kHeuristicMode)[0]);
    *count = static_cast<int64_t>(found.size());
    if (values == nullptr) return 0;
    *count = std::min(*count, most);
    for (int64_t i = 0; i < *count; i++) {
      Thing* const config = thing(static_cast<Descriptor*>(values)[i]);
      if (config == nullptr || config->kind != kEngineConfig)
        return refuse("results go to configurations of engines");
      config->engine = found[static_cast<size_t>(i)];
      config->graph = graph;
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
    *static_cast<int64_t*>(values) = workspace_of(*child(*t, kPlanConfig));
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
  const Thing* const graph = thing(const_cast<Thing*>(config->graph));
  if (graph == nullptr) return refuse("the graph of a plan is gone");
  Program::Memory operands;
  const auto numbers = m->all<int64_t>(kPackNumbers);
  const auto pointers = m->all<std::byte*>(kPackPointers);
  for (size_t i = 0; i < numbers.size(); i++)
    if (!operands.emplace(numbers[i], pointers[i]).second)
      return refuse("a tensor has memory twice");
  const Engine& engine = engines()[static_cast<size_t>(config->engine)];
  const auto bytes = static_cast<size_t>(workspace_of(*config));
  auto* const room = m->read<std::byte*>(kPackWorkspace)[0];
  if (bytes > 0 && room == nullptr) return refuse("there is no workspace");
  if (bytes > 0 && fake::driver().holds != nullptr && !fake::driver().holds(room, bytes))
    return refuse("the workspace is smaller than was asked for");
  const std::string wrong = graph->program != nullptr
                                ? graph->program->refuses(operands)
                                : refuses(Forward(operation_of(*graph)), operands);
  if (!wrong.empty()) return refuse(wrong);
  const auto work = graph->program != nullptr ? work_of(graph->program, operands, {room, bytes})
                                              : [f = Forward(operation_of(*graph)), operands,
                                                 &engine] { convolve(f, engine, operands); };
  fake::do_on(handle->stream, [=, &w, number = config->engine] {
    if (bytes > 0) std::memset(room, 0x77, bytes);
    w.engine = number;
    work();
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
  control->forgive = [] { world().wrong.clear(); };
  control->refuse = [](bool all) { world().refuses = all; };
  control->version = [](int major, int cuda) {
    world().major = major;
    world().cuda = cuda;
  };
  control->reason = [] { return world().reason.c_str(); };
  control->engine = [] { return world().engine; };
}

}  // extern "C"

// What is emulated is what is called.
#define SAME(result, member, symbol, parameters) \
  static_assert(std::is_same_v<decltype(&symbol), decltype(Functions::member)>);
HOLOGRAM_CUDNN(SAME)
#undef SAME
// NOLINTEND(readability-identifier-naming, bugprone-macro-parentheses)
