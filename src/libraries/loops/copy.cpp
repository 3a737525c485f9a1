#include <algorithm>
#include <cstring>

#include "libraries/loops/elements.hpp"
#include "libraries/loops/loops.hpp"

namespace hologram::libraries::loops {
namespace {

// Squares of so many elements: a line of memory of the most common ones, either way.
constexpr int64_t kSquare = 16;
constexpr int64_t kAcross = 4;  // elements of 4 bytes that are transposed at a time

// Elements that are copied as they are, whatever their type.
template <class T>
struct Bytes {
  using Stored = T;
  static T moved(T x) { return x; }
};

// Calls body(Element) of the type, or of its bytes if these are all that is copied.
template <class Body>
void of_bytes(DType dtype, const Body& body) {
  switch (dtype) {
    case DType::Bool: return body(Element<DType::Bool, uint8_t>());
    case DType::F16: return body(Element<DType::F16, uint16_t, float>());
    case DType::BF16: return body(Element<DType::BF16, uint16_t, float>());
    default: break;
  }
  switch (size_of(dtype)) {
    case 1: return body(Bytes<uint8_t>());
    case 2: return body(Bytes<uint16_t>());
    case 4: return body(Bytes<uint32_t>());
    default: return body(Bytes<uint64_t>());
  }
}

// d[i][j] = x[j][i] of squares: rows of x are `of_x` elements apart, those of d `of_d`.
template <class E, class T = typename E::Stored>
void turn(const T* x, int64_t of_x, T* d, int64_t of_d, int64_t rows, int64_t columns) {
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j < columns; j++) d[i * of_d + j] = E::moved(x[j * of_x + i]);
}

using Four = uint32_t __attribute__((vector_size(kAcross * sizeof(uint32_t))));

Four load(const uint32_t* from) {
  Four v;
  std::memcpy(&v, from, sizeof v);
  return v;
}

void turn_four(const uint32_t* x, int64_t of_x, uint32_t* d, int64_t of_d) {
  const Four rows[] = {load(x), load(x + of_x), load(x + 2 * of_x), load(x + 3 * of_x)};
  const Four low01 = __builtin_shufflevector(rows[0], rows[1], 0, 4, 1, 5),
             high01 = __builtin_shufflevector(rows[0], rows[1], 2, 6, 3, 7),
             low23 = __builtin_shufflevector(rows[2], rows[3], 0, 4, 1, 5),
             high23 = __builtin_shufflevector(rows[2], rows[3], 2, 6, 3, 7);
  const Four transposed[] = {__builtin_shufflevector(low01, low23, 0, 1, 4, 5),
                             __builtin_shufflevector(low01, low23, 2, 3, 6, 7),
                             __builtin_shufflevector(high01, high23, 0, 1, 4, 5),
                             __builtin_shufflevector(high01, high23, 2, 3, 6, 7)};
  for (int64_t i = 0; i < kAcross; i++)
    std::memcpy(d + i * of_d, &transposed[i], sizeof transposed[i]);
}

template <class E, class T = typename E::Stored>
void square(const T* x, int64_t of_x, T* d, int64_t of_d, int64_t rows, int64_t columns) {
  if constexpr (sizeof(T) == 4) {
    if (rows == kSquare && columns == kSquare) {
      for (int64_t i = 0; i < kSquare; i += kAcross)
        for (int64_t j = 0; j < kSquare; j += kAcross)
          turn_four(x + j * of_x + i, of_x, d + i * of_d + j, of_d);
      return;
    }
  }
  turn<E>(x, of_x, d, of_d, rows, columns);
}

// A plan whose copy<Element>(x, d, threads) is called for the type at hand.
template <class Plan>
class Copy : public HostPlan {
 public:
  explicit Copy(const hal::CopyDesc& desc) : desc_(desc) {}

  void run(std::span<const hal::Binding> operands, hal::Binding /*workspace*/,
           core::Threads& threads) const override {
    of_bytes(desc_.dtype, [&](auto element) {
      using E = decltype(element);
      using T = typename E::Stored;
      static_cast<const Plan*>(this)->template copy<E>(data_at<const T>(operands.front()),
                                                       data_at<T>(operands.back()), threads);
    });
  }

 protected:
  const hal::CopyDesc desc_;
};

class Turned : public Copy<Turned> {
 public:
  explicit Turned(const hal::CopyDesc& desc)
      : Copy(desc),
        along_(static_cast<size_t>(std::find(desc.of_x.begin(), desc.of_x.end(), 1) -
                                   desc.of_x.begin())),
        rows_(desc.lengths[along_]),
        columns_(desc.lengths.back()),
        bands_((rows_ + kSquare - 1) / kSquare) {
    for (size_t k = 0; k + 1 < desc.lengths.size(); k++)
      if (k != along_) matrices_ *= desc.lengths[k];
  }

  const std::string& name() const override {
    static const std::string name = "hologram transposed copy";
    return name;
  }

