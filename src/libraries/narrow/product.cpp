#include "libraries/narrow/product.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <vector>

#include "core/messages.hpp"
#include "libraries/half_convert.hpp"
#include "libraries/library.hpp"
#include "libraries/matrix_view.hpp"

namespace hologram::libraries::narrow {
namespace {

using hal::GemmDesc;

// A block of d is computed by a thread in one go, slice after slice of its terms: the slice of b
// stays in the cache of a core while rows of a go by, some squares down at a time, and as many
// steps of a as the nearest cache keeps while the panels of b go by.
constexpr int64_t kSquaresDown = 16, kSquaresAcross = 8, kSlice = 64;
constexpr int64_t kDownAtATime = 2, kSteps = 16;
constexpr int64_t kBlocksWanted = 4;   // a thread
constexpr int64_t kPanelsAtATime = 4;  // are copied, as memory likes long rows
// Copies of all matrices of a batch lie there at a time, if they are not larger.
constexpr int64_t kMostBytes = int64_t{1} << 26;
// Rows of sums do not lie a power of two apart, or few of them would find room in the nearest
// cache.
constexpr int64_t row_of_sums(int64_t squares) { return squares * kSide + kLines; }
constexpr double kBytesWorthAThread = 1 << 16, kTermsWorthAThread = 1 << 20;

int64_t parts(int64_t count, int64_t of) { return (count + of - 1) / of; }

uint64_t grain(double worth, double each) {
  return static_cast<uint64_t>(std::max(1.0, worth / std::max(each, 1.0)));
}

bool sums_in_i32(const GemmDesc& desc) {
  return (desc.accumulate == DType::I32 || desc.accumulate == DType::U32) && !is_float(desc.d) &&
         desc.d != DType::Bool && size_of(desc.d) <= 4;
}
bool sums_in_f32(const GemmDesc& desc) {
  return desc.accumulate == DType::F32 &&
         (desc.d == DType::F32 || desc.d == DType::BF16 || desc.d == DType::F16);
}

// Rows of sums as elements of d.
using Store = void(const uint32_t* sums, int64_t count, std::byte* d);

template <class T>
void store_low(const uint32_t* sums, int64_t count, std::byte* d) {
  auto* const to = reinterpret_cast<T*>(d);
  for (int64_t i = 0; i < count; i++) to[i] = static_cast<T>(sums[i]);
}

template <auto kRound>
void store_rounded(const uint32_t* sums, int64_t count, std::byte* d) {
  static const auto round = half_convert().*kRound;
  round(reinterpret_cast<const float*>(sums), count, reinterpret_cast<uint16_t*>(d));
}

Store* store_of(DType type) {
  if (type == DType::BF16) return &store_rounded<&HalfConvert::f32_to_bf16>;
  if (type == DType::F16) return &store_rounded<&HalfConvert::f32_to_f16>;
  constexpr Store* kByBytes[] = {&store_low<uint8_t>, &store_low<uint16_t>, &store_low<uint32_t>};
  return kByBytes[size_of(type) / 2];
}

class Plan : public HostPlan {
 public:
  Plan(const GemmDesc& desc, const Kernel& kernel, int threads)
      : kernel_(kernel),
        whole_range_(keeps_subnormals(desc, kernel)),
        store_(store_of(desc.d)),
        name_(fmt::format("hologram {} product by {}", name_of(desc.a), kernel.name)),
        desc_(desc),
        steps_(parts(desc.k, terms_of_tile(kernel.form_a))),
        down_(parts(desc.m, kSide)),
        across_(parts(desc.n, kSide)),
        copies_a_(across_ > kSquaresAcross),
        copies_b_(down_ > kSquaresDown),
        rooms_(std::clamp<int64_t>(down_ * across_, 1, threads)) {
    const int64_t most = kMostBytes / std::max<int64_t>(1, (down_ + across_) * bytes_of_panel());
    together_ = std::clamp<int64_t>(most, 1, std::max<int64_t>(1, desc.batch));
    if (copies_a_) held_a_ = desc.stride_a == 0 ? 1 : together_;
    if (copies_b_) held_b_ = desc.stride_b == 0 ? 1 : together_;
  }

  const std::string& name() const override { return name_; }
  uint64_t workspace() const override {
    return static_cast<uint64_t>(kLineBytes + rooms_ * bytes_of_room() +
                                 (held_a_ * down_ + held_b_ * across_) * bytes_of_panel());
  }

