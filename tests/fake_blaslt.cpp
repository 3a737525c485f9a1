// A cuBLASLt for machines without a GPU, beside the driver of fake_cuda.cpp, whose memory is the
// host's, and a hipBLASLt beside that of fake_hip.cpp, with other names and numbers: products are
// plain loops in double, or in 64 bits, over column-major layouts. It holds its caller to what the
// real one asks for: attributes of the right size, leading dimensions, the alignment that was
// promised, the workspace that was asked for, a context that is current. With sums in parts allowed
// its results are wrong.
#include "fake_blaslt.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <thread>
#include <type_traits>
#include <vector>

#include "fake_library.hpp"
#include "libraries/blaslt/vendor.hpp"
#ifdef EMULATES_HIP
#include "fake_hipblaslt_names.hpp"
#endif

// Names and types are the vendor's.
// NOLINTBEGIN(readability-identifier-naming, bugprone-macro-parentheses)

namespace hologram::libraries::blaslt {
struct HandleOf {
  int settled = 0;              // waits for events when it was made
  std::atomic<int> running{0};  // products
};
struct Candidate {};
struct OperationHandle {
  int compute, scale;
  int32_t transpose_a, transpose_b;
  uint32_t epilogue = kNoEpilogue;
  const void* bias = nullptr;
  int calls = 0;  // that are under way
};
struct LayoutHandle {
  int type;
  uint64_t rows, columns;
  int64_t leading;
  int32_t batch = 1;
  int64_t stride = 0;
};
struct PreferenceHandle {
  uint64_t workspace = 0;
  uint32_t reductions = 7;
  std::map<int, uint32_t> alignment = {{5, 256}, {6, 256}, {7, 256}, {8, 256}};
  uint64_t implementations = ~uint64_t{0};
};
}  // namespace hologram::libraries::blaslt

