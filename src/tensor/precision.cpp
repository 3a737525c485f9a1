#include "tensor/precision.hpp"

#include <utility>

namespace hologram::tensor {
namespace {

thread_local const ProductPolicy* in_force = nullptr;

}  // namespace

const ProductPolicy* products() { return in_force; }

const ProductPolicy* set_products(const ProductPolicy* policy) {
  return std::exchange(in_force, policy);
}

}  // namespace hologram::tensor
