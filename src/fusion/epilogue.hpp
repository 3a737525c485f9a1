// The end of a product: elementwise nodes behind it that a library may compute before it stores.
#pragma once

#include <optional>
#include <vector>

#include "fusion/kernel.hpp"

namespace hologram::graph {

struct Epilogue {
  Node* product = nullptr;
  Node* last = nullptr;         // what is left
  const Input* bias = nullptr;  // that `add` adds to each row, or null
  bool relu = false;
  std::vector<Node*> members;  // from the last one on

  hal::Epilogue epilogue() const { return {bias != nullptr, relu}; }
};

// Whether `last` is relu of a product, of a product and a bias, or their sum, element by element.
std::optional<Epilogue> epilogue_of(Node& last);

// What the members compute of the product as it is stored.
Kernel kernel_of(const Epilogue& epilogue);

}  // namespace hologram::graph
