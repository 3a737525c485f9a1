#include "libraries/packed/packed.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/messages.hpp"
#include "libraries/library.hpp"

namespace hologram::libraries::packed {
namespace {

using hal::GemmDesc;

constexpr int64_t kRoom = int64_t{8} << 20;             // for copies of several matrices of a batch
constexpr int64_t kPanelsDown = 1, kPanelsAcross = 16;  // computed by a thread at a time
constexpr double kFlopsWorthAThread = 2e5;
constexpr uint64_t kBytesWorthAThread = 32768;
constexpr double kBytesOfBWorthAThread = 1 << 19;

int64_t parts(int64_t count, int64_t of) { return (count + of - 1) / of; }

uint64_t grain(double worth, double each) {
  return static_cast<uint64_t>(std::max(1.0, worth / std::max(each, 1.0)));
}

template <class T>
const std::string& name_of_product() {
  static const std::string name =
      fmt::format("hologram {} product", name_of(sizeof(T) == 4 ? DType::F32 : DType::F64));
  return name;
}

template <class T>
std::array<T*, 3> matrices_of(const GemmDesc& desc, std::span<const hal::Binding> operands) {
  const std::array<Stored, 3> matrices = stored(desc);
  std::array<T*, 3> data{};
  for (size_t i = 0; i < 3; i++) data[i] = reinterpret_cast<T*>(data_of(matrices[i], operands[i]));
  return data;
}

template <class T>
void clear(const GemmDesc& g, T* d) {
  for (int64_t z = 0; z < g.batch; z++)
    for (int64_t row = 0; row < g.m; row++)
      std::fill_n(d + z * g.stride_d + row * g.ldd, g.n, T{0});
}

// A few rows read each element of b a few times: a copy would not pay.
template <class T>
class FewRows : public HostPlan {
 public:
  explicit FewRows(const GemmDesc& desc) : kernels_(*kernels(T{})), desc_(desc) {}

  const std::string& name() const override { return name_of_product<T>(); }
  uint64_t workspace() const override { return 0; }

  void run(std::span<const hal::Binding> operands, hal::Binding /*workspace*/,
           core::Threads& threads) const override {
    const GemmDesc& g = desc_;
    const auto [a, b, d] = matrices_of<T>(g, operands);
    if (g.m == 0 || g.n == 0 || g.batch == 0) return;
    if (g.k == 0) return clear(g, d);
    // One part a thread: each row of b is read in so many pieces.
    constexpr int64_t kTogether = 256 / sizeof(T);
    const int64_t across = parts(g.n, kTogether);
    const auto bytes = static_cast<double>(g.k * kTogether) * sizeof(T);
    const auto each = static_cast<uint64_t>(parts(g.batch * across, threads.count()));
    threads.run(static_cast<uint64_t>(g.batch * across),
                std::max(each, grain(kBytesOfBWorthAThread, bytes)),
                [&, a = a, b = b, d = d](uint64_t begin, uint64_t end) {
                  const auto last = static_cast<int64_t>(end);
                  for (auto i = static_cast<int64_t>(begin); i < last;) {
                    const int64_t z = i / across, column = i % across * kTogether;
                    const int64_t to = std::min(last, (z + 1) * across);
                    kernels_.multiply_rows(
                        a + z * g.stride_a, g.transpose_a ? 1 : g.lda, g.transpose_a ? g.lda : 1,
                        b + z * g.stride_b + column, g.ldb, g.k, g.m,
                        std::min(g.n - column, (to - i) * kTogether),
                        d + z * g.stride_d + column, g.ldd);
                    i = to;
                  }
                });
  }

 private:
  const Kernels<T>& kernels_;
  const GemmDesc desc_;
};

template <class T>
class Plan : public HostPlan {
 public:
  explicit Plan(const GemmDesc& desc)
      : kernels_(*kernels(T{})),
        desc_(desc),
        slice_(std::min(kSlice, parts(desc_.k, kTermsOfBlock) * kTermsOfBlock)),
        row_panels_(parts(desc_.m, kernels_.rows)),
        column_panels_(parts(desc_.n, kernels_.columns)),
        a_room_(row_panels_ * panel_of_rows()),
        b_room_(column_panels_ * kernels_.columns * slice_),
        together_(std::clamp<int64_t>(kRoom / std::max<int64_t>(bytes_of_matrix(), 1), 1,
                                      std::max<int64_t>(desc_.batch, 1))) {}

  const std::string& name() const override { return name_of_product<T>(); }
  uint64_t workspace() const override {
    return desc_.batch == 0 || desc_.k == 0 ? 0
                                            : static_cast<uint64_t>(together_ * bytes_of_matrix());
  }

  void run(std::span<const hal::Binding> operands, hal::Binding workspace,
           core::Threads& threads) const override {
    const GemmDesc& g = desc_;
    const std::array<T*, 3> data = matrices_of<T>(g, operands);
    if (g.m == 0 || g.n == 0 || g.batch == 0) return;
    if (workspace.size < this->workspace())
      throw core::error(core::Text::InternalError, "a product lacks its workspace");
    if (g.k == 0) return clear(g, data[2]);
    T* const room = reinterpret_cast<T*>(workspace.buffer->host() + workspace.offset);
    for (int64_t z = 0; z < g.batch; z += together_)
      for (int64_t first = 0; first < g.k; first += slice_) {
        const Part part{.a = data[0] + z * g.stride_a,
                        .b = data[1] + z * g.stride_b,
                        .d = data[2] + z * g.stride_d,
                        .batch = std::min(together_, g.batch - z),
                        .first = first,
                        .terms = std::min(slice_, g.k - first),
                        .room = room};
        copy(part, threads);
        multiply(part, threads);
      }
  }

