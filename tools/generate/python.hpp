// What the Python package has of the table of elementwise operations.
#pragma once

#include <string>

namespace hologram::generate {

std::string python_bindings();   // python/src/elementwise.cpp
std::string python_functions();  // python/hologram/_elementwise.py

}  // namespace hologram::generate
