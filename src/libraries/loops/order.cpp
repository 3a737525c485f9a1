#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <utility>
#include <vector>

#include "libraries/loops/in_order.hpp"
#include "libraries/loops/keys.hpp"
#include "libraries/loops/loops.hpp"

namespace hologram::libraries::loops {
namespace {

using hal::OrderDesc;

constexpr int64_t kPiece = 1 << 14;        // elements of a row that a thread takes
constexpr int64_t kWorthRanges = 1 << 17;  // of a row that threads share
constexpr int64_t kLongest = int64_t{UINT32_MAX};

// A key and where it was in the row, in one number: all differ, and those of the same key are in
// order.
template <class Key>
auto pair_of(Key key, int64_t at) {
  if constexpr (sizeof(Key) == 8) return Wide{static_cast<uint64_t>(at), key};
  else return uint64_t{key} << 32 | static_cast<uint64_t>(at);
}
int64_t at_in(uint64_t pair) { return static_cast<int64_t>(pair & UINT32_MAX); }
int64_t at_in(const Wide& pair) { return static_cast<int64_t>(pair.at); }
uint64_t key_in(uint64_t pair) { return pair >> 32; }
uint64_t key_in(const Wide& pair) { return pair.key; }

// Numbers made of what is read, in order; by threads that take ranges of them, if there are any.
template <class N>
class InOrder {
 public:
  InOrder(N* to, int64_t count, core::Threads* threads, bool descending = false)
      : to_(to), count_(count), threads_(threads), descending_(descending) {}

  template <class Make>
  void put(const Make& make) {
    if (threads_ != nullptr && threads_->count() > 1)
      return descending_ ? put_by_ranges<true>(make) : put_by_ranges<false>(make);
    for_each(0, count_, [&](int64_t i) { to_[i] = make(i); });
    put_in_order(to_, count_, descending_);
  }

 private:
  static constexpr uint32_t kRangesAThread = 2, kSamplesARange = 64;

  // Numbers go to the range that they belong to, which is put in order by itself.
  template <bool kDescending, class Make>
  void put_by_ranges(const Make& make) {
    const size_t ranges = std::bit_ceil(kRangesAThread * static_cast<uint32_t>(threads_->count()));
    const std::vector<N> limits = limits_of(make, ranges);
    const auto range_of = [&](const N& n) { return reached<kDescending>(limits, n); };
    const int64_t pieces = (count_ + kPiece - 1) / kPiece;
    std::vector<std::vector<int64_t>> places(static_cast<size_t>(pieces));
    const auto each_piece = [&](const auto& body) {
      threads_->run(static_cast<uint64_t>(pieces), 1, [&](uint64_t begin, uint64_t end) {
        for (uint64_t p = begin; p < end; p++) {
          const auto from = static_cast<int64_t>(p) * kPiece;
          body(places[p], from, std::min(from + kPiece, count_));
        }
      });
    };
    each_piece([&](std::vector<int64_t>& counts, int64_t begin, int64_t end) {
      counts.assign(ranges, 0);
      for (int64_t i = begin; i < end; i++) counts[range_of(make(i))]++;
    });
    std::vector<int64_t> begins;
    int64_t before = 0;
    for (size_t r = 0; r < ranges; r++) {
      begins.push_back(before);
      for (auto& counts : places) before += std::exchange(counts[r], before);
    }
    begins.push_back(count_);
    each_piece([&](std::vector<int64_t>& next, int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; i++) {
        const N n = make(i);
        to_[next[range_of(n)]++] = n;
      }
    });
    threads_->run(ranges, 1, [&](uint64_t begin, uint64_t end) {
      for (uint64_t r = begin; r < end; r++)
        put_in_order(to_ + begins[r], begins[r + 1] - begins[r], kDescending);
    });
  }

  // Between ranges of about as many numbers, by some of them that lie apart.
  template <class Make>
  std::vector<N> limits_of(const Make& make, size_t ranges) const {
    const auto samples = static_cast<int64_t>(ranges * kSamplesARange);
    std::vector<N> some, limits;
    for (int64_t i = 0; i < samples; i++) some.push_back(make(count_ / samples * i));
    put_in_order(some.data(), samples, descending_);
    for (size_t r = 1; r < ranges; r++) limits.push_back(some[r * kSamplesARange]);
    return limits;
  }

