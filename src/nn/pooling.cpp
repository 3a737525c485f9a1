#include "hologram/nn/pooling.hpp"

#include <algorithm>
#include <string>

#include "nn/common.hpp"

namespace hologram::nn {

namespace {

constexpr const char* kAxes[] = {"", "batch, channels, length", "batch, channels, height, width",
                                 "batch, channels, depth, height, width"};

// The windows along one axis.
struct Windows {
  int64_t input, kernel, stride, dilation, before, after = 0, output = 0;

  Windows(const char* name, int axis, int64_t input, int64_t kernel, int64_t stride,
          int64_t dilation, int64_t padding, bool ceil_mode)
      : input(input), kernel(kernel), stride(stride), dilation(dilation), before(padding) {
    const auto check = [&](const char* what, int64_t number, int64_t least, const char* use) {
      need(number >= least && number <= int64_t{1} << 30, name, what, static_cast<double>(number),
           use);
    };
    check("kernel", kernel, 1, "a number from 1 to 2^30");
    check("stride", stride, 1, "a number from 1 to 2^30");
    check("dilation", dilation, 1, "a number from 1 to 2^30");
    const int64_t reach = dilation * (kernel - 1) + 1;
    check("padding", padding, 0, "a number from 0 to half of the kernel");
    need(padding <= reach / 2, name, "padding", static_cast<double>(padding),
         "a number from 0 to half of the kernel");
    const int64_t left = input + 2 * padding - reach + (ceil_mode ? stride - 1 : 0);
    if (left < 0) throw core::error(Text::NnWindow, name, reach, input + 2 * padding, axis);
    output = left / stride + 1;
    // The last one begins inside, or in the padding before.
    if (ceil_mode && (output - 1) * stride >= input + padding) output--;
    after = std::max<int64_t>(0, (output - 1) * stride + reach - input - padding);
  }
  // The elements that are `k` steps into their windows.
  Slice at(int64_t k) const {
    return {k * dilation, k * dilation + (output - 1) * stride + 1, stride};
  }
  int64_t start(int64_t i) const { return i * stride - before; }
};

template <size_t N>
struct Pooling {
  std::vector<Windows> axes;
  bool has_batch;
  int first;  // of the spatial axes

