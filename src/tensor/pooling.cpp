// Pooling: a reduction of a view in which every window has axes of its own.
#include <algorithm>
#include <limits>
#include <tuple>

#include "algorithms/pooling.hpp"
#include "core/messages.hpp"
#include "engine/context.hpp"
#include "fusion/layout.hpp"
#include "graph/statistics.hpp"
#include "hologram/ops.hpp"
#include "tensor/composite.hpp"
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
  Windows(const char* operation, const Tensor& images, const Pool2d& options)
      : planes(lies_in_planes(images)) {
    const Extent stride = options.stride.value_or(options.kernel);
    tensor::check_numbers(operation, stride, 1, options.padding);
    std::tie(rows, columns) =
        tensor::image_axes(operation, images, options.kernel, stride, 1, options.padding);
    for (const ConvAxis* a : {&rows, &columns})
      if (std::max(a->before, after(*a)) >= a->kernel)
        throw core::error(Text::PoolPadding, operation, std::max(a->before, after(*a)), a->kernel);
  }

  // In the order of results, and then the row and the column of the window.
  Tensor of(const Tensor& images, const Operand& around) const {
    Tensor x = tensor::without_alias(images);
    if (rows.before + columns.before + after(rows) + after(columns) > 0)
      x = pad(x, {{}, {rows.before, after(rows)}, {columns.before, after(columns)}, {}}, around);
    graph::View view = tensor::Access::view(x);
    const graph::Strides s = view.strides;
    view.shape = in_order<Shape>({x.size(0), rows.output, columns.output, x.size(3)});
    view.strides =
        in_order<graph::Strides>({s[0], s[1] * rows.stride, s[2] * columns.stride, s[3]});
    add_kernel(view, rows.kernel, columns.kernel, s);
    return tensor::Access::make(tensor::Access::node(x), view);
  }

  // The largest of each window, in the order of results.
  Tensor largest(const Tensor& images) const {
    if (graph::hints_of(tensor::context_of(images).device()).is_gpu_like &&
        images.dtype() != DType::Bool)
      return largest_by_program(images);
    const std::vector<Run> of_rows = runs(rows), of_columns = runs(columns);
    constexpr size_t kMostParts = 9;
    const size_t parts = of_rows.size() * of_columns.size();
    if (parts == 1 || parts > kMostParts || images.size() == 0)
      return max(of(images, least(images.dtype())), {-2, -1});
    // Windows that reach beyond an edge have fewer elements: nothing is put around the images.
    const Tensor x = tensor::dense(tensor::without_alias(images));
    const graph::View view = tensor::Access::view(x);
    const graph::Strides& s = view.strides;
    const Shape shape = this->shape(x);
    const graph::View dense = graph::dense_view(shape);
    const size_t row_axis = planes ? 2 : 1, column_axis = row_axis + 1;
    std::vector<tensor::Part> all;
    all.reserve(parts);
    for (const Run& r : of_rows)
      for (const Run& c : of_columns) {
        graph::View windows = view;
        windows.offset += r.first * s[1] + c.first * s[2];
        windows.shape = in_order<Shape>({x.size(0), r.count, c.count, x.size(3)});
        windows.strides =
            in_order<graph::Strides>({s[0], s[1] * rows.stride, s[2] * columns.stride, s[3]});
        add_kernel(windows, r.elements, c.elements, s);
        graph::View to = dense;
        to.shape[row_axis] = r.count;
        to.shape[column_axis] = c.count;
        to.offset = r.at * dense.strides[row_axis] + c.at * dense.strides[column_axis];
        all.push_back({max(tensor::Access::make(tensor::Access::node(x), windows), {-2, -1}), to});
      }
    return tensor::assemble(x.dtype(), shape, all, tensor::context_of(x));
  }

  // Those of a node, whose numbers are those that numbers() gave.
  explicit Windows(std::span<const int64_t> n)
      : rows{n[0], n[1], n[2], n[3], n[4], n[5]},
        columns{n[6], n[7], n[8], n[9], n[10], n[11]},
        planes(n[12] != 0) {}
  std::vector<int64_t> numbers() const {
    std::vector<int64_t> all;
    for (const ConvAxis& a : {rows, columns})
      all.insert(all.end(), {a.input, a.kernel, a.output, a.stride, a.dilation, a.before});
    all.push_back(planes ? 1 : 0);
    return all;
  }
  Shape shape(const Tensor& images) const {  // of a number for each window and channel
    return in_order<Shape>({images.size(0), rows.output, columns.output, images.size(3)});
  }
  // What is in the order of results with channels last.
  Tensor with_channels_last(const Tensor& result) const {
    return planes ? result.permute({0, 2, 3, 1}) : result;
  }

  ConvAxis rows, columns;
  // Results lie as the images do, [batch, channel, row, column] or [batch, row, column, channel]:
  // who walks both in one order touches neighbours in both.
  bool planes = false;

 private:
  // Lanes that go one after the other walk channels the faster way, whose windows do not overlap.
  static bool lies_in_planes(const Tensor& images) {
    return !graph::hints_of(tensor::context_of(images).device()).sequential_lanes &&
           tensor::lie_in_planes(images);
  }
  Tensor largest_by_program(const Tensor& images) const {
    const Shape& n = images.shape();
    const graph::Windows windows{rows, columns, planes ? n[0] * n[3] : n[0], planes ? 1 : n[3]};
    return tensor::make_opaque(graph::max_pooling_op(windows), images.dtype(), shape(images),
                               tensor::dense(planes ? images.permute({0, 3, 1, 2}) : images));
  }
  template <class List>
  List in_order(List list) const {
    if (planes) std::rotate(list.begin() + 1, list.begin() + 3, list.begin() + 4);
    return list;
  }
  static void add_kernel(graph::View& view, int64_t rows, int64_t columns,
                         const graph::Strides& of_images) {
    view.shape.push_back(rows);
    view.shape.push_back(columns);
    view.strides.push_back(of_images[1]);
    view.strides.push_back(of_images[2]);
  }

  // Windows along an axis that follow each other and have as many elements inside of the image.
  struct Run {
    int64_t at, count;  // of windows
    int64_t first, elements;
  };
  static std::vector<Run> runs(const ConvAxis& a) {
    std::vector<Run> all;
    for (int64_t i = 0; i < a.output; i++) {
      const int64_t begin = i * a.stride - a.before, end = std::min(begin + a.kernel, a.input);
      const Run one{i, 1, std::max<int64_t>(begin, 0), end - std::max<int64_t>(begin, 0)};
      // Windows that begin before the edge do not stand a stride apart.
      const bool goes_on = !all.empty() && all.back().elements == one.elements &&
                           one.first - all.back().first == all.back().count * a.stride;
      if (goes_on) all.back().count++;
      else all.push_back(one);
    }
    return all;
  }
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