  void run(std::span<const hal::Binding> operands, hal::Binding workspace,
           core::Threads& threads) const override {
    const GemmDesc& g = desc_;
    const std::array<MatrixView, 3> matrices = matrix_views(g);
    std::array<std::byte*, 3> data{};
    for (size_t i = 0; i < 3; i++) data[i] = data_of(matrices[i], operands[i]);
    if (g.m == 0 || g.n == 0 || g.batch == 0) return;
    if (workspace.size < this->workspace())
      throw core::error(core::Text::InternalError, "a product lacks its workspace");
    std::byte* const room = workspace.buffer->host() + workspace.offset;
    Operands x{data[0], data[1], data[2]};
    x.kernel = kernel_.flushes && has_subnormal(x, threads) ? &whole_range_ : &kernel_;
    x.rooms = room + (kLineBytes - reinterpret_cast<uintptr_t>(room) % kLineBytes) % kLineBytes;
    x.panels_a = x.rooms + rooms_ * bytes_of_room();
    x.panels_b = x.panels_a + held_a_ * down_ * bytes_of_panel();
    for (x.first = 0; x.first < g.batch; x.first += together_) {
      x.count = std::min(together_, g.batch - x.first);
      copy(x, threads);
      multiply(x, threads);
    }
  }

 private:
  struct Operands {
    const std::byte *a, *b;
    std::byte* d;
    const Kernel* kernel = nullptr;
    int64_t first = 0, count = 0;  // of the batch: those that are computed together
    std::byte *rooms = nullptr, *panels_a = nullptr, *panels_b = nullptr;
  };
  struct Block {
    int64_t row, high, column, wide;  // in squares
  };

  int64_t bytes_of_panel() const { return steps_ * kStepBytes; }
  int64_t bytes_of_d() const { return static_cast<int64_t>(size_of(desc_.d)); }
  // Of a worker: sums, and what is copied when it is needed.
  int64_t room_of_sums() const {
    return std::min(kSquaresDown, down_) * kSide * row_of_sums(std::min(kSquaresAcross, across_)) *
           4;
  }
  int64_t room_of(int64_t panels) const { return panels * std::min(kSlice, steps_) * kStepBytes; }
  int64_t room_of_a() const { return copies_a_ ? 0 : room_of(std::min(kDownAtATime, down_)); }
  int64_t room_of_b() const { return copies_b_ ? 0 : room_of(std::min(kSquaresAcross, across_)); }
  int64_t bytes_of_room() const { return room_of_sums() + room_of_a() + room_of_b(); }

  // What the rows of a, and the columns of b, have in common.
  struct Side {
    Form form;
    int64_t length, step, stride;  // how many; from a row of memory, from a matrix, to the next
    bool along_terms;              // as in a Strip
  };
  Side rows_of_a() const {
    return {kernel_.form_a, desc_.m, desc_.lda, desc_.stride_a, !desc_.transpose_a};
  }
  Side columns_of_b() const {
    return {kernel_.form_b, desc_.n, desc_.ldb, desc_.stride_b, desc_.transpose_b};
  }
  // Panels of a matrix of the batch, some of its terms.
  Strip strip(const Side& of, const std::byte* from, int64_t matrix, int64_t panel, int64_t panels,
              int64_t term, int64_t terms) const {
    const int64_t first = panel * kSide, bytes = element_bytes(of.form);
    const int64_t at = of.along_terms ? first * of.step + term : term * of.step + first;
    return {from + (matrix * of.stride + at) * bytes, of.step * bytes, of.along_terms,
            std::min(panels * kSide, of.length - first), std::min(terms, desc_.k - term)};
  }

  // The one that computes what `kernel` would take for 0; of the same tiles.
  static const Kernel& keeps_subnormals(const GemmDesc& desc, const Kernel& kernel) {
    if (!kernel.flushes) return kernel;
    const auto all = kernels_for(desc);
    return **std::find_if(all.begin(), all.end(), [](const Kernel* k) { return !k->flushes; });
  }

  bool has_subnormal(const Operands& x, core::Threads& threads) const {
    const GemmDesc& g = desc_;
    return has_subnormal(x.a, g.transpose_a ? g.k : g.m, g.transpose_a ? g.m : g.k, g.lda,
                         g.stride_a, threads) ||
           has_subnormal(x.b, g.transpose_b ? g.n : g.k, g.transpose_b ? g.k : g.n, g.ldb,
                         g.stride_b, threads);
  }
  bool has_subnormal(const std::byte* from, int64_t rows, int64_t length, int64_t step,
                     int64_t stride, core::Threads& threads) const {
    const auto* const elements = reinterpret_cast<const uint16_t*>(from);
    const int64_t matrices = stride == 0 ? 1 : desc_.batch;
    std::atomic<bool> found{false};
    threads.run(static_cast<uint64_t>(matrices * rows),
                grain(kBytesWorthAThread, 2 * static_cast<double>(length)),
                [&](uint64_t begin, uint64_t end) {
                  for (auto i = static_cast<int64_t>(begin); i < static_cast<int64_t>(end); i++) {
                    if (found.load(std::memory_order_relaxed)) return;
                    if (copies().subnormal(elements + i / rows * stride + i % rows * step, length))
                      found = true;
                  }
                });
    return found;
  }