namespace {

using namespace hologram::libraries::blaslt;
using namespace hologram;
using fake::has_context;
using fake::rounded_to_tf32;

constexpr uint64_t kWorkspace = 1000;

#ifdef EMULATES_HIP
constexpr const Vendor& kVendor = kHipblasLt;
#else
constexpr const Vendor& kVendor = kCublasLt;
#endif

// What an algorithm says of itself.
struct Chosen {
  uint64_t magic, number, workspace;
#ifndef EMULATES_HIP
  uint64_t split, tensor_cores;
  uint32_t alignment_a, alignment_b, alignment_c, alignment_d;
  uint64_t rest;
#endif
};
static_assert(sizeof(Chosen) == kVendor.algorithm_bytes);
constexpr uint64_t kMagic = 0x600df00d;

// A result of the search for algorithms, as the vendor has it.
struct Result {
  Chosen chosen;
  BehindAlgorithm behind;
};
Result& at(Candidate* found, int index) { return reinterpret_cast<Result*>(found)[index]; }

Chosen chosen_of(const void* algorithm) {
  Chosen chosen{};
  std::memcpy(&chosen, algorithm, sizeof chosen);
  return chosen;
}

struct World : fake::Calls {
  int alive = 0, compute = 0, tensor_cores = 0;
  bool refuses = false;
  std::vector<FakeBlasLt::Algorithm> algorithms = {{0, true}};
  std::map<uint64_t, int> ran;
  uint32_t epilogues = kRelu | kBias;
  FakeBlasLt::Relu relu = FakeBlasLt::Exact;
  int ended = 0, handles = 0;
  int version = 100'100;  // of hipBLASLt
};
World& world() {
  static auto* const instance = new World;
  return *instance;
}

int waits_for_events() {
  return fake::driver().calls == nullptr ? 0 : fake::driver().calls("hipEventSynchronize");
}

// A call that may write to the operation, and how many others there are.
struct Call {
  explicit Call(OperationHandle* operation) : operation(operation) {
    {
      const std::lock_guard lock(world().mutex);
      others = operation->calls++;
    }
    // Another thread has time to come.
    if (kVendor.keeps_notes) std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  ~Call() {
    const std::lock_guard lock(world().mutex);
    operation->calls--;
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  OperationHandle* const operation;
  int others = 0;
};

#define ENTER                          \
  World& w = world();                  \
  const std::lock_guard lock(w.mutex); \
  if (const int status = w.enter(__func__)) return status

int refuse(const std::string& what) { return world().refuse(what, kVendor.invalid_value); }

template <class T>
int take(T& attribute, const void* value, size_t bytes) {
  if (bytes != sizeof attribute) return refuse("an attribute has another size");
  std::memcpy(&attribute, value, bytes);
  return 0;
}

DType dtype(int type) {
  switch (type) {
    case kF64: return DType::F64;
    case kF32: return DType::F32;
    case kI32: return DType::I32;
    case kF16: return DType::F16;
    case kBF16: return DType::BF16;
    default: return DType::I8;
  }
}
double load(int type, const std::byte* p) { return fake::load(dtype(type), p); }
void store(int type, std::byte* p, double value) { fake::store(dtype(type), p, value); }

bool transposes(int32_t operation) { return operation == kVendor.transposed; }

// Sizes of op(a), op(b) and d that go together.
bool fit(const OperationHandle& o, const LayoutHandle& a, const LayoutHandle& b,
         const LayoutHandle& d) {
  const bool ta = transposes(o.transpose_a), tb = transposes(o.transpose_b);
  const uint64_t m = ta ? a.columns : a.rows, k = ta ? a.rows : a.columns;
  const uint64_t n = tb ? b.rows : b.columns, l = tb ? b.columns : b.rows;
  return m == d.rows && n == d.columns && k == l && k > 0 && a.batch == d.batch &&
         b.batch == d.batch;
}

struct Matrix {
  const LayoutHandle& layout;
  const void* base;
  std::byte* at(int64_t z, uint64_t row, uint64_t column) const {
    const int64_t element = z * layout.stride + static_cast<int64_t>(column) * layout.leading +
                            static_cast<int64_t>(row);
    return static_cast<std::byte*>(const_cast<void*>(base)) +
           element * static_cast<int64_t>(fake::element_size(dtype(layout.type)));
  }
  double load(int64_t z, uint64_t row, uint64_t column) const {
    return ::load(layout.type, at(z, row, column));
  }
};

double maximum(double value) {
  const FakeBlasLt::Relu how = world().relu;
  if (std::isnan(value)) return how == FakeBlasLt::LosesNan ? 0 : value;
  if (value == 0) return how == FakeBlasLt::KeepsSign ? value : 0;
  return value > 0 ? value : 0;
}

// What the operation does before it stores a sum of that row; its rounding is that of f32, but for
// sums of f64.
double ended(const OperationHandle& operation, int type, uint64_t row, double sum) {
  if (operation.epilogue == kNoEpilogue) return sum;
  const auto rounded = [&](double value) {
    return type == kF64 ? value : double{static_cast<float>(value)};
  };
  double value = rounded(sum);
  if ((operation.epilogue & kBias) != 0) {
    const size_t size = fake::element_size(dtype(type));
    value = rounded(value + load(type, static_cast<const std::byte*>(operation.bias) + row * size));
  }
  return (operation.epilogue & kRelu) != 0 ? maximum(value) : value;
}

// One after another the k elements of each line of a matrix: of each row, or column.
std::vector<double> lines_of(const Matrix& matrix, int64_t z, bool of_columns, bool tf32) {
  uint64_t lines = matrix.layout.rows, k = matrix.layout.columns;
  if (of_columns) std::swap(lines, k);
  std::vector<double> all(lines * k);
  for (uint64_t i = 0; i < all.size(); i++) {
    const uint64_t line = i / k, p = i % k;
    all[i] = of_columns ? matrix.load(z, p, line) : matrix.load(z, line, p);
    if (tf32) all[i] = rounded_to_tf32(all[i]);
  }
  return all;
}

// Sums begin with `start`, and if it is not to be right, are wrong in the last row.
void multiply(const OperationHandle& operation, const Matrix& a, const Matrix& b, const Matrix& d,
              double start, bool right) {
  const bool tf32 = operation.compute == kVendor.compute_tf32;
  const bool ta = transposes(operation.transpose_a), tb = transposes(operation.transpose_b);
  const uint64_t k = ta ? a.layout.rows : a.layout.columns;
  for (int64_t z = 0; z < d.layout.batch; z++) {
    const std::vector<double> rows = lines_of(a, z, ta, tf32), columns = lines_of(b, z, !tb, tf32);
    constexpr uint64_t kAtOnce = 8;  // sums that do not wait for each other
    for (uint64_t i = 0; i < d.layout.rows; i++)
      for (uint64_t j = 0; j < d.layout.columns; j += kAtOnce) {
        const uint64_t count = std::min(kAtOnce, d.layout.columns - j);
        double sums[kAtOnce];
        std::fill_n(sums, kAtOnce, !right && i + 1 == d.layout.rows ? start + 1 : start);
        const double *x = rows.data() + i * k, *y = columns.data() + j * k;
        for (uint64_t p = 0; p < k; p++)
          for (uint64_t c = 0; c < count; c++) sums[c] += x[p] * y[c * k + p];
        for (uint64_t c = 0; c < count; c++)
          store(d.layout.type, d.at(z, i, j + c), ended(operation, d.layout.type, i, sums[c]));
      }
  }
}

}  // namespace

extern "C" {

#ifdef EMULATES_HIP
int hipblasLtGetVersion(Handle handle, int* version) {
  ENTER;
  if (handle == nullptr) return kNotInitialized;
  *version = w.version;
  return 0;
}
#else
int cublasLtGetProperty(int which, int* value) {
  ENTER;
  *value = which == kMajor ? 12 : which == kMinor ? 9 : 3;
  return 0;
}
#endif
int cublasLtCreate(Handle* handle) {
  ENTER;
  if (!has_context()) return refuse("a handle is made without a context");
  *handle = new HandleOf{.settled = waits_for_events()};
  w.handles++;
  return 0;
}
int cublasLtDestroy(Handle handle) {
  ENTER;
  delete handle;
  w.handles--;
  return 0;
}

int cublasLtMatmulDescCreate(Operation* operation, int compute, int scale) {
  ENTER;
  *operation = new OperationHandle{compute, scale, kVendor.plain, kVendor.plain};
  w.alive++;
  return 0;
}
int cublasLtMatmulDescDestroy(Operation operation) {
  ENTER;
  delete operation;
  w.alive--;
  return 0;
}
int cublasLtMatmulDescSetAttribute(Operation operation, int attribute, const void* value,
                                   size_t bytes) {
  ENTER;
  if (attribute == kVendor.transpose_a) return take(operation->transpose_a, value, bytes);
  if (attribute == kVendor.transpose_b) return take(operation->transpose_b, value, bytes);
  if (attribute == kVendor.epilogue) return take(operation->epilogue, value, bytes);
  if (attribute == kVendor.bias_pointer) return take(operation->bias, value, bytes);
  return refuse("an attribute of an operation is unknown");
}

int cublasLtMatrixLayoutCreate(Layout* layout, int type, uint64_t rows, uint64_t columns,
                               int64_t leading) {
  ENTER;
  if (leading < static_cast<int64_t>(rows)) return refuse("columns overlap");
  *layout = new LayoutHandle{type, rows, columns, leading};
  w.alive++;
  return 0;
}
int cublasLtMatrixLayoutDestroy(Layout layout) {
  ENTER;
  delete layout;
  w.alive--;
  return 0;
}
int cublasLtMatrixLayoutSetAttribute(Layout layout, int attribute, const void* value,
                                     size_t bytes) {
  ENTER;
  if (attribute == kVendor.batch_count) return take(layout->batch, value, bytes);
  if (attribute == kVendor.batch_stride) return take(layout->stride, value, bytes);
  return refuse("an attribute of a layout is unknown");
}

int cublasLtMatmulPreferenceCreate(Preference* preference) {
  ENTER;
  *preference = new PreferenceHandle;
  w.alive++;
  return 0;
}
int cublasLtMatmulPreferenceDestroy(Preference preference) {
  ENTER;
  delete preference;
  w.alive--;
  return 0;
}
int cublasLtMatmulPreferenceSetAttribute(Preference preference, int attribute, const void* value,
                                         size_t bytes) {
  ENTER;
  if (attribute == kMaxWorkspace) return take(preference->workspace, value, bytes);
  if (!kVendor.chooses) return refuse("a preference is unknown");
  if (attribute == kReductionSchemes) return take(preference->reductions, value, bytes);
  if (attribute == kImplementations) return take(preference->implementations, value, bytes);
  if (attribute >= kAlignmentA && attribute <= kAlignmentD)
    return take(preference->alignment[attribute], value, bytes);
  return refuse("an attribute of a preference is unknown");
}

int cublasLtMatmulAlgoGetHeuristic(Handle handle, Operation operation, Layout a, Layout b, Layout c,
                                   Layout d, Preference preference, int most, Candidate* found,
                                   int* count) {
  ENTER;
  *count = 0;
  if (handle == nullptr || !has_context()) return refuse("no handle, or no context");
  if (c != d || !fit(*operation, *a, *b, *d)) return refuse("sizes do not go together");
  if (w.refuses) return kVendor.not_supported;
  // Products of 8 bits are for one layout, by fours.
  if (a->type == kI8 &&
      (!transposes(operation->transpose_a) || transposes(operation->transpose_b) ||
       (a->rows | a->columns | b->columns) % 4 != 0))
    return kVendor.not_supported;
  // The first is one that would not run.
  if (most < 2) return refuse("too few candidates are asked for");
  at(found, 0).behind.state = kVendor.not_supported;
  Chosen chosen{};
  chosen.magic = kMagic;
  chosen.workspace =
      d->rows * d->columns > 100 && preference->workspace >= kWorkspace ? kWorkspace : 0;
#ifndef EMULATES_HIP
  // By parts that are rounded, or added as they come.
  chosen.split = (preference->reductions & ~kReductionOfSums) != 0 ? 1 : 0;
  chosen.tensor_cores = (preference->implementations & kTensorCores) != 0 ? 1 : 0;
  chosen.alignment_a = preference->alignment.at(kAlignmentA);
  chosen.alignment_b = preference->alignment.at(kAlignmentB);
  chosen.alignment_c = preference->alignment.at(kAlignmentC);
  chosen.alignment_d = preference->alignment.at(kAlignmentD);
#endif
  for (const size_t most_of_them = static_cast<size_t>(most) - 1;
       chosen.number < std::min(w.algorithms.size(), most_of_them); chosen.number++)
    at(found, ++*count) = {chosen, {.workspace = chosen.workspace, .state = kSuccess}};
  ++*count;
  return 0;
}

#ifndef EMULATES_HIP
int cublasLtMatmulAlgoCheck(Handle handle, Operation operation, Layout a, Layout b, Layout c,
                            Layout d, const Algorithm* algorithm, Candidate* found) {
  ENTER;
  if (handle == nullptr || !has_context()) return refuse("no handle, or no context");
  if (c != d || !fit(*operation, *a, *b, *d)) return refuse("sizes do not go together");
  const Chosen chosen = chosen_of(algorithm);
  if (chosen.magic != kMagic) return refuse("that is no algorithm");
  if ((operation->epilogue & kBias) != 0 &&
      (operation->bias == nullptr || reinterpret_cast<uintptr_t>(operation->bias) % 16 != 0))
    return refuse("a bias is nowhere, or not aligned");
  if (operation->epilogue != kNoEpilogue && (operation->epilogue & ~w.epilogues) != 0)
    return kVendor.not_supported;
  at(found, 0) = {chosen, {.workspace = chosen.workspace, .state = kSuccess}};
  return 0;
}
#endif

int cublasLtMatmul(Handle handle, Operation operation, const void* alpha, const void* a, Layout la,
                   const void* b, Layout lb, const void* beta, const void* c, Layout lc, void* d,
                   Layout ld, const Algorithm* algorithm, void* workspace, size_t bytes,
                   NativeStream stream) {
  const Call call(operation);
  ENTER;
  if (kVendor.keeps_notes && call.others > 0) return refuse("an operation is used by two threads");
  const Chosen chosen = chosen_of(algorithm);
  if (handle == nullptr || stream == nullptr || !has_context())
    return refuse("no handle, no stream or no context");
  if (chosen.magic != kMagic) return refuse("that is no algorithm");
  if (kVendor.keeps_notes) {
    if (waits_for_events() == handle->settled) return refuse("nobody waited for what a handle has");
  }
  if (chosen.workspace > bytes) return refuse("the workspace is too small");
  const auto aligned = [](const void* p, uint32_t to) {
    return reinterpret_cast<uintptr_t>(p) % to == 0;
  };
#ifdef EMULATES_HIP
  const bool right = aligned(a, kVendor.alignment) && aligned(b, kVendor.alignment) &&
                     aligned(d, kVendor.alignment);
  const bool split = false, tensor_cores = true;
#else
  const bool right = aligned(a, chosen.alignment_a) && aligned(b, chosen.alignment_b) &&
                     aligned(c, chosen.alignment_c) && aligned(d, chosen.alignment_d);
  const bool split = chosen.split != 0, tensor_cores = chosen.tensor_cores != 0;
#endif
  if (!right) return refuse("an operand is not aligned as was promised");
  if (c != d || lc != ld || !fit(*operation, *la, *lb, *ld))
    return refuse("sizes do not go together");
  if (load(operation->scale, static_cast<const std::byte*>(alpha)) != 1 ||
      load(operation->scale, static_cast<const std::byte*>(beta)) != 0)
    return refuse("alpha is not 1, or beta not 0");
  if ((operation->epilogue & kBias) != 0 && !aligned(operation->bias, 16))
    return refuse("a bias is not aligned");
  // What it says now: the caller may tell it something else for the next call.
  const auto work = [=, &w, now = *operation] {
    const OperationHandle* const operation = &now;
    if (handle->running++ > 0 && kVendor.keeps_notes) {
      const std::lock_guard lock(w.mutex);
      refuse("two products with one handle run at a time");
    }
    w.ended += operation->epilogue != kNoEpilogue ? 1 : 0;
    w.compute = operation->compute;
    w.tensor_cores = tensor_cores ? 1 : 0;
    w.ran[chosen.number]++;
    const FakeBlasLt::Algorithm how = w.algorithms.at(chosen.number);
    std::this_thread::sleep_for(std::chrono::milliseconds(how.milliseconds));
    if (chosen.workspace > 0) std::memset(workspace, 0x77, chosen.workspace);
    multiply(*operation, {*la, a}, {*lb, b}, {*ld, d}, split ? 1e6 : 0, how.right);
    handle->running--;
  };
  fake::do_on(stream, work);
  return 0;
}

#ifdef HAS_HIP
int hipInit(unsigned) { return 0; }
#endif

void fake_cublaslt(FakeBlasLt* control) {
  control->fail = [](const char* name, int skip, int count, int status) {
    world().fail(name, skip, count, status);
  };
  control->calls = [](const char* name) { return world().count(name); };
  control->alive = [] { return world().alive; };
  control->compute = [] { return world().compute; };
  control->tensor_cores = [] { return world().tensor_cores; };
  control->wrong = [] { return world().wrong.c_str(); };
  control->algorithms = [](const FakeBlasLt::Algorithm* list, int count) {
    world().algorithms.assign(list, list + count);
  };
  control->ran = [](int algorithm) { return world().ran[static_cast<uint64_t>(algorithm)]; };
  control->epilogues = [](uint32_t most, FakeBlasLt::Relu relu) {
    world().epilogues = most;
    world().relu = relu;
  };
  control->ended = [] { return world().ended; };
  control->handles = [] { return world().handles; };
  control->version = [](int number) { world().version = number; };
  control->refuse = [](bool all) { world().refuses = all; };
}

}  // extern "C"

// What is emulated is what is called.
#define SAME(member, name, parameters) \
  static_assert(std::is_same_v<decltype(&EMULATED(name)), decltype(Functions::member)>);
#ifdef EMULATES_HIP
#define EMULATED(name) hipblasLt##name
HOLOGRAM_HIPBLASLT(SAME)
#else
#define EMULATED(name) cublasLt##name
HOLOGRAM_CUBLASLT(SAME)
#endif
HOLOGRAM_BLASLT(SAME)
#undef SAME
// NOLINTEND(readability-identifier-naming, bugprone-macro-parentheses)
