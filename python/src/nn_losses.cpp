// Losses, and steps of optimizers.
#include "nn.hpp"

namespace hologram::python {
namespace {

using nn::Reduction;
using Optional = std::optional<Tensor>;

void register_of_classes(nb::module_& m) {
  m.def(
      "cross_entropy",
      [](const Tensor& logits, const Tensor& target, Optional weight, int64_t ignore_index,
         Reduction reduction, double label_smoothing) {
        return nn::cross_entropy(logits, target,
                                 {std::move(weight), ignore_index, reduction, label_smoothing});
      },
      "logits"_a, "target"_a, "weight"_a = nb::none(), nb::kw_only(), "ignore_index"_a = -100,
      "reduction"_a = "mean", "label_smoothing"_a = 0.0,
      "-weight[t] * log_softmax(logits)[t] of logits [batch, classes, ...] and integers\n"
      "[batch, ...], or probabilities of the logits' shape. The mean is weighted.");
  m.def(
      "nll_loss",
      [](const Tensor& log_probabilities, const Tensor& target, Optional weight,
         int64_t ignore_index, Reduction reduction) {
        return nn::nll_loss(log_probabilities, target,
                            {std::move(weight), ignore_index, reduction});
      },
      "log_probabilities"_a, "target"_a, "weight"_a = nb::none(), nb::kw_only(),
      "ignore_index"_a = -100, "reduction"_a = "mean",
      "cross_entropy of logarithms of probabilities.");
  m.def(
      "binary_cross_entropy",
      [](const Tensor& p, const Tensor& target, Optional weight, Reduction reduction) {
        return nn::binary_cross_entropy(p, target, {std::move(weight), reduction});
      },
      "p"_a, "target"_a, "weight"_a = nb::none(), nb::kw_only(), "reduction"_a = "mean",
      "-(t * log(p) + (1 - t) * log(1 - p)), each logarithm at least -100.");
  m.def(
      "binary_cross_entropy_with_logits",
      [](const Tensor& logits, const Tensor& target, Optional weight, Reduction reduction,
         Optional pos_weight) {
        return nn::binary_cross_entropy_with_logits(
            logits, target, {std::move(weight), reduction, std::move(pos_weight)});
      },
      "logits"_a, "target"_a, "weight"_a = nb::none(), nb::kw_only(), "reduction"_a = "mean",
      "pos_weight"_a = nb::none(), "binary_cross_entropy of sigmoid(logits), without overflow.");
}

struct Simple {
  const char* name;
  Tensor (*function)(const Tensor&, const Tensor&, Reduction);
  const char* meaning;
};
constexpr Simple kSimple[] = {
    {"mse_loss", nn::mse_loss, "(x - target)^2."},
    {"l1_loss", nn::l1_loss, "|x - target|."},
    {"soft_margin_loss", nn::soft_margin_loss, "log(1 + exp(-target * x)) of targets 1 and -1."}};

void register_of_values(nb::module_& m) {
  for (const Simple& row : kSimple)
    m.def(row.name, row.function, "x"_a, "target"_a, nb::kw_only(), "reduction"_a = "mean",
          row.meaning);
  m.def(
      "smooth_l1_loss",
      [](const Tensor& x, const Tensor& target, Reduction reduction, double beta) {
        return nn::smooth_l1_loss(x, target, reduction, beta);
      },
      "x"_a, "target"_a, nb::kw_only(), "reduction"_a = "mean", "beta"_a = 1.0,
      "d^2 / (2 beta) for d = |x - target| < beta, else d - beta / 2.");
  m.def("huber_loss", nn::huber_loss, "x"_a, "target"_a, nb::kw_only(), "reduction"_a = "mean",
        "delta"_a = 1.0, "delta * smooth_l1_loss with beta = delta.");
  m.def("kl_div", nn::kl_div, "x"_a, "target"_a, nb::kw_only(), "reduction"_a = "mean",
        "log_target"_a = false,
        "target * (log(target) - x) of logarithms x; of log_target: exp(target) * (target - x).");
  m.def(
      "poisson_nll_loss",
      [](const Tensor& x, const Tensor& target, bool log_input, bool full, double eps,
         Reduction reduction) {
        return nn::poisson_nll_loss(x, target, {log_input, full, eps, reduction});
      },
      "x"_a, "target"_a, nb::kw_only(), "log_input"_a = true, "full"_a = false, "eps"_a = 1e-8,
      "reduction"_a = "mean", "exp(x) - target * x, or x - target * log(x + eps).");
  m.def("gaussian_nll_loss", nn::gaussian_nll_loss, "x"_a, "target"_a, "var"_a, nb::kw_only(),
        "full"_a = false, "eps"_a = 1e-6, "reduction"_a = "mean",
        "(log(v) + (x - target)^2 / v) / 2 with v = max(var, eps).");
}

void register_margins(nb::module_& m) {
  m.def("hinge_embedding_loss", nn::hinge_embedding_loss, "x"_a, "target"_a, nb::kw_only(),
        "margin"_a = 1.0, "reduction"_a = "mean", "x where target is 1, else max(0, margin - x).");
  m.def("cosine_embedding_loss", nn::cosine_embedding_loss, "x1"_a, "x2"_a, "target"_a,
        nb::kw_only(), "margin"_a = 0.0, "reduction"_a = "mean",
        "1 - cosine of rows where target is 1, else max(0, cosine - margin).");
  m.def("margin_ranking_loss", nn::margin_ranking_loss, "x1"_a, "x2"_a, "target"_a, nb::kw_only(),
        "margin"_a = 0.0, "reduction"_a = "mean", "max(0, -target * (x1 - x2) + margin).");
  m.def(
      "triplet_margin_loss",
      [](const Tensor& anchor, const Tensor& positive, const Tensor& negative, double margin,
         double p, double eps, bool swap, Reduction reduction) {
        return nn::triplet_margin_loss(anchor, positive, negative,
                                       {margin, p, eps, swap, reduction});
      },
      "anchor"_a, "positive"_a, "negative"_a, nb::kw_only(), "margin"_a = 1.0, "p"_a = 2.0,
      "eps"_a = 1e-6, "swap"_a = false, "reduction"_a = "mean",
      "max(0, |anchor - positive| - |anchor - negative| + margin).");
}

}  // namespace

void register_losses(nb::module_& m) {
  register_of_classes(m);
  register_of_values(m);
  register_margins(m);
}

void register_steps(nb::module_& m) {
  m.def(
      "adam_step",
      [](nb::handle parameters, nb::handle gradients, nb::handle exp_avg, nb::handle exp_avg_sq,
         nb::handle max_exp_avg_sq, std::optional<Tensor> step, double lr, double beta1,
         double beta2, double eps, double weight_decay, bool decoupled, bool amsgrad,
         bool maximize) {
        std::vector<Tensor> moved = tensors_from(parameters);
        nn::AdamState state{
            tensors_from(exp_avg), tensors_from(exp_avg_sq), tensors_from(max_exp_avg_sq), {}};
        if (step) state.step = *step;
        nn::fused_adam_step(moved, tensors_from(gradients), state,
                            {lr, beta1, beta2, eps, weight_decay, decoupled, amsgrad, maximize});
        return nb::make_tuple(moved, state.exp_avg, state.exp_avg_sq, state.max_exp_avg_sq,
                              state.step);
      },
      "parameters"_a, "gradients"_a, "exp_avg"_a, "exp_avg_sq"_a, "max_exp_avg_sq"_a,
      "step"_a.none(), nb::kw_only(), "lr"_a, "beta1"_a, "beta2"_a, "eps"_a, "weight_decay"_a,
      "decoupled"_a, "amsgrad"_a, "maximize"_a,
      "The next (parameters, exp_avg, exp_avg_sq, max_exp_avg_sq, step).");
  m.def(
      "sgd_step",
      [](nb::handle parameters, nb::handle gradients, nb::handle momentum_buffer, double lr,
         double momentum, double dampening, double weight_decay, bool nesterov, bool maximize) {
        std::vector<Tensor> moved = tensors_from(parameters);
        nn::SgdState state{tensors_from(momentum_buffer)};
        nn::fused_sgd_step(moved, tensors_from(gradients), state,
                           {lr, momentum, dampening, weight_decay, nesterov, maximize});
        return nb::make_tuple(moved, state.momentum_buffer);
      },
      "parameters"_a, "gradients"_a, "momentum_buffer"_a, nb::kw_only(), "lr"_a, "momentum"_a,
      "dampening"_a, "weight_decay"_a, "nesterov"_a, "maximize"_a,
      "The next (parameters, momentum_buffer).");
  m.def(
      "clip_by_norm",
      [](nb::handle gradients, double max_norm) {
        std::vector<Tensor> clipped = tensors_from(gradients);
        Tensor norm = nn::clip_by_norm(clipped, max_norm);
        return nb::make_tuple(clipped, norm);
      },
      "gradients"_a, "max_norm"_a,
      "(gradients, norm): scaled down together if their norm is above max_norm.");
  m.def("cosine_schedule", nn::cosine_schedule, "lr"_a, "step"_a, "warmup"_a, "total"_a,
        "least"_a = 0.0,
        "A learning rate that rises in a line over `warmup` steps, and falls by half a cosine to\n"
        "`least` of it at step `total`.");
}

}  // namespace hologram::python
