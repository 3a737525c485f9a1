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

namespace hologram::libraries::loops {

// Some pieces whose sums are made side by side, each by itself, and then added to what comes before
// it: by vectors, whose lanes take neighbouring pieces, or one after the other.
template <class T, bool kProducts>
class Some {
 public:
  // Of the pieces [p, last) of some rows, the first.
  Some(const T* x, int64_t p, int64_t last, int64_t pieces, int64_t length) : x_(x) {
    int64_t row = p / pieces, piece = p % pieces;
    if constexpr (kFloat<T>) {
      vectors_ = kProducts ? pieces_of_products(T()) : pieces_of_sums(T());
      if (vectors_ != nullptr &&
          (p + vectors_->pieces > last || (piece + vectors_->pieces) * kScanPiece > length))
        vectors_ = nullptr;
    }
    if (vectors_ != nullptr) count_ = static_cast<size_t>(vectors_->pieces);
    else count_ = last - p < static_cast<int64_t>(kSide) ? 1 : kSide;
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
    constexpr bool kKept = kKeep || (kFloat<T> && kProducts);
    if (vectors_ == nullptr) {
      if (count_ == kSide) side<kKept, kSide>();
      else side<kKept, 1>();
    } else if constexpr (kFloat<T>) {
      out_ = vectors_->sum(x_ + ones_[0].from, own_.turned, totals_.data());
    }
  }
  // Those, and in which lanes they left the range; there they are total(s).
  const std::array<T, kMostAtOnce>& totals() const { return totals_; }
  LaneBits out() const { return out_; }
  Part<T> total(size_t s) const {
    if constexpr (kFloat<T>)
      return walk_extended<kProducts>(x_ + ones_[s].from, static_cast<T*>(nullptr), ones_[s].count,
                                      1, Before<T>());
    else return totals_[s];
  }

  void add(T* y, const Starting<T, kProducts, kMostAtOnce>& before) {
    if constexpr (kFloat<T>) {
      LaneBits out = out_ | before.needs_any();
      if (vectors_ != nullptr)
        out |= vectors_->add[before.count](own_.turned, before.starts, y + ones_[0].from);
      else
        for (size_t s = 0; s < count_; s++)
          out |= static_cast<LaneBits>(add_to_one(y, s, before)) << s;
      for (size_t s = 0; out != 0 && s < count_; s++)
        if (out >> s & 1)
          walk_extended<kProducts>(x_ + ones_[s].from, y + ones_[s].from, ones_[s].count, 1,
                                   before.before(s));
    } else {
      for (size_t s = 0; s < count_; s++) {
        T start = kNothing<T, kProducts>;
        for (size_t k = 0; k < before.count; k++)
          start = step<kProducts>(start, before.starts[k][s]);
        const T* const own = own_of(s);
        T* const to = y + ones_[s].from;
        for (int64_t j = 0; j < ones_[s].count; j++) to[j] = step<kProducts>(start, own[j]);
      }
    }
  }

 private:
  // Pieces side by side: a sum waits for the one before it.
  static constexpr size_t kSide = 8;
  static constexpr size_t kApart = kScanPiece + 8;  // what comes before the first product is 1
  static_assert(kSide <= kMostAtOnce);
  struct One {
    int64_t from, count;
  };

  T* own_of(size_t s) { return own_.one_by_one.data() + s * kApart + 8; }

  template <bool kKeep, size_t kCount>
  void side() {
    std::array<T, kCount> sums;
    sums.fill(kNothing<T, kProducts>);
    const auto add_at = [&](size_t s, int64_t j) {
      sums[s] = step<kProducts>(sums[s], x_[ones_[s].from + j]);
      if constexpr (kKeep) own_of(s)[j] = sums[s];
    };
    int64_t together = kScanPiece;
    for (size_t s = 0; s < kCount; s++) together = std::min(together, ones_[s].count);
    for (int64_t j = 0; j < together; j++)
#pragma GCC unroll 8
      for (size_t s = 0; s < kCount; s++) add_at(s, j);
    for (size_t s = 0; s < kCount; s++) {
      for (int64_t j = together; j < ones_[s].count; j++) add_at(s, j);
      totals_[s] = sums[s];
      if constexpr (kFloat<T>) out_ |= static_cast<LaneBits>(is_out(s)) << s;
    }
  }
  bool is_out(size_t s) {
    if constexpr (kProducts) {
      own_of(s)[-1] = 1;
      if (rows_of_products(T())->leaves(x_ + ones_[s].from, own_of(s), ones_[s].count)) return true;
    }
    return !(std::fabs(totals_[s]) <= std::numeric_limits<T>::max());
  }

  bool add_to_one(T* y, size_t s, const Starting<T, kProducts, kMostAtOnce>& before) {
    const auto& kernels = *(kProducts ? rows_of_products(T()) : rows_of_sums(T()));
    std::array<T, kMostLevels> starts;
    for (size_t k = 0; k < kMostLevels; k++) starts[k] = before.starts[k][s];
    return kernels.add[before.count](own_of(s), y + ones_[s].from, ones_[s].count, starts);
  }

  using Kernels = std::conditional_t<kFloat<T>, PieceKernels<T>, PieceKernels<double>>;
  union Own {
    Own() {}
    typename Kernels::Turned turned;
    std::array<T, kSide * kApart> one_by_one;
  };
  Own own_;
  const T* x_;
  std::array<One, kMostAtOnce> ones_;
  std::array<T, kMostAtOnce> totals_;
  size_t count_ = 0;
  const Kernels* vectors_ = nullptr;
  LaneBits out_ = 0;
};

// What comes before every piece of every row.
template <class T, bool kProducts>
class Prefixes {
 public:
  Prefixes(core::Threads& threads, std::vector<Part<T>> totals, int64_t rows, int64_t pieces) {
    // Behind the last piece comes nothing.
    for (int64_t n = pieces, next = (n - 1) / kScanPiece; n > 0; n = next, next /= kScanPiece) {
      if (!levels_.empty()) totals = blocks_of(levels_.back(), rows, n);
      Level& level = levels_.emplace_back(Level{std::move(totals), n});
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
    for (size_t k = 0; k < levels_.size(); k++, piece /= kScanPiece) {
      const bool has = piece % kScanPiece > 0;
      before.set(k, lane, has ? levels_[k].at(row, piece - 1) : part_of(kNothing<T, kProducts>));
      if (has) before.count = std::max(before.count, k + 1);
    }
  }

 private:
  struct Level {
    std::vector<Part<T>> parts;
    int64_t count;
    const Part<T>& at(int64_t row, int64_t i) const {
      return parts[static_cast<size_t>(row * count + i)];
    }
    Part<T>& at(int64_t row, int64_t i) { return parts[static_cast<size_t>(row * count + i)]; }
  };

  static void run(Level& level, int64_t row, int64_t block) {
    Part<T> sum = part_of(kNothing<T, kProducts>);
    const int64_t last = std::min((block + 1) * kScanPiece, level.count);
    for (int64_t i = block * kScanPiece; i < last; i++)
      level.at(row, i) = sum = combined<kProducts>(sum, level.at(row, i));
  }
  static std::vector<Part<T>> blocks_of(const Level& level, int64_t rows, int64_t count) {
    std::vector<Part<T>> totals;
    for (int64_t r = 0; r < rows; r++)
      for (int64_t b = 0; b < count; b++)
        totals.push_back(level.at(r, b * kScanPiece + kScanPiece - 1));
    return totals;
  }

  std::vector<Level> levels_;
};

}  // namespace hologram::libraries::loops
