#include "libraries/packed/packed.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <thread>
#include <vector>

#include "core/messages.hpp"
#include "libraries/library.hpp"
#include "libraries/packed/columns.hpp"

namespace hologram::libraries::packed {
namespace {

using hal::GemmDesc;

constexpr int64_t kSlice = 4 * kTermsOfBlock;
constexpr int64_t kSlicesAtOnce = 3;         // one is copied, one multiplied, one perhaps not done
constexpr int64_t kRoom = int64_t{8} << 20;  // for copies of several matrices of a batch
constexpr int64_t kBytesAcross = int64_t{1} << 20;  // of panels that a thread goes over
constexpr int64_t kColumnsAcross = 2048;            // where they lie in a cache that cores share
constexpr int64_t kLeastAcross = 4, kCopied = 4;    // panels
constexpr int64_t kPartsOfAThread = 9;
constexpr double kFlopsWorthAThread = 8e6;  // by bytes of an element
constexpr double kBytesOfBWorthAThread = 1 << 18;
// Of a matrix b that a copy does not pay for, and of its rows: those of rows further apart would
// share a few places of the nearest cache.
constexpr int64_t kBytesOfBInPlace = 1 << 19, kBytesOfRowInPlace = 1 << 11;
constexpr int64_t kBytesOfBNearby = 1 << 20;  // of a cache that each core has

// Whether each core has a cache for such panels. Where it has none, and they come from further off
// anyhow, the fewer runs of panels there are, the fewer copies are made of the rows of a.
bool has_near_cache() {
#ifdef _SC_LEVEL2_CACHE_SIZE
  static const long bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
  return bytes <= 0 || bytes >= kBytesAcross;
#else
  return true;
#endif
}

int64_t parts(int64_t count, int64_t of) { return (count + of - 1) / of; }

uint64_t grain(double worth, double each) {
  return static_cast<uint64_t>(std::max(1.0, worth / std::max(each, 1.0)));
}

template <class T>
const std::string& name_of_product() {
  static const std::string name =
      fmt::format("hologram {} product", name_of(sizeof(T) == 4 ? DType::F32 : DType::F64));
  return name;
}

template <class T>
std::array<T*, 3> matrices_of(const GemmDesc& desc, std::span<const hal::Binding> operands) {
  const std::array<Stored, 3> matrices = stored(desc);
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

// A few rows read each element of b a few times: a copy would not pay.
template <class T>
class FewRows : public HostPlan {
 public:
  explicit FewRows(const GemmDesc& desc)
      : kernels_(*kernels(T{})), columns_(*column_kernel(T{})), desc_(desc) {}

  const std::string& name() const override { return name_of_product<T>(); }
  uint64_t workspace() const override { return 0; }

  void run(std::span<const hal::Binding> operands, hal::Binding /*workspace*/,
           core::Threads& threads) const override {
    const GemmDesc& g = desc_;
    const auto [a, b, d] = matrices_of<T>(g, operands);
    if (g.m == 0 || g.n == 0 || g.batch == 0) return;
    if (g.k == 0) return clear(g, d);
    // One part a thread: each row of b is read in so many pieces.
    constexpr int64_t kTogether = 64 / sizeof(T);
    const int64_t across = parts(g.n, kTogether);
    const auto bytes = static_cast<double>(g.k * kTogether) * sizeof(T);
    const auto each = static_cast<uint64_t>(parts(g.batch * across, threads.count()));
    threads.run(static_cast<uint64_t>(g.batch * across),
                std::max(each, grain(kBytesOfBWorthAThread, bytes)),
                [&, a = a, b = b, d = d](uint64_t begin, uint64_t end) {
                  const auto last = static_cast<int64_t>(end);
                  for (auto i = static_cast<int64_t>(begin); i < last;) {
                    const int64_t z = i / across, column = i % across * kTogether;
                    const int64_t to = std::min(last, (z + 1) * across);
                    const int64_t columns = std::min(g.n - column, (to - i) * kTogether);
                    const T* const x = a + z * g.stride_a;
                    const T* const y = b + z * g.stride_b + column;
                    T* const sums = d + z * g.stride_d + column;
                    const int64_t row = g.transpose_a ? 1 : g.lda, term = g.transpose_a ? g.lda : 1;
                    if (by_columns(columns)) columns_.run(x, term, y, g.ldb, g.k, columns, sums);
                    else
                      kernels_.multiply_rows(x, row, term, y, g.ldb, g.k, g.m, columns, sums,
                                             g.ldd);
                    i = to;
                  }
                });
  }

 private:
  bool by_columns(int64_t columns) const {
    return desc_.m == 1 && columns >= columns_.least &&
           desc_.k * columns * static_cast<int64_t>(sizeof(T)) <= kBytesOfBNearby;
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
        done_.fetch_add(1, std::memory_order_release);
      }
    }
  }

