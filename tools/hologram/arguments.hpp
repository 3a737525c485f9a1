// name=value on the command line, checked against what a program takes.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hologram/executor.hpp"
#include "hologram/tensor.hpp"

namespace hologram::tool {

// "name=value" as its two halves. UsageError, with `what` for the message, if there is no name.
std::pair<std::string, std::string> split_assignment(const std::string& text,
                                                     std::string_view remedy);

// "2.5", "-3", "0x1f", "true"; nothing if it is no number.
std::optional<Number> parse_number(std::string_view text);

// The same as an input of an expression, where integers are never rounded: UsageError for one
// beyond u64. `name` is that of the input.
std::optional<Operand> parse_operand(std::string_view name, std::string_view text);

// "480,640,3" as a shape; UsageError naming `option` if it is none.
Shape parse_shape(std::string_view option, std::string_view text);

// "x,y,z" with y and z 1 where left out.
Grid parse_grid(std::string_view text);

// "cuda", or "cuda:1", as what the environment says but for the device. UsageError if it is none.
BackendConfig parse_device(const std::string& text);

// --shape name=480,640,3 for buffers that are only written.
std::map<std::string, Shape> parse_shapes(const program::Program& program,
                                          const std::vector<std::string>& texts);

// Reads what the command line names: numbers for scalars, files or "zeros:SHAPE" for buffers.
// UsageError for anything missing, unknown, given twice or not a number; DTypeMismatch, naming file
// and parameter, for a file of another element type; IoError and the others of files::read.
std::vector<Argument> parse_arguments(const program::Program& program,
                                      const std::vector<std::string>& texts,
                                      const std::map<std::string, Shape>& shapes, bool linear);

}  // namespace hologram::tool
