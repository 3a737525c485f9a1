// How products and convolutions of this thread are computed while a policy is in force: the one
// that nn::MixedPrecision sets.
#pragma once

#include "hologram/dtype.hpp"

namespace hologram::tensor {

struct ProductPolicy {
  DType compute = DType::None;  // that factors are rounded to
  DType result = DType::None;   // of the sums
  // Of f64 and of integers nothing is rounded.
  bool takes(DType dtype) const {
    return dtype == DType::F32 || dtype == DType::F16 || dtype == DType::BF16;
  }
};

// The one in force, or null.
const ProductPolicy* products();
// Sets another, or none, and gives the one before.
const ProductPolicy* set_products(const ProductPolicy* policy);

}  // namespace hologram::tensor
