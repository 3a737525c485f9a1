// The seam between the public functions and the formats: one row of a table each.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/output_file.hpp"
#include "hologram/files.hpp"

namespace hologram::files {

// The bytes of a file to read.
struct Source {
  std::string name;  // for messages
  std::span<const std::byte> bytes;
  // Keeps the bytes alive beyond the call; if empty, readers copy what they return.
  std::shared_ptr<const void> owner;
  bool writable = false;
};

// Takes the rows of its parts, one part after the other, and writes the file.
class Encoder {
 public:
  virtual ~Encoder() = default;
  virtual void write(const std::byte* data, size_t bytes) = 0;  // whole rows
  virtual void finish() = 0;
};

// An array to write.
struct Part {
  std::string name;
  DType dtype;
  Shape shape;
};

struct FormatInfo {
  Format format;
  std::string_view name;
  std::string_view extension;
  std::string_view other_extension;
  bool has_members;
  bool (*matches)(std::span<const std::byte> bytes);
  FileInfo (*inspect)(const Source& source);
  Array (*read)(const Source& source, const ReadOptions& options);
  // `parts` is one part unless the format has members, which are named differently.
  std::unique_ptr<Encoder> (*encoder)(core::OutputFile& file, const std::vector<Part>& parts,
                                      const WriteOptions& options);
};

const FormatInfo& format_info(Format format);
std::span<const FormatInfo> all_formats();
const FormatInfo* format_of_content(std::span<const std::byte> bytes);
const FormatInfo* format_of_extension(std::string_view path);
std::string list_of_formats();

// "file.npz:name" is the file and the name, for formats that have members.
struct MemberPath {
  std::string file;
  std::string member;
};
MemberPath split_member(const std::string& path);

// IoError: the file is not a valid one of its format.
[[noreturn]] void damaged(const Source& source, Format format, std::string_view why);
// UnsupportedOperation: valid, but hologram has no dtype for it.
[[noreturn]] void unsupported(const Source& source, std::string_view what,
                              std::string_view instead);

// Which of the members is meant; InvalidArgument with a list of the names if that is not clear.
size_t choose_member(const Source& source, const std::vector<std::string>& names,
                     const std::string& wanted);

// Whether data starts with the text.
bool starts_with(std::span<const std::byte> bytes, std::string_view text);

}  // namespace hologram::files
