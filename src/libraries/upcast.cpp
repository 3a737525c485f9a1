#include "libraries/upcast.hpp"

#include <algorithm>

#include "core/messages.hpp"
#include "libraries/half_convert.hpp"

namespace hologram::libraries {
namespace {

constexpr uint64_t kAlign = 64;
constexpr int64_t kElementsWorthAThread = 16384;

bool is_narrow(DType type) { return type == DType::F16 || type == DType::BF16; }

// A dense copy of a narrow operand; what the whole batch shares is copied once.
void make_dense(DType& type, int64_t& row, int64_t& stride, int64_t rows, int64_t columns) {
  if (!is_narrow(type)) return;
  type = DType::F32;
  row = std::max<int64_t>(1, columns);
  if (stride != 0) stride = row * rows;
}

// Calls row(from, to, columns) with the elements of each row of one layout and of the other.
template <class Row>
void each_row(const MatrixView& from, const MatrixView& to, core::Threads& threads,
              const Row& row) {
  const int64_t matrices = from.stride == 0 ? std::min<int64_t>(from.batch, 1) : from.batch;
  const int64_t grain = kElementsWorthAThread / std::max<int64_t>(from.columns, 1) + 1;
  threads.run(static_cast<uint64_t>(matrices * from.rows), static_cast<uint64_t>(grain),
              [&](uint64_t begin, uint64_t end) {
                for (auto i = static_cast<int64_t>(begin); i < static_cast<int64_t>(end); i++) {
                  const int64_t z = i / from.rows, r = i % from.rows;
                  row(z * from.stride + r * from.row, z * to.stride + r * to.row, from.columns);
                }
              });
}

void widen_rows(const MatrixView& from, const uint16_t* source, const MatrixView& to, float* target,
                core::Threads& threads) {
  const auto widen = half_convert().widen(from.type);
  each_row(from, to, threads,
           [&](int64_t f, int64_t t, int64_t n) { widen(source + f, n, target + t); });
}

void narrow_rows(const MatrixView& from, const float* source, const MatrixView& to,
                 uint16_t* target, core::Threads& threads) {
  const auto narrow = half_convert().narrow(to.type);
  each_row(from, to, threads,
           [&](int64_t f, int64_t t, int64_t n) { narrow(source + f, n, target + t); });
}

}  // namespace

bool can_widen(const hal::GemmDesc& desc) {
  const auto fits = [](DType type) { return is_narrow(type) || type == DType::F32; };
  return fits(desc.a) && fits(desc.b) && fits(desc.d) && desc.accumulate == DType::F32 &&
         (is_narrow(desc.a) || is_narrow(desc.b) || is_narrow(desc.d));
}

hal::GemmDesc widen(const hal::GemmDesc& desc, bool a, bool b) {
  hal::GemmDesc wide = desc;
  const std::array<MatrixView, 3> from = matrix_views(desc);
  if (a) make_dense(wide.a, wide.lda, wide.stride_a, from[0].rows, from[0].columns);
  if (b) make_dense(wide.b, wide.ldb, wide.stride_b, from[1].rows, from[1].columns);
  make_dense(wide.d, wide.ldd, wide.stride_d, from[2].rows, from[2].columns);
  return wide;
}

UpcastPlan::UpcastPlan(std::shared_ptr<const HostPlan> product, const hal::GemmDesc& desc,
                       const hal::GemmDesc& wide)
    : product_(std::move(product)),
      name_(product_->name()),
      narrow_(matrix_views(desc)),
      wide_(matrix_views(wide)) {
  if (is_copied(0) || is_copied(1)) name_ += " of f32 copies";
  for (size_t i = 0; i < 3; i++) {
    if (!is_copied(i)) continue;
    at_[i] = workspace_;
    workspace_ += (static_cast<uint64_t>(extent(wide_[i])) + kAlign - 1) / kAlign * kAlign;
  }
  copies_ = workspace_;
  workspace_ += product_->workspace();
}

void UpcastPlan::run(std::span<const hal::Binding> operands, hal::Binding workspace,
                     core::Threads& threads) const {
  if (workspace.size < workspace_)
    throw core::error(core::Text::InternalError, "a product lacks its workspace");
  std::array<hal::Binding, 3> wide;
  std::array<std::byte*, 3> copy{}, data{};
  for (size_t i = 0; i < 3; i++) {
    data[i] = data_of(narrow_[i], operands[i]);
    wide[i] = operands[i];
    if (!is_copied(i)) continue;
    const auto bytes = static_cast<uint64_t>(extent(wide_[i]));
    wide[i] = {workspace.buffer, workspace.offset + at_[i], bytes};
    if (bytes > 0) copy[i] = data_of(wide_[i], wide[i]);
  }
  for (size_t i = 0; i < 2; i++)
    if (copy[i] != nullptr)
      widen_rows(narrow_[i], reinterpret_cast<const uint16_t*>(data[i]), wide_[i],
                 reinterpret_cast<float*>(copy[i]), threads);
  product_->run(wide, {workspace.buffer, workspace.offset + copies_, workspace.size - copies_},
                threads);
  if (copy[2] != nullptr)
    narrow_rows(wide_[2], reinterpret_cast<const float*>(copy[2]), narrow_[2],
                reinterpret_cast<uint16_t*>(data[2]), threads);
}

}  // namespace hologram::libraries
