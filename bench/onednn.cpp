#include "onednn.hpp"

#include <memory>

#include "libraries/onednn/primitives.hpp"

namespace onednn {
namespace {

using namespace hologram::libraries::onednn;
using hologram::core::DynamicLibrary;

struct Opened {
  DynamicLibrary file{{"libdnnl.so.3", "libdnnl.so.2"}};
  OmpSetNumThreads* set_threads = file.get<OmpSetNumThreads>("omp_set_num_threads");
  std::unique_ptr<Library> library;  // that leaves threads alone

  Opened() {
    if (auto* version = file.get<GetVersion>("dnnl_version"); version != nullptr)
      library = Library::open(file, version()->major, nullptr, nullptr);
  }
  static const Opened& instance() {
    static const auto* const opened = new Opened;
    return *opened;
  }
};

// The primitive for one image and weight, and the weight in its order.
struct Prepared {
  const float *x = nullptr, *w = nullptr;
  size_t side = 0, threads = 0;
  std::unique_ptr<Primitive> primitive;
  std::unique_ptr<float[]> weights, scratch;
};

void prepare(Prepared& p, const Library& library, const float* w, size_t side) {
  constexpr int64_t kChannels = 64;
  const auto length = static_cast<int64_t>(side);
  const hologram::hal::ConvAxis axis{.input = length, .kernel = 3, .output = length, .before = 1};
  p.primitive = library.convolution({.batch = 1,
                                     .groups = 1,
                                     .channels = kChannels,
                                     .outputs = kChannels,
                                     .rows = axis,
                                     .columns = axis,
                                     .row_end = 1,
                                     .column_end = 1});
  const int64_t lengths[] = {kChannels, kChannels, 3, 3},
                strides[] = {1, kChannels, 3 * kChannels * kChannels, kChannels * kChannels};
  const Layout from(library, lengths, strides);
  const auto reorder = library.reorder(from, p.primitive->weights());
  p.weights = std::make_unique<float[]>(library.bytes(p.primitive->weights()) / sizeof(float));
  p.scratch = std::make_unique<float[]>(
      std::max(reorder->scratchpad(), p.primitive->scratchpad()) / sizeof(float) + 1);
  const Caller::Operand operands[] = {{kSource, from.get(), w},
                                      {kResult, p.primitive->weights(), p.weights.get()},
                                      {kScratchpad, reorder->scratchpad_layout(), p.scratch.get()}};
  Caller(library).run(*reorder, operands);
}

// NOLINTNEXTLINE(readability-non-const-parameter): a Loop writes what it is given
void conv2d_loop(const float* const* in, float* out, size_t, size_t threads, size_t side) {
  const Opened& opened = Opened::instance();
  if (opened.set_threads != nullptr) opened.set_threads(static_cast<int>(threads));
  static Prepared p;
  if (p.x != in[0] || p.w != in[1] || p.side != side || p.threads != threads) {
    prepare(p, *opened.library, in[1], side);
    p.x = in[0];
    p.w = in[1];
    p.side = side;
    p.threads = threads;
  }
  const Caller::Operand operands[] = {
      {kSource, p.primitive->source(), in[0]},
      {kWeights, p.primitive->weights(), p.weights.get()},
      {kResult, p.primitive->result(), out},
      {kScratchpad, p.primitive->scratchpad_layout(), p.scratch.get()}};
  Caller(*opened.library).run(*p.primitive, operands);
}

}  // namespace

loops::Loop conv2d() { return Opened::instance().library == nullptr ? nullptr : conv2d_loop; }

}  // namespace onednn
