#include <algorithm>
#include <array>
#include <atomic>
#include <utility>
#include <vector>

#include "libraries/loops/keys.hpp"
#include "libraries/loops/loops.hpp"

namespace hologram::libraries::loops {
namespace {

using hal::OrderDesc;

constexpr uint32_t kDigitBits = 8;
constexpr size_t kDigits = size_t{1} << kDigitBits;
constexpr int64_t kFew = 24;         // what is sorted by insertion
constexpr int64_t kPiece = 1 << 15;  // elements of a row that a thread takes
constexpr int64_t kLongest = int64_t{UINT32_MAX};

// Digit by digit, the least significant one first, to and fro between two places; by as many
// threads as there are pieces. Digits that all have in common are passed over.
template <uint32_t kBytes, class T, class KeyOf>
class Digits {
 public:
  Digits(core::Threads* threads, int64_t count, const KeyOf& key_of)
      : threads_(threads), count_(count), key_of_(key_of) {
    const int64_t most = threads == nullptr ? 1 : threads->count();
    pieces_ = std::clamp<int64_t>(count / kPiece, 1, most);
    counts_.resize(static_cast<size_t>(pieces_));
  }

  // From `from`, with `move` for what is read there, into `to`, which ends up in order. `other` has
  // room for as much; neither is `from`.
  template <class From, class Move>
  void sort(const From* from, const Move& move, T* to, T* other) {
    std::vector<std::array<Counts, kBytes>> all(static_cast<size_t>(pieces_));
    each_piece([&](size_t p, int64_t begin, int64_t end) {
      std::array<Counts, kBytes>& mine = all[p];
      for (int64_t i = begin; i < end; i++) {
        const auto key = key_of_(move(from[i]));
#pragma GCC unroll 8
        for (uint32_t b = 0; b < kBytes; b++) mine[b][key >> b * kDigitBits & (kDigits - 1)]++;
      }
    });
    const auto first = key_of_(move(from[0]));
    std::vector<uint32_t> different;
    for (uint32_t b = 0; b < kBytes; b++) {
      int64_t same = 0;
      for (const auto& counts : all) same += counts[b][first >> b * kDigitBits & (kDigits - 1)];
      if (same != count_) different.push_back(b);
    }
    if (different.empty()) {
      std::transform(from, from + count_, to, move);
      return;
    }
    const size_t passes = different.size();
    const auto target = [&](size_t pass) { return (passes - pass) % 2 == 1 ? to : other; };
    const auto same = [](const T& x) { return x; };
    for (size_t p = 0; p < passes; p++) {
      const uint32_t shift = different[p] * kDigitBits;
      if (p == 0 || pieces_ == 1)
        for (size_t k = 0; k < counts_.size(); k++) counts_[k] = all[k][different[p]];
      else count(target(p - 1), shift);
      if (p == 0) put(from, move, shift, target(0));
      else put(target(p - 1), same, shift, target(p));
    }
  }

 private:
  using Counts = std::array<uint32_t, kDigits>;

  template <class Body>
  void each_piece(const Body& body) {
    if (pieces_ == 1) return body(0, 0, count_);
    const auto some = [&](uint64_t begin, uint64_t end) {
      for (auto p = static_cast<int64_t>(begin); p < static_cast<int64_t>(end); p++)
        body(static_cast<size_t>(p), count_ * p / pieces_, count_ * (p + 1) / pieces_);
    };
    threads_->run(static_cast<uint64_t>(pieces_), 1, some);
  }

  size_t digit(const T& x, uint32_t shift) const {
    return static_cast<size_t>(key_of_(x) >> shift & (kDigits - 1));
  }

  // How often each digit is in each piece.
  void count(const T* from, uint32_t shift) {
    each_piece([&](size_t p, int64_t begin, int64_t end) {
      counts_[p].fill(0);
      for (int64_t i = begin; i < end; i++) counts_[p][digit(from[i], shift)]++;
    });
  }

  template <class From, class Move>
  void put(const From* from, const Move& move, uint32_t shift, T* to) {
    uint32_t before = 0;
    for (size_t d = 0; d < kDigits; d++)
      for (Counts& counts : counts_) before += std::exchange(counts[d], before);
    each_piece([&](size_t p, int64_t begin, int64_t end) {
      Counts& places = counts_[p];
      for (int64_t i = begin; i < end; i++) {
        const T x = move(from[i]);
        to[places[digit(x, shift)]++] = x;
      }
    });
  }

