// Gradients of convolutions and of pooling.
#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "hologram/gradient.hpp"
#include "hologram/ops.hpp"
#include "tensor/access.hpp"
#include "tensor/images.hpp"
#include "tensor/rules.hpp"

namespace hologram::tensor::rules {

using namespace ops;
using hal::ConvAxis;

namespace {

// Zeros between the elements of an axis, and so many before and after; negative: cut off.
Tensor spaced(const Tensor& x, int axis, int64_t step, int64_t before, int64_t after) {
  Tensor result = x;
  if (step > 1 && x.size(axis) > 1) {
    Shape shape = x.shape();
    int64_t& length = shape[static_cast<size_t>(axis)];
    length = (length - 1) * step + 1;
    std::vector<Slice> parts(static_cast<size_t>(axis) + 1);
    parts.back() = {0, {}, step};
    result = put(zeros(shape, x.dtype(), x.executor()), parts, x);
  }
  std::vector<Padding> around(x.shape().size());
  around[static_cast<size_t>(axis)] = {std::max<int64_t>(before, 0), std::max<int64_t>(after, 0)};
  if (before > 0 || after > 0) result = pad(result, around);
  if (before < 0 || after < 0)
    result = result.slice(
        axis, {std::max<int64_t>(-before, 0), result.size(axis) - std::max<int64_t>(-after, 0)});
  return result;
}

// From the first to behind the last element that the windows of an axis begin at.
int64_t reach_of(const ConvAxis& a) { return a.output == 0 ? 0 : (a.output - 1) * a.stride + 1; }

// Zeros around an axis, by a convolution's padding; what is negative is cut off.
void around(Tensor& images, int axis, int64_t before, int64_t after, Conv2d& options) {
  Padding2d& padding = options.padding;
  (axis == 1 ? padding.top : padding.left) = std::max<int64_t>(before, 0);
  (axis == 1 ? padding.bottom : padding.right) = std::max<int64_t>(after, 0);
  if (before < 0 || after < 0)
    images = images.slice(
        axis, {std::max<int64_t>(-before, 0), images.size(axis) - std::max<int64_t>(-after, 0)});
}

// [kh, kw, c, groups, o] turned over, with outputs and channels changed within each group.
Tensor turned(const Tensor& weight, int64_t groups) {
  const Shape& s = weight.shape();
  return weight.flip({0, 1})
      .reshape({s[0], s[1], s[2], groups, s[3] / groups})
      .permute({0, 1, 4, 3, 2})
      .reshape({s[0], s[1], s[3] / groups, groups * s[2]});
}

// The elements of an axis that meet the same part of a kernel, those of one remainder.
struct Phase {
  int64_t first = 0;  // of the kernel's elements, of which every stride-th one takes part
  int64_t before = 0, after = 0;
};
std::vector<Phase> phases_of(const ConvAxis& a) {
  std::vector<Phase> phases;
  const int64_t count = (a.input + a.stride - 1) / a.stride;
  for (int64_t at = 0; at < a.stride; at++) {
    Phase phase{.first = (at + a.before) % a.stride};
    const int64_t taps =
        phase.first < a.kernel ? (a.kernel - phase.first + a.stride - 1) / a.stride : 0;
    phase.before = taps - 1 - (at + a.before - phase.first) / a.stride;
    phase.after = count + taps - 1 - phase.before - a.output;
    phases.push_back(phase);
  }
  return phases;
}

// One tensor of phases [row][column], of which each has every stride-th element of the axes `axis`
// and the next; what is beyond the input is cut off.
Tensor interleaved(const std::vector<std::vector<Tensor>>& phases, int axis, const ConvAxis& rows,
                   const ConvAxis& columns) {
  Shape shape = phases[0][0].shape();
  shape[static_cast<size_t>(axis)] *= rows.stride;
  shape[static_cast<size_t>(axis) + 1] *= columns.stride;
  const auto join = [](const std::vector<Tensor>& parts, int at) {
    return parts.size() == 1 ? parts.front().unsqueeze(at) : stack(parts, at);
  };
  std::vector<Tensor> lines;
  lines.reserve(phases.size());
  for (const std::vector<Tensor>& line : phases) lines.push_back(join(line, axis + 2));
  return join(lines, axis + 1)
      .reshape(shape)
      .slice(axis, {0, rows.input})
      .slice(axis + 1, {0, columns.input});
}

// Windows that step over elements: a convolution for each remainder of the places in the image, so
// that nothing is multiplied by the zeros between cotangents.
Tensor conv2d_input_by_phases(const Tensor& weight, const Tensor& g, const ConvAxis (&axes)[2],
                              int64_t groups) {
  const int64_t n = g.size(0), channels = weight.size(2) * groups;
  const int64_t rows = (axes[0].input + axes[0].stride - 1) / axes[0].stride,
                columns = (axes[1].input + axes[1].stride - 1) / axes[1].stride;
  std::vector<std::vector<Tensor>> phases;
  for (const Phase& row : phases_of(axes[0])) {
    std::vector<Tensor> line;
    for (const Phase& column : phases_of(axes[1])) {
      if (row.first >= axes[0].kernel || column.first >= axes[1].kernel) {
        line.push_back(zeros({n, rows, columns, channels}, g.dtype(), g.executor()));
        continue;
      }
      const Tensor part = weight.slice(0, {row.first, {}, axes[0].stride})
                              .slice(1, {column.first, {}, axes[1].stride});
      Conv2d options;
      options.groups = groups;
      Tensor images = g;
      around(images, 1, row.before, row.after, options);
      around(images, 2, column.before, column.after, options);
      line.push_back(conv2d(images, turned(part, groups), options));
    }
    phases.push_back(std::move(line));
  }
  return interleaved(phases, 1, axes[0], axes[1]);
}

// Images [n, h, w, c], weights [kh, kw, c / groups, o].
Tensor conv2d_input(const Tensor& weight, const Tensor& g, const ConvAxis (&axes)[2],
                    int64_t groups) {
  const bool steps = axes[0].stride > 1 || axes[1].stride > 1;
  if (steps && axes[0].dilation == 1 && axes[1].dilation == 1 && g.size() > 0)
    return conv2d_input_by_phases(weight, g, axes, groups);
  Tensor images = g;
  Conv2d options{.dilation = {axes[0].dilation, axes[1].dilation}, .groups = groups};
  for (int k = 0; k < 2; k++) {
    const ConvAxis& a = axes[k];
    const int64_t reach = (a.kernel - 1) * a.dilation, before = reach - a.before;
    images = spaced(images, k + 1, a.stride, 0, 0);
    around(images, k + 1, before, a.input + reach - before - reach_of(a), options);
  }
  return conv2d(images, turned(weight, groups), options);
}

// Images with what is around them that windows meet, and without what none does.
Tensor with_borders(Tensor images, const ConvAxis (&axes)[2], const Operand& border = 0) {
  std::vector<Padding> around(images.shape().size());
  bool pads = false;
  for (int k = 0; k < 2; k++) {
    const ConvAxis& a = axes[k];
    const int64_t after = reach_of(a) + (a.kernel - 1) * a.dilation - a.input - a.before;
    around[static_cast<size_t>(k) + 1] = {std::max<int64_t>(a.before, 0),
                                          std::max<int64_t>(after, 0)};
    pads = pads || a.before > 0 || after > 0;
    if (a.before < 0 || after < 0)
      images = images.slice(k + 1, {std::max<int64_t>(-a.before, 0),
                                    images.size(k + 1) - std::max<int64_t>(-after, 0)});
  }
  return pads ? pad(images, around, border) : images;
}

// For each element of the kernel what it meets in the images, [n, oh, ow, c].
std::vector<Tensor> met(const Tensor& input, const ConvAxis (&axes)[2], const Operand& border = 0) {
  const Tensor images = with_borders(input, axes, border);
  const auto windows = [&](int k, int64_t at) {
    const int64_t first = at * axes[k].dilation;
    return Slice{first, first + reach_of(axes[k]), axes[k].stride};
  };
  std::vector<Tensor> all;
  for (int64_t i = 0; i < axes[0].kernel; i++)
    for (int64_t j = 0; j < axes[1].kernel; j++)
      all.push_back(images.slice(1, windows(0, i)).slice(2, windows(1, j)));
  return all;
}

// A product: cotangents by windows as rows, of as many images at once as leave the windows small.
// Channels come before the places in the kernel, as in weights [o, c, kh, kw], where turning the
// windows around is less than to turn the result.
Tensor conv2d_weight_by_product(const Tensor& input, const Tensor& g, const ConvAxis (&axes)[2]) {
  constexpr int64_t kMostElements = int64_t{1} << 24;
  const int64_t n = g.size(0), pixels = g.size(1) * g.size(2), o = g.size(3), c = input.size(3),
                kernel = axes[0].kernel * axes[1].kernel;
  const int64_t at_once = std::clamp<int64_t>(kMostElements / (pixels * kernel * c), 1, n);
  const bool by_channel = n * pixels < o;
  const DType to = g.dtype(), wide = at_once < n ? compute_type(to) : to;
  Tensor sum;
  for (int64_t i = 0; i < n; i += at_once) {
    const Slice some = {i, std::min(n, i + at_once)};
    const std::vector<Tensor> windows = met(input.slice(0, some), axes);
    const Tensor all = windows.size() == 1 ? windows.front()
                       : by_channel        ? stack(windows, 4)
                                           : concat(windows, 3);
    const Tensor part =
        matmul(g.slice(0, some).reshape({-1, o}).transpose(), all.reshape({-1, kernel * c}), wide);
    sum = sum.defined() ? sum + part : part;
  }
  sum = sum.to(to);
  if (by_channel) return sum.reshape({o, c, axes[0].kernel, axes[1].kernel}).permute({2, 3, 1, 0});
  return sum.reshape({o, axes[0].kernel, axes[1].kernel, c}).permute({1, 2, 3, 0});
}

// Of a channel each: sums over all windows.
Tensor conv2d_weight_by_channel(const Tensor& input, const Tensor& g, const ConvAxis (&axes)[2]) {
  const DType wide = compute_type(g.dtype());
  const Tensor of_windows = g.to(wide);
  std::vector<Tensor> sums;
  for (const Tensor& window : met(input, axes))
    sums.push_back(sum(window.to(wide) * of_windows, {0, 1, 2}));
  return stack(sums, 0).to(g.dtype()).reshape({axes[0].kernel, axes[1].kernel, 1, g.size(3)});
}

Tensor conv2d_weight(const Tensor& input, const Tensor& g, const ConvAxis (&axes)[2],
                     int64_t groups) {
  const int64_t n = input.size(0), c = input.size(3) / groups, o = g.size(3) / groups;
  if (groups == 1 && is_float(g.dtype()) && g.size() > 0 && c > 0)
    return conv2d_weight_by_product(input, g, axes);
  if (c == 1 && o == 1 && is_float(g.dtype()) && g.size() > 0)
    return conv2d_weight_by_channel(input, g, axes);
  // A convolution of images by cotangents: the batch is what is summed over, and so the channels.
  const Tensor images = with_borders(input, axes);
  // [c, h, w, groups * n] and [h, w, n, groups * o] give [c, kh, kw, groups * o].
  const Tensor by_channel = images.reshape({n, images.size(1), images.size(2), groups, c})
                                .permute({4, 1, 2, 3, 0})
                                .reshape({c, images.size(1), images.size(2), groups * n});
  const Tensor weights = g.reshape({n, g.size(1), g.size(2), groups * o}).permute({1, 2, 0, 3});
  return conv2d(by_channel, weights,
                {.stride = {axes[0].dilation, axes[1].dilation},
                 .dilation = {axes[0].stride, axes[1].stride},
                 .groups = groups})
      .permute({1, 2, 0, 3});
}

}  // namespace

Tensors of_conv2d(const Tensor& x, const Tensor& w, const ConvAxis& rows, const ConvAxis& columns,
                  int64_t groups, const Tensor& g, const Wanted& wanted) {
  const ConvAxis axes[] = {rows, columns};
  Tensors back(2);
  if (wanted[0]) back[0] = conv2d_input(w, g, axes, groups);
  if (wanted[1]) back[1] = conv2d_weight(x, g, axes, groups);
  return back;
}

namespace {

// What windows of an axis give back to its elements: those of one remainder by the stride meet the
// same places of their windows.
struct Phases {
  explicit Phases(const ConvAxis& a) : axis(a), count((a.input + a.stride - 1) / a.stride) {
    for (int64_t at = 0; at < a.stride; at++) {
      const int64_t first = (at + a.before) % a.stride;
      int64_t window = (at + a.before - first) / a.stride;  // that the first element meets so
      std::vector<Place> places;
      for (int64_t place = first; place < a.kernel; place += a.stride, window--) {
        places.push_back({place, window});
        before = std::max(before, -window);
        after = std::max(after, window + count - a.output);
      }
      all.push_back(std::move(places));
    }
  }
  struct Place {
    int64_t place, window;  // in the window; the first of `count` windows
  };
  const ConvAxis axis;
  const int64_t count;            // elements of a phase
  int64_t before = 0, after = 0;  // windows that are not there
  std::vector<std::vector<Place>> all;
};

// The sum over all windows that an element lies in of part(place in the row, in the column, which
// windows): one kernel for each phase. Rows are axis `axis`, columns the next.
template <class Part>
Tensor given_back(const Phases& rows, const Phases& columns, int axis, const Shape& none,
                  const Part& part, const Tensor& like) {
  std::vector<std::vector<Tensor>> phases;
  for (const std::vector<Phases::Place>& of_rows : rows.all) {
    std::vector<Tensor> line;
    for (const std::vector<Phases::Place>& of_columns : columns.all) {
      Tensor sum;
      for (const Phases::Place& r : of_rows)
        for (const Phases::Place& c : of_columns) {
          const int64_t first_row = r.window + rows.before, first = c.window + columns.before;
          Tensor one = part(r.place, c.place, [&](const Tensor& windows) {
            return windows.slice(axis, {first_row, first_row + rows.count})
                .slice(axis + 1, {first, first + columns.count});
          });
          sum = sum.defined() ? sum + one : std::move(one);
        }
      line.push_back(sum.defined() ? sum : zeros(none, like.dtype(), like.executor()));
    }
    phases.push_back(std::move(line));
  }
  return interleaved(phases, axis, rows.axis, columns.axis);
}

// Pooling's windows, and images with the axes of rows and columns in this place.
class Unpooling {
 public:
  // `like`: a result, [batch, row, column, channel]. Where it lies with channels first, so do those
  // that are computed here: neighbours in one are neighbours in all.
  Unpooling(const Tensor& like, const ConvAxis& rows, const ConvAxis& columns)
      : rows_(rows), columns_(columns), planes_(lie_in_planes(like)), axis_(planes_ ? 2 : 1) {}
  Tensor in_order(const Tensor& x) const { return planes_ ? x.permute({0, 3, 1, 2}) : x; }

