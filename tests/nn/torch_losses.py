"""The cases of torch_answers.py about losses."""

import torch
import torch.nn.functional as F


def add_losses(case, real, unit):
    label = ["integers", [4], 5, 3]
    labels = ["integers", [2, 2], 6, 3]
    weight = unit(3, seed=8)
    for reduction in ("none", "mean", "sum"):
        r = {"reduction": reduction}
        case("cross_entropy " + reduction, [real(4, 3), label], lambda x, t: F.cross_entropy(x, t, **r))
        case("cross_entropy weights smoothing " + reduction, [real(4, 3), label, weight], lambda x, t, w: F.cross_entropy(x, t, w, label_smoothing=0.2, **r))
        case("cross_entropy ignore " + reduction, [real(4, 3), label, weight], lambda x, t, w: F.cross_entropy(x, t, w, ignore_index=1, label_smoothing=0.1, **r))
        case("cross_entropy probabilities " + reduction, [real(4, 3), unit(4, 3, seed=2), weight], lambda x, t, w: F.cross_entropy(x, t, w, label_smoothing=0.1, **r))
        case("nll_loss " + reduction, [real(4, 3), label, weight], lambda x, t, w: F.nll_loss(x, t, w, ignore_index=2, **r))
        case("bce " + reduction, [unit(3, 2), unit(3, 2, seed=2), unit(2, seed=3)], lambda x, t, w: F.binary_cross_entropy(x, t, w, **r))
        case("bce_with_logits " + reduction, [real(3, 2), unit(3, 2, seed=2), unit(2, seed=3)], lambda x, t, w: F.binary_cross_entropy_with_logits(x, t, pos_weight=w, **r))
        case("mse_loss " + reduction, [real(3, 2), real(3, 2, seed=2)], lambda x, t: F.mse_loss(x, t, **r))
        case("kl_div " + reduction, [real(3, 2), unit(3, 2, seed=2)], lambda x, t: F.kl_div(x, t, **r))
    case("cross_entropy of one sample", [real(3), ["integers", [], 5, 3]], F.cross_entropy)
    case("cross_entropy of images", [real(2, 3, 2), labels, weight], F.cross_entropy)
    case("cross_entropy of nothing", [real(4, 3), ["integers", [4], 5, 1]], lambda x, t: F.cross_entropy(x, t, ignore_index=0))
    infinite = ["values", [2, 3], ["-inf", 0, 1, "-inf", 2, "-inf"]]
    case("cross_entropy of infinities", [infinite, ["values", [2], [1, 0]]], lambda x, t: F.cross_entropy(x, t.long(), reduction="none"))
    ends = ["values", [4], [0, 1, 0, 1]]
    case("bce at the ends", [ends, ["values", [4], [0, 1, 1, 0]]], lambda x, t: F.binary_cross_entropy(x, t, reduction="none"))
    large = ["values", [4], [200, -200, "inf", "-inf"]]
    case("bce_with_logits of large ones", [large, ["values", [4], [0, 1, 1, 0]]], lambda x, t: F.binary_cross_entropy_with_logits(x, t, reduction="none"))
    pair = [real(3, 4), real(3, 4, seed=2)]
    case("l1_loss", pair, F.l1_loss)
    case("smooth_l1_loss", pair, lambda x, t: F.smooth_l1_loss(x, t, beta=0.5, reduction="none"))
    case("smooth_l1_loss beta 0", pair, lambda x, t: F.smooth_l1_loss(x, t, beta=0))
    case("huber_loss", pair, lambda x, t: F.huber_loss(x, t, delta=1.5, reduction="none"))
    case("kl_div log batchmean", pair, lambda x, t: F.kl_div(x, t, log_target=True, reduction="batchmean"))
    case("kl_div of zeros", [real(4), ["values", [4], [0, 0.5, 0, 1]]], lambda x, t: F.kl_div(x, t, reduction="none"))
    counts = ["values", [2, 2], [0, 1, 2, 5]]
    case("poisson_nll_loss", [real(2, 2), counts], lambda x, t: F.poisson_nll_loss(x, t, full=True, reduction="none"))
    case("poisson_nll_loss of rates", [unit(2, 2), counts], lambda x, t: F.poisson_nll_loss(x, t, log_input=False))
    case("gaussian_nll_loss", [*pair, unit(3, 4, seed=3)], lambda x, t, v: F.gaussian_nll_loss(x, t, v, full=True))
    sign = ["sign", [3], 4]
    case("hinge_embedding_loss", [real(3), sign], lambda x, t: F.hinge_embedding_loss(x, t, margin=0.5, reduction="none"))
    case("cosine_embedding_loss", [*pair, sign], lambda a, b, t: F.cosine_embedding_loss(a, b, t, margin=-0.5, reduction="none"))
    case("margin_ranking_loss", [real(3), real(3, seed=2), sign], lambda a, b, t: F.margin_ranking_loss(a, b, t, margin=0.5, reduction="none"))
    case("soft_margin_loss", [real(3), sign], F.soft_margin_loss)
    triple = [*pair, real(3, 4, seed=3)]
    case("triplet_margin_loss", triple, lambda a, p, n: F.triplet_margin_loss(a, p, n, reduction="none"))
    case("triplet_margin_loss swapped", triple, lambda a, p, n: F.triplet_margin_loss(a, p, n, margin=2, p=1, swap=True))
