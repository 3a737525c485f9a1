// Losses of classes.
#include "hologram/nn/losses.hpp"
#include "nn/common.hpp"

namespace hologram::nn {

namespace {

// The axis of the classes: 1, or of one sample 0.
int class_axis(const char* name, const Tensor& x) {
  if (x.rank() == 0)
    throw core::error(Text::NnRank, name, to_string(x.shape()), "batch, classes, …");
  return x.rank() == 1 ? 0 : 1;
}

// The weights of classes beside [batch, classes, …].
Tensor beside(const Tensor& weight, const Tensor& x, int axis) {
  Shape shape(static_cast<size_t>(x.rank()), 1);
  shape[static_cast<size_t>(axis)] = weight.size();
  return weight.to(wide_dtype(x.dtype())).reshape(std::move(shape));
}

Tensor reduced(const Tensor& each, const Tensor& divisor, Reduction reduction) {
  if (reduction == Reduction::None) return each;
  Tensor sum = ops::sum(each);
  if (reduction == Reduction::Sum) return sum;
  if (reduction == Reduction::Mean) return sum / divisor;
  return sum / (each.rank() == 0 ? 1.0 : static_cast<double>(each.size(0)));
}

// Targets that are one class a sample.
struct Classes {
  Tensor counts;  // bool: which samples do
  Tensor class_of;
  Tensor weight;  // of each sample; 0 where it does not count
  int axis;

  Classes(const char* name, const Tensor& x, const Tensor& target,
          const CrossEntropyOptions& options)
      : axis(class_axis(name, x)) {
    Shape shape = x.shape();
    shape.erase(shape.begin() + axis);
    need_shape(name, "a target", target, shape);
    if (!is_integer(target.dtype()))
      throw core::error(Text::OperandDType, name, hologram::name_of(target.dtype()),
                        "integers, or floats of the input's shape, as targets");
    const int64_t classes = x.size(axis);
    need_shape(name, "a weight", options.weight, {classes});
    const Tensor wide = target.to(DType::I64);
    counts = wide != options.ignore_index;
    // A class that counts and is none lies outside of the axis.
    class_of = ops::where(counts, indices_below(name, wide, classes), 0);
    const DType dtype = wide_dtype(x.dtype());
    weight = options.weight ? ops::where(counts, ops::take(options.weight->to(dtype), class_of), 0)
                            : counts.to(dtype);
  }
  // The element of its class, of each sample.
  Tensor of(const Tensor& x) const {
    return ops::gather(x, class_of.unsqueeze(axis), axis).squeeze(axis);
  }
};

Tensor of_probabilities(const Tensor& logits, const Tensor& target,
                        const CrossEntropyOptions& options) {
  constexpr const char* kName = "cross_entropy";
  const int axis = class_axis(kName, logits);
  const auto classes = static_cast<double>(logits.size(axis));
  need_shape(kName, "a weight", options.weight, {logits.size(axis)});
  const Tensor wide = upcast(logits);
  Tensor share = target.to(wide.dtype());
  if (options.label_smoothing > 0)
    share = share * (1 - options.label_smoothing) + options.label_smoothing / classes;
  if (options.weight) share = share * beside(*options.weight, logits, axis);
  const Tensor each = -ops::sum(ops::log_softmax(wide, axis) * share, axis);
  const Tensor samples =
      ops::full({}, static_cast<double>(each.size()), wide.dtype(), wide.executor());
  return reduced(each, samples, options.reduction).to(loss_dtype(logits.dtype()));
}

}  // namespace

Tensor cross_entropy(const Tensor& logits, const Tensor& target,
                     const CrossEntropyOptions& options) {
  constexpr const char* kName = "cross_entropy";
  need(options.label_smoothing >= 0 && options.label_smoothing <= 1, kName, "label smoothing",
       options.label_smoothing, "a number from 0 to 1");
  if (is_float(target.dtype()) && target.shape() == logits.shape())
    return of_probabilities(logits, target, options);
  const Classes classes(kName, logits, target, options);
  const Tensor wide = upcast(logits);
  // -log_softmax of each class is what is missing from it to the logarithm of the sum: the
  // logarithms of all classes need not be in memory.
  const Tensor total = ops::logsumexp(wide, classes.axis);
  const auto weighted = [&](const Tensor& losses) {
    return ops::where(classes.counts, losses * classes.weight, 0);
  };
  Tensor each = weighted(total - upcast(classes.of(logits)));
  const double smoothing = options.label_smoothing;
  if (smoothing > 0) {
    Tensor missing = total.unsqueeze(classes.axis) - wide;
    if (options.weight) missing = missing * beside(*options.weight, logits, classes.axis);
    const Tensor all = ops::where(classes.counts, ops::sum(missing, classes.axis), 0);
    each =
        each * (1 - smoothing) + all * (smoothing / static_cast<double>(logits.size(classes.axis)));
  }
  return reduced(each, ops::sum(classes.weight), options.reduction).to(loss_dtype(logits.dtype()));
}

Tensor nll_loss(const Tensor& log_probabilities, const Tensor& target,
                const CrossEntropyOptions& options) {
  const Classes classes("nll_loss", log_probabilities, target, options);
  const Tensor each =
      ops::where(classes.counts, -classes.of(upcast(log_probabilities)) * classes.weight, 0);
  return reduced(each, ops::sum(classes.weight), options.reduction)
      .to(loss_dtype(log_probabilities.dtype()));
}

}  // namespace hologram::nn
