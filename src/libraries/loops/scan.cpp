#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "libraries/loops/elements.hpp"
#include "libraries/loops/loops.hpp"
#include "libraries/loops/scan_pieces.hpp"

namespace hologram::libraries::loops {
namespace {

constexpr int64_t kPiece = kScanPiece;
constexpr int64_t kMostColumns = 5;  // more are vectors' work
constexpr int64_t kLeastBeside = 4;  // elements of rows

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
    if (pieces <= 1)
      return walk(x, rows, pieces, length, [&](auto& some, int64_t /*p*/) {
        std::array<Part<T>, kMostAtOnce> totals;
        some.template sum<true>(totals.data());
        some.add(y, [](size_t) { return Before<T>(); });
      });
    if (rows * length <= kWorthAThread || rows >= threads_.count()) {
      const auto worth = static_cast<uint64_t>(std::max<int64_t>(1, kWorthAThread / length));
      return threads_.run(static_cast<uint64_t>(rows), worth, [&](uint64_t begin, uint64_t end) {
        for (auto r = static_cast<int64_t>(begin); r < static_cast<int64_t>(end); r++)
          row(x + r * length, y + r * length, pieces, length);
      });
    }
    std::vector<Part<T>> totals(static_cast<size_t>(rows * pieces));
    walk(x, rows, pieces, length,
         [&](auto& some, int64_t p) { some.template sum<false>(&totals[static_cast<size_t>(p)]); });
    const Prefixes<T, kProducts> prefixes(threads_, std::move(totals), rows, pieces);
    walk(x, rows, pieces, length, [&](auto& some, int64_t p) {
      std::array<Part<T>, kMostAtOnce> own;
      std::array<Before<T>, kMostAtOnce> before;
      some.template sum<true>(own.data());
      for (int64_t s = 0; s < some.count(); s++)
        before[static_cast<size_t>(s)] = prefixes.before((p + s) / pieces, (p + s) % pieces);
      some.add(y, [&](size_t s) -> const Before<T>& { return before[s]; });
    });
  }

  // A few columns down the rows: two or three sums wait for each other less than one.
  template <size_t kColumns>
  void columns(const T* x, T* y, int64_t matrices, int64_t length) const {
    const auto worth = static_cast<uint64_t>(std::max<int64_t>(1, kWorthAThread / length));
    threads_.run(static_cast<uint64_t>(matrices), worth, [&](uint64_t begin, uint64_t end) {
      for (uint64_t z = begin; z < end; z++) {
        const uint64_t first = z * static_cast<uint64_t>(length) * kColumns;
        std::array<Levels<T, kProducts>, kColumns> levels;
        for (int64_t p = 0; p * kPiece < length; p++) {
          const uint64_t at = first + static_cast<uint64_t>(p * kPiece) * kColumns;
          piece_of_columns<kColumns>(x + at, y + at, std::min(kPiece, length - p * kPiece), levels);
        }
      }
    });
  }

 private:
  static constexpr bool kHasBeside = kFloat<T> || (std::is_same_v<T, int64_t> && !kProducts);

  void one_by_one(const T* x, T* y, int64_t rows, int64_t length) const {
    threads_.run(static_cast<uint64_t>(rows), static_cast<uint64_t>(kWorthAThread),
                 [&](uint64_t begin, uint64_t end) {
                   for (uint64_t r = begin; r < end; r++)
                     short_row(x + r * static_cast<uint64_t>(length),
                               y + r * static_cast<uint64_t>(length), length);
                 });
  }
  static void short_row(const T* x, T* y, int64_t length) {
    T sum = kNothing<T, kProducts>;
    bool leaves = false;
    for (int64_t j = 0; j < length; j++) {
      const T next = step<kProducts>(sum, x[j]);
      if constexpr (kFloat<T> && kProducts)
        leaves |= static_cast<int>(std::fabs(next) < std::numeric_limits<T>::min()) &
                  static_cast<int>(sum != 0) & static_cast<int>(x[j] != 0);
      y[j] = sum = next;
    }
    if constexpr (kFloat<T>)
      if (leaves || !(std::fabs(sum) <= std::numeric_limits<T>::max()))
        walk_extended<kProducts>(x, y, length, 1, Before<T>());
  }

  // As many of the first rows as go side by side.
  int64_t beside(const T* x, T* y, int64_t rows, int64_t pieces, int64_t length) const {
    if constexpr (kHasBeside) {
      const BesideKernel<T>* kernel;
      if constexpr (kProducts) kernel = products_beside(T());
      else kernel = sums_beside(T());
      // A long row's own pieces go side by side, if they are floats.
      const int64_t most = kFloat<T> ? kMostAtOnce : kPiece * kPiece;
      if (kernel == nullptr || pieces > most) return 0;
      const int64_t many = kernel->rows, groups = rows / many;
      if (groups < threads_.count()) return 0;
      const auto worth = static_cast<uint64_t>(std::max<int64_t>(1, kWorthAThread / length / many));
      threads_.run(static_cast<uint64_t>(groups), worth, [&](uint64_t begin, uint64_t end) {
        for (auto g = static_cast<int64_t>(begin); g < static_cast<int64_t>(end); g++) {
          std::array<Levels<T, kProducts>, kMostAtOnce> levels;
          for (int64_t p = 0; p < pieces; p++) {
            const int64_t at = g * many * length + p * kPiece;
            pieces_beside(*kernel, x + at, y + at, length, std::min(kPiece, length - p * kPiece),
                          levels);
          }
        }
      });
      return groups * many;
    }
    return 0;
  }