  template <class E, class T = typename E::Stored>
  void copy(const T* x, T* d, core::Threads& threads) const {
    const size_t last = desc_.lengths.size() - 1;
    const auto grain = std::max<int64_t>(1, kWorthAThread / (kSquare * columns_));
    // A band is so many rows of d that lie together in x.
    const auto bands = [&](uint64_t begin, uint64_t end) {
      for (auto n = static_cast<int64_t>(begin); n < static_cast<int64_t>(end); n++) {
        int64_t from = n % bands_ * kSquare, to = from * desc_.of_d[along_], rest = n / bands_;
        const int64_t rows = std::min(kSquare, rows_ - from);
        for (size_t k = last; k-- > 0;) {
          if (k == along_) continue;
          const int64_t at = rest % desc_.lengths[k];
          rest /= desc_.lengths[k];
          from += at * desc_.of_x[k], to += at * desc_.of_d[k];
        }
        const int64_t step = desc_.of_x[last];
        for (int64_t j = 0; j < columns_; j += kSquare)
          square<E>(x + from + j * step, step, d + to + j, desc_.of_d[along_], rows,
                    std::min(kSquare, columns_ - j));
      }
    };
    threads.run(static_cast<uint64_t>(matrices_ * bands_), static_cast<uint64_t>(grain), bands);
  }

 private:
  const size_t along_;  // the axis along which x is dense
  const int64_t rows_, columns_, bands_;
  int64_t matrices_ = 1;
};

// Rows that are dense in both.
class Rows : public Copy<Rows> {
 public:
  explicit Rows(const hal::CopyDesc& desc) : Copy(desc), length_(desc.lengths.back()) {
    for (size_t k = 0; k + 1 < desc_.lengths.size(); k++) rows_ *= desc_.lengths[k];
  }

  const std::string& name() const override {
    static const std::string name = "hologram copy of rows";
    return name;
  }

  template <class E, class T = typename E::Stored>
  void copy(const T* x, T* d, core::Threads& threads) const {
    const auto copy_row = [length = length_](const T* from, T* to) {
      if constexpr (std::is_same_v<E, Bytes<T>>) copy_bytes(from, to, length);
      else std::transform(from, from + length, to, E::moved);
    };
    const size_t axes = desc_.lengths.size() - 1;  // but for the last
    const int64_t side = desc_.lengths[axes - 1];  // rows that lie equally far apart
    const int64_t step_x = desc_.of_x[axes - 1], step_d = desc_.of_d[axes - 1];
    const auto some = [&](uint64_t begin, uint64_t end) {
      for (auto row = static_cast<int64_t>(begin); row < static_cast<int64_t>(end);) {
        const int64_t first = row % side;
        int64_t rest = row / side, from = first * step_x, to = first * step_d;
        for (size_t k = axes - 1; k-- > 0; rest /= desc_.lengths[k]) {
          const int64_t at = rest % desc_.lengths[k];
          from += at * desc_.of_x[k], to += at * desc_.of_d[k];
        }
        const int64_t count = std::min(side - first, static_cast<int64_t>(end) - row);
        for (int64_t i = 0; i < count; i++) copy_row(x + from + i * step_x, d + to + i * step_d);
        row += count;
      }
    };
    const auto grain = std::max<int64_t>(1, kWorthAThread / length_);
    threads.run(static_cast<uint64_t>(rows_), static_cast<uint64_t>(grain), some);
  }

 private:
  // A call for a few bytes takes longer than they do: two copies that may overlap.
  template <class T>
  static void copy_bytes(const T* from, T* to, int64_t length) {
    const size_t bytes = static_cast<size_t>(length) * sizeof(T);
    const auto* const x = reinterpret_cast<const std::byte*>(from);
    auto* const d = reinterpret_cast<std::byte*>(to);
    const auto ends = [&](auto part) {
      constexpr size_t kPart = decltype(part)::value;
      std::memcpy(d, x, kPart);
      std::memcpy(d + bytes - kPart, x + bytes - kPart, kPart);
    };
    using std::integral_constant;
    if (bytes > 128) std::memcpy(d, x, bytes);
    else if (bytes >= 64) ends(integral_constant<size_t, 64>());
    else if (bytes >= 32) ends(integral_constant<size_t, 32>());
    else if (bytes >= 16) ends(integral_constant<size_t, 16>());
    else if (bytes >= 8) ends(integral_constant<size_t, 8>());
    else if (bytes >= 4) ends(integral_constant<size_t, 4>());
    else std::copy_n(from, length, to);
  }

  const int64_t length_;
  int64_t rows_ = 1;
};

bool is_dense(const hal::CopyDesc& d) {
  int64_t step = 1;
  for (size_t k = d.lengths.size(); k-- > 0; step *= d.lengths[k])
    if (d.of_d[k] != step) return false;
  return true;
}

bool turns(const hal::CopyDesc& d) {
  constexpr int64_t kLeast = 4;
  const auto along = std::find(d.of_x.begin(), d.of_x.end(), 1);
  return d.lengths.size() > 1 && along != d.of_x.end() && along != d.of_x.end() - 1 &&
         d.of_x.back() > 1 && d.lengths[static_cast<size_t>(along - d.of_x.begin())] >= kLeast &&
         d.lengths.back() >= kLeast && is_dense(d);
}

// Programs copy longer ones as fast, and past the caches.
bool has_short_rows(const hal::CopyDesc& d) {
  constexpr int64_t kLongest = 2048;  // bytes
  return d.lengths.size() > 1 && d.of_x.back() == 1 && d.of_d.back() == 1 &&
         d.lengths.back() * static_cast<int64_t>(size_of(d.dtype)) <= kLongest;
}

}  // namespace

std::optional<hal::Refusal> refuses(const hal::CopyDesc& desc) {
  if (turns(desc) || has_short_rows(desc)) return {};
  return hal::Refusal{"its rows are neither transposed nor short"};
}

std::shared_ptr<HostPlan> plan(const hal::CopyDesc& desc) {
  if (turns(desc)) return std::make_shared<Turned>(desc);
  return std::make_shared<Rows>(desc);
}

}  // namespace hologram::libraries::loops