  // Until all are done; none must be left that nobody has begun.
  void wait() const {
    while (done_.load(std::memory_order_acquire) < pieces_) std::this_thread::yield();
  }

 private:
  std::atomic<int64_t>& next(int64_t worker) { return next_[static_cast<size_t>(worker)]; }

  const int64_t pieces_;
  std::vector<std::atomic<int64_t>> next_;  // of each worker
  std::atomic<int64_t> done_{0};
};

// The terms of d are taken by slices. Of a slice, all columns of b are copied by panels into the
// workspace; then rectangles of d, so wide that the panels of b stay in a cache, have theirs added.
// Rows of a that several rectangles have in common are copied into it, too; others by who needs
// them.
template <class T>
class Plan : public HostPlan {
 public:
  explicit Plan(const GemmDesc& desc)
      : kernels_(*kernels(T{})),
        desc_(desc),
        slices_(parts(desc.k, kSlice)),
        row_panels_(parts(desc.m, kernels_.rows)),
        column_panels_(parts(desc.n, kernels_.columns)),
        copies_b_(desc.transpose_b || bytes_of(desc.ldb) > kBytesOfRowInPlace ||
                  bytes_of(desc.k * desc.ldb) > kBytesOfBInPlace),
        copies_a_(column_panels_ > 0 && column_panels_ > panels_across(1)),
        room_of_b_((copies_b_    ? column_panels_
                    : has_rest() ? 1
                                 : 0) *
                   kernels_.columns * longest_slice()),
        room_(room_of_b_ + (copies_a_ ? row_panels_ * kernels_.apart * longest_slice() : 0)),
        rooms_(std::max(std::min(slices_, kSlicesAtOnce),
                        std::min(desc.batch, kRoom / std::max<int64_t>(bytes_of_room(), 1)))) {}

  const std::string& name() const override { return name_of_product<T>(); }
  uint64_t workspace() const override {
    return desc_.batch == 0 ? 0 : static_cast<uint64_t>(rooms_ * bytes_of_room());
  }

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
      return Matrices{data[0] + z * g.stride_a, data[1] + z * g.stride_b, data[2] + z * g.stride_d};
    };
    const double flops =
        2.0 * static_cast<double>(g.m) * static_cast<double>(g.n) * static_cast<double>(g.k);
    const auto worth = [&](double work, int64_t most) {
      const double most_of_work = work / (kFlopsWorthAThread / sizeof(T));
      return static_cast<int>(std::min({static_cast<double>(threads.count()),
                                        static_cast<double>(most), std::max(1.0, most_of_work)}));
    };
    const int for_one = worth(flops, threads.count()),
              for_all = worth(flops * static_cast<double>(g.batch), std::min(rooms_, g.batch));
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
  struct Matrices {
    const T *a, *b;
    T* d;
  };

