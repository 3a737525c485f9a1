#include <algorithm>
#include <functional>

#include "core/mapped_file.hpp"
#include "core/messages.hpp"
#include "files/formats.hpp"

namespace hologram::files {
namespace {

struct Opened {
  std::shared_ptr<const core::MappedFile> file;
  Source source;
  const FormatInfo* format;
};

Opened open(const std::string& path) {
  const auto file = core::MappedFile::open(path);
  const FormatInfo* format = format_of_content(file->bytes());
  // So that a truncated file is called one, and not one of unknown format.
  if (format == nullptr) format = format_of_extension(path);
  if (format == nullptr) throw core::error(core::Text::FileFormatUnknown, path, list_of_formats());
  return {file, {path, file->bytes(), file, file->writable()}, format};
}

}  // namespace

struct Whole {
  Array array;
  std::shared_ptr<const core::MappedFile> file;
};

Whole read_whole(const std::string& path, const ReadOptions& options) {
  ReadOptions chosen = options;
  MemberPath place{path, options.member};
  if (options.member.empty()) place = split_member(path);
  const Opened file = open(place.file);
  chosen.member = place.member;
  if (!chosen.member.empty() && !file.format->has_members)
    throw core::error(core::Text::FileMemberUnused, place.file, chosen.member, file.format->name);
  return {file.format->read(file.source, chosen), file.file};
}

Array read(const std::string& path, const ReadOptions& options) {
  return read_whole(path, options).array;
}

Rows Rows::open(const std::string& path, const ReadOptions& options) {
  Whole whole = read_whole(path, options);
  const std::span<const std::byte> bytes = whole.file->bytes();
  const std::byte* const data = whole.array.data();
  const bool inside =
      std::less_equal<>()(bytes.data(), data) && std::less<>()(data, bytes.data() + bytes.size());
  if (!whole.file->mapped() || !inside) whole.file.reset();
  return Rows(std::move(whole.array), std::move(whole.file));
}

Array Rows::read(int64_t first, int64_t count) const {
  Shape shape = whole_.shape();
  if (shape.empty()) shape = {1};
  if (first < 0 || count < 0 || count > shape[0] - std::min(first, shape[0]))
    throw core::error(core::Text::FileRows, first, count, shape[0]);
  const size_t row = shape[0] == 0 ? 0 : whole_.bytes() / static_cast<size_t>(shape[0]);
  shape[0] = count;
  const std::span<const std::byte> bytes(whole_.data() + static_cast<size_t>(first) * row,
                                         static_cast<size_t>(count) * row);
  const auto file = std::static_pointer_cast<const core::MappedFile>(file_);
  const std::shared_ptr<const void> owner(bytes.data(), [file, bytes, all = whole_](const void*) {
    if (file != nullptr) file->forget(bytes);
  });
  return Array::borrow(whole_.dtype(), shape, static_cast<const void*>(bytes.data()), owner);
}

FileInfo inspect(const std::string& path) {
  const MemberPath place = split_member(path);
  const Opened file = open(place.file);
  FileInfo info = file.format->inspect(file.source);
  if (place.member.empty()) return info;
  std::vector<std::string> names;
  for (const Member& member : info.members) names.push_back(member.name);
  info.members = {info.members[choose_member(file.source, names, place.member)]};
  return info;
}

}  // namespace hologram::files
