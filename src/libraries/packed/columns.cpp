#include "libraries/packed/columns.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace hologram::libraries::packed {
namespace {

constexpr int64_t kBytesWorthAThread = 1 << 17;
constexpr int64_t kLeastColumns = 2;
// Columns that threads are given where there are too few pieces for all of them.
constexpr int64_t kSomeColumns = 256;
// Of all that is read: what may be more than a cache holds is read from both ends in turn.
constexpr int64_t kBytesOfACache = 3 << 18;

template <class T>
class SumsOfColumns : public HostPlan {
 public:
  explicit SumsOfColumns(const hal::ColumnReduceDesc& desc)
      : sums_(column_sums(T{})), desc_(desc) {}

  const std::string& name() const override {
    static const std::string name =
        fmt::format("hologram {} columns", name_of(sizeof(T) == 4 ? DType::F32 : DType::F64));
    return name;
  }

  void run(std::span<const hal::Binding> operands, hal::Binding /*workspace*/,
           core::Threads& threads) const override {
    const hal::ColumnReduceDesc& g = desc_;
    const T* const x = data_at<const T>(operands.front());
    T* const d = data_at<T>(operands.back());
    const int64_t pieces = (g.rows + g.piece - 1) / g.piece;
    const int64_t width =
        pieces >= 4 * threads.count() || threads.count() == 1 ? g.columns : kSomeColumns;
    const int64_t across = (g.columns + width - 1) / width;
    const int64_t bytes = g.piece * width * static_cast<int64_t>(sizeof(T));
    const bool large = g.rows * g.columns * static_cast<int64_t>(sizeof(T)) >= kBytesOfACache;
    const auto direction = large ? core::alternate_direction() : core::Direction::Forward;
    const auto some = [&](uint64_t begin, uint64_t end) {
      core::cut(begin, end, 1, direction, [&](uint64_t part, uint64_t) {
        const int64_t piece = static_cast<int64_t>(part) / across,
                      column = static_cast<int64_t>(part) % across * width, first = piece * g.piece;
        sums_(x + first * g.step + column, g.step, std::min(g.piece, g.rows - first),
              std::min(width, g.columns - column), d + piece * g.columns + column);
      });
    };
    threads.run(static_cast<uint64_t>(pieces * across),
                static_cast<uint64_t>(std::max<int64_t>(1, kBytesWorthAThread / bytes)), some,
                direction);
  }

 private:
  ColumnSums<T>* const sums_;
  const hal::ColumnReduceDesc desc_;
};

}  // namespace

std::optional<hal::Refusal> refuses(const hal::ColumnReduceDesc& desc) {
  if (column_sums(float{}) == nullptr) return hal::Refusal{"this processor has no AVX2"};
  if (desc.dtype != DType::F32 && desc.dtype != DType::F64)
    return hal::Refusal{fmt::format("no columns of {}", name_of(desc.dtype))};
  if (desc.columns < kLeastColumns) return hal::Refusal{"they are few"};
  return {};
}

std::shared_ptr<HostPlan> plan(const hal::ColumnReduceDesc& desc) {
  if (desc.dtype == DType::F32) return std::make_shared<SumsOfColumns<float>>(desc);
  return std::make_shared<SumsOfColumns<double>>(desc);
}

}  // namespace hologram::libraries::packed