  static void pieces_beside(const BesideKernel<T>& kernel, const T* x, T* y, int64_t length,
                            int64_t count, std::array<Levels<T, kProducts>, kMostAtOnce>& levels) {
    const auto many = static_cast<size_t>(kernel.rows);
    Starts<T> starts;
    std::array<T, kMostAtOnce> totals;
    Lanes leaves = 0;
    const size_t used = levels[0].before().count;
    for (size_t r = 0; r < many; r++) {
      const Before<T>& before = levels[r].before();
      for (size_t k = 0; k < used; k++) starts[k][r] = plain_of<T>(before.levels[k]);
      leaves |= static_cast<Lanes>(!before.is_plain()) << r;
    }
    leaves |= kernel.run[used](x, y, length, count, starts, totals.data());
    for (size_t r = 0; r < many; r++) {
      Part<T> total = part_of(totals[r]);
      if constexpr (kFloat<T>)
        if (leaves >> r & 1) {
          const auto at = static_cast<int64_t>(r) * length;
          total = walk_extended<kProducts>(x + at, y + at, count, 1, levels[r].before());
        }
      levels[r].add(total);
    }
  }

  // A row by one thread: some pieces' sums, what comes before each, and then both together, while
  // they are near.
  static void row(const T* x, T* y, int64_t pieces, int64_t length) {
    Levels<T, kProducts> levels;
    std::array<Part<T>, kMostAtOnce> totals;
    std::array<Before<T>, kMostAtOnce> before;
    for (int64_t p = 0; p < pieces;) {
      Some<T, kProducts> some(x, p, pieces, pieces, length);
      some.template sum<true>(totals.data());
      for (size_t s = 0; s < static_cast<size_t>(some.count()); s++) {
        before[s] = levels.before();
        levels.add(totals[s]);
      }
      some.add(y, [&](size_t s) -> const Before<T>& { return before[s]; });
      p += some.count();
    }
  }

  template <size_t kColumns>
  static void piece_of_columns(const T* x, T* y, int64_t count,
                               std::array<Levels<T, kProducts>, kColumns>& levels) {
    std::array<T, (kPiece + 1) * kColumns> own;
    std::array<T, kColumns> sums;
    sums.fill(kNothing<T, kProducts>);
    T* to = own.data();
    for (size_t c = 0; c < kColumns; c++) *to++ = kNothing<T, kProducts>;
    const T* from = x;
    for (int64_t j = 0; j < count; j++, from += kColumns, to += kColumns)
#pragma GCC unroll 5
      for (size_t c = 0; c < kColumns; c++) to[c] = sums[c] = step<kProducts>(sums[c], from[c]);
    const T* const made = own.data() + kColumns;
    const auto all = count * static_cast<int64_t>(kColumns);
    bool leaves = false;
    if constexpr (kFloat<T>) leaves = add_to_columns<kColumns>(x, made, y, all, sums, levels);
    else
      for (size_t c = 0; c < kColumns; c++)
        add_to_column<kColumns>(made + c, y + c, count, levels[c]);
    for (size_t c = 0; c < kColumns; c++) {
      Part<T> total = part_of(sums[c]);
      if constexpr (kFloat<T>)
        if (leaves)
          total = walk_extended<kProducts>(x + c, y + c, count, static_cast<int64_t>(kColumns),
                                           levels[c].before());
      levels[c].add(total);
    }
  }

  // Whether something left the range.
  template <size_t kColumns>
  static bool add_to_columns(const T* x, const T* sums, T* y, int64_t all,
                             const std::array<T, kColumns>& totals,
                             const std::array<Levels<T, kProducts>, kColumns>& levels) {
    const auto& kernels = *(kProducts ? columns_of_products(T()) : columns_of_sums(T()));
    const size_t lanes = static_cast<size_t>(kernels.lanes), used = levels[0].before().count;
    bool leaves = false;
    std::array<T, kMostLevels * kMostAtOnce * kColumns> starts;
    for (size_t c = 0; c < kColumns; c++) {
      const Before<T>& before = levels[c].before();
      leaves =
          leaves || !before.is_plain() || !(std::fabs(totals[c]) <= std::numeric_limits<T>::max());
      for (size_t k = 0; k < used; k++)
        for (size_t n = 0; n < lanes; n++)
          starts[(k * lanes + n) * kColumns + c] = plain_of<T>(before.levels[k]);
    }
    const auto apart = static_cast<int64_t>(kColumns);
    if (kProducts) leaves = leaves || kernels.leaves(x, sums, all, apart);
    return leaves || kernels.add[used](sums, y, all, apart, starts.data());
  }

  template <size_t kColumns>
  static void add_to_column(const T* sums, T* y, int64_t count,
                            const Levels<T, kProducts>& levels) {
    T start = kNothing<T, kProducts>;
    for (size_t k = 0; k < levels.before().count; k++)
      start = step<kProducts>(start, levels.before().levels[k]);
    for (int64_t j = 0; j < count; j++)
      y[j * static_cast<int64_t>(kColumns)] =
          step<kProducts>(start, sums[j * static_cast<int64_t>(kColumns)]);
  }

  // body(some pieces, the number of the first) for all of them.
  template <class Body>
  void walk(const T* x, int64_t rows, int64_t pieces, int64_t length, const Body& body) const {
    const auto worth = static_cast<uint64_t>(std::max<int64_t>(1, kWorthAThread / kPiece));
    threads_.run(static_cast<uint64_t>(rows * pieces), worth, [&](uint64_t begin, uint64_t end) {
      for (auto p = static_cast<int64_t>(begin); p < static_cast<int64_t>(end);) {
        Some<T, kProducts> some(x, p, static_cast<int64_t>(end), pieces, length);
        body(some, p);
        p += some.count();
      }
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
