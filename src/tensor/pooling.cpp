// Pooling: a reduction of a view in which every window has axes of its own.
#include <algorithm>
#include <limits>
#include <tuple>

#include "core/messages.hpp"
#include "graph/statistics.hpp"
#include "hologram/ops.hpp"
#include "tensor/images.hpp"
#include "tensor/rules.hpp"

namespace hologram::ops {

using core::Text;
using hal::ConvAxis;
using program::Combine;

namespace statistics = graph::statistics;

namespace {

// Below or equal to every other element.
Operand least(DType dtype) {
  if (is_float(dtype)) return -std::numeric_limits<double>::infinity();
  const bool has_sign =
      dtype == DType::I8 || dtype == DType::I16 || dtype == DType::I32 || dtype == DType::I64;
  return has_sign ? std::numeric_limits<int64_t>::min() >> (64 - 8 * size_of(dtype)) : int64_t{0};
}

// Elements of each window that are inside the image.
Tensor inside(const ConvAxis& a, DType dtype, const Executor& executor) {
  std::vector<double> counts(static_cast<size_t>(a.output));
  for (int64_t i = 0; i < a.output; i++) {
    const int64_t first = i * a.stride - a.before;
    counts[static_cast<size_t>(i)] =
        static_cast<double>(std::min(first + a.kernel, a.input) - std::max<int64_t>(first, 0));
  }
  if (dtype == DType::F64) return Tensor::from_vector(counts, {a.output}, executor);
  const std::vector<float> narrow(counts.begin(), counts.end());
  return Tensor::from_vector(narrow, {a.output}, executor).to(dtype);
}

class Windows {
 public:
  Windows(const char* operation, const Tensor& images, const Pool2d& options) {
    const Extent stride = options.stride.value_or(options.kernel);
    tensor::check_numbers(operation, stride, 1, options.padding);
    std::tie(rows, columns) =
        tensor::image_axes(operation, images, options.kernel, stride, 1, options.padding);
    for (const ConvAxis* a : {&rows, &columns})
      if (std::max(a->before, after(*a)) >= a->kernel)
        throw core::error(Text::PoolPadding, operation, std::max(a->before, after(*a)), a->kernel);
  }

  // [batch, row, column, channel, row and column of the window]
  Tensor of(const Tensor& images, const Operand& around) const {
    Tensor x = tensor::without_alias(images);
    if (rows.before + columns.before + after(rows) + after(columns) > 0)
      x = pad(x, {{}, {rows.before, after(rows)}, {columns.before, after(columns)}, {}}, around);
    graph::View view = tensor::Access::view(x);
    const graph::Strides s = view.strides;
    view.shape = {x.size(0), rows.output, columns.output, x.size(3), rows.kernel, columns.kernel};
    view.strides = {s[0], s[1] * rows.stride, s[2] * columns.stride, s[3], s[1], s[2]};
    return tensor::Access::make(tensor::Access::node(x), view);
  }

  ConvAxis rows, columns;

 private:
  static int64_t after(const ConvAxis& a) {
    return std::max<int64_t>(0, (a.output - 1) * a.stride + a.kernel - a.before - a.input);
  }
};

// Calls `pool` with images whose channels come last.
template <class Pool>
Tensor pooled(const char* operation, const Tensor& input, const Pool2d& options, const Pool& pool) {
  const bool planes = options.layout == ImageLayout::Nchw;
  if (input.rank() != 3 && input.rank() != 4)
    throw core::error(Text::PoolRank, operation, to_string(input.shape()),
                      planes ? "batch, channels, height, width" : "batch, height, width, channels");
  if (input.rank() == 3) return pooled(operation, input.unsqueeze(0), options, pool).squeeze(0);
  const Tensor x = planes ? input.permute({0, 2, 3, 1}) : input;
  const Tensor result = pool(x, Windows(operation, x, options));
  return planes ? result.permute({0, 3, 1, 2}) : result;
}

}  // namespace

Tensor max_pool2d(const Tensor& input, const Pool2d& options) {
  return pooled("max_pool2d", input, options, [](const Tensor& x, const Windows& windows) {
    return tensor::with_gradient(
        x,
        [&] {
          return max(windows.of(x, least(x.dtype())), {-2, -1});
        },
        [&](const Tensor& y) {
          return tensor::rules::of_max_pool2d(x, y, windows.rows, windows.columns);
        });
  });
}

namespace {

// How many elements count for each window: [rows, columns, 1].
Tensor counts(const Windows& windows, bool include_pad, DType wide, const Executor& executor) {
  const ConvAxis &rows = windows.rows, &columns = windows.columns;
  if (include_pad) return full({1, 1, 1}, rows.kernel * columns.kernel, wide, executor);
  return inside(rows, wide, executor).reshape({-1, 1, 1}) *
         inside(columns, wide, executor).reshape({-1, 1});
}

Tensor means(const Tensor& x, const Windows& windows, const Tensor& count) {
  const DType dtype = tensor::float_dtype(x.dtype()), wide = count.dtype();
  const Tensor elements = windows.of(x.to(wide), 0);
  const int axes[] = {4, 5};
  const auto without = [](const Tensor& t) { return t.squeeze(-1).squeeze(-1); };
  const Tensor total = without(tensor::reduce(elements, Combine::Add, axes, true));
  Tensor result = total / count;
  if (tensor::can_overflow(dtype)) {
    const Tensor guard = !isfinite(total);
    const Tensor shrunk = tensor::reduce_where(
        guard.unsqueeze(-1).unsqueeze(-1),
        tensor::apply_internal(statistics::kShrunk, wide, {elements}), Combine::Add, axes);
    result = where(guard, without(shrunk) / count * statistics::kGrows, result);
  }
  return result.to(dtype);
}

}  // namespace

Tensor avg_pool2d(const Tensor& input, const Pool2d& options) {
  return pooled("avg_pool2d", input, options, [&](const Tensor& x, const Windows& windows) {
    const DType wide = tensor::accumulator(tensor::float_dtype(x.dtype()));
    const Tensor count = counts(windows, options.count_include_pad, wide, x.executor());
    return tensor::with_gradient(
        x, [&] { return means(x, windows, count); },
        [&](const Tensor&) {
          return tensor::rules::of_avg_pool2d(x.shape(), count, windows.rows, windows.columns);
        });
  });
}

}  // namespace hologram::ops
