#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "libraries/loops/elements.hpp"
#include "libraries/loops/loops.hpp"
#include "libraries/loops/scan_columns.hpp"

namespace hologram::libraries::loops {
namespace {

constexpr int64_t kPiece = kScanPiece;
constexpr size_t kMostColumns = 5;  // of integers; more are vectors' work

template <class T, bool kProducts>
class Rows {
 public:
  explicit Rows(core::Threads& threads) : threads_(threads) {}

  void run(const T* x, T* y, int64_t rows, int64_t length) const {
    const int64_t pieces = (length + kPiece - 1) / kPiece;
    switch (length) {
      case 1: return alone(x, y, rows);
      case 2: return short_rows<2>(x, y, rows);
      case 3: return short_rows<3>(x, y, rows);
      default: break;
    }
    const int64_t done = beside(x, y, rows, pieces, length);
    if (done == rows) return;
    x += done * length, y += done * length, rows -= done;
    if constexpr (kFloat<T>)
      if (Some<T, kProducts>::kernels() == nullptr)
        return Columns<T, kProducts>(threads_, x, y, rows, length, 1).run();
    using Before = Starting<T, kProducts, kMostAtOnce>;
    if (pieces <= 1)
      return walk(x, rows, pieces, length, [&](Some<T, kProducts>& some, int64_t /*p*/) {
        some.template sum<true>();
        some.add(y, Before());
      });
    if (rows * length <= kWorthAThread || rows >= threads_.count()) {
      const auto worth = static_cast<uint64_t>(std::max<int64_t>(1, kWorthAThread / length));
      return threads_.run(static_cast<uint64_t>(rows), worth, [&](uint64_t begin, uint64_t end) {
        for (auto r = static_cast<int64_t>(begin); r < static_cast<int64_t>(end); r++)
          row(x + r * length, y + r * length, pieces, length);
      });
    }
    std::vector<Part<T, kProducts>> totals(static_cast<size_t>(rows * pieces));
    walk(x, rows, pieces, length, [&](Some<T, kProducts>& some, int64_t p) {
      some.template sum<false>();
      for (size_t s = 0; s < some.count(); s++)
        totals[static_cast<size_t>(p) + s] =
            some.out() >> s & 1 ? some.total(s) : part_of<kProducts>(some.totals(), s);
    });
    const Prefixes<T, kProducts> prefixes(threads_, std::move(totals), rows, pieces);
    walk(x, rows, pieces, length, [&](Some<T, kProducts>& some, int64_t p) {
      Before before;
      int64_t r = p / pieces, piece = p % pieces;
      for (size_t s = 0; s < some.count(); s++) {
        prefixes.set(r, piece, s, before);
        if (++piece == pieces) r++, piece = 0;
      }
      some.template sum<true>();
      some.add(y, before);
    });
  }

  // A few columns of integers, which add up in any order: two or three sums wait for each other
  // less than one.
  template <size_t kColumns>
  void columns(const T* x, T* y, int64_t matrices, int64_t length) const {
    const auto worth = static_cast<uint64_t>(std::max<int64_t>(1, kWorthAThread / length));
    threads_.run(static_cast<uint64_t>(matrices), worth, [&](uint64_t begin, uint64_t end) {
      for (uint64_t z = begin; z < end; z++) {
        const uint64_t first = z * static_cast<uint64_t>(length) * kColumns;
        const T* from = x + first;
        T* to = y + first;
        std::array<T, kColumns> sums;
        sums.fill(kNothing<T, kProducts>);
        for (int64_t j = 0; j < length; j++, from += kColumns, to += kColumns)
#pragma GCC unroll 5
          for (size_t c = 0; c < kColumns; c++) to[c] = sums[c] = step<kProducts>(sums[c], from[c]);
      }
    });
  }

 private:
  static constexpr bool kHasBeside = kFloat<T> || (std::is_same_v<T, int64_t> && !kProducts);