 private:
  // A slice of terms of some matrices of the batch.
  struct Part {
    const T *a, *b;
    T* d;
    int64_t batch, first, terms;
    T* room;
  };

  int64_t panel_of_rows() const { return kSlice * kernels_.apart; }
  int64_t bytes_of_matrix() const { return (a_room_ + b_room_) * static_cast<int64_t>(sizeof(T)); }
  T* room_of(const Part& part, int64_t z) const { return part.room + z * (a_room_ + b_room_); }

  void copy(const Part& part, core::Threads& threads) const {
    const int64_t panels = row_panels_ + column_panels_;
    const auto worth = grain(kBytesWorthAThread, static_cast<double>(kernels_.rows * part.terms));
    threads.run(static_cast<uint64_t>(part.batch * panels), worth,
                [&](uint64_t begin, uint64_t end) {
                  for (auto i = static_cast<int64_t>(begin); i < static_cast<int64_t>(end); i++) {
                    const int64_t z = i / panels, panel = i % panels;
                    if (panel < row_panels_) copy_rows(part, z, panel * kernels_.rows);
                    else copy_columns(part, z, (panel - row_panels_) * kernels_.columns);
                  }
                });
  }

  void copy_rows(const Part& part, int64_t z, int64_t row) const {
    const GemmDesc& g = desc_;
    const T* const a = part.a + z * g.stride_a;
    kernels_.copy(g.transpose_a ? a + part.first * g.lda + row : a + row * g.lda + part.first,
                  g.lda, !g.transpose_a, part.terms, std::min(kernels_.apart, g.m - row),
                  room_of(part, z) + row / kernels_.rows * panel_of_rows(), kernels_.apart);
  }

  void copy_columns(const Part& part, int64_t z, int64_t column) const {
    const GemmDesc& g = desc_;
    const T* const b = part.b + z * g.stride_b;
    const int64_t wide = kernels_.columns, columns = std::min(wide, g.n - column);
    T* const to = room_of(part, z) + a_room_ + column * slice_;
    if (columns < wide) std::fill_n(to, part.terms * wide, T{0});
    kernels_.copy(g.transpose_b ? b + column * g.ldb + part.first : b + part.first * g.ldb + column,
                  g.ldb, g.transpose_b, part.terms, columns, to, wide);
  }

  void multiply(const Part& part, core::Threads& threads) const {
    const GemmDesc& g = desc_;
    const int64_t wide = kernels_.columns;
    const int64_t rows = kPanelsDown * kernels_.rows, columns = kPanelsAcross * wide;
    const int64_t down = parts(g.m, rows), across = parts(g.n, columns);
    const double flops = 2.0 * static_cast<double>(std::min(rows, g.m)) *
                         static_cast<double>(std::min(columns, g.n)) *
                         static_cast<double>(part.terms);
    threads.run(static_cast<uint64_t>(part.batch * down * across), grain(kFlopsWorthAThread, flops),
                [&](uint64_t begin, uint64_t end) {
                  for (auto i = static_cast<int64_t>(begin); i < static_cast<int64_t>(end); i++) {
                    const int64_t z = i / (down * across), at = i % (down * across);
                    const int64_t row = at % down * rows, column = at / down * columns;
                    const T* const room = room_of(part, z);
                    const T* const a = room + row / kernels_.rows * panel_of_rows();
                    T* const d = part.d + z * g.stride_d + row * g.ldd + column;
                    const int64_t rows_left = std::min(rows, g.m - row),
                                  columns_left = std::min(columns, g.n - column);
                    kernels_.multiply(a, room + a_room_ + column * slice_, slice_, part.terms,
                                      rows_left, columns_left, part.first > 0, d, g.ldd);
                  }
                });
  }

  const Kernels<T>& kernels_;
  const GemmDesc desc_;
  const int64_t slice_;  // terms of a panel of b
  const int64_t row_panels_, column_panels_;
  const int64_t a_room_, b_room_;  // elements of a matrix's panels
  const int64_t together_;         // matrices of the batch that are copied at a time
};

}  // namespace

std::optional<hal::Refusal> refuses(const GemmDesc& desc) {
  if (!all_of_type(desc, DType::F32) && !all_of_type(desc, DType::F64))
    return no_such_product(desc);
  if (kernels(float{}) == nullptr) return hal::Refusal{"this processor has no fused multiply-add"};
  return {};
}

std::shared_ptr<HostPlan> plan(const GemmDesc& desc) {
  const auto of = [](const GemmDesc& d, auto type) -> std::shared_ptr<HostPlan> {
    using T = decltype(type);
    if (!d.transpose_b && d.m <= kFewRows) return std::make_shared<FewRows<T>>(d);
    return std::make_shared<Plan<T>>(d);
  };
  const GemmDesc folded = fold(desc);
  return desc.a == DType::F32 ? of(folded, float{}) : of(folded, double{});
}

}  // namespace hologram::libraries::packed
