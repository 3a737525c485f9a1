#include "arguments.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>

#include "errors.hpp"
#include "hologram/files.hpp"
#include "spelling.hpp"

namespace hologram::tool {
namespace {

using program::Access;
using program::BufferParam;
using program::Program;
using program::ScalarParam;

constexpr std::string_view kZeros = "zeros:";

template <class P>
const P* find(std::span<const P> params, std::string_view name) {
  for (const P& p : params)
    if (p.name == name) return &p;
  return nullptr;
}

template <class T>
std::optional<T> whole_text(std::string_view text, int base = 10) {
  T value{};
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (code != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

std::optional<Number> parse_number(std::string_view text) {
  if (text == "true") return Number(1);
  if (text == "false") return Number(0);
  if (text.starts_with("+")) text.remove_prefix(1);
  if (text.starts_with("0x") || text.starts_with("0X")) {
    const auto bits = whole_text<uint64_t>(text.substr(2), 16);
    return bits ? std::optional(Number(*bits)) : std::nullopt;
  }
  if (const auto signed_number = whole_text<int64_t>(text)) return Number(*signed_number);
  if (const auto unsigned_number = whole_text<uint64_t>(text)) return Number(*unsigned_number);
  double real = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), real);
  if (code != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return Number(real);
}

std::optional<Operand> parse_operand(std::string_view name, std::string_view text) {
  if (text == "true" || text == "false") return Operand(text == "true");
  const auto number = parse_number(text);
  if (!number) return std::nullopt;
  if (number->exceeds_int64) return Operand(static_cast<uint64_t>(number->integer));
  if (number->is_integer) return Operand(number->integer);
  if (text.find_first_not_of("+-0123456789") == std::string_view::npos)
    throw UsageError(fmt::format("{}={}: no integer type holds {}", name, text, text),
                     fmt::format("Write it as a float, as in {}={}.", name, number->real));
  return Operand(number->real);
}

namespace {

Argument scalar_argument(const ScalarParam& p, const std::string& value) {
  const auto number = parse_number(value);
  if (!number)
    throw UsageError(fmt::format("{}={}: '{}' is not a number", p.name, value, value),
                     fmt::format("'{}' is a scalar of type {}: write one number, as in {}={}.",
                                 p.name, name_of(p.type), p.name, is_float(p.type) ? "0.5" : "3"));
  return {p.name, *number};
}

Array read_buffer(const BufferParam& p, const std::string& path, bool linear) {
  Array array = files::read(path, {.member = {}, .linear = linear});
  if (array.dtype() != p.type)
    throw Error(ErrorKind::DTypeMismatch,
                fmt::format("'{}' holds {}, but parameter '{}' is {}", path, name_of(array.dtype()),
                            p.name, declared(p)),
                fmt::format("Convert the file to {}, or declare '{}: {}[…]' in the program.",
                            name_of(p.type), p.name, name_of(array.dtype())));
  const size_t rank = p.dims.size();
  if (rank > 0 && rank != array.shape().size())
    throw Error(ErrorKind::ShapeMismatch,
                fmt::format("'{}' has the shape {}, but parameter '{}' is {}", path,
                            to_string(array.shape()), p.name, declared(p)),
                fmt::format("Pass an array with {} {}, or declare '{}' differently in the program.",
                            rank, rank == 1 ? "axis" : "axes", p.name));
  return array;
}

Argument buffer_argument(const BufferParam& p, const std::string& value, bool linear) {
  if (value.starts_with(kZeros))
    return {p.name, Array(p.type, parse_shape(p.name + "=zeros:", value.substr(kZeros.size())))};
  if (value.empty())
    throw UsageError(fmt::format("{}= names no file", p.name),
                     fmt::format("Write {}=FILE, or {}=zeros:SHAPE.", p.name, p.name));
  return {p.name, read_buffer(p, value, linear)};
}

std::vector<std::string> parameter_names(const Program& program) {
  std::vector<std::string> names;
  for (const auto& p : program.buffers()) names.push_back(p.name);
  for (const auto& p : program.scalars()) names.push_back(p.name);
  return names;
}

using Given = std::set<std::string, std::less<>>;

// A dimension is known if a buffer that has it is there.
bool dimension_known(const Program& program, const std::string& dim, const Given& given,
                     const std::map<std::string, Shape>& shapes) {
  for (const BufferParam& p : program.buffers())
    for (const program::Dim& d : p.dims)
      if (d.name == dim && (given.contains(p.name) || shapes.contains(p.name))) return true;
  return false;
}

void refuse_missing(const Program& program, const Given& given,
                    const std::map<std::string, Shape>& shapes) {
  std::string missing, example;
  const auto add = [&](const std::string& name, const char* value) {
    missing += (missing.empty() ? "'" : ", '") + name + "'";
    example += fmt::format(" {}={}", name, value);
  };
  for (const BufferParam& p : program.buffers())
    if ((p.access == Access::In || p.access == Access::InOut) && !given.contains(p.name))
      add(p.name, "FILE");
  const bool buffers_there = missing.empty();
  for (const ScalarParam& p : program.scalars()) {
    if (given.contains(p.name) || p.otherwise) continue;
    // Missing buffers would have brought their dimensions.
    if (p.dimension && (!buffers_there || dimension_known(program, p.name, given, shapes)))
      continue;
    add(p.name, "NUMBER");
  }
  if (missing.empty()) return;
  throw UsageError(fmt::format("program '{}' needs {}", program.name(), missing),
                   fmt::format("Add{}; the program takes: {}.", example, signature(program)));
}

}  // namespace

std::pair<std::string, std::string> split_assignment(const std::string& text,
                                                     std::string_view remedy) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0)
    throw UsageError(fmt::format("'{}' is not of the form name=value", text), std::string(remedy));
  return {text.substr(0, equals), text.substr(equals + 1)};
}

Shape parse_shape(std::string_view option, std::string_view text) {
  Shape shape;
  for (size_t at = 0; at <= text.size();) {
    const size_t comma = std::min(text.find(',', at), text.size());
    const auto length = whole_text<int64_t>(text.substr(at, comma - at));
    if (!length || *length < 0)
      throw UsageError(fmt::format("{}{} is not a shape", option, text),
                       "Write lengths separated by commas, outermost first, as in 480,640,3.");
    shape.push_back(*length);
    at = comma + 1;
  }
  count_of(shape);
  return shape;
}

Grid parse_grid(std::string_view text) {
  Shape given;
  try {
    given = parse_shape("--grid ", text);
  } catch (const Error&) {
    given.clear();
  }
  if (given.empty() || given.size() > 3)
    throw UsageError(fmt::format("--grid {} is not a grid", text),
                     "Write the number of workgroups along x, y and z, as in 40,30,1.");
  Grid grid = {1, 1, 1};
  for (size_t axis = 0; axis < given.size(); axis++)
    grid[axis] = static_cast<uint64_t>(given[axis]);
  return grid;
}

std::map<std::string, Shape> parse_shapes(const Program& program,
                                          const std::vector<std::string>& texts) {
  std::map<std::string, Shape> shapes;
  for (const std::string& text : texts) {
    const auto [name, value] =
        split_assignment(text, "Write --shape NAME=LENGTHS, as in --shape dst=480,640,3.");
    const BufferParam* p = find(program.buffers(), name);
    if (p == nullptr || p->access == Access::In || p->access == Access::InOut) {
      std::vector<std::string> names;
      for (const auto& b : program.buffers())
        if (b.access == Access::Out || b.access == Access::Atomic) names.push_back(b.name);
      throw UsageError(
          fmt::format("--shape {}: program '{}' has no output '{}'", text, program.name(), name),
          fmt::format("Its outputs are: {}.{}", fmt::join(names, ", "), suggestion(name, names)));
    }
    shapes[name] = parse_shape("--shape " + name + "=", value);
  }
  return shapes;
}

std::vector<Argument> parse_arguments(const Program& program, const std::vector<std::string>& texts,
                                      const std::map<std::string, Shape>& shapes, bool linear) {
  Given given;
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const std::string& text : texts) {
    pairs.push_back(split_assignment(text, fmt::format("Write name=value; program '{}' takes: {}.",
                                                       program.name(), signature(program))));
    const std::string& name = pairs.back().first;
    const std::vector<std::string> known = parameter_names(program);
    if (std::find(known.begin(), known.end(), name) == known.end())
      throw UsageError(fmt::format("program '{}' has no parameter '{}'", program.name(), name),
                       fmt::format("It takes: {}.{}", signature(program), suggestion(name, known)));
    if (!given.insert(name).second)
      throw UsageError(fmt::format("'{}' is given twice", name), "Give it once.");
  }
  refuse_missing(program, given, shapes);
  std::vector<Argument> arguments;
  // Numbers first: what is wrong with them is told before large files are read.
  for (const auto& [name, value] : pairs)
    if (const ScalarParam* p = find(program.scalars(), name))
      arguments.push_back(scalar_argument(*p, value));
  for (const auto& [name, value] : pairs)
    if (const BufferParam* p = find(program.buffers(), name))
      arguments.push_back(buffer_argument(*p, value, linear));
  return arguments;
}

BackendConfig parse_device(const std::string& text) {
  BackendConfig config = BackendConfig::from_environment();
  const size_t colon = text.find(':');
  const std::optional<BackendType> type = parse_backend(text.substr(0, colon));
  int index = 0;
  bool good = type.has_value() && *type != BackendType::Auto;
  if (colon != std::string::npos) {
    const char *begin = text.data() + colon + 1, *end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(begin, end, index);
    good = good && error == std::errc() && rest == end && index >= 0;
  }
  if (!good)
    throw UsageError(fmt::format("'{}' is no device", text),
                     "Write a backend and, after a colon, the device's number, as in cpu or "
                     "cuda:1; `hologram devices` lists them.");
  config.backend_type = *type;
  config.device_id = index;
  return config;
}

}  // namespace hologram::tool
