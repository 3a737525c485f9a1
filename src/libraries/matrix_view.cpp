#include "libraries/matrix_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "core/messages.hpp"

namespace hologram::libraries {

std::optional<hal::Refusal> malformed(const hal::GemmDesc& desc) {
  if (desc.m < 0 || desc.n < 0 || desc.k < 0 || desc.batch < 0)
    return hal::Refusal{"a length is negative"};
  for (const MatrixView& s : matrix_views(desc)) {
    if (s.row < std::max<int64_t>(1, s.columns))
      return hal::Refusal{fmt::format("rows of {} overlap", s.name)};
    if (s.stride < 0) return hal::Refusal{fmt::format("the batch of {} goes backwards", s.name)};
    if (extent(s) > std::numeric_limits<int64_t>::max())
      return hal::Refusal{fmt::format("{} is larger than memory can be", s.name)};
  }
  if (desc.batch > 1 && desc.m > 0 && desc.n > 0 &&
      desc.stride_d < (desc.m - 1) * desc.ldd + desc.n)
    return hal::Refusal{"the results of a batch overlap"};
  return {};
}

hal::GemmDesc fold(hal::GemmDesc desc) {
  if (desc.batch > 1 && desc.n > 0 && desc.k > 0 && desc.stride_b == 0 && !desc.transpose_a &&
      desc.stride_a == desc.m * desc.lda && desc.stride_d == desc.m * desc.ldd) {
    desc.m *= desc.batch;
    desc.batch = 1;
  }
  return desc;
}

void require_inside(const char* name, __int128 bytes, const hal::Binding& where) {
  if (bytes > static_cast<__int128>(where.size))
    throw core::error(core::Text::InternalError, fmt::format("{} is beyond its memory", name));
}

void require_matrices_inside(const hal::GemmDesc& desc, std::span<const hal::Binding> operands) {
  const std::array<MatrixView, 3> matrices = matrix_views(desc);
  for (size_t i = 0; i < matrices.size(); i++)
    require_inside(matrices[i].name, extent(matrices[i]), operands[i]);
}

}  // namespace hologram::libraries
