// Running sums of pieces: of some side by side, and what comes before all of them.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "core/parallel.hpp"
#include "libraries/loops/scan_levels.hpp"
#include "libraries/loops/scan_plain.hpp"

namespace hologram::libraries::loops {

// Some pieces whose sums are made side by side, each by itself, and then added to what comes before
// it. Of integers: a sum waits for the one before it.
template <class T, bool kProducts>
class Some {
 public:
  // Of the pieces [p, last) of some rows, the first.
  Some(const T* x, int64_t p, int64_t last, int64_t pieces, int64_t length,
       PlainFirst& /*of floats*/)
      : x_(x), count_(last - p < static_cast<int64_t>(kSide) ? 1 : kSide) {
    int64_t row = p / pieces, piece = p % pieces;
    for (size_t s = 0; s < count_; s++) {
      const int64_t first = piece * kScanPiece;
      ones_[s] = {row * length + first, std::min(kScanPiece, length - first)};
      if (++piece == pieces) row++, piece = 0;
    }
  }
  size_t count() const { return count_; }

  // Their own results; their sums are kept if they are wanted.
  template <bool kKeep>
  void sum() {
    if (count_ == kSide) side<kKeep, kSide>();
    else side<kKeep, 1>();
  }
  // Those, and in which lanes they left the range; there they are total(s).
  const Totals<T, kMostAtOnce>& totals() const { return totals_; }
  LaneBits out() const { return 0; }
  T total(size_t s) const { return totals_.values[s]; }

  void add(T* y, const Starting<T, kProducts, kMostAtOnce>& before) {
    for (size_t s = 0; s < count_; s++) {
      T start = kNothing<T, kProducts>;
      for (size_t k = 0; k < before.count; k++)
        start = step<kProducts>(start, before.starts.values[k][s]);
      const T* const own = own_[s].data();
      T* const to = y + ones_[s].from;
      for (int64_t j = 0; j < ones_[s].count; j++) to[j] = step<kProducts>(start, own[j]);
    }
  }

 private:
  static constexpr size_t kSide = 8;
  static_assert(kSide <= kMostAtOnce);
  struct One {
    int64_t from, count;
  };

  template <bool kKeep, size_t kCount>
  void side() {
    std::array<T, kCount> sums;
    sums.fill(kNothing<T, kProducts>);
    const auto add_at = [&](size_t s, int64_t j) {
      sums[s] = step<kProducts>(sums[s], x_[ones_[s].from + j]);
      if constexpr (kKeep) own_[s][static_cast<size_t>(j)] = sums[s];
    };
    int64_t together = kScanPiece;
    for (size_t s = 0; s < kCount; s++) together = std::min(together, ones_[s].count);
    for (int64_t j = 0; j < together; j++)
#pragma GCC unroll 8
      for (size_t s = 0; s < kCount; s++) add_at(s, j);
    for (size_t s = 0; s < kCount; s++) {
      for (int64_t j = together; j < ones_[s].count; j++) add_at(s, j);
      totals_.values[s] = sums[s];
    }
  }

  std::array<std::array<T, kScanPiece>, kSide> own_;
  const T* x_;
  std::array<One, kMostAtOnce> ones_;
  Totals<T, kMostAtOnce> totals_;
  size_t count_ = 0;
};

// Of floats: by vectors, whose lanes take a piece each. Pieces that do not lie behind each other,
// or are fewer, are copied.
template <class T, bool kProducts>
requires kFloat<T>
class Some<T, kProducts> {
 public:
  static const PieceKernels<T>* kernels() {
    return kProducts ? pieces_of_products(T()) : pieces_of_sums(T());
  }
  Some(const T* x, int64_t p, int64_t last, int64_t pieces, int64_t length, PlainFirst& plain)
      : x_(x),
        count_(static_cast<size_t>(std::min(kernels_.pieces, last - p))),
        is_together_(count_ == static_cast<size_t>(kernels_.pieces)),
        plain_(plain) {
    int64_t row = p / pieces, piece = p % pieces;
    for (size_t s = 0; s < count_; s++) {
      const int64_t first = piece * kScanPiece;
      ones_[s] = {row * length + first, std::min(kScanPiece, length - first)};
      is_together_ = is_together_ && ones_[s].count == kScanPiece &&
                     ones_[s].from == ones_[0].from + static_cast<int64_t>(s) * kScanPiece;
      longest_ = std::max(longest_, (ones_[s].count + 3) / 4 * 4);
      if (++piece == pieces) row++, piece = 0;
    }
  }
  size_t count() const { return count_; }

  template <bool kKeep>
  void sum() {
    if (is_together_) return sum(x_ + ones_[0].from);
    sum(copied());
  }
  const Totals<T, kMostAtOnce>& totals() const { return totals_; }
  LaneBits out() const { return out_; }
  Part<T, kProducts> total(size_t s) const {
    return walk_extended<kProducts>(x_ + ones_[s].from, static_cast<T*>(nullptr), ones_[s].count, 1,
                                    Before<T, kProducts>());
  }

  void add(T* y, const Starting<T, kProducts, kMostAtOnce>& before) {
    LaneBits out = out_ | before.needs_any();
    out |= add_to(before, is_together_ ? y + ones_[0].from : copies_.data());
    for (size_t s = 0; !is_together_ && s < count_; s++)
      std::copy_n(copy_of(s), ones_[s].count, y + ones_[s].from);
    for (size_t s = 0; out != 0 && s < count_; s++)
      if (out >> s & 1)
        walk_extended<kProducts>(x_ + ones_[s].from, y + ones_[s].from, ones_[s].count, 1,
                                 before.before(s));
  }

