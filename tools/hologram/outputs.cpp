#include "outputs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "errors.hpp"
#include "interrupt.hpp"
#include "spelling.hpp"

namespace hologram::tool {
namespace {

using program::Access;
using program::BufferParam;
using program::Program;

constexpr uint64_t kChunkBytes = uint64_t{8} << 20;

const BufferParam& buffer_named(const Program& program, const std::string& name) {
  for (const BufferParam& p : program.buffers())
    if (p.name == name) return p;
  throw Error(ErrorKind::Internal, "no buffer " + name, "Report it.");
}

// The file of "file.npz:member".
std::string file_of(const std::string& path) {
  for (const char* extension : {".npz:", ".safetensors:"})
    if (const size_t at = path.find(extension); at != std::string::npos)
      return path.substr(0, path.find(':', at));
  return path;
}

std::map<std::string, int64_t> known_dimensions(const Program& program,
                                                const std::vector<Argument>& arguments,
                                                const std::map<std::string, Shape>& given) {
  std::map<std::string, int64_t> dims;
  const auto bind = [&](const std::string& name, const Shape& shape) {
    const BufferParam& p = buffer_named(program, name);
    for (size_t k = 0; k < std::min(p.dims.size(), shape.size()); k++)
      if (!p.dims[k].name.empty()) dims[p.dims[k].name] = shape[k];
  };
  for (const auto& [name, shape] : given) bind(name, shape);
  for (const Argument& a : arguments) {
    if (const Array* array = std::get_if<Array>(&a.value)) bind(a.name, array->shape());
    else dims[a.name] = std::get<Number>(a.value).integer;
  }
  return dims;
}

}  // namespace

std::vector<std::string> output_names(const Program& program) {
  std::vector<std::string> names;
  for (const BufferParam& p : program.buffers())
    if (p.access != Access::In) names.push_back(p.name);
  return names;
}

OutputNames outputs_of(const Program& program) {
  std::vector<std::string> names = output_names(program);
  std::optional<std::string> only;
  if (names.size() == 1) only = names.front();
  return {fmt::format("program '{}'", program.name()), std::move(names), std::move(only)};
}

std::map<std::string, std::string> parse_output_paths(const OutputNames& known,
                                                      const std::vector<std::string>& texts) {
  const std::vector<std::string>& names = known.names;
  std::map<std::string, std::string> paths;
  std::set<std::string> taken;
  for (const std::string& text : texts) {
    const size_t equals = text.find('=');
    std::string name = text.substr(0, std::min(equals, text.size()));
    std::string path = equals == std::string::npos ? std::string() : text.substr(equals + 1);
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      // Not the name of an output: the whole is the file of the only one.
      if (!known.only)
        throw UsageError(fmt::format("-o {} does not say which output of {} it is", text, known.of),
                         names.empty()
                             ? "It writes nothing: leave -o out."
                             : fmt::format("Write -o NAME=FILE; its outputs are: {}.{}",
                                           fmt::join(names, ", "), suggestion(name, names)));
      name = *known.only;
      path = text;
    }
    if (path.empty())
      throw UsageError(fmt::format("-o {} names no file", text),
                       "Write -o FILE, as in -o out.png.");
    if (!taken.insert(path).second)
      throw UsageError(fmt::format("'{}' would be written twice", path),
                       "Give each output a file of its own.");
    if (!paths.emplace(name, path).second)
      throw UsageError(fmt::format("output '{}' is given two files", name), "Give it one.");
  }
  return paths;
}

std::map<std::string, Shape> output_shapes(const Program& program,
                                           const std::vector<Argument>& arguments,
                                           const std::map<std::string, Shape>& given) {
  const auto dims = known_dimensions(program, arguments, given);
  std::map<std::string, Shape> shapes;
  for (const std::string& name : output_names(program)) {
    if (const auto it = given.find(name); it != given.end()) {
      shapes[name] = it->second;
      continue;
    }
    const auto argument = std::find_if(arguments.begin(), arguments.end(),
                                       [&](const Argument& a) { return a.name == name; });
    if (argument != arguments.end()) {
      shapes[name] = std::get<Array>(argument->value).shape();
      continue;
    }
    const BufferParam& p = buffer_named(program, name);
    Shape shape;
    for (const program::Dim& dim : p.dims) {
      const auto known = dims.find(dim.name);
      if (dim.name.empty()) shape.push_back(dim.length);
      else if (known != dims.end() && known->second >= 0) shape.push_back(known->second);
    }
    if (!p.dims.empty() && shape.size() == p.dims.size()) shapes[name] = shape;
  }
  return shapes;
}

Outputs::Outputs(std::map<std::string, std::string> paths,
                 const std::map<std::string, OutputInfo>& known, files::WriteOptions options)
    : paths_(std::move(paths)), options_(std::move(options)) {
  std::map<std::string, int> uses;
  for (const auto& [name, path] : paths_) uses[file_of(path)]++;
  for (const auto& [name, path] : paths_) {
    if (uses[file_of(path)] > 1) {
      shared_.emplace(path, Array());
      continue;
    }
    if (const auto info = known.find(name); info != known.end()) open(name, info->second);
  }
}

void Outputs::open(const std::string& output, const OutputInfo& info) {
  const std::string& path = paths_.at(output);
  if (shared_.contains(path) || writers_.contains(output)) return;
  writers_.emplace(output, files::Writer::create(path, info.dtype, info.shape, options_));
  total_ += static_cast<uint64_t>(count_of(info.shape)) * size_of(info.dtype);
}

files::Writer& Outputs::writer(const std::string& output, const Array& rows) {
  auto it = writers_.find(output);
  if (it == writers_.end())
    it = writers_
             .emplace(output, files::Writer::create(paths_.at(output), rows.dtype(), rows.shape(),
                                                    options_))
             .first;
  return it->second;
}

void Outputs::write(const std::string& output, const Array& rows) {
  if (const auto it = shared_.find(paths_.at(output)); it != shared_.end()) {
    it->second = rows;
    return;
  }
  files::Writer& to = writer(output, rows);
  const uint64_t count = rows.shape().empty() ? 1 : static_cast<uint64_t>(rows.shape()[0]);
  const uint64_t row_bytes = count == 0 ? 0 : rows.bytes() / count;
  const uint64_t step = std::max<uint64_t>(1, kChunkBytes / std::max<uint64_t>(1, row_bytes));
  for (uint64_t row = 0; row < count; row += step) {
    Interrupt::check();
    const uint64_t here = std::min(step, count - row);
    to.write_rows(rows.data() + row * row_bytes, here);
    written_ += here * row_bytes;
  }
}

double Outputs::fraction() const {
  return total_ == 0 ? -1 : static_cast<double>(written_.load()) / static_cast<double>(total_);
}

void Outputs::commit() {
  Interrupt::check();
  for (auto& [name, writer] : writers_) writer.finish();
  if (!shared_.empty()) files::write_all(shared_, options_);
  for (auto& [name, writer] : writers_) writer.commit();
}

}  // namespace hologram::tool