  template <class Options>
  Pooling(const char* name, const Tensor& x, const PerAxis<N>& kernel, const Options& options,
          const PerAxis<N>& dilation)
      : has_batch(x.rank() == N + 2), first(has_batch ? 2 : 1) {
    if (x.rank() != N + 1 && x.rank() != N + 2)
      throw core::error(Text::PoolRank, name, to_string(x.shape()), kAxes[N]);
    const PerAxis<N> stride = options.stride.value_or(kernel);
    for (size_t k = 0; k < N; k++) {
      const int axis = first + static_cast<int>(k);
      axes.emplace_back(name, axis, x.size(axis), kernel[k], stride[k], dilation[k],
                        options.padding[k], options.ceil_mode);
    }
  }
  Tensor padded(const Tensor& x, const Operand& with) const {
    std::vector<ops::Padding> sides(static_cast<size_t>(first));
    bool any = false;
    for (const Windows& w : axes) {
      sides.push_back({w.before, w.after});
      any = any || w.before > 0 || w.after > 0;
    }
    return any ? ops::pad(x, sides, with) : x;
  }
  // Whether images of two axes have a kernel of their own for it.
  bool is_plain() const {
    return N <= 2 && std::all_of(axes.begin(), axes.end(), [](const Windows& w) {
             return w.dilation == 1 && std::max(w.before, w.after) < w.kernel;
           });
  }
  // As options of images of two axes.
  ops::Pool2d plain(bool counts_padding) const {
    const Windows &rows = axes.front(), &columns = axes.back();
    constexpr bool kFlat = N == 1;
    return {{kFlat ? 1 : rows.kernel, columns.kernel},
            ops::Extent{kFlat ? 1 : rows.stride, columns.stride},
            {kFlat ? 0 : rows.before, kFlat ? 0 : rows.after, columns.before, columns.after},
            counts_padding,
            ops::ImageLayout::Nchw};
  }
  template <class F>
  Tensor run_plain(const Tensor& x, bool counts_padding, const F& pool) const {
    Tensor images = has_batch ? x : x.unsqueeze(0);
    if (N == 1) images = images.unsqueeze(2);
    Tensor result = pool(images, plain(counts_padding));
    if (N == 1) result = result.squeeze(2);
    return has_batch ? result : result.squeeze(0);
  }
  // One axis after the other, from the last: what `combine` makes of a window's elements.
  template <class F>
  Tensor run(Tensor x, const F& combine) const {
    for (size_t k = N; k-- > 0;) {
      const int axis = first + static_cast<int>(k);
      Tensor all;
      for (int64_t i = 0; i < axes[k].kernel; i++) {
        const Tensor part = x.slice(axis, axes[k].at(i));
        all = i == 0 ? part : combine(all, part);
      }
      x = all;
    }
    return x;
  }
};

// Below or equal to every other element.
Operand least(DType dtype) {
  if (is_float(dtype)) return -std::numeric_limits<double>::infinity();
  if (is_signed_integer(dtype))
    return std::numeric_limits<int64_t>::min() >> (64 - 8 * size_of(dtype));
  return int64_t{0};
}

template <size_t N>
Tensor max_pool(const char* name, const Tensor& x, const PerAxis<N>& kernel,
                const MaxPoolOptions<N>& options) {
  const Pooling<N> pooling(name, x, kernel, options, options.dilation);
  if (pooling.is_plain()) return pooling.run_plain(x, false, ops::max_pool2d);
  return pooling.run(pooling.padded(x, least(x.dtype())),
                     [](const Tensor& a, const Tensor& b) { return ops::maximum(a, b); });
}

// A number for each window along an axis of a tensor of this rank.
template <class T, class F>
Tensor each_window(const Windows& w, int axis, const Tensor& like, const F& number) {
  std::vector<T> numbers(static_cast<size_t>(w.output));
  for (size_t i = 0; i < numbers.size(); i++) numbers[i] = number(static_cast<int64_t>(i));
  Shape shape(static_cast<size_t>(like.rank()), 1);
  shape[static_cast<size_t>(axis)] = w.output;
  return Tensor::from_vector(std::move(numbers), std::move(shape), like.executor());
}

// Along one axis after the other, so that a kernel of height x width takes height + width steps:
// the first row with the largest element, and in it the first column.
template <size_t N>
MaxPool max_pool_with_indices(const char* name, const Tensor& x, const PerAxis<N>& kernel,
                              const MaxPoolOptions<N>& options) {
  const Pooling<N> pooling(name, x, kernel, options, options.dilation);
  MaxPool best = {pooling.padded(x, least(x.dtype())), {}};
  int64_t below = 1;  // elements of what the axes so far span
  for (size_t k = N; k-- > 0;) {
    const Windows& w = pooling.axes[k];
    const int axis = pooling.first + static_cast<int>(k);
    const MaxPool before = best;
    for (int64_t i = 0; i < w.kernel; i++) {
      const Tensor value = before.output.slice(axis, w.at(i));
      // Of a window of nothing but -infinity: the first that is inside.
      const Tensor here = each_window<int64_t>(w, axis, value, [&](int64_t window) {
        int64_t at = w.start(window) + i * w.dilation;
        while (i == 0 && at < 0) at += w.dilation;
        return at * below;
      });
      const Tensor place =
          before.indices.defined() ? before.indices.slice(axis, w.at(i)) + here : here;
      if (i == 0) {
        best = {value, place};
        continue;
      }
      const Tensor better = (value > best.output) | ops::isnan(value);
      best = {ops::where(better, value, best.output), ops::where(better, place, best.indices)};
    }
    best.indices = best.indices.broadcast_to(best.output.shape());
    below *= w.input;
  }
  return best;
}

// By what the sum of each window is divided.
template <size_t N>
Tensor divided(const Tensor& sums, const Pooling<N>& pooling, const AvgPoolOptions<N>& options) {
  if (options.divisor_override) return sums / static_cast<double>(*options.divisor_override);
  Tensor counts;
  for (size_t k = 0; k < N; k++) {
    const Windows& w = pooling.axes[k];
    const auto count = [&](int64_t i) {
      const int64_t start = w.start(i), end = start + w.kernel;
      return static_cast<float>(options.count_include_pad
                                    ? std::min(end, w.input + w.before) - start
                                    : std::min(end, w.input) - std::max<int64_t>(start, 0));
    };
    const int axis = pooling.first + static_cast<int>(k);
    const Tensor each = each_window<float>(w, axis, sums, count);
    counts = counts.defined() ? counts * each : each;
  }
  return sums / counts;
}

template <size_t N>
Tensor avg_pool(const char* name, const Tensor& x, const PerAxis<N>& kernel,
                const AvgPoolOptions<N>& options) {
  if (options.divisor_override)
    need(*options.divisor_override != 0, name, "divisor", 0, "another number");
  const Pooling<N> pooling(name, x, kernel, options, 1);
  // Where no window ends beyond the padding, every count is that of a plain pool.
  const bool plain = !options.divisor_override && pooling.is_plain() &&
                     std::all_of(pooling.axes.begin(), pooling.axes.end(), [&](const Windows& w) {
                       return !options.count_include_pad || w.after <= w.before;
                     });
  if (plain) return pooling.run_plain(x, options.count_include_pad, ops::avg_pool2d);
  return rounded_once(x, [&](const Tensor& wide) {
    const Tensor sums = pooling.run(pooling.padded(wide, 0),
                                    [](const Tensor& a, const Tensor& b) { return a + b; });
    return divided(sums, pooling, options);
  });
}

// Windows of an axis such that there are `output` of them, reduced, which leaves an axis.
template <class F>
Tensor adapted(const Tensor& x, int axis, int64_t output, const F& reduce) {
  const int64_t input = x.size(axis);
  if (output <= 0 || output == input) return x;
  if (input % output == 0) {
    Shape shape = x.shape();
    shape[static_cast<size_t>(axis)] = output;
    shape.insert(shape.begin() + axis + 1, input / output);
    return reduce(x.reshape(std::move(shape)), axis + 1, false);
  }
  std::vector<Tensor> all;
  for (int64_t i = 0; i < output; i++)
    all.push_back(reduce(
        x.slice(axis, {i * input / output, ((i + 1) * input + output - 1) / output}), axis, true));
  return ops::concat(all, axis);
}

template <size_t N, class F>
Tensor adaptive(const char* name, const Tensor& input, const PerAxis<N>& output, const F& reduce) {
  if (input.rank() != N + 1 && input.rank() != N + 2)
    throw core::error(Text::PoolRank, name, to_string(input.shape()), kAxes[N]);
  // Each window that is not as long as all others is an operation.
  constexpr int64_t kMost = int64_t{1} << 16;
  Tensor x = input;
  for (const int64_t length : output.values)
    need(length <= kMost, name, "length of the output", static_cast<double>(length),
         "a number up to 65536");
  for (size_t k = N; k-- > 0;)
    x = adapted(x, x.rank() - static_cast<int>(N - k), output[k], reduce);
  return x;
}
template <size_t N>
Tensor adaptive_avg(const char* name, const Tensor& x, const PerAxis<N>& output) {
  return rounded_once(x, [&](const Tensor& wide) {
    return adaptive<N>(name, wide, output, [](const Tensor& part, int axis, bool keepdims) {
      return ops::mean(part, axis, keepdims);
    });
  });
}
template <size_t N>
Tensor adaptive_max(const char* name, const Tensor& x, const PerAxis<N>& output) {
  return adaptive<N>(name, x, output, [](const Tensor& part, int axis, bool keepdims) {
    return ops::max(part, axis, keepdims);
  });
}

void need_images(const char* name, const Tensor& x) {
  if (x.rank() < 3)
    throw core::error(Text::NnRank, name, to_string(x.shape()), "batch, channels, …");
}

}  // namespace

#define HOLOGRAM_POOLING(N)                                                                  \
  Tensor max_pool##N##d(const Tensor& input, const PerAxis<N>& kernel,                       \
                        const MaxPoolOptions<N>& options) {                                  \
    return max_pool<N>("max_pool" #N "d", input, kernel, options);                           \
  }                                                                                          \
  MaxPool max_pool##N##d_with_indices(const Tensor& input, const PerAxis<N>& kernel,         \
                                      const MaxPoolOptions<N>& options) {                    \
    return max_pool_with_indices<N>("max_pool" #N "d_with_indices", input, kernel, options); \
  }                                                                                          \
  Tensor avg_pool##N##d(const Tensor& input, const PerAxis<N>& kernel,                       \
                        const AvgPoolOptions<N>& options) {                                  \
    return avg_pool<N>("avg_pool" #N "d", input, kernel, options);                           \
  }                                                                                          \
  Tensor adaptive_avg_pool##N##d(const Tensor& input, const PerAxis<N>& output) {            \
    return adaptive_avg<N>("adaptive_avg_pool" #N "d", input, output);                       \
  }                                                                                          \
  Tensor adaptive_max_pool##N##d(const Tensor& input, const PerAxis<N>& output) {            \
    return adaptive_max<N>("adaptive_max_pool" #N "d", input, output);                       \
  }
HOLOGRAM_POOLING(1)
HOLOGRAM_POOLING(2)
HOLOGRAM_POOLING(3)
#undef HOLOGRAM_POOLING

Tensor max_unpool2d(const Tensor& pooled, const Tensor& indices, const PerAxis<2>& output) {
  if (pooled.rank() != 3 && pooled.rank() != 4)
    throw core::error(Text::PoolRank, "max_unpool2d", to_string(pooled.shape()), kAxes[2]);
  need_shape("max_unpool2d", "indices", indices, pooled.shape());
  const int64_t area = output[0] * output[1];
  Shape lead(pooled.shape().begin(), pooled.shape().end() - 2), flat = lead, shape = lead;
  flat.push_back(pooled.shape().end()[-1] * pooled.shape().end()[-2]);
  lead.push_back(area);
  shape.insert(shape.end(), output.values.begin(), output.values.end());
  const Tensor where = indices_below("max_unpool2d", indices, area).reshape(flat);
  return ops::scatter(ops::zeros(lead, pooled.dtype(), pooled.executor()), where,
                      pooled.reshape(flat), -1)
      .reshape(shape);
}

Tensor global_avg_pool(const Tensor& input) {
  need_images("global_avg_pool", input);
  return ops::mean(input, axes_from(2, input.rank()), true);
}
Tensor global_max_pool(const Tensor& input) {
  need_images("global_max_pool", input);
  return ops::max(input, axes_from(2, input.rank()), true);
}

}  // namespace hologram::nn
