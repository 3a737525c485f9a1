#include "spelling.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include "hologram/error.hpp"

namespace hologram::tool {

using program::Access;

namespace {

// Insertions, removals, replacements and swaps of neighbours that lead from a to b.
size_t distance(std::string_view a, std::string_view b) {
  std::vector<size_t> before, last(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); j++) last[j] = j;
  for (size_t i = 1; i <= a.size(); i++) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); j++) {
      row[j] = std::min({last[j - 1] + (a[i - 1] != b[j - 1]), last[j] + 1, row[j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before = last;
    last = row;
  }
  return last[b.size()];
}

}  // namespace

std::string suggestion(std::string_view wrong, const std::vector<std::string>& known) {
  const std::string* best = nullptr;
  size_t least = std::max<size_t>(1, wrong.size() / 3) + 1;
  for (const std::string& name : known) {
    const size_t d = distance(wrong, name);
    // Two names of one letter are never close: that is no help.
    if (d < least && d < std::max(wrong.size(), name.size())) best = &name, least = d;
  }
  // The beginning of a longer name.
  for (size_t i = 0; best == nullptr && wrong.size() > 2 && i < known.size(); i++)
    if (known[i].starts_with(wrong)) best = &known[i];
  return best == nullptr ? std::string() : fmt::format(" Did you mean {}?", *best);
}

std::string declared(const program::BufferParam& parameter) {
  std::string dims;
  for (const program::Dim& dim : parameter.dims)
    dims += (dims.empty() ? "" : ", ") + (dim.name.empty() ? std::to_string(dim.length) : dim.name);
  return fmt::format("{}[{}]", name_of(parameter.type), dims);
}

std::string signature(const program::Program& program) {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  for (const auto& p : program.buffers())
    if (p.access == Access::In || p.access == Access::InOut)
      add(fmt::format("{}: {}", p.name, declared(p)));
  for (const auto& p : program.scalars()) {
    if (p.dimension) continue;
    const std::string start = fmt::format("{}: {}", p.name, name_of(p.type));
    add(p.otherwise ? start + " = " + number_text(p.type, *p.otherwise) : start);
  }
  return text.empty() ? "nothing" : text;
}

std::string number_text(DType type, uint64_t bits) {
  switch (type) {
    case DType::Bool: return bits != 0 ? "true" : "false";
    case DType::I32: return std::to_string(static_cast<int32_t>(static_cast<uint32_t>(bits)));
    case DType::I64: return std::to_string(static_cast<int64_t>(bits));
    case DType::F32: return fmt::format("{}", std::bit_cast<float>(static_cast<uint32_t>(bits)));
    case DType::F64: return fmt::format("{}", std::bit_cast<double>(bits));
    default: return std::to_string(bits);
  }
}

std::string type_list(const program::DTypeSet& set) {
  std::string text;
  for (size_t t = 1; t < kDTypeCount; t++)
    if (set.has(static_cast<DType>(t)))
      text += (text.empty() ? "" : " ") + std::string(name_of(static_cast<DType>(t)));
  return text;
}

std::string byte_text(double bytes) {
  constexpr auto kUnits = std::to_array<const char*>({"bytes", "KiB", "MiB", "GiB", "TiB"});
  size_t unit = 0;
  for (; bytes >= 1024 && unit + 1 < kUnits.size(); unit++) bytes /= 1024;
  return unit == 0 ? fmt::format("{:.0f} {}", bytes, kUnits[unit])
                   : fmt::format("{:.1f} {}", bytes, kUnits[unit]);
}

std::string read_text(const std::string& path) {
  constexpr size_t kMostBytes = size_t{64} << 20;  // no program is that long; a device never ends
  const auto fail = [&](const std::string& why) {
    throw Error(ErrorKind::IoError, fmt::format("cannot read '{}': {}", path, why),
                "Check the path and its permissions.");
  };
  std::error_code code;
  if (std::filesystem::is_directory(path, code)) fail("it is a folder");
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) fail(std::generic_category().message(errno == 0 ? ENOENT : errno));
  std::string text;
  std::array<char, 65536> chunk{};
  while (file.read(chunk.data(), chunk.size()) || file.gcount() > 0) {
    text.append(chunk.data(), static_cast<size_t>(file.gcount()));
    if (text.size() > kMostBytes) fail("it is too long for a program");
  }
  if (file.bad()) fail("the read failed");
  return text;
}

}  // namespace hologram::tool
