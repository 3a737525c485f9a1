#include "hologram/nn/losses.hpp"

#include <cmath>
#include <numbers>

#include "hologram/nn/activations.hpp"
#include "hologram/nn/normalization.hpp"
#include "nn/common.hpp"

namespace hologram::nn {

namespace {

// Operands in the dtype that the loss is computed in, repeated to one shape; and its result.
struct Pair {
  Tensor x, t;
  DType to;

  Pair(const Tensor& a, const Tensor& b) : to(loss_dtype(promote(a.dtype(), b.dtype()))) {
    x = a.to(compute_type(to));
    t = b.to(compute_type(to));
  }
  // Losses have one shape: a target that would be repeated is a mistake more often than not.
  Pair(const char* name, const Tensor& a, const Tensor& b) : Pair(a, b) {
    need_shape(name, "a target", b, a.shape());
  }
  Tensor reduced(const Tensor& each, Reduction reduction) const {
    switch (reduction) {
      case Reduction::None: return each.to(to);
      case Reduction::Mean: return ops::mean(each).to(to);
      case Reduction::Sum: return ops::sum(each).to(to);
      case Reduction::BatchMean:
        return (ops::sum(each) / (each.rank() == 0 ? 1.0 : static_cast<double>(each.size(0))))
            .to(to);
    }
    return each;
  }
};

// t * log(t), 0 of 0, and there without an infinity on the way.
Tensor t_log_t(const Tensor& t) { return t * ops::log(ops::where(t == 0, 1, t)); }

Tensor smooth(const Tensor& distance, double beta) {
  return ops::where(distance < beta, ops::square(distance) * (0.5 / beta), distance - 0.5 * beta);
}

}  // namespace

Tensor binary_cross_entropy(const Tensor& p, const Tensor& target, const BceOptions& options) {
  const Pair pair("binary_cross_entropy", p, target);
  // At least -100, without infinities on the way: those would be NaN in gradients.
  const auto limited = [](const Tensor& is_zero, const Tensor& log) {
    return ops::where(is_zero, -100, ops::maximum(log, -100));
  };
  const Tensor never = pair.x == 0, always = pair.x == 1;
  const Tensor log = limited(never, ops::log(ops::where(never, 1, pair.x))),
               log_of_rest = limited(always, ops::log1p(-ops::where(always, 0, pair.x)));
  Tensor each = (pair.t - 1) * log_of_rest - pair.t * log;
  if (options.weight) each = each * options.weight->to(each.dtype());
  return pair.reduced(each, options.reduction);
}

Tensor binary_cross_entropy_with_logits(const Tensor& logits, const Tensor& target,
                                        const BceOptions& options) {
  const Pair pair("binary_cross_entropy_with_logits", logits, target);
  const Tensor softplus_of_minus = ops::softplus(-pair.x);
  Tensor each = (1 - pair.t) * pair.x;
  if (options.pos_weight) {
    const Tensor weight = options.pos_weight->to(each.dtype());
    each = each + ((weight - 1) * pair.t + 1) * softplus_of_minus;
  } else {
    each = each + softplus_of_minus;
  }
  if (options.weight) each = each * options.weight->to(each.dtype());
  return pair.reduced(each, options.reduction);
}

Tensor mse_loss(const Tensor& x, const Tensor& target, Reduction reduction) {
  const Pair pair("mse_loss", x, target);
  return pair.reduced(ops::square(pair.x - pair.t), reduction);
}
Tensor l1_loss(const Tensor& x, const Tensor& target, Reduction reduction) {
  const Pair pair("l1_loss", x, target);
  return pair.reduced(ops::abs(pair.x - pair.t), reduction);
}
Tensor smooth_l1_loss(const Tensor& x, const Tensor& target, Reduction reduction, double beta) {
  need(beta >= 0, "smooth_l1_loss", "beta", beta, "0 or more");
  if (beta == 0) return l1_loss(x, target, reduction);
  const Pair pair("smooth_l1_loss", x, target);
  return pair.reduced(smooth(ops::abs(pair.x - pair.t), beta), reduction);
}
Tensor huber_loss(const Tensor& x, const Tensor& target, Reduction reduction, double delta) {
  need(delta > 0, "huber_loss", "delta", delta, "a number above 0");
  const Pair pair("huber_loss", x, target);
  const Tensor distance = ops::abs(pair.x - pair.t);
  return pair.reduced(
      ops::where(distance < delta, ops::square(distance) * 0.5, (distance - 0.5 * delta) * delta),
      reduction);
}

Tensor kl_div(const Tensor& x, const Tensor& target, Reduction reduction, bool log_target) {
  const Pair pair("kl_div", x, target);
  const Tensor each =
      log_target ? ops::exp(pair.t) * (pair.t - pair.x) : t_log_t(pair.t) - pair.t * pair.x;
  return pair.reduced(each, reduction);
}

Tensor poisson_nll_loss(const Tensor& x, const Tensor& target, const PoissonOptions& options) {
  const Pair pair("poisson_nll_loss", x, target);
  Tensor each = options.log_input ? ops::exp(pair.x) - pair.t * pair.x
                                  : pair.x - pair.t * ops::log(pair.x + options.eps);
  if (options.full) {
    const Tensor t = ops::maximum(pair.t, 1);
    const Tensor stirling = t_log_t(t) - t + 0.5 * ops::log(t * (2 * std::numbers::pi));
    each = each + ops::where(pair.t <= 1, 0, stirling);
  }
  return pair.reduced(each, options.reduction);
}

Tensor gaussian_nll_loss(const Tensor& x, const Tensor& target, const Tensor& var, bool full,
                         double eps, Reduction reduction) {
  const Pair pair("gaussian_nll_loss", x, target);
  const Tensor v = ops::maximum(var.to(pair.x.dtype()), eps);
  Tensor each = 0.5 * (ops::log(v) + ops::square(pair.x - pair.t) / v);
  if (full) each = each + 0.5 * std::log(2 * std::numbers::pi);
  return pair.reduced(each, reduction);
}

Tensor hinge_embedding_loss(const Tensor& x, const Tensor& target, double margin,
                            Reduction reduction) {
  const Pair pair("hinge_embedding_loss", x, target);
  const Tensor far = ops::where(pair.t == 1, 0, ops::maximum(margin - pair.x, 0)),
               near = ops::where(pair.t == -1, 0, pair.x);
  return pair.reduced(far + near, reduction);
}

Tensor cosine_embedding_loss(const Tensor& a, const Tensor& b, const Tensor& target, double margin,
                             Reduction reduction) {
  constexpr const char* kName = "cosine_embedding_loss";
  if (a.rank() < 1 || a.rank() > 2)
    throw core::error(Text::NnRank, kName, to_string(a.shape()), "batch, features");
  const Pair pair(kName, a, b);
  need_shape(kName, "a target", target, a.rank() == 2 ? Shape{a.size(0)} : Shape{});
  constexpr double kEpsilon = 1e-12;  // of PyTorch's rule
  const Tensor squares = (ops::sum(ops::square(pair.x), -1) + kEpsilon) *
                         (ops::sum(ops::square(pair.t), -1) + kEpsilon);
  const Tensor cosine = ops::sum(pair.x * pair.t, -1) / ops::sqrt(squares);
  const Tensor t = target.to(cosine.dtype());
  const Tensor near = ops::where(t == 1, 1 - cosine, 0),
               far = ops::where(t == -1, ops::maximum(cosine - margin, 0), 0);
  return pair.reduced(near + far, reduction);
}

Tensor margin_ranking_loss(const Tensor& a, const Tensor& b, const Tensor& target, double margin,
                           Reduction reduction) {
  const Pair pair("margin_ranking_loss", a, b);
  need_shape("margin_ranking_loss", "a target", target, a.shape());
  const Tensor t = target.to(pair.x.dtype());
  return pair.reduced(ops::maximum(-t * (pair.x - pair.t) + margin, 0), reduction);
}

Tensor soft_margin_loss(const Tensor& x, const Tensor& target, Reduction reduction) {
  const Pair pair("soft_margin_loss", x, target);
  return pair.reduced(ops::softplus(-pair.t * pair.x), reduction);
}

Tensor triplet_margin_loss(const Tensor& anchor, const Tensor& positive, const Tensor& negative,
                           const TripletOptions& o) {
  const Pair pair("triplet_margin_loss", anchor, positive);
  need_shape("triplet_margin_loss", "a negative", negative, anchor.shape());
  const Tensor other = negative.to(pair.x.dtype());
  const Tensor near = pairwise_distance(pair.x, pair.t, o.p, o.eps);
  Tensor far = pairwise_distance(pair.x, other, o.p, o.eps);
  if (o.swap) far = ops::minimum(far, pairwise_distance(pair.t, other, o.p, o.eps));
  return pair.reduced(ops::maximum(near - far + o.margin, 0), o.reduction);
}

}  // namespace hologram::nn
