// Who computes a product on the processor: rows of one table, in the order in which they are asked.
#pragma once

#include <span>
#include <vector>

#include "hologram/hal/library.hpp"
#include "libraries/library.hpp"

namespace hologram::libraries {

// What a device allows its products.
struct ProductPolicy {
  int threads = 1;                     // at most
  bool own = true;                     // hologram's kernels are asked; else libraries alone
  bool reproducible = false;           // sums as the Atlas programs make them
  const HostLibrary* cblas = nullptr;  // that the configuration asks for
  // Opened by the first product that nobody before them takes.
  std::span<const HostLibrary* const> (*libraries)() = nullptr;
  std::span<const HostLibrary* const> only = {};  // in place of these, if there are any
};

// The plan of the first who does not refuse, or why each of the libraries does.
hal::Planned host_product(const hal::GemmDesc& desc, const ProductPolicy& policy);

// All of them.
std::vector<hal::Candidate> host_product_candidates(const hal::GemmDesc& desc,
                                                    const ProductPolicy& policy);

}  // namespace hologram::libraries
