// Running sums of floats down columns that lie beside each other, a lane of a vector each.
#pragma once

#include "libraries/loops/elements.hpp"
#include "libraries/loops/scan_pieces.hpp"
#include "libraries/loops/scan_plain.hpp"

namespace hologram::libraries::loops {

template <class T, bool kProducts>
class Columns {
 public:
  // Of matrices of `length` rows and `columns` columns.
  Columns(core::Threads& threads, const T* x, T* y, int64_t matrices, int64_t length,
          int64_t columns)
      : threads_(threads),
        x_(x),
        y_(y),
        matrices_(matrices),
        length_(length),
        columns_(columns),
        pieces_((length + kScanPiece - 1) / kScanPiece) {
    const int64_t lanes = kernels_.lanes, strip = StripKernels<T>::kVectors * lanes;
    for (int64_t c = 0; c < columns;) {
      const int64_t left = columns - c;
      if (left >= strip) strips_.push_back({c, strip}), c += strip;
      else if (left >= lanes || columns < lanes)
        strips_.push_back({c, std::min(left, lanes)}), c += std::min(left, lanes);
      // The last ones by a whole vector, which computes some of its neighbour's again.
      else strips_.push_back({columns - lanes, lanes}), overlaps_ = true, c = columns;
    }
  }

  void run() const {
    const auto strips = static_cast<int64_t>(strips_.size());
    const int64_t tasks = std::max<int64_t>(1, (strips - (overlaps_ ? 1 : 0)));
    const int64_t all = matrices_ * length_ * columns_;
    if (pieces_ > 1 && all > kWorthAThread && matrices_ * tasks < threads_.count())
      return by_pieces();
    if (pieces_ == 1) return by_strips(strips, tasks);
    // Strips beside each other share what memory brings.
    const int64_t together = std::clamp<int64_t>(matrices_ * tasks / (4 * threads_.count()), 1, 8);
    const int64_t groups = (tasks + together - 1) / together;
    const auto worth =
        static_cast<uint64_t>(std::max<int64_t>(1, kWorthAThread * groups / (length_ * columns_)));
    threads_.run(static_cast<uint64_t>(matrices_ * groups), worth,
                 [&](uint64_t begin, uint64_t end) {
                   for (auto g = static_cast<int64_t>(begin); g < static_cast<int64_t>(end); g++) {
                     const int64_t first = g % groups * together, last = first + together;
                     down(g / groups, first, last >= tasks ? strips : last);
                   }
                 });
  }

 private:
  static constexpr size_t kMost = StripKernels<T>::kMost;
  struct Strip {
    int64_t first, columns;
  };

  int64_t place(int64_t matrix, int64_t piece, int64_t strip) const {
    return (matrix * length_ + piece * kScanPiece) * columns_ + strip_at(strip).first;
  }
  const Strip& strip_at(int64_t strip) const { return strips_[static_cast<size_t>(strip)]; }
  int64_t rows_of(int64_t piece) const {
    return std::min(kScanPiece, length_ - piece * kScanPiece);
  }
  // A column of a piece.
  Part<T, kProducts> walk(int64_t at, T* y, int64_t piece,
                          const Before<T, kProducts>& before) const {
    return walk_extended<kProducts>(x_ + at, y, rows_of(piece), columns_, before);
  }

  // Of one piece, which nothing comes before.
  void by_strips(int64_t strips, int64_t tasks) const {
    const auto worth =
        static_cast<uint64_t>(std::max<int64_t>(1, kWorthAThread * tasks / (length_ * columns_)));
    const Starting<T, kProducts, kMost> nothing;
    threads_.run(
        static_cast<uint64_t>(matrices_ * tasks), worth, [&](uint64_t begin, uint64_t end) {
          PlainFirst plain;
          for (auto g = static_cast<int64_t>(begin); g < static_cast<int64_t>(end); g++) {
            const int64_t first = g % tasks, last = first + 1 == tasks ? strips : first + 1;
            for (int64_t s = first; s < last; s++) strip(g / tasks, 0, s, nothing, plain);
          }
        });
  }

