// A rocBLAS for machines without a GPU, beside the driver of fake_hip.cpp, whose memory is the
// host's: products are plain loops in double over column-major matrices. It holds its caller to
// what the real one asks for: leading dimensions, types that go together, a handle for each stream
// that adds sums in one order, factors in the type that is summed in.
#include "fake_rocblas.hpp"

#include <atomic>
#include <string_view>
#include <type_traits>

#include "fake_library.hpp"
#include "libraries/rocblas/api.hpp"

// Names are the vendor's.
// NOLINTBEGIN(readability-identifier-naming, bugprone-macro-parentheses)

namespace hologram::libraries::rocblas {
struct RocBlasHandle {
  NativeStream stream = nullptr;
  bool atomics = true;
  std::atomic<int> running{0};  // products
};
}  // namespace hologram::libraries::rocblas

namespace {

using namespace hologram::libraries::rocblas;
using namespace hologram;

constexpr int kInvalidHandle = 1, kInvalidSize = 4, kInvalidValue = 11;

struct World : fake::Calls {
  int handles = 0;
};
World& world() {
  static auto* const instance = new World;
  return *instance;
}

#define ENTER                          \
  World& w = world();                  \
  const std::lock_guard lock(w.mutex); \
  if (const int status = w.enter(__func__)) return status

DType dtype(int type) {
  switch (type) {
    case kF64: return DType::F64;
    case kF32: return DType::F32;
    case kF16: return DType::F16;
    default: return DType::BF16;
  }
}

struct Matrix {
  int type;
  int32_t leading;
  int64_t stride;
  const void* base;
  std::byte* at(int64_t z, int64_t row, int64_t column) const {
    const int64_t element = z * stride + column * leading + row;
    return static_cast<std::byte*>(const_cast<void*>(base)) +
           element * static_cast<int64_t>(fake::element_size(dtype(type)));
  }
};

}  // namespace

extern "C" {

int rocblas_create_handle(Handle* handle) {
  ENTER;
  if (!fake::has_context()) return w.refuse("a handle is made without a device", kInvalidHandle);
  *handle = new RocBlasHandle;
  w.handles++;
  return 0;
}
int rocblas_destroy_handle(Handle handle) {
  ENTER;
  delete handle;
  w.handles--;
  return 0;
}
int rocblas_set_stream(Handle handle, NativeStream stream) {
  ENTER;
  handle->stream = stream;
  return 0;
}
int rocblas_set_atomics_mode(Handle handle, int mode) {
  ENTER;
  handle->atomics = mode != kNoAtomics;
  return 0;
}
int rocblas_get_version_string(char* text, size_t bytes) {
  ENTER;
  constexpr std::string_view kVersion = "4.2.0.emulated";
  if (bytes <= kVersion.size()) return kInvalidSize;
  std::memcpy(text, kVersion.data(), kVersion.size() + 1);
  return 0;
}

int rocblas_gemm_strided_batched_ex(Handle handle, int transpose_a, int transpose_b, int32_t m,
                                    int32_t n, int32_t k, const void* alpha, const void* a,
                                    int a_type, int32_t lda, int64_t stride_a, const void* b,
                                    int b_type, int32_t ldb, int64_t stride_b, const void* beta,
                                    const void* c, int c_type, int32_t ldc, int64_t stride_c,
                                    void* d, int d_type, int32_t ldd, int64_t stride_d,
                                    int32_t batch, int compute_type, int algorithm,
                                    int32_t solution, uint32_t flags) {
  ENTER;
  const auto refuse = [&](const char* what) { return w.refuse(what, kInvalidValue); };
  if (handle == nullptr || handle->stream == nullptr || !fake::has_context())
    return refuse("no handle, no stream or no device");
  if (handle->atomics) return refuse("sums are added up as they come");
  const bool ta = transpose_a == kTransposed, tb = transpose_b == kTransposed;
  if ((!ta && transpose_a != kPlain) || (!tb && transpose_b != kPlain))
    return refuse("an operation is unknown");
  if (lda < (ta ? k : m) || ldb < (tb ? n : k) || ldd < m || k <= 0)
    return refuse("columns overlap");
  if (c != d || c_type != d_type || ldc != ldd || stride_c != stride_d || a_type != b_type)
    return refuse("the result is not in the place of c, or types do not go together");
  if (compute_type != (d_type == kF64 ? kF64 : kF32)) return refuse("sums have another type");
  if (algorithm != kStandard || solution != 0 || flags != 0) return refuse("a flag is unknown");
  const auto factor = [&](const void* of) {
    return fake::load(dtype(compute_type), static_cast<const std::byte*>(of));
  };
  if (factor(alpha) != 1 || factor(beta) != 0) return refuse("alpha is not 1, or beta not 0");
  const Matrix of_a{a_type, lda, stride_a, a}, of_b{b_type, ldb, stride_b, b},
      of_d{d_type, ldd, stride_d, d};
  fake::do_on(handle->stream, [=, &w] {
    if (handle->running++ > 0) {
      const std::lock_guard lock(w.mutex);
      w.refuse("two products with one handle run at a time", 0);
    }
    for (int64_t z = 0; z < batch; z++)
      for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
          double sum = 0;
          for (int64_t p = 0; p < k; p++)
            sum += fake::load(dtype(a_type), ta ? of_a.at(z, p, i) : of_a.at(z, i, p)) *
                   fake::load(dtype(b_type), tb ? of_b.at(z, j, p) : of_b.at(z, p, j));
          fake::store(dtype(d_type), of_d.at(z, i, j), sum);
        }
    handle->running--;
  });
  return 0;
}

void fake_rocblas(FakeRocBlas* control) {
  control->fail = [](const char* name, int skip, int count, int status) {
    world().fail(name, skip, count, status);
  };
  control->calls = [](const char* name) { return world().count(name); };
  control->handles = [] { return world().handles; };
  control->wrong = [] { return world().wrong.c_str(); };
}

}  // extern "C"

// What is emulated is what is called.
#define SAME(member, name, parameters) \
  static_assert(std::is_same_v<decltype(&rocblas_##name), decltype(Functions::member)>);
HOLOGRAM_ROCBLAS(SAME)
HOLOGRAM_ROCBLAS_ATOMICS(SAME)
#undef SAME
// NOLINTEND(readability-identifier-naming, bugprone-macro-parentheses)
