// Descriptions as expressions, in memory and by rows of inputs.
#pragma once

#include <optional>
#include <vector>

#include "graphs/description.hpp"

namespace hologram::graphs {

// One for each root; none where the language, or evaluation by rows, lacks an operation.
using PerRoot = std::vector<std::optional<Array>>;

PerRoot as_text(const Description& description, const Executor& executor);
PerRoot by_rows(const Description& description, const Executor& executor);

}  // namespace hologram::graphs