  // Single elements: that 0 is added has the zero's sign changed.
  void alone(const T* x, T* y, int64_t count) const {
    threads_.run(static_cast<uint64_t>(count), static_cast<uint64_t>(kWorthAThread),
                 [&](uint64_t begin, uint64_t end) {
                   for_each(static_cast<int64_t>(begin), static_cast<int64_t>(end), [&](int64_t i) {
                     y[i] = step<kProducts>(kNothing<T, kProducts>, x[i]);
                   });
                 });
  }
  template <int64_t kLength>
  void short_rows(const T* x, T* y, int64_t rows) const {
    constexpr int64_t kSome = 64;  // rows that are looked at once
    threads_.run(static_cast<uint64_t>(rows), static_cast<uint64_t>(kWorthAThread),
                 [&](uint64_t begin, uint64_t end) {
                   for (auto r = static_cast<int64_t>(begin); r < static_cast<int64_t>(end);
                        r += kSome)
                     some_rows<kLength>(x + r * kLength, y + r * kLength,
                                        std::min(kSome, static_cast<int64_t>(end) - r));
                 });
  }
  template <int64_t kLength>
  static void some_rows(const T* x, T* y, int64_t rows) {
    const auto run = [](const T* from, T* to) {
      T sum = kNothing<T, kProducts>;
      int is_out = 0;
#pragma GCC unroll 3
      for (int64_t j = 0; j < kLength; j++) {
        const T next = step<kProducts>(sum, from[j]);
        if (kProducts || j == kLength - 1)
          is_out |= static_cast<int>(leaves<kProducts>(sum, from[j], next));
        to[j] = sum = next;
      }
      return is_out;
    };
    int any = 0;
    for (int64_t r = 0; r < rows; r++) any |= run(x + r * kLength, y + r * kLength);
    if constexpr (kFloat<T>)
      for (int64_t r = 0; any != 0 && r < rows; r++)
        if (run(x + r * kLength, y + r * kLength) != 0)
          walk_extended<kProducts>(x + r * kLength, y + r * kLength, kLength, 1,
                                   Before<T, kProducts>());
  }

  // As many of the first rows as go side by side.
  int64_t beside(const T* x, T* y, int64_t rows, int64_t pieces, int64_t length) const {
    if constexpr (kHasBeside) {
      const BesideKernel<T>* const kernel = beside_kernel();
      // A long row's own pieces go side by side, if they are floats.
      const int64_t most = kFloat<T> ? static_cast<int64_t>(kMostAtOnce) : kPiece * kPiece;
      if (kernel == nullptr || pieces > most) return 0;
      const int64_t many = kernel->rows, groups = rows / many;
      if (groups < threads_.count()) return 0;
      const auto worth = static_cast<uint64_t>(std::max<int64_t>(1, kWorthAThread / length / many));
      threads_.run(static_cast<uint64_t>(groups), worth, [&](uint64_t begin, uint64_t end) {
        const Starting<T, kProducts, kMostAtOnce> nothing;
        PlainFirst first;
        for (auto g = static_cast<int64_t>(begin); g < static_cast<int64_t>(end); g++)
          if (pieces == 1)
            piece_beside(*kernel, x + g * many * length, y + g * many * length, length, nothing,
                         first);
          else
            rows_beside(*kernel, x + g * many * length, y + g * many * length, pieces, length,
                        first);
      });
      return groups * many;
    }
    return 0;
  }
  static const BesideKernel<T>* beside_kernel() {
    if constexpr (kProducts) return products_beside(T());
    else return sums_beside(T());
  }
  static const BesideKernel<T>* plain_beside_kernel() {
    if constexpr (kProducts && kFloat<T>) return plain_products_beside(T());
    else return nullptr;
  }
  static LaneBits run_beside(const BesideKernel<T>& kernel, const T* x, T* y, int64_t length,
                             int64_t count, const Starting<T, kProducts, kMostAtOnce>& before,
                             Totals<T, kMostAtOnce>& totals, PlainFirst& first) {
    return run_levels<kProducts>(
        first, before, static_cast<size_t>(kernel.rows), totals, [&](auto way, const auto& starts) {
          const BesideKernel<T>* by = &kernel;
          if constexpr (way() == Way::Plain) by = plain_beside_kernel();
          const auto run = way() == Way::Vanishing ? by->vanishing : by->run[before.count];
          return run(x, y, length, count, starts, totals);
        });
  }
  static void piece_beside(const BesideKernel<T>& kernel, const T* x, T* y, int64_t length,
                           const Starting<T, kProducts, kMostAtOnce>& nothing, PlainFirst& first) {
    Totals<T, kMostAtOnce> totals;
    const LaneBits out = run_beside(kernel, x, y, length, length, nothing, totals, first);
    if constexpr (kFloat<T>)
      for (int64_t r = 0; out != 0 && r < kernel.rows; r++)
        if (out >> r & 1)
          walk_extended<kProducts>(x + r * length, y + r * length, length, 1,
                                   Before<T, kProducts>());
  }
  static void rows_beside(const BesideKernel<T>& kernel, const T* x, T* y, int64_t pieces,
                          int64_t length, PlainFirst& plain) {
    Levels<T, kProducts, kMostAtOnce> levels;
    const auto& before = levels.now();
    Totals<T, kMostAtOnce> totals;
    for (int64_t p = 0; p < pieces; p++) {
      const int64_t first = p * kPiece, count = std::min(kPiece, length - first);
      const LaneBits out =
          run_beside(kernel, x + first, y + first, length, count, before, totals, plain);
      levels.add(totals, static_cast<size_t>(kernel.rows), out,
                 [&](size_t r) -> Part<T, kProducts> {
                   const int64_t at = static_cast<int64_t>(r) * length + first;
                   if constexpr (kFloat<T>)
                     return walk_extended<kProducts>(x + at, y + at, count, 1, before.before(r));
                   else return totals.values[r];
                 });
    }
  }

