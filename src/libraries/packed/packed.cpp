#include "libraries/packed/packed.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <thread>
#include <type_traits>
#include <vector>

#include "core/messages.hpp"
#include "libraries/library.hpp"
#include "libraries/packed/columns.hpp"
#include "libraries/packed/skinny.hpp"

namespace hologram::libraries::packed {
namespace {

using hal::GemmDesc;

constexpr int64_t kSlice = kTermsOfBlock;           // d has the sums of those before
constexpr int64_t kBytesAcross = int64_t{1} << 20;  // of panels of b that a worker has at hand
constexpr int64_t kLeastAcross = 4;                 // panels
constexpr int64_t kPanelsForFewRows = 4;
// Columns of b that do not pay for a copy of the rows that they are multiplied by.
constexpr int64_t kColumnsInPlace = 128;
// Of rows that are so short the next ones are announced: nothing else would foresee them.
constexpr int64_t kBytesOfShortRow = 512;
constexpr int64_t kPartsOfAThread = 9;
constexpr double kFlopsWorthAThread = 8e6;  // by bytes of an element
constexpr double kBytesOfBWorthAThread = 1 << 18;
// Of a matrix b that a copy does not pay for, and of its rows: those of rows further apart would
// share a few places of the nearest cache.
constexpr int64_t kBytesOfBInPlace = 1 << 19, kBytesOfRowInPlace = 1 << 11;
constexpr int64_t kBytesOfBNearby = 1 << 20;  // of a cache that each core has
// From here on lines are announced to Zen 4: its last cache still held 16 MB, but not 40.
constexpr int64_t kBytesOfBFar = 1 << 24;

int64_t parts(int64_t count, int64_t of) { return (count + of - 1) / of; }

uint64_t grain(double worth, double each) {
  return static_cast<uint64_t>(std::max(1.0, worth / std::max(each, 1.0)));
}

template <class T>
constexpr DType kTypeOf = std::is_same_v<T, float>    ? DType::F32
                          : std::is_same_v<T, double> ? DType::F64
                          : std::is_same_v<T, Half>   ? DType::F16
                                                      : DType::BF16;

template <class T>
const std::string& name_of_product() {
  static const std::string name = fmt::format("hologram {} product", name_of(kTypeOf<T>));
  return name;
}

template <class T>
std::array<T*, 3> matrices_of(const GemmDesc& desc, std::span<const hal::Binding> operands) {
  const std::array<MatrixView, 3> matrices = matrix_views(desc);
  std::array<T*, 3> data{};
  for (size_t i = 0; i < 3; i++) data[i] = reinterpret_cast<T*>(data_of(matrices[i], operands[i]));
  return data;
}

template <class T>
void clear(const GemmDesc& g, T* d) {
  for (int64_t z = 0; z < g.batch; z++)
    for (int64_t row = 0; row < g.m; row++)
      std::fill_n(d + z * g.stride_d + row * g.ldd, g.n, T{0});
}

bool has_narrow(const Kernels<float>& all, DType type) {
  return (type == DType::F16 && all.f16.widen != nullptr) ||
         (type == DType::BF16 && all.bf16.widen != nullptr);
}

// A few rows read each element of b a few times: a copy would not pay.
template <class T, class B = T>
class FewRows : public HostPlan {
 public:
  explicit FewRows(const GemmDesc& desc)
      : kernels_(*kernels(T{})), columns_(*column_kernel(T{})), desc_(desc) {}

  const std::string& name() const override { return name_of_product<T>(); }

  void run(std::span<const hal::Binding> operands, hal::Binding /*workspace*/,
           core::Threads& threads) const override {
    const GemmDesc& g = desc_;
    const std::array<T*, 3> data = matrices_of<T>(g, operands);
    const T* const a = data[0];
    const B* const b = reinterpret_cast<const B*>(data[1]);
    T* const d = data[2];
    if (g.m == 0 || g.n == 0 || g.batch == 0) return;
    if (g.k == 0) return clear(g, d);
    // One part a thread: each row of b is read in so many pieces.
    constexpr int64_t kTogether = 64 / sizeof(T);
    const int64_t across = parts(g.n, kTogether);
    const auto bytes = static_cast<double>(g.k * kTogether) * sizeof(B);
    const auto each = static_cast<uint64_t>(parts(g.batch * across, threads.count()));
    threads.run(static_cast<uint64_t>(g.batch * across),
                std::max(each, grain(kBytesOfBWorthAThread, bytes)),
                [&](uint64_t begin, uint64_t end) {
                  const auto last = static_cast<int64_t>(end);
                  for (auto i = static_cast<int64_t>(begin); i < last;) {
                    const int64_t z = i / across, column = i % across * kTogether;
                    const int64_t to = std::min(last, (z + 1) * across);
                    const int64_t columns = std::min(g.n - column, (to - i) * kTogether);
                    const T* const x = a + z * g.stride_a;
                    const B* const y = b + z * g.stride_b + column;
                    T* const sums = d + z * g.stride_d + column;
                    const int64_t row = g.transpose_a ? 1 : g.lda, term = g.transpose_a ? g.lda : 1;
                    i = to;
                    if constexpr (std::is_same_v<B, T>) {
                      if (by_columns(columns)) {
                        columns_.run(x, term, y, g.ldb, g.k, columns, sums);
                        continue;
                      }
                    }
                    rows()(x, row, term, y, g.ldb, g.k, g.m, columns, is_far(), sums, g.ldd);
                  }
                });
  }