  // How many limits, which are one less than a power of two, do not come after it; without
  // branches, which nothing could foresee.
  template <bool kDescending>
  static size_t reached(const std::vector<N>& limits, const N& n) {
    size_t first = 0;
    for (size_t half = (limits.size() + 1) / 2; half > 0; half /= 2) {
      const N& limit = limits[first + half - 1];
      first += static_cast<size_t>(kDescending ? !(limit < n) : !(n < limit)) * half;
    }
    return first;
  }

  N* const to_;
  const int64_t count_;
  core::Threads* const threads_;
  const bool descending_;
};

template <class E>
class Row {
 public:
  using T = typename E::Stored;
  using Key = typename Keyed<E>::Key;
  using Pair = decltype(pair_of(Key(), 0));

  Row(const OrderDesc& desc, core::Threads* threads, std::byte* room)
      : d_(desc), threads_(threads), room_(room) {}

  // Sorted as integers, or by keys, where the result will be if they have room there, which are
  // made elements again. Those that have no key of their own follow each other as they did.
  void elements(const T* x, T* y) const {
    const bool own = have_own_keys(x);
    if (own && kIsOfIntegers) return integers(x, y);
    Key* const keys = kInPlace ? reinterpret_cast<Key*>(y) : reinterpret_cast<Key*>(room_);
    InOrder<Key>(keys, d_.length, threads_).put([&](int64_t i) { return key(x[i]); });
    const Key zero = key(T{}), none = key(kNone);
    const auto place_of = [&](Key k) { return std::lower_bound(keys, keys + d_.length, k) - keys; };
    int64_t zeros = own ? 0 : place_of(zero), others = own ? 0 : place_of(none);
    each([&](int64_t i) { y[i] = element_of<E>(keys[i], d_.descending); });
    if (own) return;
    for (int64_t i = 0; i < d_.length; i++) {
      const Key mine = key(x[i]);
      if (mine == zero) y[zeros++] = x[i];
      else if (mine == none) y[others++] = E::moved(x[i]);
    }
  }

  void integers(const T* x, T* y) const {
    using Bits = typename Keyed<E>::Bits;
    if constexpr (std::is_integral_v<T>) {
      InOrder<T>(y, d_.length, threads_, d_.descending).put([x](int64_t i) { return x[i]; });
    } else {
      auto* const to = reinterpret_cast<std::make_signed_t<Bits>*>(y);
      InOrder(to, d_.length, threads_, d_.descending).put([x](int64_t i) {
        return as_integer<E>(std::bit_cast<Bits>(x[i]));
      });
      each([&](int64_t i) { to[i] = as_integer<E>(static_cast<Bits>(to[i])); });
    }
  }

  // Pairs of 64 bits are sorted where the positions will be.
  void positions(const T* x, int64_t* y) const {
    constexpr bool kHasRoom = sizeof(Pair) == sizeof(int64_t);
    auto* const pairs = reinterpret_cast<Pair*>(kHasRoom ? static_cast<void*>(y) : room_);
    InOrder<Pair>(pairs, d_.length, threads_).put([&](int64_t i) { return pair_of(key(x[i]), i); });
    each([&](int64_t i) { y[i] = at_in(pairs[i]); });
  }

  // The first k, in order; of those of each thread's part, if threads share the row.
  void first(const T* x, int64_t* y) const {
    if (threads_ == nullptr && d_.k <= kFew) return first_few(x, y);
    auto* const kept = reinterpret_cast<Pair*>(room_);
    const int64_t parts = threads_ == nullptr ? 1 : threads_->count();
    std::vector<int64_t> counts(static_cast<size_t>(parts));
    const auto some = [&](uint64_t begin, uint64_t end) {
      for (auto p = static_cast<int64_t>(begin); p < static_cast<int64_t>(end); p++)
        counts[static_cast<size_t>(p)] = first_of_part(
            x, d_.length * p / parts, d_.length * (p + 1) / parts, kept + p * room_for(d_.k));
    };
    if (parts == 1) some(0, 1);
    else threads_->run(static_cast<uint64_t>(parts), 1, some);
    int64_t count = counts[0];
    for (int64_t p = 1; p < parts; p++) {
      const Pair* const theirs = kept + p * room_for(d_.k);
      std::copy_n(theirs, counts[static_cast<size_t>(p)], kept + count);
      count += counts[static_cast<size_t>(p)];
    }
    if (count > d_.k) std::nth_element(kept, kept + d_.k - 1, kept + count);
    put_in_order(kept, d_.k);
    for (int64_t i = 0; i < d_.k; i++) y[i] = at_in(kept[i]);
  }

