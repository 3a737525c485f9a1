// Where a program's outputs go: files that appear together or not at all.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "hologram/executor.hpp"
#include "hologram/files.hpp"

namespace hologram::tool {

// The names of the buffers that a program writes.
std::vector<std::string> output_names(const program::Program& program);

// What -o may name.
struct OutputNames {
  std::string of;                   // "program 'blur'", "the expression"
  std::vector<std::string> names;   // all of them
  std::optional<std::string> only;  // what a FILE without a name is of
};
OutputNames outputs_of(const program::Program& program);

// -o FILE or -o NAME=FILE, as a path for each output named. UsageError if that is not clear.
std::map<std::string, std::string> parse_output_paths(const OutputNames& known,
                                                      const std::vector<std::string>& texts);

// The shape of each output that follows from the arguments; what does not is left to the library
// to report.
std::map<std::string, Shape> output_shapes(const program::Program& program,
                                           const std::vector<Argument>& arguments,
                                           const std::map<std::string, Shape>& given);

struct OutputInfo {
  DType dtype = DType::None;
  Shape shape;
};

class Outputs {
 public:
  // Opens the files whose shapes are known, so that what cannot be written fails before the work.
  Outputs(std::map<std::string, std::string> paths, const std::map<std::string, OutputInfo>& known,
          files::WriteOptions options);
  // Opens the file of an output that was not known; nothing if it was.
  void open(const std::string& output, const OutputInfo& info);

  bool wanted(const std::string& output) const { return paths_.contains(output); }
  const std::map<std::string, std::string>& paths() const { return paths_; }

  // Whether the outputs can be written by strips: not where two of them share a file.
  bool streams() const { return shared_.empty(); }

  // Appends rows of an output, some at a time so that it can be interrupted.
  void write(const std::string& output, const Array& rows);
  // Rows written so far, over all outputs, as a part of the whole.
  double fraction() const;

  // Makes every file visible.
  void commit();

 private:
  files::Writer& writer(const std::string& output, const Array& rows);

  std::map<std::string, std::string> paths_;
  files::WriteOptions options_;
  std::map<std::string, files::Writer> writers_;
  std::map<std::string, Array> shared_;  // by path: arrays that go into one file, kept to the end
  std::atomic<uint64_t> written_{0};     // bytes
  uint64_t total_ = 0;
};

}  // namespace hologram::tool