 private:
  MultiplyRows<T, B>* rows() const {
    if constexpr (std::is_same_v<B, T>) return kernels_.multiply_rows;
    else return kernels_.template narrow<B>().multiply_rows;
  }
  bool by_columns(int64_t columns) const {
    return desc_.m == 1 && columns >= columns_.least &&
           desc_.k * columns * static_cast<int64_t>(sizeof(T)) <= kBytesOfBNearby;
  }
  bool is_far() const {
    const int64_t matrices = desc_.stride_b == 0 ? 1 : desc_.batch;
    return matrices * desc_.k * desc_.n * static_cast<int64_t>(sizeof(B)) > kBytesOfBFar;
  }

  const Kernels<T>& kernels_;
  const ColumnKernel<T>& columns_;
  const GemmDesc desc_;
};

// Pieces of work. Each worker does its own first, which are in its caches if it had the same
// before, then what others have not come to.
class Share {
 public:
  Share(int64_t pieces, int64_t workers) : pieces_(pieces), next_(static_cast<size_t>(workers)) {
    for (int64_t w = 0; w < workers; w++) next(w) = pieces * w / workers;
  }

  template <class Work>
  void work(int64_t worker, const Work& work) {
    const auto workers = static_cast<int64_t>(next_.size());
    for (int64_t w = worker; w < worker + workers; w++) {
      const int64_t of = w % workers, end = pieces_ * (of + 1) / workers;
      while (next(of).load(std::memory_order_relaxed) < end) {
        const int64_t i = next(of).fetch_add(1, std::memory_order_relaxed);
        if (i >= end) break;
        work(i);
      }
    }
  }

 private:
  std::atomic<int64_t>& next(int64_t worker) { return next_[static_cast<size_t>(worker)]; }

  const int64_t pieces_;
  std::vector<std::atomic<int64_t>> next_;  // of each worker
};

// The terms of d are taken by slices, its columns by groups. Of a slice, each worker has the panels
// of b of a group in a near cache, its own: what another core has written comes slowly. He copies
// them while he multiplies the first rows by them, and so waits for memory and computes at a time.
// Rows of a are copied by who multiplies them. A matrix b that has few rows to be multiplied by is
// read where it lies. Elements S that are narrower are upcast as they are copied.
template <class T, class S = T>
class Plan : public HostPlan {
 public:
  Plan(const GemmDesc& desc, int threads)
      : kernels_(*kernels(T{})),
        desc_(desc),
        slices_(parts(desc.k, kSlice)),
        row_panels_(parts(desc.m, kernels_.rows)),
        column_panels_(parts(desc.n, kernels_.columns)),
        copies_b_(kNarrow || desc.transpose_b ||
                  (row_panels_ > 1 && (bytes_of(desc.ldb) > kBytesOfRowInPlace ||
                                       bytes_of(desc.k * desc.ldb) > kBytesOfBInPlace))),
        room_((copies_b_    ? panels_across(1)
               : has_rest() ? 1
                            : 0) *
              kernels_.columns * std::min(kSlice, desc.k)),
        rooms_(worth(flops() * static_cast<double>(desc.batch), threads)) {}

  const std::string& name() const override { return name_of_product<S>(); }
  uint64_t workspace() const override { return static_cast<uint64_t>(bytes_of(rooms_ * room_)); }

