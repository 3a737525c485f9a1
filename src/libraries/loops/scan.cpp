#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "libraries/loops/elements.hpp"
#include "libraries/loops/loops.hpp"
#include "libraries/loops/scan_kernels.hpp"

namespace hologram::libraries::loops {
namespace {

constexpr int64_t kPiece = hal::ScanDesc::kPiece;
// Pieces side by side: a sum waits for the one before it.
constexpr int64_t kSide = 8;
static_assert(kSide <= kMostAtOnce);
constexpr int64_t kMostColumns = 5;  // more are vectors' work
constexpr int64_t kLeastBeside = 4;  // elements of rows

// Integers overflow as programs let them.
template <class T>
T add(T a, T b) {
  return a + b;
}
template <>
int64_t add(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
template <class T>
T multiply(T a, T b) {
  return a * b;
}
template <>
int64_t multiply(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

template <class T, bool kProducts>
class Rows {
 public:
  explicit Rows(core::Threads& threads) : threads_(threads) {}

  void run(const T* x, T* y, int64_t rows, int64_t length) const {
    const int64_t pieces = (length + kPiece - 1) / kPiece;
    if (length < kLeastBeside) return one_by_one(x, y, rows, length);
    const int64_t done = beside(x, y, rows, pieces, length);
    if (done == rows) return;
    x += done * length, y += done * length, rows -= done;
    if (pieces <= 1) return walk<true>(x, y, rows, pieces, length, from_nothing);
    const bool few = rows * length <= kWorthAThread || rows >= threads_.count();
    if (few && pieces <= kPiece * kPiece) {
      const auto worth = static_cast<uint64_t>(std::max<int64_t>(1, kWorthAThread / length));
      return threads_.run(static_cast<uint64_t>(rows), worth, [&](uint64_t begin, uint64_t end) {
        for (auto r = static_cast<int64_t>(begin); r < static_cast<int64_t>(end); r++)
          row(x + r * length, y + r * length, pieces, length);
      });
    }
    const auto count = static_cast<size_t>(rows * pieces);
    std::vector<T> totals(count), before(count);
    walk<false>(x, totals.data(), rows, pieces, length, from_nothing);
    run(totals.data(), before.data(), rows, pieces);
    walk<true>(x, y, rows, pieces, length, [&](int64_t p) {
      return p % pieces == 0 ? kNothing : before[static_cast<size_t>(p - 1)];
    });
  }

  // A few columns down the rows: two or three sums wait for each other less than one.
  template <size_t kColumns>
  void columns(const T* x, T* y, int64_t matrices, int64_t length) const {
    const auto worth = static_cast<uint64_t>(std::max<int64_t>(1, kWorthAThread / length));
    threads_.run(static_cast<uint64_t>(matrices), worth, [&](uint64_t begin, uint64_t end) {
      for (uint64_t z = begin; z < end; z++) {
        const uint64_t first = z * static_cast<uint64_t>(length) * kColumns;
        const T* from = x + first;
        T* to = y + first;
        std::array<Starts, kColumns> starts;
        for (int64_t p = 0; p * kPiece < length; p++) {
          std::array<T, kColumns> sums, totals;
          for (size_t c = 0; c < kColumns; c++) sums[c] = starts[c].next(), totals[c] = kNothing;
          const int64_t count = std::min(kPiece, length - p * kPiece);
          for (int64_t j = 0; j < count; j++, from += kColumns, to += kColumns)
#pragma GCC unroll 5
            for (size_t c = 0; c < kColumns; c++) {
              totals[c] = step(totals[c], from[c]);
              to[c] = sums[c] = step(sums[c], from[c]);
            }
          for (size_t c = 0; c < kColumns; c++) starts[c].add(p, totals[c]);
        }
      }
    });
  }

 private:
  static constexpr T kNothing = kProducts ? 1 : 0;
  static T step(T a, T b) { return kProducts ? multiply(a, b) : add(a, b); }
  static T from_nothing(int64_t /*piece*/) { return kNothing; }

  static const PieceKernels* vectors() {  // of floats
    return kProducts ? products_of_pieces() : sums_of_pieces();
  }

  // What comes before the pieces of a row, one after the other: the running sum of their totals,
  // which are pieces of their own; before one of those come their totals.
  class Starts {
   public:
    T next() const { return before_; }
    void add(int64_t piece, T of_piece) {
      if (piece % kPiece == 0) {
        if (piece > 0) all_ = step(all_, total_);
        sum_ = all_, total_ = kNothing;
      }
      before_ = sum_ = step(sum_, of_piece);
      total_ = step(total_, of_piece);
    }

   private:
    T sum_ = kNothing, total_ = kNothing, all_ = kNothing, before_ = kNothing;
  };

  static constexpr bool kHasBeside =
      std::is_floating_point_v<T> || (std::is_same_v<T, int64_t> && !kProducts);

  void one_by_one(const T* x, T* y, int64_t rows, int64_t length) const {
    threads_.run(static_cast<uint64_t>(rows), static_cast<uint64_t>(kWorthAThread),
                 [&](uint64_t begin, uint64_t end) {
                   const auto last = static_cast<int64_t>(end) * length;
                   for (auto i = static_cast<int64_t>(begin) * length; i < last;) {
                     T sum = kNothing;
                     for (int64_t j = 0; j < length; j++, i++) y[i] = sum = step(sum, x[i]);
                   }
                 });
  }

  // As many of the first rows as go side by side.
  int64_t beside(const T* x, T* y, int64_t rows, int64_t pieces, int64_t length) const {
    if constexpr (kHasBeside) {
      const BesideKernel<T>* kernel;
      if constexpr (kProducts) kernel = products_beside(T());
      else kernel = sums_beside(T());
      // A long row's own pieces go side by side, if they are floats.
      const int64_t most = std::is_same_v<T, float> ? kMostAtOnce : kPiece * kPiece;
      if (kernel == nullptr || pieces > most) return 0;
      const int64_t many = kernel->rows, groups = rows / many;
      if (groups < threads_.count()) return 0;
      const auto worth = static_cast<uint64_t>(std::max<int64_t>(1, kWorthAThread / length / many));
      threads_.run(static_cast<uint64_t>(groups), worth, [&](uint64_t begin, uint64_t end) {
        for (auto g = static_cast<int64_t>(begin); g < static_cast<int64_t>(end); g++) {
          std::array<Starts, kMostAtOnce> rows_starts;
          std::array<T, kMostAtOnce> starts, totals;
          for (int64_t p = 0; p < pieces; p++) {
            for (size_t r = 0; r < static_cast<size_t>(many); r++)
              starts[r] = rows_starts[r].next();
            const int64_t at = g * many * length + p * kPiece;
            kernel->run(x + at, y + at, length, std::min(kPiece, length - p * kPiece),
                        starts.data(), totals.data());
            for (size_t r = 0; r < static_cast<size_t>(many); r++) rows_starts[r].add(p, totals[r]);
          }
        }
      });
      return groups * many;
    }
    return 0;
  }

  // A row of at most kPiece pieces of pieces by one thread: some pieces' totals, the running sums
  // of those, and then the pieces once more, while they are near.
  static void row(const T* x, T* y, int64_t pieces, int64_t length) {
    Starts of_row;
    std::array<T, kMostAtOnce> totals, starts;
    const auto pass = [&](int64_t first, int64_t count) {
      for (int64_t s = 0; s < count; s++) {
        starts[static_cast<size_t>(s)] = of_row.next();
        of_row.add(first + s, totals[static_cast<size_t>(s)]);
      }
    };
    int64_t p = 0;
    if constexpr (std::is_same_v<T, float>) {
      if (const PieceKernels* const by_vectors = vectors()) {
        PieceKernels::Turned turned;
        for (const int64_t count = by_vectors->pieces; (p + count) * kPiece <= length; p += count) {
          by_vectors->turn(x + p * kPiece, turned, totals.data());
          pass(p, count);
          by_vectors->run(turned, starts.data(), y + p * kPiece);
        }
      }
    }
    for (; p < pieces; p += kSide) {
      const int64_t count = std::min(kSide, pieces - p), left = length - p * kPiece;
      const T* const from = x + p * kPiece;
      some_of<false>(from, totals.data(), 0, count, count, left, from_nothing);
      pass(p, count);
      some_of<true>(from, y + p * kPiece, 0, count, count, left,
                    [&](int64_t s) { return starts[static_cast<size_t>(s)]; });
    }
  }

  // Pieces [p, last), each from start(piece) on: every sum to its element's place, or the last to
  // the piece's.
  template <bool kAll, class Start>
  static void some_of(const T* x, T* y, int64_t p, int64_t last, int64_t pieces, int64_t length,
                      const Start& start) {
    if constexpr (std::is_same_v<T, float>)
      if (const PieceKernels* const by_vectors = vectors())
        p = some_by<kAll>(*by_vectors, x, y, p, last, pieces, length, start);
    for (; p + kSide <= last; p += kSide) side<kAll, kSide>(x, y, p, pieces, length, start);
    for (; p < last; p++) side<kAll, 1>(x, y, p, pieces, length, start);
  }

  // The same for as many of the first as vectors take; where the rest begins.
  template <bool kAll, class Start>
  static int64_t some_by(const PieceKernels& by_vectors, const float* x, float* y, int64_t p,
                         int64_t last, int64_t pieces, int64_t length, const Start& start) {
    std::array<float, kMostAtOnce> totals, starts;
    PieceKernels::Turned turned;
    for (const int64_t count = by_vectors.pieces; p + count <= last; p += count) {
      const int64_t first = p % pieces * kPiece, from = p / pieces * length + first;
      if (first + count * kPiece > length) break;
      by_vectors.turn(x + from, turned, kAll ? totals.data() : y + p);
      if constexpr (!kAll) continue;
      for (int64_t s = 0; s < count; s++) starts[static_cast<size_t>(s)] = start(p + s);
      by_vectors.run(turned, starts.data(), y + from);
    }
    return p;
  }

  template <bool kAll, int64_t kCount, class Start>
  static void side(const T* x, T* y, int64_t p, int64_t pieces, int64_t length,
                   const Start& start) {
    std::array<T, kCount> sums;
    std::array<int64_t, kCount> from, count;
    for (size_t s = 0; s < kCount; s++) {
      const int64_t piece = p + static_cast<int64_t>(s), first = piece % pieces * kPiece;
      sums[s] = start(piece);
      from[s] = piece / pieces * length + first;
      count[s] = std::min(kPiece, length - first);
    }
    const auto add_at = [&](size_t s, int64_t j) {
      sums[s] = step(sums[s], x[from[s] + j]);
      if constexpr (kAll) y[from[s] + j] = sums[s];
    };
    const int64_t together = *std::min_element(count.begin(), count.end());
    for (int64_t j = 0; j < together; j++)
#pragma GCC unroll 8
      for (size_t s = 0; s < kCount; s++) add_at(s, j);
    for (size_t s = 0; s < kCount; s++) {
      for (int64_t j = together; j < count[s]; j++) add_at(s, j);
      if constexpr (!kAll) y[p + static_cast<int64_t>(s)] = sums[s];
    }
  }

  template <bool kAll, class Start>
  void walk(const T* x, T* y, int64_t rows, int64_t pieces, int64_t length,
            const Start& start) const {
    const auto worth = static_cast<uint64_t>(std::max<int64_t>(1, kWorthAThread / kPiece));
    threads_.run(static_cast<uint64_t>(rows * pieces), worth, [&](uint64_t begin, uint64_t end) {
      some_of<kAll>(x, y, static_cast<int64_t>(begin), static_cast<int64_t>(end), pieces, length,
                    start);
    });
  }

  core::Threads& threads_;
};

class Running : public HostPlan {
 public:
  explicit Running(const hal::ScanDesc& desc)
      : desc_(desc), name_(fmt::format("hologram {} running sums", name_of(desc.dtype))) {}

  const std::string& name() const override { return name_; }

  void run(std::span<const hal::Binding> operands, hal::Binding /*workspace*/,
           core::Threads& threads) const override {
    const int64_t outer = desc_.lengths[0], length = desc_.lengths[1];
    if (outer * length == 0) return;
    const auto of = [&]<class T>(T) {
      const T* const x = data_at<T>(operands[0]);
      T* const y = data_at<T>(operands[1]);
      const auto by = [&](const auto& rows) {
        switch (desc_.lengths[2]) {
          case 2: return rows.template columns<2>(x, y, outer, length);
          case 3: return rows.template columns<3>(x, y, outer, length);
          case 4: return rows.template columns<4>(x, y, outer, length);
          case 5: return rows.template columns<kMostColumns>(x, y, outer, length);
          default: return rows.run(x, y, outer, length);
        }
      };
      if (desc_.products) by(Rows<T, true>(threads));
      else by(Rows<T, false>(threads));
    };
    switch (desc_.dtype) {
      case DType::F32: return of(float());
      case DType::F64: return of(double());
      case DType::I64: return of(int64_t());
      default: return of(uint64_t());
    }
  }

 private:
  const hal::ScanDesc desc_;
  const std::string name_;
};

}  // namespace

std::optional<hal::Refusal> refuses(const hal::ScanDesc& d) {
  if (d.dtype != DType::F32 && d.dtype != DType::F64 && d.dtype != DType::I64 &&
      d.dtype != DType::U64)
    return hal::Refusal{fmt::format("no running sums of {}", name_of(d.dtype))};
  if (d.lengths[2] > kMostColumns)
    return hal::Refusal{"running sums of many columns are vectors' work"};
  return {};
}

std::shared_ptr<HostPlan> plan(const hal::ScanDesc& desc) {
  return std::make_shared<Running>(desc);
}

}  // namespace hologram::libraries::loops
