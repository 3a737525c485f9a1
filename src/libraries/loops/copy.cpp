#include <algorithm>
#include <cstring>

#include "libraries/loops/elements.hpp"
#include "libraries/loops/loops.hpp"

namespace hologram::libraries::loops {
namespace {

// Squares of so many elements: a line of memory of the most common ones, either way.
constexpr int64_t kSquare = 16;
constexpr int64_t kAcross = 4;  // elements of 4 bytes that are turned at a time

// d[i][j] = x[j][i] of squares: rows of x are `of_x` elements apart, those of d `of_d`.
template <class T>
void turn(const T* x, int64_t of_x, T* d, int64_t of_d, int64_t rows, int64_t columns) {
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j < columns; j++) d[i * of_d + j] = x[j * of_x + i];
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
  const Four turned[] = {__builtin_shufflevector(low01, low23, 0, 1, 4, 5),
                         __builtin_shufflevector(low01, low23, 2, 3, 6, 7),
                         __builtin_shufflevector(high01, high23, 0, 1, 4, 5),
                         __builtin_shufflevector(high01, high23, 2, 3, 6, 7)};
  for (int64_t i = 0; i < kAcross; i++) std::memcpy(d + i * of_d, &turned[i], sizeof turned[i]);
}

template <class T>
void square(const T* x, int64_t of_x, T* d, int64_t of_d, int64_t rows, int64_t columns) {
  if constexpr (sizeof(T) == 4) {
    if (rows == kSquare && columns == kSquare) {
      for (int64_t i = 0; i < kSquare; i += kAcross)
        for (int64_t j = 0; j < kSquare; j += kAcross)
          turn_four(x + j * of_x + i, of_x, d + i * of_d + j, of_d);
      return;
    }
  }
  turn(x, of_x, d, of_d, rows, columns);
}

class Turned : public HostPlan {
 public:
  explicit Turned(const hal::CopyDesc& desc) : desc_(desc) {
    const Shape& lengths = desc_.lengths;
    const size_t last = lengths.size() - 1;
    const auto along = std::find(desc_.strides.begin(), desc_.strides.end(), 1);
    along_ = static_cast<size_t>(along - desc_.strides.begin());
    int64_t step = 1;
    of_d_.resize(lengths.size());
    for (size_t k = lengths.size(); k-- > 0; step *= lengths[k]) of_d_[k] = step;
    rows_ = lengths[along_], columns_ = lengths[last];
    bands_ = (rows_ + kSquare - 1) / kSquare;
    for (size_t k = 0; k < last; k++)
      if (k != along_) matrices_ *= lengths[k];
  }

  const std::string& name() const override {
    static const std::string name = "hologram transposed copy";
    return name;
  }

  void run(std::span<const hal::Binding> operands, hal::Binding /*workspace*/,
           core::Threads& threads) const override {
    switch (desc_.element) {
      case 1: return copy<uint8_t>(operands, threads);
      case 2: return copy<uint16_t>(operands, threads);
      case 4: return copy<uint32_t>(operands, threads);
      default: return copy<uint64_t>(operands, threads);
    }
  }

 private:
  template <class T>
  void copy(std::span<const hal::Binding> operands, core::Threads& threads) const {
    const T* const x = data_at<const T>(operands.front());
    T* const d = data_at<T>(operands.back());
    const size_t last = desc_.lengths.size() - 1;
    const auto grain = std::max<int64_t>(1, kWorthAThread / (kSquare * columns_));
    // A band is so many rows of d that lie together in x.
    const auto bands = [&](uint64_t begin, uint64_t end) {
      for (auto n = static_cast<int64_t>(begin); n < static_cast<int64_t>(end); n++) {
        int64_t from = n % bands_ * kSquare, to = from * of_d_[along_], rest = n / bands_;
        const int64_t rows = std::min(kSquare, rows_ - from);
        for (size_t k = last; k-- > 0;) {
          if (k == along_) continue;
          const int64_t at = rest % desc_.lengths[k];
          rest /= desc_.lengths[k];
          from += at * desc_.strides[k], to += at * of_d_[k];
        }
        const int64_t step = desc_.strides[last];
        for (int64_t j = 0; j < columns_; j += kSquare)
          square(x + from + j * step, step, d + to + j, of_d_[along_], rows,
                 std::min(kSquare, columns_ - j));
      }
    };
    threads.run(static_cast<uint64_t>(matrices_ * bands_), static_cast<uint64_t>(grain), bands);
  }

  const hal::CopyDesc desc_;
  size_t along_ = 0;  // the axis along which x is dense
  Shape of_d_;        // strides
  int64_t rows_ = 1, columns_ = 1, bands_ = 1, matrices_ = 1;
};

}  // namespace

std::optional<hal::Refusal> refuses(const hal::CopyDesc& d) {
  constexpr int64_t kLeast = 4;
  const auto along = std::find(d.strides.begin(), d.strides.end(), 1);
  const bool turns = d.lengths.size() > 1 && along != d.strides.end() &&
                     along != d.strides.end() - 1 && d.strides.back() > 1 &&
                     d.lengths[static_cast<size_t>(along - d.strides.begin())] >= kLeast &&
                     d.lengths.back() >= kLeast;
  if (!turns) return hal::Refusal{"it is no transposed copy"};
  return {};
}

std::shared_ptr<HostPlan> plan(const hal::CopyDesc& desc) { return std::make_shared<Turned>(desc); }

}  // namespace hologram::libraries::loops
