#include "oracle/kernel_rows.hpp"

#include <cstring>

namespace hologram::oracle {
namespace {

using interp::kGroup;
using program::Op;

constexpr size_t kPad = 256;
constexpr auto kSentinel = std::byte{0xa5};

size_t group_bytes(DType t) { return t == DType::Bool ? 2 : size_of(t) * kGroup; }

// Rows are aligned to a cache line, with something to recognise on both sides.
struct Row {
  std::vector<std::byte> memory;
  std::byte* data = nullptr;
  size_t bytes = 0;

  Row(Row&&) = default;  // a copy's data would be the original's
  explicit Row(size_t size) : memory(size + 2 * kPad + 64, kSentinel), bytes(size) {
    const auto address = reinterpret_cast<uintptr_t>(memory.data()) + kPad;
    data = memory.data() + kPad + (64 - address % 64) % 64;
  }
  bool intact_around() const {
    for (const std::byte* p = memory.data(); p < memory.data() + memory.size(); p++)
      if ((p < data || p >= data + bytes) && *p != kSentinel) return false;
    return true;
  }
};

Row pack(DType t, const std::vector<uint64_t>& column, size_t count) {
  Row row(count / kGroup * group_bytes(t));
  if (t == DType::Bool) std::memset(row.data, 0, row.bytes);
  for (size_t i = 0; i < count; i++) {
    if (t == DType::Bool) row.data[i / 8] |= static_cast<std::byte>(column[i] << i % 8);
    else std::memcpy(row.data + i * size_of(t), &column[i], size_of(t));
  }
  return row;
}

uint64_t element(DType t, const std::byte* row, size_t i) {
  if (t == DType::Bool) return static_cast<uint64_t>(row[i / 8] >> i % 8) & 1;
  uint64_t bits = 0;
  std::memcpy(&bits, row + i * size_of(t), size_of(t));
  return bits;
}

}  // namespace

RowLayout row_layout(const Signature& s, size_t call) {
  RowLayout layout;
  const size_t k = call / 4 % s.arity;
  if (call % 4 == 1 && s.arity > 1) layout.uniform = k;
  if (call % 4 == 3 && group_bytes(s.operands[k]) == group_bytes(s.type)) layout.replaced = k;
  return layout;
}

bool run_rows(const interp::KernelTable& kernels, const Signature& s, const RowLayout& layout,
              const std::array<std::vector<uint64_t>, 3>& columns, std::vector<uint64_t>& results) {
  const bool converts = s.op == Op::Cast;
  const interp::Kernel kernel = converts ? kernels.cast(s.from, s.type)
                                : s.op == Op::Bitcast && kernels.at(s.op, s.from) == nullptr
                                    ? kernels.cast(s.from, s.type)
                                    : kernels.at(s.op, s.from);
  if (kernel == nullptr) return false;
  const size_t count = columns[0].size();
  std::vector<Row> rows;
  std::array<interp::Operand, 3> operands = {};
  for (size_t k = 0; k < s.arity; k++) {
    const bool uniform = k == layout.uniform;
    rows.push_back(pack(s.operands[k], columns[k], uniform ? kGroup : count));
    operands[k] = {nullptr, uniform ? 0 : group_bytes(s.operands[k])};
  }
  std::vector<std::vector<std::byte>> before;
  before.reserve(rows.size());
  for (const Row& row : rows) before.emplace_back(row.data, row.data + row.bytes);
  Row result(count / kGroup * group_bytes(s.type));
  for (size_t k = 0; k < s.arity; k++) operands[k].data = rows[k].data;
  std::byte* out = layout.replaced < 3 ? rows[layout.replaced].data : result.data;
  kernel(out, operands.data(), count / kGroup);
  for (size_t k = 0; k < s.arity; k++)
    if (k != layout.replaced && std::memcmp(rows[k].data, before[k].data(), rows[k].bytes) != 0)
      return false;
  for (size_t i = 0; i < count; i++) results[i] = element(s.type, out, i);
  return layout.replaced < 3 ? rows[layout.replaced].intact_around() : result.intact_around();
}

}  // namespace hologram::oracle
