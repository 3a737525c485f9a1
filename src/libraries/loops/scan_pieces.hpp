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

inline constexpr int64_t kScanPiece = hal::ScanDesc::kPiece;
template <class T>
constexpr bool kFloat = std::is_floating_point_v<T>;

// Some pieces whose sums are made side by side, each by itself, and then added to what comes before
// it: by vectors, whose lanes take neighbouring pieces, or one after the other.
template <class T, bool kProducts>
class Some {
 public:
  // Of the pieces [p, last) of some rows, the first.
  Some(const T* x, int64_t p, int64_t last, int64_t pieces, int64_t length) {
    const auto place = [&](int64_t piece) {
      const int64_t first = piece % pieces * kScanPiece;
      return One{piece / pieces * length + first, std::min(kScanPiece, length - first)};
    };
    ones_[0] = place(p);
    if constexpr (kFloat<T>) {
      vectors_ = kProducts ? pieces_of_products(T()) : pieces_of_sums(T());
      if (vectors_ != nullptr &&
          (p + vectors_->pieces > last || (p % pieces + vectors_->pieces) * kScanPiece > length))
        vectors_ = nullptr;
      if (vectors_ != nullptr) count_ = vectors_->pieces;
    }
    if (vectors_ == nullptr) count_ = last - p < kSide ? 1 : kSide;
    for (int64_t s = 1; s < count_; s++) ones_[static_cast<size_t>(s)] = place(p + s);
    x_ = x;
  }
  int64_t count() const { return count_; }

  // Their own results; their sums are kept if they are wanted.
  template <bool kKeep>
  void sum(Part<T>* totals) {
    std::array<T, kMostAtOnce> plain;
    if (vectors_ == nullptr) {
      if (count_ == kSide) side<kKeep || (kFloat<T> && kProducts), kSide>(plain.data());
      else side<kKeep || (kFloat<T> && kProducts), 1>(plain.data());
    } else if constexpr (kFloat<T>) {
      leaves_ = vectors_->sum(x_ + ones_[0].from, own_.turned, plain.data());
    }
    for (size_t s = 0; s < static_cast<size_t>(count_); s++) {
      totals[s] = part_of(plain[s]);
      if constexpr (kFloat<T>)
        if (leaves_ >> s & 1)
          totals[s] = walk_extended<kProducts>(x_ + ones_[s].from, static_cast<T*>(nullptr),
                                               ones_[s].count, 1, Before<T>());
    }
  }

  // before(s) comes before piece s.
  template <class Start>
  void add(T* y, const Start& before) {
    if constexpr (kFloat<T>) {
      if (vectors_ != nullptr) add_by_vectors(y, before);
      else
        for (size_t s = 0; s < static_cast<size_t>(count_); s++) add_to_one(y, s, before(s));
      for (size_t s = 0; leaves_ >> s != 0; s++)
        if (leaves_ >> s & 1)
          walk_extended<kProducts>(x_ + ones_[s].from, y + ones_[s].from, ones_[s].count, 1,
                                   before(s));
    } else {
      for (size_t s = 0; s < static_cast<size_t>(count_); s++) {
        T start = kNothing<T, kProducts>;
        const auto& levels = before(s);
        for (size_t k = 0; k < levels.count; k++) start = step<kProducts>(start, levels.levels[k]);
        const T* const own = own_of(s);
        T* const to = y + ones_[s].from;
        for (int64_t j = 0; j < ones_[s].count; j++) to[j] = step<kProducts>(start, own[j]);
      }
    }
  }

 private:
  // Pieces side by side: a sum waits for the one before it.
  static constexpr int64_t kSide = 8;
  static constexpr int64_t kApart = kScanPiece + 8;  // what comes before the first product is 1
  static_assert(kSide <= kMostAtOnce);
  struct One {
    int64_t from, count;
  };

  T* own_of(size_t s) { return own_.one_by_one.data() + static_cast<int64_t>(s) * kApart + 8; }

  template <bool kKeep, int64_t kCount>
  void side(T* totals) {
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
      totals[s] = sums[s];
      if constexpr (kFloat<T>) leaves_ |= static_cast<Lanes>(leaves(s, sums[s])) << s;
    }
  }
  bool leaves(size_t s, T total) {
    if constexpr (kFloat<T> && kProducts) {
      own_of(s)[-1] = 1;
      if (columns_of_products(T())->leaves(x_ + ones_[s].from, own_of(s), ones_[s].count, 1))
        return true;
    }
    return !(std::fabs(total) <= std::numeric_limits<T>::max());
  }

  void add_to_one(T* y, size_t s, const Before<T>& before) {
    if (leaves_ >> s & 1) return;
    const auto& kernels = *(kProducts ? columns_of_products(T()) : columns_of_sums(T()));
    std::array<T, kMostLevels * kMostAtOnce> starts;
    const auto lanes = static_cast<size_t>(kernels.lanes);
    for (size_t k = 0; k < before.count; k++)
      std::fill_n(starts.begin() + static_cast<int64_t>(k * lanes), lanes,
                  plain_of<T>(before.levels[k]));
    if (kernels.add[before.count](own_of(s), y + ones_[s].from, ones_[s].count, 1, starts.data()) ||
        !before.is_plain())
      leaves_ |= Lanes{1} << s;
  }

  template <class Start>
  void add_by_vectors(T* y, const Start& before) {
    Starts<T> starts;
    size_t levels = 0;
    for (size_t s = 0; s < static_cast<size_t>(count_); s++)
      levels = std::max(levels, before(s).count);
    for (size_t s = 0; s < static_cast<size_t>(count_); s++) {
      const Before<T>& one = before(s);
      for (size_t k = 0; k < levels; k++)
        starts[k][s] = k < one.count ? plain_of<T>(one.levels[k]) : kNothing<T, kProducts>;
      if (!one.is_plain()) leaves_ |= Lanes{1} << s;
    }
    leaves_ |= vectors_->add[levels](own_.turned, starts, y + ones_[0].from);
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
  int64_t count_ = 0;
  const Kernels* vectors_ = nullptr;
  Lanes leaves_ = 0;
};

// What comes before every piece of every row.
template <class T, bool kProducts>
class Prefixes {
 public:
  Prefixes(core::Threads& threads, std::vector<Part<T>> totals, int64_t rows, int64_t pieces) {
    // Of the last piece, nothing comes behind.
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
  Before<T> before(int64_t row, int64_t piece) const {
    Before<T> before;
    for (size_t k = 0; k < levels_.size(); k++, piece /= kScanPiece) {
      const bool has = piece % kScanPiece > 0;
      before.levels[k] = has ? levels_[k].at(row, piece - 1) : part_of(kNothing<T, kProducts>);
      if (has) before.count = k + 1;
    }
    return before;
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
