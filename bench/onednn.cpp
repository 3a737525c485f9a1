#include "onednn.hpp"

#include <fmt/format.h>

#include <memory>

#include "libraries/onednn/primitives.hpp"

namespace onednn {
namespace {

using namespace hologram::libraries::onednn;
using hologram::core::DynamicLibrary;

struct Opened {
  DynamicLibrary file{{"libdnnl.so.3", "libdnnl.so.2"}};
  OmpGetMaxThreads* get_threads = file.get<OmpGetMaxThreads>("omp_get_max_threads");
  OmpSetNumThreads* set_threads = file.get<OmpSetNumThreads>("omp_set_num_threads");
  Sgemm* sgemm = file.get<Sgemm>("dnnl_sgemm");
  std::unique_ptr<Library> library;  // that leaves threads alone
  std::string version;

  Opened() {
    auto* asked = file.get<GetVersion>("dnnl_version");
    if (asked == nullptr) return;
    const Version& v = *asked();
    version = fmt::format("oneDNN {}.{}.{}", v.major, v.minor, v.patch);
    library = Library::open(file, v.major, nullptr, nullptr);
  }
  static const Opened& instance() {
    static const auto* const opened = new Opened;
    return *opened;
  }
  void use(size_t threads) const {
    if (set_threads != nullptr) set_threads(static_cast<int>(threads));
  }
};

// m x n = a by b.
void product(const Opened& opened, const float* a, const float* b, float* out, size_t m, size_t n,
             size_t k) {
  const auto rows = static_cast<int64_t>(m), columns = static_cast<int64_t>(n),
             terms = static_cast<int64_t>(k);
  opened.sgemm('N', 'N', rows, columns, terms, 1, a, terms, b, columns, 0, out, columns);
}

void matmul_loop(const float* const* in, float* out, size_t, size_t threads, size_t side) {
  const Opened& opened = Opened::instance();
  opened.use(threads);
  product(opened, in[0], in[1], out, side, side, side);
}

void matmul_rows_loop(const float* const* in, float* out, size_t begin, size_t end, size_t side) {
  const Opened& opened = Opened::instance();
  const OneThread alone(opened.get_threads, opened.set_threads);
  product(opened, in[0] + begin * side, in[1], out + begin * side, end - begin, side, side);
}

void vector_matrix_loop(const float* const* in, float* out, size_t, size_t threads, size_t side) {
  const Opened& opened = Opened::instance();
  opened.use(threads);
  product(opened, in[1], in[0], out, 1, side, side);
}

void matrix_vector_loop(const float* const* in, float* out, size_t, size_t threads, size_t side) {
  const Opened& opened = Opened::instance();
  opened.use(threads);
  product(opened, in[0], in[1], out, side, 1, side);
}

constexpr int64_t kChannels = 64;

struct Shape {
  int64_t kernel = 3, stride = 1;
  bool depthwise = false;
};
constexpr Shape kPlain, kPointwise{.kernel = 1}, kDepthwise{.depthwise = true},
    kStriding{.stride = 2};

// The primitive for one image and weight, and the weight in its order.
struct Prepared {
  const float *x = nullptr, *w = nullptr;
  size_t side = 0, threads = 0;
  std::unique_ptr<Primitive> primitive;
  std::unique_ptr<float[]> weights, scratch;
};

void prepare(Prepared& p, const Library& library, const Shape& shape, const float* w, size_t side) {
  const int64_t input = static_cast<int64_t>(side), kernel = shape.kernel,
                output = (input - 1) / shape.stride + 1, before = kernel / 2,
                behind = (output - 1) * shape.stride + kernel - input - before;
  const hologram::hal::ConvAxis axis{
      .input = input, .kernel = kernel, .output = output, .stride = shape.stride, .before = before};
  const int64_t depth = shape.depthwise ? 1 : kChannels;
  p.primitive = library.convolution({.batch = 1,
                                     .groups = kChannels / depth,
                                     .channels = depth,
                                     .outputs = depth,
                                     .rows = axis,
                                     .columns = axis,
                                     .row_end = behind,
                                     .column_end = behind});
  // Of groups there is one axis more, which comes first.
  const int64_t lengths[] = {kChannels / depth, depth, depth, kernel, kernel};
  const int64_t strides[] = {1, 1, kChannels, kernel * depth * kChannels, depth * kChannels};
  const size_t first = shape.depthwise ? 0 : 1;
  const Layout from(library, std::span(lengths).subspan(first), std::span(strides).subspan(first));
  const auto reorder = library.reorder(from, p.primitive->weights());
  p.weights = std::make_unique<float[]>(library.bytes(p.primitive->weights()) / sizeof(float));
  p.scratch = std::make_unique<float[]>(
      std::max(reorder->scratchpad(), p.primitive->scratchpad()) / sizeof(float) + 1);
  const Operand operands[] = {{kSource, from.get(), w},
                              {kResult, p.primitive->weights(), p.weights.get()},
                              {kScratchpad, reorder->scratchpad_layout(), p.scratch.get()}};
  reorder->run(operands);
}

template <const Shape& shape>
// NOLINTNEXTLINE(readability-non-const-parameter): a Loop writes what it is given
void convolution_loop(const float* const* in, float* out, size_t, size_t threads, size_t side) {
  const Opened& opened = Opened::instance();
  opened.use(threads);
  static Prepared p;
  if (p.x != in[0] || p.w != in[1] || p.side != side || p.threads != threads) {
    prepare(p, *opened.library, shape, in[1], side);
    p.x = in[0];
    p.w = in[1];
    p.side = side;
    p.threads = threads;
  }
  const Operand operands[] = {{kSource, p.primitive->source(), in[0]},
                              {kWeights, p.primitive->weights(), p.weights.get()},
                              {kResult, p.primitive->result(), out},
                              {kScratchpad, p.primitive->scratchpad_layout(), p.scratch.get()}};
  p.primitive->run(operands);
}

Loop where_there(Loop loop, bool there) { return there ? loop : nullptr; }
Loop of_product(Loop loop) { return where_there(loop, Opened::instance().sgemm != nullptr); }
Loop of_library(Loop loop) { return where_there(loop, Opened::instance().library != nullptr); }

}  // namespace

std::string version() { return Opened::instance().version; }

Loop matmul() { return of_product(matmul_loop); }
Loop matmul_rows() { return of_product(matmul_rows_loop); }
Loop vector_matrix() { return of_product(vector_matrix_loop); }
Loop matrix_vector() { return of_product(matrix_vector_loop); }
Loop conv2d() { return of_library(convolution_loop<kPlain>); }
Loop conv2d_1x1() { return of_library(convolution_loop<kPointwise>); }
Loop conv2d_depthwise() { return of_library(convolution_loop<kDepthwise>); }
Loop conv2d_stride2() { return of_library(convolution_loop<kStriding>); }

}  // namespace onednn