 private:
  struct One {
    int64_t from, count;
  };

  // Exponents are of products alone, and of those that had to be made with them.
  void sum(const T* from) {
    from_ = from;
    if constexpr (kProducts) {
      is_plain_ = plain_.run(true, [&] { plain_kernels().sum(from, longest_, turned_, totals_); });
      if (is_plain_) return;
    }
    out_ = kernels_.sum(from, longest_, turned_, totals_) & lanes();
  }
  LaneBits add_to(const Starting<T, kProducts, kMostAtOnce>& before, T* y) {
    LaneBits out = 0;
    if constexpr (kProducts) {
      Starts<T, kMostAtOnce> starts;
      if (is_plain_) {
        const bool may_do = plain_starts(before, count_, starts);
        const auto add = [&] { plain_kernels().add[before.count](turned_, longest_, starts, y); };
        if (plain_.run(may_do, add)) return 0;
        out = kernels_.sum(is_together_ ? from_ : copied(), longest_, turned_, totals_);
      }
      if (vanishing_starts(before, count_, totals_.highest, starts)) {
        plain_kernels().add[1](turned_, longest_, starts, y);
        return out & lanes();
      }
    }
    return (out | kernels_.add[before.count](turned_, longest_, before.starts, y)) & lanes();
  }
  static const PieceKernels<T>& plain_kernels() { return *plain_pieces_of_products(T()); }
  LaneBits lanes() const { return (LaneBits{1} << count_) - 1; }
  // Of a lane each, with nothing behind the last elements.
  const T* copied() {
    for (size_t s = 0; s < count_; s++) {
      std::copy_n(x_ + ones_[s].from, ones_[s].count, copy_of(s));
      std::fill(copy_of(s) + ones_[s].count, copy_of(s) + longest_, kNothing<T, kProducts>);
    }
    for (auto s = static_cast<int64_t>(count_); s < kernels_.pieces; s++)
      std::fill_n(copy_of(static_cast<size_t>(s)), longest_, kNothing<T, kProducts>);
    return copies_.data();
  }
  T* copy_of(size_t s) { return copies_.data() + static_cast<int64_t>(s) * kScanPiece; }

  const PieceKernels<T>& kernels_ = *kernels();
  typename PieceKernels<T>::Turned turned_;
  std::array<T, PieceKernels<T>::kMost * kScanPiece> copies_;
  const T* x_;
  std::array<One, kMostAtOnce> ones_;
  Totals<T, kMostAtOnce> totals_;
  size_t count_ = 0;
  int64_t longest_ = 0;
  bool is_together_, is_plain_ = false;
  const T* from_ = nullptr;
  PlainFirst& plain_;
  LaneBits out_ = 0;
};

// What comes before every piece of every row.
template <class T, bool kProducts>
class Prefixes {
 public:
  Prefixes(core::Threads& threads, std::vector<Part<T, kProducts>> totals, int64_t rows,
           int64_t pieces) {
    // Behind the last piece comes nothing.
    for (int64_t n = pieces, next = (n - 1) / kScanPiece; n > 0; n = next, next /= kScanPiece) {
      if (!levels_.empty()) totals = blocks_of(levels_.back(), rows, n);
      Level& level = levels_.emplace_back(Level{std::exchange(totals, {}), n});
      const int64_t blocks = (n + kScanPiece - 1) / kScanPiece;
      threads.run(static_cast<uint64_t>(rows * blocks), uint64_t{16},
                  [&](uint64_t begin, uint64_t end) {
                    for (auto b = static_cast<int64_t>(begin); b < static_cast<int64_t>(end); b++)
                      run(level, b / blocks, b % blocks);
                  });
    }
  }
  // Of a piece, into a lane.
  template <size_t kLanes>
  void set(int64_t row, int64_t piece, size_t lane, Starting<T, kProducts, kLanes>& before) const {
    std::array<Part<T, kProducts>, kMostLevels> parts;
    parts.fill(no_part<T, kProducts>());
    for (size_t k = 0; k < levels_.size(); k++, piece /= kScanPiece) {
      if (piece % kScanPiece == 0) continue;
      parts[k] = levels_[k].at(row, piece - 1);
      before.count = std::max(before.count, k + 1);
    }
    before.set(lane, parts, kMostLevels);
  }

 private:
  struct Level {
    std::vector<Part<T, kProducts>> parts;
    int64_t count;
    const Part<T, kProducts>& at(int64_t row, int64_t i) const {
      return parts[static_cast<size_t>(row * count + i)];
    }
    Part<T, kProducts>& at(int64_t row, int64_t i) {
      return parts[static_cast<size_t>(row * count + i)];
    }
  };

  static void run(Level& level, int64_t row, int64_t block) {
    Part<T, kProducts> sum = no_part<T, kProducts>();
    const int64_t last = std::min((block + 1) * kScanPiece, level.count);
    for (int64_t i = block * kScanPiece; i < last; i++)
      level.at(row, i) = sum = combined<kProducts>(sum, level.at(row, i));
  }
  static std::vector<Part<T, kProducts>> blocks_of(const Level& level, int64_t rows,
                                                   int64_t count) {
    std::vector<Part<T, kProducts>> totals;
    for (int64_t r = 0; r < rows; r++)
      for (int64_t b = 0; b < count; b++)
        totals.push_back(level.at(r, b * kScanPiece + kScanPiece - 1));
    return totals;
  }

  std::vector<Level> levels_;
};

}  // namespace hologram::libraries::loops