  void run(std::span<const hal::Binding> operands, hal::Binding workspace,
           core::Threads& threads) const override {
    const GemmDesc& g = desc_;
    const std::array<T*, 3> data = matrices_of<T>(g, operands);
    if (g.m == 0 || g.n == 0 || g.batch == 0) return;
    if (workspace.size < this->workspace())
      throw core::error(core::Text::InternalError, "a product lacks its workspace");
    if (g.k == 0) return clear(g, data[2]);
    T* const room =
        room_ == 0 ? nullptr : reinterpret_cast<T*>(workspace.buffer->host() + workspace.offset);
    const auto matrix = [&](int64_t z) {
      return Matrices{reinterpret_cast<const S*>(data[0]) + z * g.stride_a,
                      reinterpret_cast<const S*>(data[1]) + z * g.stride_b,
                      data[2] + z * g.stride_d};
    };
    const int64_t most = std::min<int64_t>(threads.count(), rooms_);
    const int for_one = worth(flops(), std::min(most, column_panels_ * row_panels_)),
              for_all = worth(flops() * static_cast<double>(g.batch), std::min(most, g.batch));
    if (for_all > 1 && for_all >= for_one) {
      std::atomic<int64_t> next{0};
      workers(threads, for_all, [&](int64_t worker) {
        for (int64_t z = next++; z < g.batch; z = next++) by_one(matrix(z), room + worker * room_);
      });
      return;
    }
    for (int64_t z = 0; z < g.batch; z++)
      if (for_one == 1) by_one(matrix(z), room);
      else by_several(matrix(z), room, threads, for_one);
  }

 private:
  static constexpr bool kNarrow = !std::is_same_v<S, T>;
  // Of a block of rows that are upcast before they are transposed: they do not lie a power of two
  // apart, or few of them would find room in the nearest cache.
  static constexpr int64_t kRowOfBlock = kSlice + kMostApart;

  struct Matrices {
    const S *a, *b;
    T* d;
  };
  // The panels of b that a worker has at hand: of which slice, and from which on.
  struct Copies {
    T* room;
    int64_t slice = -1, panel = -1;
  };

  static int64_t bytes_of(int64_t elements) { return elements * static_cast<int64_t>(sizeof(T)); }
  static int worth(double flops, int64_t most) {
    return static_cast<int>(
        std::clamp(flops / (kFlopsWorthAThread / sizeof(T)), 1.0, static_cast<double>(most)));
  }
  double flops() const {
    return 2.0 * static_cast<double>(desc_.m) * static_cast<double>(desc_.n) *
           static_cast<double>(desc_.k);
  }
  int64_t terms_of(int64_t slice) const { return std::min(kSlice, desc_.k - slice * kSlice); }
  bool has_rest() const { return desc_.n % kernels_.columns != 0; }
  bool reads_a_in_place() const { return !desc_.transpose_a && desc_.n <= kColumnsInPlace; }
  // Panels of a group, for so many workers. A few rows need each panel once: it is copied and used
  // while it is in the nearest cache.
  int64_t panels_across(int64_t workers) const {
    if (row_panels_ == 1) return std::min(kPanelsForFewRows, column_panels_);
    const int64_t room = kBytesAcross / bytes_of(kSlice * kernels_.columns);
    int64_t groups = std::max<int64_t>(parts(column_panels_, room), 1);
    if (workers > 1 && row_panels_ * groups < workers * kPartsOfAThread)
      groups = std::clamp<int64_t>(column_panels_ / kLeastAcross, groups, groups * workers);
    return parts(column_panels_, groups);
  }

  template <class Work>
  static void workers(core::Threads& threads, int count, const Work& work) {
    threads.run(static_cast<uint64_t>(count), 1, [&](uint64_t begin, uint64_t end) {
      for (uint64_t worker = begin; worker < end; worker++) work(static_cast<int64_t>(worker));
    });
  }

  void by_one(const Matrices& x, T* room) const {
    const int64_t across = panels_across(1);
    Copies copies{room};
    if (row_panels_ == 1) {
      for (int64_t panel = 0; panel < column_panels_; panel += across) few_rows(x, panel, copies);
      return;
    }
    for (int64_t slice = 0; slice < slices_; slice++)
      for (int64_t panel = 0; panel < column_panels_; panel += across)
        for (int64_t row = 0; row < row_panels_; row++)
          multiply(x, slice, row, panel, std::min(across, column_panels_ - panel), copies);
  }

  // All slices of a group of panels, one after the other: memory is read on where it was left.
  void few_rows(const Matrices& x, int64_t panel, Copies& copies) const {
    const int64_t count = std::min(kPanelsForFewRows, column_panels_ - panel);
    for (int64_t slice = 0; slice < slices_; slice++) multiply(x, slice, 0, panel, count, copies);
  }

