#include "nn_torch_cases.hpp"

namespace hologram {

using nn::Reduction;
using In = const std::vector<Tensor>&;
using Out = std::vector<Tensor>;

// clang-format off
void add_nn_loss_cases(std::map<std::string, NnCase>& all) {
  for (const auto& [name, r] : {std::pair("none", Reduction::None), {"mean", Reduction::Mean}, {"sum", Reduction::Sum}}) {
    const auto of = [name = name](const char* function) { return std::string(function) + " " + name; };
    const Reduction reduction = r;
    all[of("cross_entropy")] = {[=](In x) { return Out{nn::cross_entropy(x[0], x[1], {.reduction = reduction})}; }};
    all[of("cross_entropy weights smoothing")] = {[=](In x) { return Out{nn::cross_entropy(x[0], x[1], {.weight = x[2], .reduction = reduction, .label_smoothing = 0.2})}; }};
    all[of("cross_entropy ignore")] = {[=](In x) { return Out{nn::cross_entropy(x[0], x[1], {.weight = x[2], .ignore_index = 1, .reduction = reduction, .label_smoothing = 0.1})}; }};
    all[of("cross_entropy probabilities")] = {[=](In x) { return Out{nn::cross_entropy(x[0], x[1], {.weight = x[2], .reduction = reduction, .label_smoothing = 0.1})}; }};
    all[of("nll_loss")] = {[=](In x) { return Out{nn::nll_loss(x[0], x[1], {.weight = x[2], .ignore_index = 2, .reduction = reduction})}; }};
    all[of("bce")] = {[=](In x) { return Out{nn::binary_cross_entropy(x[0], x[1], {.weight = x[2], .reduction = reduction})}; }};
    all[of("bce_with_logits")] = {[=](In x) { return Out{nn::binary_cross_entropy_with_logits(x[0], x[1], {.reduction = reduction, .pos_weight = x[2]})}; }};
    all[of("mse_loss")] = {[=](In x) { return Out{nn::mse_loss(x[0], x[1], reduction)}; }};
    all[of("kl_div")] = {[=](In x) { return Out{nn::kl_div(x[0], x[1], reduction)}; }};
  }
  all["cross_entropy of one sample"] = {[](In x) { return Out{nn::cross_entropy(x[0], x[1])}; }};
  all["cross_entropy of images"] = {[](In x) { return Out{nn::cross_entropy(x[0], x[1], {.weight = x[2]})}; }};
  all["cross_entropy of nothing"] = {[](In x) { return Out{nn::cross_entropy(x[0], x[1], {.ignore_index = 0})}; }};
  all["cross_entropy of infinities"] = {[](In x) { return Out{nn::cross_entropy(x[0], x[1].to(DType::I64), {.reduction = Reduction::None})}; }};
  all["bce at the ends"] = {[](In x) { return Out{nn::binary_cross_entropy(x[0], x[1], {.reduction = Reduction::None})}; }};
  all["bce_with_logits of large ones"] = {[](In x) { return Out{nn::binary_cross_entropy_with_logits(x[0], x[1], {.reduction = Reduction::None})}; }};
  all["l1_loss"] = {[](In x) { return Out{nn::l1_loss(x[0], x[1])}; }};
  all["smooth_l1_loss"] = {[](In x) { return Out{nn::smooth_l1_loss(x[0], x[1], Reduction::None, 0.5)}; }};
  all["smooth_l1_loss beta 0"] = {[](In x) { return Out{nn::smooth_l1_loss(x[0], x[1], Reduction::Mean, 0)}; }};
  all["huber_loss"] = {[](In x) { return Out{nn::huber_loss(x[0], x[1], Reduction::None, 1.5)}; }};
  all["kl_div log batchmean"] = {[](In x) { return Out{nn::kl_div(x[0], x[1], Reduction::BatchMean, true)}; }};
  all["kl_div of zeros"] = {[](In x) { return Out{nn::kl_div(x[0], x[1], Reduction::None)}; }};
  all["poisson_nll_loss"] = {[](In x) { return Out{nn::poisson_nll_loss(x[0], x[1], {.full = true, .reduction = Reduction::None})}; }};
  all["poisson_nll_loss of rates"] = {[](In x) { return Out{nn::poisson_nll_loss(x[0], x[1], {.log_input = false})}; }};
  all["gaussian_nll_loss"] = {[](In x) { return Out{nn::gaussian_nll_loss(x[0], x[1], x[2], true)}; }};
  all["hinge_embedding_loss"] = {[](In x) { return Out{nn::hinge_embedding_loss(x[0], x[1], 0.5, Reduction::None)}; }};
  all["cosine_embedding_loss"] = {[](In x) { return Out{nn::cosine_embedding_loss(x[0], x[1], x[2], -0.5, Reduction::None)}; }};
  all["margin_ranking_loss"] = {[](In x) { return Out{nn::margin_ranking_loss(x[0], x[1], x[2], 0.5, Reduction::None)}; }};
  all["soft_margin_loss"] = {[](In x) { return Out{nn::soft_margin_loss(x[0], x[1])}; }};
  all["triplet_margin_loss"] = {[](In x) { return Out{nn::triplet_margin_loss(x[0], x[1], x[2], {.reduction = Reduction::None})}; }};
  all["triplet_margin_loss swapped"] = {[](In x) { return Out{nn::triplet_margin_loss(x[0], x[1], x[2], {.margin = 2, .p = 1, .swap = true})}; }};
}
// clang-format on

}  // namespace hologram