  LaneBits run_strip(int64_t at, int64_t p, int64_t columns,
                     const Starting<T, kProducts, kMost>& before, Totals<T, kMost>& totals,
                     PlainFirst& plain) const {
    return run_levels<kProducts>(
        plain, before, static_cast<size_t>(columns), totals, [&](auto way, const auto& starts) {
          const StripKernels<T>* by = &kernels_;
          if constexpr (way() == Way::Plain) by = plain_strips_of_products(T());
          const auto run = way() == Way::Vanishing ? by->vanishing : by->run[before.count];
          return run(x_ + at, y_ + at, columns_, rows_of(p), columns, starts, totals);
        });
  }

  // A strip of a piece, with what comes before it.
  void strip(int64_t matrix, int64_t p, int64_t s, const Starting<T, kProducts, kMost>& before,
             PlainFirst& plain) const {
    Totals<T, kMost> totals;
    const int64_t at = place(matrix, p, s), columns = strip_at(s).columns;
    const LaneBits out = run_strip(at, p, columns, before, totals, plain);
    for (size_t c = 0; out != 0 && c < static_cast<size_t>(columns); c++)
      if (const auto here = at + static_cast<int64_t>(c); out >> c & 1)
        walk(here, y_ + here, p, before.before(c));
  }

  // Some strips of a matrix from the first row to the last.
  void down(int64_t matrix, int64_t first, int64_t last) const {
    PlainFirst plain;
    std::vector<Levels<T, kProducts, kMost>> levels(static_cast<size_t>(last - first));
    Totals<T, kMost> totals;
    for (int64_t p = 0; p < pieces_; p++)
      for (int64_t s = first; s < last; s++) {
        auto& above = levels[static_cast<size_t>(s - first)];
        const auto& before = above.now();
        const int64_t at = place(matrix, p, s), columns = strip_at(s).columns;
        const LaneBits out = run_strip(at, p, columns, before, totals, plain);
        above.add(totals, static_cast<size_t>(columns), out, [&](size_t c) {
          const auto here = at + static_cast<int64_t>(c);
          return walk(here, y_ + here, p, before.before(c));
        });
      }
  }

  // Where there are fewer strips than threads: pieces by themselves, and once more.
  void by_pieces() const {
    std::vector<Part<T, kProducts>> parts(static_cast<size_t>(matrices_ * columns_ * pieces_));
    for_each_piece([&](int64_t matrix, int64_t p, int64_t s) {
      Totals<T, kMost> totals;
      const int64_t at = place(matrix, p, s), columns = strip_at(s).columns;
      const LaneBits out = kernels_.sum(x_ + at, nullptr, columns_, rows_of(p), columns,
                                        Starting<T, kProducts, kMost>().starts, totals);
      for (size_t c = 0; c < static_cast<size_t>(columns); c++) {
        const int64_t column = matrix * columns_ + strip_at(s).first + static_cast<int64_t>(c);
        parts[static_cast<size_t>(column * pieces_ + p)] =
            out >> c & 1 ? walk(at + static_cast<int64_t>(c), nullptr, p, {})
                         : part_of<kProducts>(totals, c);
      }
    });
    const Prefixes<T, kProducts> prefixes(threads_, std::move(parts), matrices_ * columns_,
                                          pieces_);
    for_each_piece([&](int64_t matrix, int64_t p, int64_t s) {
      PlainFirst plain;
      Starting<T, kProducts, kMost> before;
      const auto first = matrix * columns_ + strip_at(s).first;
      for (int64_t c = 0; c < strip_at(s).columns; c++)
        prefixes.set(first + c, p, static_cast<size_t>(c), before);
      strip(matrix, p, s, before, plain);
    });
  }
  template <class Body>
  void for_each_piece(const Body& body) const {
    const auto worth =
        static_cast<uint64_t>(std::max<int64_t>(1, kWorthAThread / (kScanPiece * columns_)));
    threads_.run(static_cast<uint64_t>(matrices_ * pieces_), worth,
                 [&](uint64_t begin, uint64_t end) {
                   for (auto p = static_cast<int64_t>(begin); p < static_cast<int64_t>(end); p++)
                     for (int64_t s = 0; s < static_cast<int64_t>(strips_.size()); s++)
                       body(p / pieces_, p % pieces_, s);
                 });
  }

  core::Threads& threads_;
  const T* const x_;
  T* const y_;
  const int64_t matrices_, length_, columns_, pieces_;
  const StripKernels<T>& kernels_ = *(kProducts ? strips_of_products(T()) : strips_of_sums(T()));
  std::vector<Strip> strips_;
  bool overlaps_ = false;
};

}  // namespace hologram::libraries::loops