  // A row by one thread: some pieces' sums, what comes before each, and then both together, while
  // they are near.
  static void row(const T* x, T* y, int64_t pieces, int64_t length) {
    Levels<T, kProducts, 1> levels;
    Starting<T, kProducts, kMostAtOnce> before;
    PlainFirst first;
    for (int64_t p = 0; p < pieces;) {
      Some<T, kProducts> some(x, p, pieces, pieces, length, first);
      some.template sum<true>();
      levels.add_in_turn(
          some.totals(), some.count(), some.out(), [&](size_t s) { return some.total(s); }, before);
      some.add(y, before);
      p += static_cast<int64_t>(some.count());
    }
  }

  // body(some pieces, the number of the first) for all of them.
  template <class Body>
  void walk(const T* x, int64_t rows, int64_t pieces, int64_t length, const Body& body) const {
    const auto worth = static_cast<uint64_t>(std::max<int64_t>(1, kWorthAThread / kPiece));
    threads_.run(static_cast<uint64_t>(rows * pieces), worth, [&](uint64_t begin, uint64_t end) {
      PlainFirst first;
      for (auto p = static_cast<int64_t>(begin); p < static_cast<int64_t>(end);) {
        Some<T, kProducts> some(x, p, static_cast<int64_t>(end), pieces, length, first);
        body(some, p);
        p += static_cast<int64_t>(some.count());
      }
    });
  }

  core::Threads& threads_;
};

// Along the middle axis of x.
template <class T, bool kProducts>
void run(core::Threads& threads, const T* x, T* y, const std::array<int64_t, 3>& lengths) {
  const auto [outer, length, inner] = lengths;
  const Rows<T, kProducts> rows(threads);
  if (length == 1) return rows.run(x, y, outer * inner, length);
  if (inner == 1) return rows.run(x, y, outer, length);
  if constexpr (kFloat<T>) return Columns<T, kProducts>(threads, x, y, outer, length, inner).run();
  else switch (inner) {
      case 2: return rows.template columns<2>(x, y, outer, length);
      case 3: return rows.template columns<3>(x, y, outer, length);
      case 4: return rows.template columns<4>(x, y, outer, length);
      default: return rows.template columns<kMostColumns>(x, y, outer, length);
    }
}

class Running : public HostPlan {
 public:
  explicit Running(const hal::ScanDesc& desc)
      : desc_(desc), name_(fmt::format("hologram {} running sums", name_of(desc.dtype))) {}

  const std::string& name() const override { return name_; }

  void run(std::span<const hal::Binding> operands, hal::Binding /*workspace*/,
           core::Threads& threads) const override {
    if (desc_.lengths[0] * desc_.lengths[1] * desc_.lengths[2] == 0) return;
    const auto of = [&]<class T>(T) {
      const T* const x = data_at<T>(operands[0]);
      T* const y = data_at<T>(operands[1]);
      if (desc_.products) loops::run<T, true>(threads, x, y, desc_.lengths);
      else loops::run<T, false>(threads, x, y, desc_.lengths);
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
  if (d.lengths[2] > static_cast<int64_t>(kMostColumns) && is_integer(d.dtype))
    return hal::Refusal{"running sums of many columns of integers are vectors' work"};
  return {};
}

std::shared_ptr<HostPlan> plan(const hal::ScanDesc& desc) {
  return std::make_shared<Running>(desc);
}

}  // namespace hologram::libraries::loops
