#include "libraries/packed/rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <numeric>

#include "core/messages.hpp"
#include "libraries/matrix_view.hpp"

namespace hologram::libraries::packed {
namespace {

constexpr int64_t kBytesWorthAThread = 1 << 16;
// Of large matrices: others may take one of a busy thread.
constexpr int64_t kBytesOfAPart = 1 << 20;
// Of all that is read: what may be more than a cache holds is read from both ends in turn, by cuts.
constexpr int64_t kBytesOfACache = 3 << 18, kBytesOfACut = 1 << 18;

struct Chosen {
  Rows* run;
  int64_t beside;  // rows that it reads side by side
};

Chosen kernel_of(const hal::RowReduceDesc& desc) {
  const RowKernels& all = *row_kernels();
  const RowKernels::Lanes& lanes = desc.lanes == kFewLanes ? all.few : all.many;
  const RowKernels::Reach& reach = !desc.products     ? lanes.sums
                                   : desc.step_x == 0 ? lanes.by_vector
                                                      : lanes.products;
  const bool far = desc.batch * desc.rows * desc.length >= reach.from;
  return far ? Chosen{reach.far, reach.beside} : Chosen{reach.near, 1};
}

class SumsOfRows : public HostPlan {
 public:
  explicit SumsOfRows(const hal::RowReduceDesc& desc) : kernel_(kernel_of(desc)), desc_(desc) {}

  const std::string& name() const override {
    static const std::string name = "hologram f32 rows";
    return name;
  }

  void run(std::span<const hal::Binding> operands, hal::Binding /*workspace*/,
           core::Threads& threads) const override {
    const hal::RowReduceDesc& g = desc_;
    const auto* a = data_at<float>(operands[0]);
    const auto* x = data_at<float>(operands[1]);
    auto* const result = data_at<float>(operands[2]);
    std::array<float, hal::RowReduceDesc::kMostPieces> pieces;
    float* const y = g.pieces ? pieces.data() : result;
    const int64_t bytes = g.length * static_cast<int64_t>(sizeof(float));
    const auto rows = static_cast<uint64_t>(g.batch * g.rows);
    const auto count = static_cast<uint64_t>(threads.count());
    const auto of = [bytes](int64_t size) { return static_cast<uint64_t>(size / bytes + 1); };
    const uint64_t share = (rows + count - 1) / count;
    const auto some_of = [&](int64_t i, int64_t some, int64_t length) {
      const int64_t z = i / g.rows, row = i % g.rows;
      kernel_.run(a + z * g.stride_a + row * g.step, g.step, x + z * g.stride_x + row * g.step_x,
                  g.step_x, some, length, y + i);
    };
    const int64_t all = static_cast<int64_t>(rows) * bytes * (g.products && g.step_x != 0 ? 2 : 1);
    const bool large = all >= kBytesOfACache;
    const auto direction = large ? core::alternate_direction() : core::Direction::Forward;
    // Rows that are read side by side stay together, where threads have enough of them.
    constexpr uint64_t kMany = 4;
    const auto beside = static_cast<uint64_t>(kernel_.beside);
    const uint64_t together = share >= kMany * beside ? beside : 1;
    const auto groups = [together](uint64_t of_rows) {
      return (of_rows + together - 1) / together;
    };
    const uint64_t size = large ? groups(of(kBytesOfACut)) : rows;
    const auto body = [&](uint64_t begin, uint64_t end) {
      core::cut(begin, end, size, direction, [&](uint64_t first, uint64_t behind) {
        const uint64_t from = first * together, to = std::min(behind * together, rows);
        auto last = static_cast<int64_t>(to);
        if (to == rows && g.last != g.length) some_of(--last, 1, g.last);
        for (auto i = static_cast<int64_t>(from); i < last;) {
          const int64_t some = std::min(last - i, g.rows - i % g.rows);
          some_of(i, some, g.length);
          i += some;
        }
      });
    };
    const uint64_t grain = std::max(of(kBytesWorthAThread), std::min(share, of(kBytesOfAPart)));
    threads.run(groups(rows), groups(grain), body, direction);
    if (g.pieces) *result = std::accumulate(y, y + rows, 0.0F);
  }

 private:
  const Chosen kernel_;
  const hal::RowReduceDesc desc_;
};

}  // namespace

const RowKernels* row_kernels() {
  static const RowKernels* const chosen = [] {
    const auto all = all_row_kernels();
    const auto found =
        std::find_if(all.begin(), all.end(), [](const RowKernels& k) { return k.chosen(); });
    return found == all.end() ? nullptr : &*found;
  }();
  return chosen;
}

std::optional<hal::Refusal> refuses(const hal::RowReduceDesc& desc) {
  if (row_kernels() == nullptr) return hal::Refusal{"this processor has no AVX2"};
  if (desc.dtype != DType::F32)
    return hal::Refusal{fmt::format("no rows of {}", name_of(desc.dtype))};
  if (desc.lanes != kFewLanes && desc.lanes != kManyLanes)
    return hal::Refusal{fmt::format("no rows for {} lanes", desc.lanes)};
  if (desc.lanes == kFewLanes && desc.length > kRun * kFewLanes)
    return hal::Refusal{"no rows of several runs for so few lanes"};
  return {};
}

std::shared_ptr<HostPlan> plan(const hal::RowReduceDesc& desc) {
  return std::make_shared<SumsOfRows>(desc);
}

}  // namespace hologram::libraries::packed