  core::Threads* const threads_;
  const int64_t count_;
  const KeyOf& key_of_;
  int64_t pieces_;
  std::vector<Counts> counts_;
};

// Few elements, and in order those of the same key.
template <class T, class KeyOf>
void insert(T* x, int64_t count, const KeyOf& key_of) {
  for (int64_t i = 1; i < count; i++) {
    const T mine = x[i];
    const auto key = key_of(mine);
    int64_t j = i;
    for (; j > 0 && key < key_of(x[j - 1]); j--) x[j] = x[j - 1];
    x[j] = mine;
  }
}

// A key and where it was in the row; in one number if there is room.
struct Wide {
  uint64_t key;
  uint32_t at;
  friend bool operator<(const Wide& a, const Wide& b) {
    return a.key != b.key ? a.key < b.key : a.at < b.at;
  }
};
uint64_t pair_of(uint32_t key, int64_t at) {
  return uint64_t{key} << 32 | static_cast<uint64_t>(at);
}
Wide pair_of(uint64_t key, int64_t at) { return {key, static_cast<uint32_t>(at)}; }
uint32_t key_in(uint64_t pair) { return static_cast<uint32_t>(pair >> 32); }
uint64_t key_in(const Wide& pair) { return pair.key; }
int64_t at_in(uint64_t pair) { return static_cast<int64_t>(pair & UINT32_MAX); }
int64_t at_in(const Wide& pair) { return pair.at; }

template <class E>
class Row {
 public:
  using T = typename E::Stored;
  using Key = decltype(key_of<E>(T(), false));
  using Pair = decltype(pair_of(Key(), 0));

  Row(const OrderDesc& desc, core::Threads* threads, std::byte* room)
      : d_(desc), threads_(threads), room_(room) {}

  void elements(const T* x, T* y) const {
    const auto key = [this](T v) { return key_of<E>(v, d_.descending); };
    if (d_.length <= kFew) {
      std::transform(x, x + d_.length, y, E::moved);
      return insert(y, d_.length, key);
    }
    if constexpr (sizeof(T) == sizeof(Key))
      if (have_own_keys<E>(x, d_.length)) return keys(x, reinterpret_cast<Key*>(y));
    Digits<kBytes, T, decltype(key)>(threads_, d_.length, key)
        .sort(x, E::moved, y, reinterpret_cast<T*>(room_));
  }

  // Where each key is that of one element only, keys are sorted in their place.
  void keys(const T* x, Key* y) const {
    const auto key = [this](const T& v) { return key_of<E>(v, d_.descending); };
    const auto itself = [](Key k) { return k; };
    Digits<kBytes, Key, decltype(itself)>(threads_, d_.length, itself)
        .sort(x, key, y, reinterpret_cast<Key*>(room_));
    const auto back = [&](uint64_t begin, uint64_t end) {
      for (uint64_t i = begin; i < end; i++)
        reinterpret_cast<T*>(y)[i] = element_of<E>(y[i], d_.descending);
    };
    each(back);
  }

  // Pairs of 64 bits are sorted where the positions will be; otherwise the positions are, of 32
  // bits each, by keys that stay where they are.
  void positions(const T* x, int64_t* y) const {
    const int64_t n = d_.length;
    const auto key_at = [&](int64_t at) { return key_of<E>(x[at], d_.descending); };
    if constexpr (sizeof(Pair) == sizeof(int64_t)) {
      auto* const pairs = reinterpret_cast<uint64_t*>(y);
      const auto key = [](uint64_t pair) { return key_in(pair); };
      if (n <= kFew) {
        for (int64_t i = 0; i < n; i++) pairs[i] = pair_of(key_at(i), i);
        insert(pairs, n, key);
      } else {
        const auto pair = [&](const T& v) { return pair_of(key_of<E>(v, d_.descending), &v - x); };
        Digits<kBytes, uint64_t, decltype(key)>(threads_, n, key)
            .sort(x, pair, pairs, reinterpret_cast<uint64_t*>(room_));
      }
      const auto rest = [&](uint64_t begin, uint64_t end) {
        for (uint64_t i = begin; i < end; i++) y[i] = at_in(pairs[i]);
      };
      each(rest);
    } else {
      auto* const order = reinterpret_cast<uint32_t*>(room_);
      uint32_t* const given = order + n;
      const auto key = [&](uint32_t at) { return key_at(at); };
      const auto same = [](uint32_t at) { return at; };
      for (int64_t i = 0; i < n; i++) given[i] = static_cast<uint32_t>(i);
      if (n <= kFew) {
        std::copy_n(given, n, order);
        insert(order, n, key);
      } else {
        Digits<kBytes, uint32_t, decltype(key)>(threads_, n, key)
            .sort(given, same, order, reinterpret_cast<uint32_t*>(y));
      }
      std::copy_n(order, n, y);
    }
  }