  // `windows`: numbers of windows, in order, and what is meant where there is no window.
  Tensor around(const Tensor& windows, const Operand& none) const {
    std::vector<Padding> padding(4);
    padding[static_cast<size_t>(axis_)] = {rows_.before, rows_.after};
    padding[static_cast<size_t>(axis_) + 1] = {columns_.before, columns_.after};
    return pad(windows, padding, none);
  }
  template <class Part>
  Tensor run(const Tensor& like, const Part& part) const {
    Shape none = like.shape();  // of a phase
    none[static_cast<size_t>(axis_)] = rows_.count;
    none[static_cast<size_t>(axis_) + 1] = columns_.count;
    const Tensor all = given_back(rows_, columns_, axis_, none, part, like);
    return planes_ ? all.permute({0, 2, 3, 1}) : all;
  }

 private:
  const Phases rows_, columns_;
  const bool planes_;
  const int axis_;
};

// Which element of each window is its largest, the first if several are; the number of a window's
// elements where that is NaN, which equals nothing.
Tensor first_largest(const Tensor& x, const Tensor& y, const ConvAxis& rows,
                     const ConvAxis& columns, const Unpooling& images) {
  const int64_t count = rows.kernel * columns.kernel;
  const ConvAxis axes[] = {rows, columns};
  const DType numbers = count < 256 ? DType::U8 : DType::I32;
  const std::vector<Tensor> elements = met(x, axes, std::numeric_limits<double>::quiet_NaN());
  const Tensor largest = images.in_order(y);
  Tensor found = full({}, count, numbers, x.executor());
  for (size_t k = elements.size(); k-- > 0;)
    found = where(images.in_order(elements[k]) == largest,
                  full({}, static_cast<int64_t>(k), numbers, x.executor()), found);
  return found;
}

}  // namespace

Rule of_max_pool2d(const Tensor& x, const Tensor& y, const ConvAxis& rows,
                   const ConvAxis& columns) {
  return [=](const Tensor& g) {
    const Unpooling images(y, rows, columns);
    const int64_t count = rows.kernel * columns.kernel;
    const Tensor found = images.around(
        first_largest(stop_gradient(x), stop_gradient(y), rows, columns, images), count);
    const Tensor change = images.around(images.in_order(g), 0);
    return images.run(images.in_order(g), [&](int64_t i, int64_t j, const auto& windows) {
      return where(windows(found) == i * columns.kernel + j, windows(change), 0);
    });
  };
}

Rule of_avg_pool2d(const Tensor& counts, const ConvAxis& rows, const ConvAxis& columns) {
  return [=](const Tensor& g) {
    const Unpooling images(g, rows, columns);
    const Tensor share = images.in_order(g.to(accumulator(g.dtype())) / counts);
    const Tensor change = images.around(share, 0);
    return images.run(share,
                      [&](int64_t, int64_t, const auto& windows) { return windows(change); });
  };
}

}  // namespace hologram::tensor::rules
