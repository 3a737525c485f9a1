// What follows from the table of elementwise operations.
#pragma once

#include <string>

namespace hologram::generate {

std::string elementwise_header();     // include/hologram/elementwise.hpp
std::string elementwise_gradients();  // src/tensor/elementwise_gradients.cpp
std::string elementwise_source();     // src/tensor/elementwise.cpp
std::string elementwise_reference();  // docs/operations.md

}  // namespace hologram::generate