  static int64_t bytes_of(int64_t elements) { return elements * static_cast<int64_t>(sizeof(T)); }
  int64_t bytes_of_room() const { return bytes_of(room_); }
  int64_t terms_of(int64_t slice) const { return std::min(kSlice, desc_.k - slice * kSlice); }
  bool has_rest() const { return desc_.n % kernels_.columns != 0; }
  int64_t longest_slice() const {
    return std::min(kSlice, parts(desc_.k, kTermsOfBlock) * kTermsOfBlock);
  }
  // Panels that a thread goes over at a time, of so many.
  int64_t panels_across(int64_t threads) const {
    constexpr int64_t kNear = kBytesAcross / (kSlice * static_cast<int64_t>(sizeof(T)));
    const int64_t columns = has_near_cache() ? kNear : kColumnsAcross;
    int64_t across = parts(column_panels_, std::max<int64_t>(columns / kernels_.columns, 1));
    if (threads > 1 && row_panels_ * across < threads * kPartsOfAThread)
      across = std::clamp<int64_t>(column_panels_ / kLeastAcross, across, across * threads);
    return parts(column_panels_, across);
  }

  template <class Work>
  static void workers(core::Threads& threads, int count, const Work& work) {
    threads.run(static_cast<uint64_t>(count), 1, [&](uint64_t begin, uint64_t end) {
      for (uint64_t worker = begin; worker < end; worker++) work(static_cast<int64_t>(worker));
    });
  }

  void by_one(const Matrices& x, T* room) const {
    const int64_t across = panels_across(1);
    for (int64_t slice = 0; slice < slices_; slice++) {
      copy_columns(x, slice, 0, column_panels_, room);
      for (int64_t row = 0; row < row_panels_ && copies_a_; row++)
        copy_rows(x, slice, row, room_of_rows(room, row));
      for (int64_t panel = 0; panel < column_panels_; panel += across)
        for (int64_t row = 0; row < row_panels_; row++)
          multiply(x, slice, row, panel, std::min(across, column_panels_ - panel), room);
    }
  }

  // Each slice of b is copied before the products of the one before it: so nobody waits for the
  // last ones of a slice.
  void by_several(const Matrices& x, T* rooms, core::Threads& threads, int count) const {
    const int64_t across = panels_across(count), copied = std::min<int64_t>(across, kCopied);
    const int64_t copies_of_b = parts(column_panels_, copied);
    const int64_t products = parts(column_panels_, across) * row_panels_;
    std::deque<Share> copying, copying_rows, multiplying;
    for (int64_t slice = 0; slice < slices_; slice++) {
      copying.emplace_back(copies_of_b, count);
      copying_rows.emplace_back(copies_a_ ? row_panels_ : 0, count);
      multiplying.emplace_back(products, count);
    }
    const auto of = [](std::deque<Share>& shares, int64_t slice) -> Share& {
      return shares[static_cast<size_t>(slice)];
    };
    const auto room = [&](int64_t slice) { return rooms + slice % rooms_ * room_; };
    const auto wait_for_room = [&](int64_t slice) {
      if (slice >= rooms_) of(multiplying, slice - rooms_).wait();
    };
    const auto copy = [&](int64_t worker, int64_t slice) {
      of(copying, slice).work(worker, [&](int64_t i) {
        wait_for_room(slice);
        copy_columns(x, slice, i * copied, std::min(copied, column_panels_ - i * copied),
                     room(slice));
      });
      of(copying_rows, slice).work(worker, [&](int64_t row) {
        wait_for_room(slice);
        copy_rows(x, slice, row, room_of_rows(room(slice), row));
      });
    };
    workers(threads, count, [&](int64_t worker) {
      copy(worker, 0);
      for (int64_t slice = 0; slice < slices_; slice++) {
        if (slice + 1 < slices_) copy(worker, slice + 1);
        of(multiplying, slice).work(worker, [&](int64_t i) {
          of(copying, slice).wait();
          of(copying_rows, slice).wait();
          if (slice > 0) of(multiplying, slice - 1).wait();
          const int64_t panel = i / row_panels_ * across;
          multiply(x, slice, i % row_panels_, panel, std::min(across, column_panels_ - panel),
                   room(slice));
        });
      }
    });
  }