  // A few: each takes its place among those before it, as few do.
  void first_few(const T* x, int64_t* y) const {
    std::array<Pair, kFew> kept;
    size_t count = 0;
    const auto k = static_cast<size_t>(d_.k);
    for (int64_t i = 0; i < d_.length; i++) {
      const Key mine = key(x[i]);
      if (count == k && mine >= key_in(kept[k - 1])) continue;
      size_t at = count < k ? count++ : k - 1;
      const Pair pair = pair_of(mine, i);
      for (; at > 0 && pair < kept[at - 1]; at--) kept[at] = kept[at - 1];
      kept[at] = pair;
    }
    for (size_t i = 0; i < k; i++) y[i] = at_in(kept[i]);
  }

  // How many are kept: those that come before the k-th of all so far, until there are several times
  // as many, of which the first k are found then.
  int64_t first_of_part(const T* x, int64_t begin, int64_t end, Pair* kept) const {
    const int64_t room = room_for(d_.k);
    int64_t count = 0;
    uint64_t least = ~uint64_t{0};  // so far, whatever comes is kept
    for (int64_t i = begin; i < end; i++) {
      const Key mine = key(x[i]);
      if (mine >= least && count >= d_.k) continue;
      kept[count++] = pair_of(mine, i);
      if (count < room) continue;
      std::nth_element(kept, kept + d_.k - 1, kept + count);
      count = d_.k;
      least = key_in(kept[d_.k - 1]);
    }
    return count;
  }

  // Whether as many threads share a row.
  static bool shares(const OrderDesc& d, int threads) {
    return d.rows < threads && d.length >= kWorthRanges &&
           (d.what != OrderDesc::What::First || 2 * threads * room_for(d.k) <= d.length);
  }

  // Bytes of a row's room.
  static uint64_t room(const OrderDesc& d, int threads) {
    const auto n = static_cast<uint64_t>(d.length);
    switch (d.what) {
      case OrderDesc::What::Elements: return kInPlace ? 0 : n * sizeof(Key);
      case OrderDesc::What::Positions: return sizeof(Pair) == 8 ? 0 : n * sizeof(Pair);
      case OrderDesc::What::First:
        return static_cast<uint64_t>(shares(d, threads) ? threads * room_for(d.k)
                                                        : std::min(room_for(d.k), d.length)) *
               sizeof(Pair);
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
  static constexpr bool kInPlace = sizeof(T) == sizeof(Key);
  // Whether there are integers of an element's bits in its order.
  static constexpr bool kIsOfIntegers = std::is_same_v<T, typename E::Value> && sizeof(T) > 1;
  // Of floats, what is no number.
  static constexpr T kNone =
      std::bit_cast<T>(static_cast<typename Keyed<E>::Bits>(~Keyed<E>::kSign));

  static constexpr int64_t kFew = 16;

  Key key(T x) const { return key_of<E>(x, d_.descending); }

  bool have_own_keys(const T* x) const {
    if (threads_ == nullptr) return loops::have_own_keys<E>(x, d_.length);
    std::atomic<bool> all = true;
    threads_->run(static_cast<uint64_t>(d_.length), kPiece, [&](uint64_t begin, uint64_t end) {
      if (!loops::have_own_keys<E>(x + begin, static_cast<int64_t>(end - begin))) all = false;
    });
    return all;
  }

  // Of a row's elements.
  template <class Body>
  void each(const Body& body) const {
    if (threads_ == nullptr) return for_each(0, d_.length, body);
    threads_->run(static_cast<uint64_t>(d_.length), kPiece, [&](uint64_t begin, uint64_t end) {
      for_each(static_cast<int64_t>(begin), static_cast<int64_t>(end), body);
    });
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
        room_(of_type(desc.dtype, [&]<class E>(E) { return Row<E>::room(desc, threads); })) {
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
      if (Row<E>::shares(desc_, threads.count())) {
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
