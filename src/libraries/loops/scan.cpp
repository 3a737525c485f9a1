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

 private:
  static constexpr T kNothing = kProducts ? 1 : 0;
  static T step(T a, T b) { return kProducts ? multiply(a, b) : add(a, b); }
  static T from_nothing(int64_t /*piece*/) { return kNothing; }

  static const PieceKernels* vectors() {  // of floats
    return kProducts ? products_of_pieces() : sums_of_pieces();
  }

  // A row of at most kPiece pieces of pieces by one thread: some pieces' totals, the running sums
  // of those, and then the pieces once more, while they are near. What comes before a piece is the
  // running sum of totals, which are pieces of their own; before one of those come their totals.
  static void row(const T* x, T* y, int64_t pieces, int64_t length) {
    T sum = kNothing, total = kNothing, all = kNothing, before = kNothing;
    std::array<T, kMostAtOnce> totals, starts;
    const auto pass = [&](int64_t first, int64_t count) {
      for (int64_t s = 0; s < count; s++) {
        if ((first + s) % kPiece == 0) {
          if (first + s > 0) all = step(all, total);
          sum = all, total = kNothing;
        }
        starts[static_cast<size_t>(s)] = before;
        const T of_piece = totals[static_cast<size_t>(s)];
        before = sum = step(sum, of_piece);
        total = step(total, of_piece);
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
      if (desc_.products) Rows<T, true>(threads).run(x, y, outer, length);
      else Rows<T, false>(threads).run(x, y, outer, length);
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
  if (d.lengths[2] != 1) return hal::Refusal{"running sums of columns are vectors' work"};
  return {};
}

std::shared_ptr<HostPlan> plan(const hal::ScanDesc& desc) {
  return std::make_shared<Running>(desc);
}

}  // namespace hologram::libraries::loops
