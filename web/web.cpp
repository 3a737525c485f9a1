// What JavaScript calls. Handles are numbers; texts are UTF-8 with their length in front of them in
// `hg_text`, which the next call overwrites. A call that fails returns 0 and leaves the error's
// JSON there: {"kind": …, "message": …}.
#include <emscripten/emscripten.h>
#include <fmt/format.h>

#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <unordered_map>

#include "hologram/conformance.hpp"
#include "hologram/dialects.hpp"
#include "hologram/dtype.hpp"
#include "hologram/error.hpp"
#include "hologram/expression.hpp"
#include "hologram/hologram.hpp"

namespace {

using hologram::Array;
using hologram::DType;
using hologram::Executor;
using hologram::Expression;
using hologram::Shape;
using hologram::Tensor;
using Json = nlohmann::json;

std::string text;  // of the last call

std::unordered_map<uint32_t, Tensor>& tensors() {
  static std::unordered_map<uint32_t, Tensor> all;
  return all;
}

const Executor& executor() {
  static const Executor one(hologram::BackendType::Cpu);
  return one;
}

uint32_t add(Tensor tensor) {
  static uint32_t next = 0;
  tensors().insert_or_assign(++next, std::move(tensor));
  return next;
}

const Tensor& tensor_of(uint32_t handle) {
  const auto found = tensors().find(handle);
  if (found == tensors().end())
    throw std::invalid_argument("the tensor was disposed of, or is not of this runtime");
  return found->second;
}

Json json_of(const Tensor& tensor, uint32_t handle) {
  return {{"handle", handle},
          {"dtype", std::string(hologram::name_of(tensor.dtype()))},
          {"shape", std::vector<int64_t>(tensor.shape().begin(), tensor.shape().end())}};
}

// The elements for a program; tensors never change, so that what it changes is a copy.
Array array_for(const hologram::Program& program, const std::string& name, const Tensor& tensor) {
  const Array array = tensor.array();
  for (const hologram::program::BufferParam& buffer : program.buffers()) {
    if (buffer.name != name || buffer.access == hologram::program::Access::In) continue;
    Array copy(array.dtype(), array.shape());
    if (array.bytes() > 0) std::memcpy(copy.mutable_data(), array.data(), array.bytes());
    return copy;
  }
  return array;
}

// Runs the body; what it throws becomes the text.
template <class Body>
uint32_t guarded(const Body& body) {
  try {
    text.clear();
    return body();
  } catch (const hologram::Error& e) {
    text = Json{{"kind", std::string(hologram::name_of(e.kind()))}, {"message", e.what()}}.dump();
  } catch (const std::exception& e) {
    text = Json{{"kind", "InvalidArgument"}, {"message", e.what()}}.dump();
  }
  return 0;
}

DType dtype_of(const Json& name) {
  const auto found = hologram::parse_dtype(name.get<std::string>());
  if (!found) throw std::invalid_argument(fmt::format("there is no dtype {}", name.dump()));
  return *found;
}

Shape shape_of(const Json& lengths) {
  const auto all = lengths.get<std::vector<int64_t>>();
  return Shape(all.begin(), all.end());
}

}  // namespace

