// Neural operations: torch.nn.functional in C++.
//
//   Tensor y = nn::linear(x, weight, bias, nn::Activation::Gelu);
//   Tensor loss = nn::cross_entropy(logits, labels, {.label_smoothing = 0.1});
//
// Names, options, defaults and semantics are PyTorch's: images are [batch, channels, …], weights of
// linear layers [out, in]. docs/nn.md lists PyTorch's names beside these and every difference.
//
// Each function is a composition of the functions in hologram/ops.hpp, so that it runs on every
// device, fuses with what is around it, and gives the same f32 bits on all exact devices but for
// products and convolutions, whose order of additions a library may choose. Results have the dtype
// of the input; f16 and bf16 are computed in f32 and rounded once, integers in f32.
#pragma once

#include "hologram/nn/activations.hpp"
#include "hologram/nn/attention.hpp"
#include "hologram/nn/captured_step.hpp"
#include "hologram/nn/convolution.hpp"
#include "hologram/nn/embedding.hpp"
#include "hologram/nn/flat.hpp"
#include "hologram/nn/images.hpp"
#include "hologram/nn/linear.hpp"
#include "hologram/nn/losses.hpp"
#include "hologram/nn/mixed_precision.hpp"
#include "hologram/nn/modules.hpp"
#include "hologram/nn/normalization.hpp"
#include "hologram/nn/optimizers.hpp"
#include "hologram/nn/pooling.hpp"
#include "hologram/nn/training.hpp"
#include "hologram/ops.hpp"