  // Of a matrix that is read in place, what its last columns have in place of a panel.
  void copy_columns(const Matrices& x, int64_t slice, int64_t panel, int64_t count, T* room) const {
    const int64_t end = panel + count;
    if (copies_b_)
      for (; panel < end; panel++) copy_panel(x, slice, panel, panel_of(room, slice, panel));
    else if (end == column_panels_ && has_rest()) copy_panel(x, slice, end - 1, room);
  }

  void copy_panel(const Matrices& x, int64_t slice, int64_t panel, T* to) const {
    const GemmDesc& g = desc_;
    const int64_t wide = kernels_.columns, first = slice * kSlice, terms = terms_of(slice);
    const int64_t column = panel * wide, columns = std::min(wide, g.n - column);
    if (columns < wide) std::fill_n(to, terms * wide, T{0});
    kernels_.copy(g.transpose_b ? x.b + column * g.ldb + first : x.b + first * g.ldb + column,
                  g.ldb, g.transpose_b, terms, columns, to, wide);
  }

  T* panel_of(T* room, int64_t slice, int64_t panel) const {
    return room + panel * kernels_.columns * terms_of(slice);
  }

  void copy_rows(const Matrices& x, int64_t slice, int64_t row_panel, T* to) const {
    const GemmDesc& g = desc_;
    const int64_t first = slice * kSlice, row = row_panel * kernels_.rows;
    kernels_.copy(g.transpose_a ? x.a + first * g.lda + row : x.a + row * g.lda + first, g.lda,
                  !g.transpose_a, terms_of(slice), std::min(kernels_.apart, g.m - row), to,
                  kernels_.apart);
  }

  T* room_of_rows(T* room, int64_t row_panel) const {
    return room + room_of_b_ + row_panel * kernels_.apart * longest_slice();
  }

  void multiply(const Matrices& x, int64_t slice, int64_t row_panel, int64_t panel, int64_t count,
                T* room) const {
    const GemmDesc& g = desc_;
    const int64_t first = slice * kSlice, terms = terms_of(slice), wide = kernels_.columns;
    const int64_t row = row_panel * kernels_.rows, column = panel * wide;
    alignas(64) T copy[kSlice * kMostApart];
    T* const a = copies_a_ ? room_of_rows(room, row_panel) : copy;
    if (!copies_a_) copy_rows(x, slice, row_panel, a);
    const Panels<T> b = copies_b_ ? Panels<T>{panel_of(room, slice, panel), wide, wide * terms,
                                              panel_of(room, slice, column_panels_ - 1)}
                                  : Panels<T>{x.b + first * g.ldb + column, g.ldb, wide, room};
    kernels_.multiply(a, b, terms, std::min(kernels_.rows, g.m - row),
                      std::min(count * wide, g.n - column), slice > 0, x.d + row * g.ldd + column,
                      g.ldd);
  }

  const Kernels<T>& kernels_;
  const GemmDesc desc_;
  const int64_t slices_, row_panels_, column_panels_;
  const bool copies_b_, copies_a_;  // into room; rows of a that are used once need none
  const int64_t room_of_b_, room_;  // elements of the panels of a slice; with those of a
  const int64_t rooms_;             // slices that are there at a time, of one matrix or of several
};

}  // namespace

std::optional<hal::Refusal> refuses(const GemmDesc& desc) {
  if (!all_of_type(desc, DType::F32) && !all_of_type(desc, DType::F64))
    return no_such_product(desc);
  if (kernels(float{}) == nullptr) return hal::Refusal{"this processor has no fused multiply-add"};
  return {};
}

std::shared_ptr<HostPlan> plan(const GemmDesc& desc) {
  const auto of = [](const GemmDesc& d, auto type) -> std::shared_ptr<HostPlan> {
    using T = decltype(type);
    if (!d.transpose_b && d.m <= kFewRows) return std::make_shared<FewRows<T>>(d);
    return std::make_shared<Plan<T>>(d);
  };
  const GemmDesc folded = fold(desc);
  return desc.a == DType::F32 ? of(folded, float{}) : of(folded, double{});
}

}  // namespace hologram::libraries::packed
