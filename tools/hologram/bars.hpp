// Pictures of measurements: bars, side by side, as an SVG file that needs nothing else.
#pragma once

#include <string>
#include <vector>

namespace hologram::tool {

struct Bar {
  std::string name;  // "tensors"
  double value = 0;  // 0: there is none
};
struct BarGroup {
  std::string name;  // "add, 1000 elements"
  std::string unit;  // "GB/s"
  std::vector<Bar> bars;
};

// Every group has a scale of its own, as groups may differ by orders of magnitude: its longest bar
// is as wide as the picture. The same name has the same colour everywhere.
std::string svg_of(const std::string& title, const std::vector<BarGroup>& groups);

// The file appears whole or not at all. IoError.
void write_text(const std::string& path, const std::string& text);

}  // namespace hologram::tool