  // The first k, in order. Those that come before the k-th of all so far are kept until there are
  // several times as many, of which the first k are found then.
  void first(const T* x, int64_t* y) const {
    auto* const kept = reinterpret_cast<Pair*>(room_);
    const int64_t room = room_for(d_.k);
    int64_t count = 0;
    Key least = ~Key{0};
    bool all = true;  // so far, whatever comes is kept
    for (int64_t i = 0; i < d_.length; i++) {
      const Key key = key_of<E>(x[i], d_.descending);
      if (key >= least && !all) continue;
      kept[count++] = pair_of(key, i);
      if (count < room) continue;
      std::nth_element(kept, kept + d_.k - 1, kept + count);
      count = d_.k;
      least = key_in(kept[d_.k - 1]);
      all = false;
    }
    if (count > d_.k) std::nth_element(kept, kept + d_.k - 1, kept + count);
    std::sort(kept, kept + d_.k);
    for (int64_t i = 0; i < d_.k; i++) y[i] = at_in(kept[i]);
  }

  // Bytes of a row's room.
  static uint64_t room(const OrderDesc& d) {
    const auto n = static_cast<uint64_t>(d.length);
    switch (d.what) {
      case OrderDesc::What::Elements: return n * sizeof(T);
      case OrderDesc::What::Positions: return n * 8;
      case OrderDesc::What::First:
        return static_cast<uint64_t>(std::min(room_for(d.k), d.length)) * sizeof(Pair);
    }
    return 0;
  }

  // Of a matrix's rows.
  void run(const hal::Binding& x, const hal::Binding& y, int64_t r) const {
    const T* const from = data_at<const T>(x) + r * d_.length;
    const int64_t width = d_.what == OrderDesc::What::First ? d_.k : d_.length;
    if (d_.what == OrderDesc::What::Elements) return elements(from, data_at<T>(y) + r * width);
    int64_t* const to = data_at<int64_t>(y) + r * width;
    if (d_.what == OrderDesc::What::First) first(from, to);
    else positions(from, to);
  }

 private:
  // Bytes of a key in which elements may differ.
  static constexpr uint32_t kBytes = E::kType == DType::Bool ? 1 : sizeof(Key);

  // Of a row's elements.
  template <class Body>
  void each(const Body& body) const {
    const auto n = static_cast<uint64_t>(d_.length);
    if (threads_ == nullptr) body(0, n);
    else threads_->run(n, kPiece, body);
  }

  static int64_t room_for(int64_t k) { return std::max<int64_t>(4 * k, 64); }

  const OrderDesc& d_;
  core::Threads* const threads_;
  std::byte* const room_;
};

class Ordered : public HostPlan {
 public:
  Ordered(const OrderDesc& desc, int threads)
      : desc_(desc),
        slots_(std::min<int64_t>(desc.rows, threads)),
        room_(of_type(desc.dtype, [&]<class E>(E) { return Row<E>::room(desc); })) {
    constexpr uint64_t kLine = 64;
    room_ = (room_ + kLine - 1) / kLine * kLine;
  }

  const std::string& name() const override {
    static const std::string names[] = {"hologram sort", "hologram argsort", "hologram topk"};
    return names[static_cast<size_t>(desc_.what)];
  }
  uint64_t workspace() const override { return static_cast<uint64_t>(slots_) * room_; }

  void run(std::span<const hal::Binding> operands, hal::Binding workspace,
           core::Threads& threads) const override {
    if (desc_.rows == 0 || desc_.length == 0) return;
    of_type(desc_.dtype, [&]<class E>(E) {
      std::byte* const room = data_at<std::byte>(workspace);
      // Threads share a row, or have rows of their own.
      if (desc_.rows < threads.count() && desc_.length >= 2 * kPiece) {
        for (int64_t r = 0; r < desc_.rows; r++)
          Row<E>(desc_, &threads, room).run(operands[0], operands[1], r);
        return;
      }
      const int64_t some = std::max<int64_t>(1, kWorthAThread / 4 / desc_.length);
      std::atomic<int64_t> next = 0;
      const auto body = [&](uint64_t begin, uint64_t end) {
        for (uint64_t slot = begin; slot < end; slot++) {
          const Row<E> row(desc_, nullptr, room + slot * room_);
          int64_t r;
          while ((r = next.fetch_add(some)) < desc_.rows)
            for (const int64_t last = std::min(r + some, desc_.rows); r < last; r++)
              row.run(operands[0], operands[1], r);
        }
      };
      const int64_t parts = std::min(slots_, (desc_.rows + some - 1) / some);
      threads.run(static_cast<uint64_t>(parts), 1, body);
    });
  }

 private:
  const OrderDesc desc_;
  const int64_t slots_;
  uint64_t room_;
};

}  // namespace

std::optional<hal::Refusal> refuses(const OrderDesc& desc) {
  if (desc.length > kLongest) return hal::Refusal{"rows are too long for positions of 32 bits"};
  return {};
}

std::shared_ptr<HostPlan> plan(const OrderDesc& desc, int threads) {
  return std::make_shared<Ordered>(desc, threads);
}

}  // namespace hologram::libraries::loops
