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

// -o FILE or -o NAME=FILE, as a path for each output named. UsageError if that is not clear.
std::map<std::string, std::string> parse_output_paths(const program::Program& program,
                                                      const std::vector<std::string>& texts);

// The shape of each output that follows from the arguments; what does not is left to the library
// to report.
std::map<std::string, Shape> output_shapes(const program::Program& program,
                                           const std::vector<Argument>& arguments,
                                           const std::map<std::string, Shape>& given);

class Outputs {
 public:
  // Opens the files whose shapes are known, so that what cannot be written fails before the work.
  Outputs(const program::Program& program, std::map<std::string, std::string> paths,
          const std::map<std::string, Shape>& shapes, files::WriteOptions options);

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

  const program::Program& program_;
  std::map<std::string, std::string> paths_;
  files::WriteOptions options_;
  std::map<std::string, files::Writer> writers_;
  std::map<std::string, Array> shared_;  // by path: arrays that go into one file, kept to the end
  std::atomic<uint64_t> written_{0};     // bytes
  uint64_t total_ = 0;
};

}  // namespace hologram::tool