  // Nobody waits for anything but the sums of the slice before, of the same piece.
  void by_several(const Matrices& x, T* rooms, core::Threads& threads, int count) const {
    const int64_t across = panels_across(count);
    const int64_t pieces = parts(column_panels_, across) * row_panels_;
    if (row_panels_ == 1) {
      Share share(pieces, count);
      return workers(threads, count, [&](int64_t worker) {
        Copies copies{rooms + worker * room_};
        share.work(worker, [&](int64_t i) { few_rows(x, i * across, copies); });
      });
    }
    std::deque<Share> shares;
    for (int64_t slice = 0; slice < slices_; slice++) shares.emplace_back(pieces, count);
    std::vector<std::atomic<int64_t>> done(static_cast<size_t>(pieces));  // slices
    workers(threads, count, [&](int64_t worker) {
      Copies copies{rooms + worker * room_};
      for (int64_t slice = 0; slice < slices_; slice++)
        shares[static_cast<size_t>(slice)].work(worker, [&](int64_t i) {
          std::atomic<int64_t>& of_piece = done[static_cast<size_t>(i)];
          while (of_piece.load(std::memory_order_acquire) < slice) std::this_thread::yield();
          const int64_t panel = i / row_panels_ * across;
          multiply(x, slice, i % row_panels_, panel, std::min(across, column_panels_ - panel),
                   copies);
          of_piece.store(slice + 1, std::memory_order_release);
        });
    });
  }

  // So many terms of a slice from one on, into a panel's place.
  void copy_panel(const Matrices& x, int64_t slice, int64_t panel, int64_t term, int64_t terms,
                  T* to) const {
    const GemmDesc& g = desc_;
    const int64_t wide = kernels_.columns, first = slice * kSlice + term;
    const int64_t column = panel * wide, columns = std::min(wide, g.n - column);
    to += term * wide;
    if (columns < wide && g.transpose_b) std::fill_n(to, terms * wide, T{0});
    const S* const from =
        g.transpose_b ? x.b + column * g.ldb + first : x.b + first * g.ldb + column;
    copy(from, g.ldb, g.transpose_b, terms, columns, to, wide);
  }
  Widen<T, S>* widen() const { return kernels_.template narrow<S>().widen; }
  // As the kernels' copy().
  void copy(const S* from, int64_t ld, bool transposed, int64_t rows, int64_t columns, T* to,
            int64_t ld_to) const {
    if constexpr (!kNarrow) {
      kernels_.copy(from, ld, transposed, rows, columns, to, ld_to);
    } else if (!transposed) {
      widen()(from, ld, rows, columns, to, ld_to);
    } else {
      static_assert(kMostApart <= kMostColumns);
      alignas(64) T block[kMostColumns * kRowOfBlock];
      widen()(from, ld, columns, rows, block, kRowOfBlock);
      kernels_.copy(block, kRowOfBlock, true, rows, columns, to, ld_to);
    }
  }

  void copy_rows(const Matrices& x, int64_t slice, int64_t row_panel, T* to) const {
    const GemmDesc& g = desc_;
    const int64_t first = slice * kSlice, row = row_panel * kernels_.rows, terms = terms_of(slice),
                  rows = std::min(kernels_.apart, g.m - row);
    const S* const from = g.transpose_a ? x.a + first * g.lda + row : x.a + row * g.lda + first;
    copy(from, g.lda, !g.transpose_a, terms, rows, to, kernels_.apart);
  }

  void announce_rows(const T* first, int64_t rows, int64_t terms) const {
    constexpr int64_t kLine = 64 / sizeof(T);
    if (bytes_of(terms) > kBytesOfShortRow) return;
    for (int64_t r = 0; r < rows; r++)
      for (int64_t t = 0; t < terms; t += kLine) __builtin_prefetch(first + r * desc_.lda + t);
  }

  // The panels of b, in the room of copies; with rows of a as many as a rectangle has, those that
  // are yet to be copied are left to the product.
  Panels<T> panels(const Matrices& x, int64_t slice, int64_t panel, int64_t count, bool high,
                   Copies& copies) const {
    const GemmDesc& g = desc_;
    const int64_t wide = kernels_.columns, size = wide * terms_of(slice);
    const bool there = copies.slice == slice && copies.panel == panel;
    const int64_t whole = std::min(count, g.n / wide - panel);
    copies.slice = slice;
    copies.panel = panel;
    T* const rest = copies.room + (copies_b_ ? whole * size : 0);
    if (!there && whole < count) copy_panel(x, slice, panel + whole, 0, terms_of(slice), rest);
    if constexpr (!kNarrow) {
      const T* const b = x.b + slice * kSlice * g.ldb + panel * wide;
      if (!copies_b_) return {b, g.ldb, wide, rest, row_panels_ == 1};
      if (!there && !g.transpose_b && high) return {b, g.ldb, wide, rest, true, copies.room};
    }
    // Of some terms, all panels: memory likes long rows.
    constexpr int64_t kAtATime = 16;
    const int64_t terms = terms_of(slice), step = kNarrow && !g.transpose_b ? kAtATime : terms;
    for (int64_t term = 0; term < terms && !there; term += step)
      for (int64_t i = 0; i < whole; i++)
        copy_panel(x, slice, panel + i, term, std::min(step, terms - term), copies.room + i * size);
    return {copies.room, wide, size, rest};
  }

