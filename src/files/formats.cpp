#include "files/formats.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "core/messages.hpp"
#include "files/jpeg.hpp"
#include "files/npy.hpp"
#include "files/npz.hpp"
#include "files/png.hpp"
#include "files/safetensors.hpp"

namespace hologram::files {
namespace {

constexpr std::array<FormatInfo, 5> kFormats = {{
    {Format::Npy, "npy", ".npy", "", false, is_npy, inspect_npy, read_npy, npy_encoder},
    {Format::Npz, "npz", ".npz", "", true, is_npz, inspect_npz, read_npz, npz_encoder},
    {Format::Safetensors, "safetensors", ".safetensors", "", true, is_safetensors,
     inspect_safetensors, read_safetensors, safetensors_encoder},
    {Format::Png, "PNG", ".png", "", false, is_png, inspect_png, read_png, png_encoder},
    {Format::Jpeg, "JPEG", ".jpg", ".jpeg", false, is_jpeg, inspect_jpeg, read_jpeg, jpeg_encoder},
}};

constexpr size_t kMaxListed = 20;

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return result;
}

std::string list_of(const std::vector<std::string>& names) {
  std::string list;
  for (size_t i = 0; i < names.size() && i < kMaxListed; i++) list += (i ? ", " : "") + names[i];
  if (names.size() > kMaxListed)
    list += ", and " + std::to_string(names.size() - kMaxListed) + " more";
  return list.empty() ? "none" : list;
}

}  // namespace

std::string_view name_of(Format format) { return format_info(format).name; }

const FormatInfo& format_info(Format format) { return kFormats[static_cast<size_t>(format)]; }
std::span<const FormatInfo> all_formats() { return kFormats; }

const FormatInfo* format_of_content(std::span<const std::byte> bytes) {
  for (const FormatInfo& f : kFormats)
    if (f.matches(bytes)) return &f;
  return nullptr;
}

const FormatInfo* format_of_extension(std::string_view path) {
  const std::string all = lower(path);
  for (const FormatInfo& f : kFormats)
    if (all.ends_with(f.extension) ||
        (!f.other_extension.empty() && all.ends_with(f.other_extension)))
      return &f;
  return nullptr;
}

std::string list_of_formats() {
  std::string list;
  for (const FormatInfo& f : kFormats)
    for (const std::string_view extension : {f.extension, f.other_extension})
      if (!extension.empty()) list += (list.empty() ? "" : ", ") + std::string(extension);
  return list;
}

MemberPath split_member(const std::string& path) {
  const std::string all = lower(path);
  size_t first = std::string::npos;
  for (const FormatInfo& f : kFormats) {
    if (!f.has_members) continue;
    const size_t at = all.find(std::string(f.extension) + ":");
    if (at != std::string::npos) first = std::min(first, at + f.extension.size());
  }
  if (first == std::string::npos) return {path, ""};
  return {path.substr(0, first), path.substr(first + 1)};
}

void damaged(const Source& source, Format format, std::string_view why) {
  throw core::error(core::Text::FileDamaged, source.name, name_of(format), why);
}

void unsupported(const Source& source, std::string_view what, std::string_view instead) {
  throw core::error(core::Text::FileUnsupported, source.name, what, instead);
}

size_t choose_member(const Source& source, const std::vector<std::string>& names,
                     const std::string& wanted) {
  if (wanted.empty()) {
    if (names.size() == 1) return 0;
    throw core::error(core::Text::FileMemberNeeded, source.name, names.size(), list_of(names));
  }
  const auto found = std::find(names.begin(), names.end(), wanted);
  if (found == names.end())
    throw core::error(core::Text::FileMemberMissing, source.name, wanted, list_of(names));
  return static_cast<size_t>(found - names.begin());
}

bool starts_with(std::span<const std::byte> bytes, std::string_view text) {
  return bytes.size() >= text.size() && std::memcmp(bytes.data(), text.data(), text.size()) == 0;
}

}  // namespace hologram::files