  // Of a whole batch that shares a matrix, the first has it copied.
  void copy(const Operands& x, core::Threads& threads) const {
    const int64_t tasks_a = parts(down_, kPanelsAtATime), tasks_b = parts(across_, kPanelsAtATime);
    const auto matrices = [&](int64_t held, int64_t stride) {
      return stride == 0 && x.first > 0 ? 0 : std::min(x.count, held);
    };
    const int64_t of_a = matrices(held_a_, desc_.stride_a) * tasks_a,
                  of_b = matrices(held_b_, desc_.stride_b) * tasks_b, size = bytes_of_panel();
    const auto copy_a = [&](int64_t which, int64_t panel) {
      copies().rows(kernel_.form_a,
                    strip(rows_of_a(), x.a, x.first + which, panel, kPanelsAtATime, 0, desc_.k),
                    x.panels_a + (which * down_ + panel) * size, size);
    };
    const auto copy_b = [&](int64_t which, int64_t panel) {
      copies().columns(
          kernel_.form_b,
          strip(columns_of_b(), x.b, x.first + which, panel, kPanelsAtATime, 0, desc_.k),
          x.panels_b + (which * across_ + panel) * size, size);
    };
    threads.run(static_cast<uint64_t>(of_a + of_b),
                grain(kBytesWorthAThread, static_cast<double>(kPanelsAtATime * size)),
                [&](uint64_t begin, uint64_t end) {
                  for (auto i = static_cast<int64_t>(begin); i < static_cast<int64_t>(end); i++)
                    if (i < of_a) copy_a(i / tasks_a, i % tasks_a * kPanelsAtATime);
                    else copy_b((i - of_a) / tasks_b, (i - of_a) % tasks_b * kPanelsAtATime);
                });
  }

  void multiply(const Operands& x, core::Threads& threads) const {
    int64_t high = std::min(kSquaresDown, down_), wide = std::min(kSquaresAcross, across_);
    const auto blocks = [&] { return x.count * parts(down_, high) * parts(across_, wide); };
    const int64_t most = std::min<int64_t>(threads.count(), rooms_);
    // What is copied for each block by itself is so again for others beside it.
    while (most > 1 && blocks() < kBlocksWanted * most && high * wide > 1)
      (wide > 1 && (!copies_b_ || high <= kDownAtATime) ? wide : high) /= 2;
    const int64_t blocks_down = parts(down_, high), of_one = blocks_down * parts(across_, wide);
    const double terms = static_cast<double>(x.count * down_ * across_ * kSide * kSide) *
                         static_cast<double>(std::max<int64_t>(desc_.k, 1));
    const auto workers = std::clamp<int64_t>(static_cast<int64_t>(terms / kTermsWorthAThread), 1,
                                             std::min(most, blocks()));
    std::atomic<int64_t> next{0};
    threads.run(static_cast<uint64_t>(workers), 1, [&](uint64_t begin, uint64_t end) {
      for (auto worker = static_cast<int64_t>(begin); worker < static_cast<int64_t>(end);
           worker++) {
        if (x.kernel->begin != nullptr) x.kernel->begin();
        for (int64_t i = next++; i < blocks(); i = next++) {
          const int64_t row = i % of_one % blocks_down * high,
                        column = i % of_one / blocks_down * wide;
          compute(x, i / of_one,
                  {row, std::min(high, down_ - row), column, std::min(wide, across_ - column)},
                  x.rooms + worker * bytes_of_room());
        }
        if (x.kernel->end != nullptr) x.kernel->end();
      }
    });
  }

  struct Panels {
    const std::byte *a, *b;
    int64_t apart_a, apart_b;
  };

