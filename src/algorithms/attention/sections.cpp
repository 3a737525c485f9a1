#include "algorithms/attention/attention.hpp"

namespace hologram::graph::attention {

Sections::Sections(DType dtype, std::initializer_list<int64_t> sizes) {
  const int64_t unit = kSectionBytes / static_cast<int64_t>(size_of(dtype));
  size_t nth = 0;
  for (const int64_t n : sizes) {
    begins[nth++] = size;
    size += (n + unit - 1) / unit * unit;
  }
}

Sections with_logs(DType dtype, int64_t elements, int64_t rows, bool keeps_wide) {
  const auto wider = static_cast<int64_t>(size_of(compute_type(dtype)) / size_of(dtype));
  if (keeps_wide && wider > 1) return {dtype, {elements, rows * wider, elements * wider}};
  Sections made(dtype, {elements, rows * wider});
  made.begins[2] = made.begins[0];
  return made;
}

}  // namespace hologram::graph::attention
