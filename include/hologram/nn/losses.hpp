// Losses.
#pragma once

#include <optional>

#include "hologram/tensor.hpp"

namespace hologram::nn {

// What becomes of the losses of single elements or samples: themselves, their mean, their sum.
// BatchMean, for kl_div: their sum divided by the length of axis 0.
enum class Reduction : uint8_t { None, Mean, Sum, BatchMean };

struct CrossEntropyOptions {
  std::optional<Tensor> weight = {};  // [classes]
  int64_t ignore_index = -100;        // targets that do not count
  Reduction reduction = Reduction::Mean;
  double label_smoothing = 0;  // of cross_entropy: so much of the target is spread over all classes
};
// -weight[t] * log_softmax(logits)[t] of logits [batch, classes, …] and integers t [batch, …], or
// of [classes] and one integer. The mean is divided by the sum of the weights that count. Floats of
// the shape of the logits are probabilities of classes instead; their mean is divided by the number
// of samples. A target outside is an InvalidArgument when the value is computed.
HOLOGRAM_API Tensor cross_entropy(const Tensor& logits, const Tensor& target,
                                  const CrossEntropyOptions& options = {});
// The same of logarithms of probabilities.
HOLOGRAM_API Tensor nll_loss(const Tensor& log_probabilities, const Tensor& target,
                             const CrossEntropyOptions& options = {});

struct BceOptions {
  std::optional<Tensor> weight = {};  // of elements; repeated
  Reduction reduction = Reduction::Mean;
  std::optional<Tensor> pos_weight = {};  // of positive targets; of logits only; repeated
};
// -(t * log(p) + (1 - t) * log(1 - p)), each logarithm at least -100; of p, and of sigmoid(logits).
HOLOGRAM_API Tensor binary_cross_entropy(const Tensor& p, const Tensor& target,
                                         const BceOptions& options = {});
HOLOGRAM_API Tensor binary_cross_entropy_with_logits(const Tensor& logits, const Tensor& target,
                                                     const BceOptions& options = {});

// (x - t)^2; |x - t|.
HOLOGRAM_API Tensor mse_loss(const Tensor& x, const Tensor& target,
                             Reduction reduction = Reduction::Mean);
HOLOGRAM_API Tensor l1_loss(const Tensor& x, const Tensor& target,
                            Reduction reduction = Reduction::Mean);
// d^2 / (2 beta) for d = |x - t| < beta, else d - beta / 2; and beta times that.
HOLOGRAM_API Tensor smooth_l1_loss(const Tensor& x, const Tensor& target,
                                   Reduction reduction = Reduction::Mean, double beta = 1);
HOLOGRAM_API Tensor huber_loss(const Tensor& x, const Tensor& target,
                               Reduction reduction = Reduction::Mean, double delta = 1);
// t * (log(t) - x), 0 where t is 0; of log_target: exp(t) * (t - x).
HOLOGRAM_API Tensor kl_div(const Tensor& x, const Tensor& target,
                           Reduction reduction = Reduction::Mean, bool log_target = false);

struct PoissonOptions {
  bool log_input = true;  // exp(x) - t * x; else x - t * log(x + eps)
  bool full = false;      // with Stirling's approximation of log(t!) for t > 1
  double eps = 1e-8;
  Reduction reduction = Reduction::Mean;
};
HOLOGRAM_API Tensor poisson_nll_loss(const Tensor& x, const Tensor& target,
                                     const PoissonOptions& options = {});
// (log(v) + (x - t)^2 / v) / 2 with v = max(var, eps); `full` adds log(2 pi) / 2.
HOLOGRAM_API Tensor gaussian_nll_loss(const Tensor& x, const Tensor& target, const Tensor& var,
                                      bool full = false, double eps = 1e-6,
                                      Reduction reduction = Reduction::Mean);

// Targets of the following are 1 or -1.
// x, or max(0, margin - x).
HOLOGRAM_API Tensor hinge_embedding_loss(const Tensor& x, const Tensor& target, double margin = 1,
                                         Reduction reduction = Reduction::Mean);
// 1 - cosine, or max(0, cosine - margin), of rows.
HOLOGRAM_API Tensor cosine_embedding_loss(const Tensor& a, const Tensor& b, const Tensor& target,
                                          double margin = 0, Reduction reduction = Reduction::Mean);
// max(0, -t * (a - b) + margin).
HOLOGRAM_API Tensor margin_ranking_loss(const Tensor& a, const Tensor& b, const Tensor& target,
                                        double margin = 0, Reduction reduction = Reduction::Mean);
// log(1 + exp(-t * x)).
HOLOGRAM_API Tensor soft_margin_loss(const Tensor& x, const Tensor& target,
                                     Reduction reduction = Reduction::Mean);

struct TripletOptions {
  double margin = 1, p = 2, eps = 1e-6;
  bool swap = false;  // the smaller one of the distances from `negative` counts
  Reduction reduction = Reduction::Mean;
};
// max(0, |anchor - positive| - |anchor - negative| + margin).
HOLOGRAM_API Tensor triplet_margin_loss(const Tensor& anchor, const Tensor& positive,
                                        const Tensor& negative, const TripletOptions& options = {});

}  // namespace hologram::nn