  void compute(const Operands& x, int64_t which, const Block& block, std::byte* room) const {
    const int64_t held_a = held_a_ == 1 ? 0 : which, held_b = held_b_ == 1 ? 0 : which;
    const int64_t of_step = terms_of_tile(kernel_.form_a), size = bytes_of_panel();
    auto* const sums = reinterpret_cast<uint32_t*>(room);
    std::byte *const room_a = room + room_of_sums(), *const room_b = room_a + room_of_a();
    std::byte* const d = x.d + (x.first + which) * desc_.stride_d * bytes_of_d();
    for (int64_t first = 0; first < std::max<int64_t>(1, steps_); first += kSlice) {
      const int64_t steps = std::min(kSlice, steps_ - first);
      const int64_t term = first * of_step, terms = steps * of_step, apart = steps * kStepBytes;
      Panels panels{room_a, room_b, apart, apart};
      if (copies_b_) {
        panels.b = x.panels_b + (held_b * across_ + block.column) * size + first * kStepBytes;
        panels.apart_b = size;
      } else {
        copies().columns(
            kernel_.form_b,
            strip(columns_of_b(), x.b, x.first + which, block.column, block.wide, term, terms),
            room_b, apart);
      }
      for (int64_t i = 0; i < block.high; i += kDownAtATime) {
        const Block some{block.row + i, std::min(kDownAtATime, block.high - i), block.column,
                         block.wide};
        if (copies_a_) {
          panels.a = x.panels_a + (held_a * down_ + some.row) * size + first * kStepBytes;
          panels.apart_a = size;
        } else {
          copies().rows(kernel_.form_a,
                        strip(rows_of_a(), x.a, x.first + which, some.row, some.high, term, terms),
                        room_a, apart);
        }
        uint32_t* const part = sums + i * kSide * row_of_sums(block.wide);
        add_terms(*x.kernel, panels, some, steps, first > 0, part);
        if (first + steps == steps_) finish(part, some, d);
      }
    }
  }

  void add_terms(const Kernel& kernel, const Panels& panels, const Block& x, int64_t steps,
                 bool add, uint32_t* sums) const {
    const int64_t row = row_of_sums(x.wide);
    for (int64_t step = 0; step < steps; step += kSteps)
      for (int64_t i = 0; i < x.high; i++)
        for (int64_t j = 0; j < x.wide; j++)
          kernel.multiply({.a = panels.a + i * panels.apart_a + step * kStepBytes,
                           .b = panels.b + j * panels.apart_b + step * kStepBytes,
                           .steps = std::min(kSteps, steps - step),
                           .add = add || step > 0,
                           .high = desc_.m - (x.row + i) * kSide > kLines,
                           .wide = desc_.n - (x.column + j) * kSide > kLines,
                           .c = reinterpret_cast<std::byte*>(sums + i * kSide * row + j * kSide),
                           .ldc = row});
  }

  void finish(uint32_t* sums, const Block& x, std::byte* d) const {
    const GemmDesc& g = desc_;
    const int64_t row = row_of_sums(x.wide);
    if (steps_ == 0) std::fill_n(sums, x.high * kSide * row, 0u);
    const int64_t first_row = x.row * kSide, first_column = x.column * kSide;
    const int64_t rows = std::min(x.high * kSide, g.m - first_row),
                  columns = std::min(x.wide * kSide, g.n - first_column);
    for (int64_t r = 0; r < rows; r++)
      store_(sums + r * row, columns, d + ((first_row + r) * g.ldd + first_column) * bytes_of_d());
  }

  const Kernel& kernel_;
  const Kernel& whole_range_;
  Store* const store_;
  const std::string name_;
  const GemmDesc desc_;
  const int64_t steps_, down_, across_;  // of a panel; panels of a and of b
  const bool copies_a_, copies_b_;       // at first, as several blocks need the same
  const int64_t rooms_;                  // for workers
  int64_t together_ = 1;                 // matrices of the batch
  int64_t held_a_ = 0, held_b_ = 0;      // of a and of b, as panels at a time
};

}  // namespace

std::vector<const Kernel*> kernels_for(const GemmDesc& desc) {
  std::vector<const Kernel*> found;
  for (const std::span<const Kernel> some : {x86_kernels(), pair_kernels()})
    for (const Kernel& kernel : some)
      if (kernel.a == desc.a && kernel.b == desc.b && kernel.there()) found.push_back(&kernel);
  return found;
}

std::optional<hal::Refusal> refuses(const GemmDesc& desc, Pays pays) {
  const bool known = desc.a == DType::BF16 ? sums_in_f32(desc) : sums_in_i32(desc);
  if (!known) return hal::Refusal{"none for these"};  // needs no memory: most products ask
  const auto kernels = kernels_for(desc);
  if (kernels.empty() || kernels.front()->pays > pays)
    return hal::Refusal{fmt::format("this processor has no instructions for products of {} and {}",
                                    name_of(desc.a), name_of(desc.b))};
  return {};
}

std::shared_ptr<HostPlan> plan(const GemmDesc& desc, int threads) {
  return plan(desc, *kernels_for(desc).front(), threads);
}

std::shared_ptr<HostPlan> plan(const GemmDesc& desc, const Kernel& kernel, int threads) {
  return std::make_shared<Plan>(fold(desc), kernel, threads);
}

}  // namespace hologram::libraries::narrow