extern "C" {

EMSCRIPTEN_KEEPALIVE const char* hg_text() { return text.data(); }
EMSCRIPTEN_KEEPALIVE uint32_t hg_text_length() { return static_cast<uint32_t>(text.size()); }

// A tensor of what stands in memory, which is copied. {"dtype": "f32", "shape": [2, 3]}
EMSCRIPTEN_KEEPALIVE uint32_t hg_tensor(const char* description, const void* data, uint32_t bytes) {
  return guarded([&] {
    const Json wanted = Json::parse(description);
    Array array(dtype_of(wanted.at("dtype")), shape_of(wanted.at("shape")));
    if (array.bytes() != bytes)
      throw std::invalid_argument(
          fmt::format("{} bytes of data where the shape and dtype have {}", bytes, array.bytes()));
    if (bytes > 0) std::memcpy(array.mutable_data(), data, bytes);
    return add(Tensor::from(array, executor()));
  });
}

EMSCRIPTEN_KEEPALIVE void hg_dispose(uint32_t handle) { tensors().erase(handle); }

// Copies all elements to `to`, which has room for so many bytes.
EMSCRIPTEN_KEEPALIVE uint32_t hg_read(uint32_t handle, void* to, uint32_t bytes) {
  return guarded([&] {
    const Array array = tensor_of(handle).array();
    if (array.bytes() != bytes) throw std::invalid_argument("the room is of another size");
    if (bytes > 0) std::memcpy(to, array.data(), bytes);
    return 1u;
  });
}

// {"text": "y = a + b", "inputs": {"a": {"handle": 1}, "b": 2.5}}; leaves the outputs:
// [{"name": "y", "handle": 3, "dtype": "f32", "shape": [2]}].
EMSCRIPTEN_KEEPALIVE uint32_t hg_evaluate(const char* request) {
  return guarded([&] {
    const Json wanted = Json::parse(request);
    const Expression expression = Expression::parse(wanted.at("text").get<std::string>());
    Expression::Inputs inputs;
    for (const auto& [name, value] : wanted.at("inputs").items()) {
      if (value.is_object())
        inputs.insert_or_assign(name, tensor_of(value.at("handle").get<uint32_t>()));
      else if (value.is_boolean()) inputs.insert_or_assign(name, value.get<bool>());
      else if (value.is_number_integer()) inputs.insert_or_assign(name, value.get<int64_t>());
      else inputs.insert_or_assign(name, value.get<double>());
    }
    Json outputs = Json::array();
    for (auto& [name, tensor] : expression.evaluate(inputs, executor())) {
      const uint32_t handle = add(tensor);
      outputs.push_back(json_of(tensor, handle));
      outputs.back()["name"] = name;
    }
    text = outputs.dump();
    return 1u;
  });
}

// {"text": "program …", "arguments": {"x": {"handle": 1}, "a": 2}, "shapes": {"y": [2, 3]},
// "grid": [1, 1, 1]}; leaves what hg_evaluate leaves.
EMSCRIPTEN_KEEPALIVE uint32_t hg_run(const char* request) {
  return guarded([&] {
    const Json wanted = Json::parse(request);
    const auto program = hologram::Program::parse(wanted.at("text").get<std::string>());
    std::vector<hologram::Argument> arguments;
    for (const auto& [name, value] : wanted.at("arguments").items()) {
      if (value.is_object())
        arguments.push_back(
            {name, array_for(program, name, tensor_of(value.at("handle").get<uint32_t>()))});
      else if (value.is_number_integer()) arguments.push_back({name, value.get<int64_t>()});
      else arguments.push_back({name, value.get<double>()});
    }
    hologram::RunOptions options;
    if (wanted.contains("shapes"))
      for (const auto& [name, shape] : wanted["shapes"].items())
        options.shapes[name] = shape_of(shape);
    if (wanted.contains("grid")) {
      const auto grid = wanted["grid"].get<hologram::Grid>();
      options.grid = grid;
    }
    hologram::RunReport report;
    options.report = &report;
    Json outputs = Json::array();
    for (auto& [name, array] : executor().run(program, arguments, options)) {
      const Tensor tensor = Tensor::from(array, executor());
      outputs.push_back(json_of(tensor, add(tensor)));
      outputs.back()["name"] = name;
    }
    text = outputs.dump();
    return 1u;
  });
}

// {"text": "program …", "dialect": "wgsl"}: the program in a language of GPUs, or, without a
// dialect, verified, optimised and printed as Atlas.
EMSCRIPTEN_KEEPALIVE uint32_t hg_show(const char* request) {
  return guarded([&] {
    const Json wanted = Json::parse(request);
    const auto program = hologram::Program::parse(wanted.at("text").get<std::string>());
    text = wanted.contains("dialect")
               ? hologram::in_dialect(program, wanted["dialect"].get<std::string>())
               : program.text();
    return 1u;
  });
}

// [{"name": "sum", "signature": "sum(x, axis=none)", "meaning": …}]: all functions of expressions.
EMSCRIPTEN_KEEPALIVE uint32_t hg_functions() {
  return guarded([&] {
    Json all = Json::array();
    for (const hologram::FunctionInfo& f : hologram::expression_functions())
      all.push_back({{"name", f.name}, {"signature", f.signature}, {"meaning", f.meaning}});
    text = all.dump();
    return 1u;
  });
}

EMSCRIPTEN_KEEPALIVE uint32_t hg_device() {
  return guarded([&] {
    const hologram::DeviceInfo& info = executor().device();
    text = Json{{"backend", std::string(hologram::name_of(info.backend))},
                {"name", info.name},
                {"memory", info.total_memory}}
               .dump();
    return 1u;
  });
}

// The conformance suite, or the cases whose names match the filter.
EMSCRIPTEN_KEEPALIVE uint32_t hg_conformance(const char* filter) {
  return guarded([&] {
    const auto report =
        hologram::check_conformance(executor(), {.filter = filter, .on_result = {}});
    Json failures = Json::array();
    for (const hologram::ConformanceResult& r : report.results)
      if (r.verdict == hologram::Verdict::Failed)
        failures.push_back({{"name", r.name}, {"reason", r.reason}});
    text = Json{{"passed", report.count(hologram::Verdict::Passed)},
                {"failed", report.count(hologram::Verdict::Failed)},
                {"unsupported", report.count(hologram::Verdict::Unsupported)},
                {"skipped", report.count(hologram::Verdict::Skipped)},
                {"failures", failures}}
               .dump();
    return 1u;
  });
}

}  // extern "C"
