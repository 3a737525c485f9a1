#include "core/mapped_file.hpp"
#include "core/messages.hpp"
#include "files/formats.hpp"

namespace hologram::files {
namespace {

struct Opened {
  Source source;
  const FormatInfo* format;
};

Opened open(const std::string& path) {
  const auto file = core::MappedFile::open(path);
  const FormatInfo* format = format_of_content(file->bytes());
  // So that a truncated file is called one, and not one of unknown format.
  if (format == nullptr) format = format_of_extension(path);
  if (format == nullptr) throw core::error(core::Text::FileFormatUnknown, path, list_of_formats());
  return {{path, file->bytes(), file, file->writable()}, format};
}

}  // namespace

Array read(const std::string& path, const ReadOptions& options) {
  ReadOptions chosen = options;
  MemberPath place{path, options.member};
  if (options.member.empty()) place = split_member(path);
  const Opened file = open(place.file);
  chosen.member = place.member;
  if (!chosen.member.empty() && !file.format->has_members)
    throw core::error(core::Text::FileMemberUnused, place.file, chosen.member, file.format->name);
  return file.format->read(file.source, chosen);
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
