#include "bars.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include "hologram/error.hpp"

namespace hologram::tool {
namespace {

constexpr int kWidth = 860, kLabels = 250, kValues = 110, kBar = 14, kGap = 12, kTop = 44;
constexpr const char* kColours[] = {"#2b6cb0", "#dd8452", "#55a868", "#8172b3", "#937860"};

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      // Control characters are not allowed at all.
      default: out += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
    }
  }
  return out;
}

}  // namespace

std::string svg_of(const std::string& title, const std::vector<BarGroup>& groups) {
  std::vector<std::string> names;
  int height = kTop + kGap;
  for (const BarGroup& group : groups) {
    height += static_cast<int>(group.bars.size()) * kBar + kGap;
    for (const Bar& bar : group.bars)
      if (std::find(names.begin(), names.end(), bar.name) == names.end()) names.push_back(bar.name);
  }
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" "
      "viewBox=\"0 0 {0} {1}\" font-family=\"sans-serif\" font-size=\"11\">\n"
      "<rect width=\"{0}\" height=\"{1}\" fill=\"white\"/>\n"
      "<text x=\"8\" y=\"20\" font-size=\"14\">{2}</text>\n",
      kWidth, height, escaped(title));
  auto out = std::back_inserter(svg);
  int y = kTop;
  for (const BarGroup& group : groups) {
    double longest = 0;
    for (const Bar& bar : group.bars)
      if (std::isfinite(bar.value)) longest = std::max(longest, bar.value);
    fmt::format_to(out, "<text x=\"8\" y=\"{}\">{}</text>\n", y + kBar - 3, escaped(group.name));
    for (const Bar& bar : group.bars) {
      const bool drawn = std::isfinite(bar.value) && bar.value > 0;
      const double length = drawn ? (kWidth - kLabels - kValues) * bar.value / longest : 0;
      const auto colour =
          static_cast<size_t>(std::find(names.begin(), names.end(), bar.name) - names.begin());
      fmt::format_to(out, "<rect x=\"{}\" y=\"{}\" width=\"{:.1f}\" height=\"{}\" fill=\"{}\"/>\n",
                     kLabels, y, length, kBar - 2, kColours[colour % std::size(kColours)]);
      fmt::format_to(out, "<text x=\"{:.1f}\" y=\"{}\">{} {}</text>\n", kLabels + length + 4,
                     y + kBar - 3,
                     drawn ? fmt::format("{:.3g} {}", bar.value, escaped(group.unit)) : "none",
                     escaped(bar.name));
      y += kBar;
    }
    y += kGap;
  }
  return svg + "</svg>\n";
}

void write_text(const std::string& path, const std::string& text) {
  const std::string temporary = fmt::format("{}.{}.tmp", path, getpid());
  std::error_code failed;
  {
    std::ofstream file(temporary, std::ios::binary);
    file << text;
    file.close();
    if (!file) failed = std::make_error_code(std::errc::io_error);
  }
  if (!failed) std::filesystem::rename(temporary, path, failed);
  if (!failed) return;
  std::error_code gone;
  std::filesystem::remove(temporary, gone);
  throw Error(ErrorKind::IoError, "cannot write " + path + ": " + failed.message(),
              "Name a file in a folder that is there and that you may write to.");
}

}  // namespace hologram::tool