namespace {

Tensor lower_max_pool2d(const tensor::Tensors& in, std::span<const int64_t> numbers) {
  return Windows(numbers).largest(in[0]);
}
constexpr graph::CompositeOp kMaxPool2d = tensor::composite<lower_max_pool2d>("max_pool2d");

}  // namespace

Tensor max_pool2d(const Tensor& input, const Pool2d& options) {
  return pooled("max_pool2d", input, options, [](const Tensor& x, const Windows& windows) {
    return tensor::with_gradient(
        x,
        [&] {
          return windows.with_channels_last(
              tensor::meant(kMaxPool2d, x.dtype(), windows.shape(x), {x}, windows.numbers()));
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
  const Tensor counts = windows.planes ? count.squeeze(-1) : count;
  Tensor result = total / counts;
  if (tensor::can_overflow(dtype)) {
    const Tensor guard = !isfinite(total);
    const Tensor shrunk = tensor::reduce_where(
        guard.unsqueeze(-1).unsqueeze(-1),
        tensor::apply_internal(statistics::kShrunk, wide, {elements}), Combine::Add, axes);
    result = where(guard, without(shrunk) / counts * statistics::kGrows, result);
  }
  return result.to(dtype);
}

Tensor lower_avg_pool2d(const tensor::Tensors& in, std::span<const int64_t> numbers) {
  return means(in[0], Windows(numbers), in[1]);
}
constexpr graph::CompositeOp kAvgPool2d = tensor::composite<lower_avg_pool2d>("avg_pool2d");

}  // namespace

Tensor avg_pool2d(const Tensor& input, const Pool2d& options) {
  return pooled("avg_pool2d", input, options, [&](const Tensor& x, const Windows& windows) {
    const DType wide = tensor::accumulator(tensor::float_dtype(x.dtype()));
    const Tensor count = counts(windows, options.count_include_pad, wide, x.executor());
    return tensor::with_gradient(
        x,
        [&] {
          return windows.with_channels_last(
              tensor::meant(kAvgPool2d, tensor::float_dtype(x.dtype()), windows.shape(x),
                            {x, count}, windows.numbers()));
        },
        [&](const Tensor&) {
          return tensor::rules::of_avg_pool2d(count, windows.rows, windows.columns);
        });
  });
}

}  // namespace hologram::ops