  void multiply(const Matrices& x, int64_t slice, int64_t row_panel, int64_t panel, int64_t count,
                Copies& copies) const {
    const GemmDesc& g = desc_;
    const int64_t row = row_panel * kernels_.rows, column = panel * kernels_.columns;
    const int64_t rows = std::min(kernels_.rows, g.m - row),
                  columns = std::min(count * kernels_.columns, g.n - column);
    const Panels<T> b = panels(x, slice, panel, count, rows == kernels_.rows, copies);
    T* const d = x.d + row * g.ldd + column;
    if (reads_a_in_place() && b.copies == nullptr && !b.far) {
      const S* const first = x.a + row * g.lda + slice * kSlice;
      const auto by = [&](const RowsOfA<T>& a) {
        kernels_.multiply(a, b, terms_of(slice), rows, columns, slice > 0, d, g.ldd);
      };
      if constexpr (!kNarrow) {
        announce_rows(first + kernels_.rows * g.lda, rows, terms_of(slice));
        by({first, g.lda});
      } else {
        alignas(64) T block[kMostApart * kRowOfBlock];
        widen()(first, g.lda, rows, terms_of(slice), block, kRowOfBlock);
        by({block, kRowOfBlock});
      }
      return;
    }
    alignas(64) T a[kSlice * kMostApart];
    copy_rows(x, slice, row_panel, a);
    kernels_.multiply({a}, b, terms_of(slice), rows, columns, slice > 0, d, g.ldd);
  }

  const Kernels<T>& kernels_;
  const GemmDesc desc_;
  const int64_t slices_, row_panels_, column_panels_;
  const bool copies_b_;
  const int64_t room_, rooms_;  // elements of a worker's panels; workers that there is room for
};

}  // namespace

std::optional<hal::Refusal> refuses(const GemmDesc& desc) {
  if (!all_of_type(desc, DType::F32) && !all_of_type(desc, DType::F64))
    return no_such_product(desc);
  if (kernels(float{}) == nullptr) return hal::Refusal{"this processor has no fused multiply-add"};
  return {};
}

bool takes_narrow_b(const GemmDesc& desc) {
  const Kernels<float>* const all = kernels(float{});
  const bool fits =
      all != nullptr && !desc.transpose_b && desc.m <= kFewRows && desc.n >= all->columns / 2;
  if (!fits || desc.a != DType::F32 || desc.d != DType::F32 || desc.accumulate != DType::F32)
    return false;
  return has_narrow(*all, desc.b);
}

bool takes_narrow(const GemmDesc& desc) {
  const Kernels<float>* const all = kernels(float{});
  if (all == nullptr || desc.a != desc.b || desc.d != DType::F32 || desc.accumulate != DType::F32)
    return false;
  return has_narrow(*all, desc.a);
}

std::shared_ptr<HostPlan> plan(const GemmDesc& desc, int threads) {
  const GemmDesc folded = fold(desc);
  const auto of_narrow = [&]<class S>(S) -> std::shared_ptr<HostPlan> {
    if (desc.a == DType::F32) return std::make_shared<FewRows<float, S>>(folded);
    return std::make_shared<Plan<float, S>>(folded, threads);
  };
  if (desc.b == DType::F16) return of_narrow(Half{});
  if (desc.b == DType::BF16) return of_narrow(BFloat{});
  const auto of = [threads](const GemmDesc& d, auto type) -> std::shared_ptr<HostPlan> {
    using T = decltype(type);
    if (auto skinny = skinny_plan(d, name_of_product<T>())) return skinny;
    if (!d.transpose_b && d.m <= kFewRows) return std::make_shared<FewRows<T>>(d);
    return std::make_shared<Plan<T>>(d, threads);
  };
  return desc.a == DType::F32 ? of(folded, float{}) : of(folded, double{});
}

}  // namespace hologram::libraries::packed
