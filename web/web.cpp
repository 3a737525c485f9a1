// What JavaScript calls. Handles are numbers; what a call has to tell beside that is UTF-8 in
// `hg_text`, which the next call overwrites. A call that fails returns 0 and leaves the error's
// JSON there: {"kind": …, "message": …, "remedy": …}. One that needs values of a device returns
// kNotYet: within hg_attempt it is to be called again when they are there.
#include <emscripten/emscripten.h>
#include <fmt/format.h>

#include <bit>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>

#include "calls.hpp"
#include "conformance/suite.hpp"
#include "hologram/dialects.hpp"
#include "hologram/dtype.hpp"
#include "hologram/expression.hpp"
#include "hologram/hologram.hpp"
#include "hologram/kernels.hpp"
#include "hologram/launch.hpp"
#include "tensor/access.hpp"

namespace {

namespace webgpu = hologram::backends::webgpu;
using hologram::Array;
using hologram::DType;
using hologram::Executor;
using hologram::Expression;
using hologram::Shape;
using hologram::Tensor;
using hologram::web::add;
using hologram::web::executor;
using hologram::web::guarded;
using hologram::web::Json;
using hologram::web::json_of;
using hologram::web::kNotYet;
using hologram::web::tensor_of;
using hologram::web::text;

std::unordered_map<uint32_t, Tensor>& tensors() {
  static std::unordered_map<uint32_t, Tensor> all;
  return all;
}

// Those that were opened, and the one in use.
std::map<std::string, std::shared_ptr<const Executor>>& executors() {
  static std::map<std::string, std::shared_ptr<const Executor>> all;
  return all;
}
std::shared_ptr<const Executor> used;

// Work that is tried until all values that it needs are there.
std::optional<webgpu::Values> values;
std::optional<webgpu::Attempt> attempt;

// Some cases of the suite, tried until all of them are decided. A case is its name and which of
// that name it is. The executors stay from batch to batch, and with them the kernels.
struct Batch {
  explicit Batch(std::shared_ptr<const Executor> given)
      : executor(std::move(given)),
        options{.filter = {},
                .on_result = [this](const hologram::ConformanceResult& r) { take(r); },
                .choose = [this](const std::string& name) { return next(name); }},
        suite(*executor, options) {
    suite.around = [this](hologram::core::FunctionRef<void()> body) { return decide(body); };
  }
  bool next(const std::string& name) {
    if (!wanted.contains(name)) return false;
    current = {name, ++seen[name]};
    return !decided.contains(current);
  }
  bool decide(hologram::core::FunctionRef<void()> body) {
    const webgpu::Attempt one(values[current]);
    try {
      body();
    } catch (const webgpu::NotYet&) {
      pending = true;
      return false;
    } catch (...) {
      decided.insert(current);
      throw;
    }
    decided.insert(current);
    return true;
  }
  void take(const hologram::ConformanceResult& r) {
    results.push_back({{"name", r.name},
                       {"verdict", std::string(hologram::name_of(r.verdict))},
                       {"reason", r.reason}});
  }
  // Whether all cases are decided, whose results are in `results` then.
  bool run() {
    pending = false;
    seen.clear();
    suite.run();
    return !pending;
  }
  void start(const char* names) {
    wanted = Json::parse(names).get<std::set<std::string>>();
    asked = names;
    values.clear();
    decided.clear();
    results = Json::array();
  }

  using Case = std::pair<std::string, int>;
  const std::shared_ptr<const Executor> executor;
  const hologram::ConformanceOptions options;
  std::string asked;  // what `wanted` says, as JSON
  std::set<std::string> wanted;
  std::map<std::string, int> seen;
  std::map<Case, webgpu::Values> values;
  std::set<Case> decided;
  Case current;
  bool pending = false;
  Json results;
  hologram::conformance::Suite suite;
};
std::unique_ptr<Batch>& batch() {
  static std::unique_ptr<Batch> one;
  return one;
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

// Hands over a tensor, {"handle": 1}, or a number: one of JSON, or an integer that is none of
// JavaScript's, {"integer": "9007199254740993"}.
template <class Take>
void with_argument(const Json& value, const Take& take) {
  if (value.contains("handle")) return take(tensor_of(value["handle"].get<uint32_t>()));
  const Json n = value.is_object() ? Json::parse(value.at("integer").get<std::string>()) : value;
  if (n.is_boolean()) take(n.get<bool>());
  else if (n.is_number_unsigned()) take(n.get<uint64_t>());
  else if (n.is_number_integer()) take(n.get<int64_t>());
  else if (!value.is_object()) take(n.get<double>());
  else throw std::invalid_argument("no integer type holds " + n.dump());
}

// The value of a scalar's bits.
Json number_of(DType type, uint64_t bits) {
  switch (type) {
    case DType::Bool: return bits != 0;
    case DType::I32: return static_cast<int32_t>(static_cast<uint32_t>(bits));
    case DType::I64: return static_cast<int64_t>(bits);
    case DType::F32: return std::bit_cast<float>(static_cast<uint32_t>(bits));
    case DType::F64: return std::bit_cast<double>(bits);
    default: return bits;
  }
}

}  // namespace

namespace hologram::web {

const Executor& executor() {
  if (used == nullptr) throw std::invalid_argument("the runtime was disposed of");
  return *used;
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

}  // namespace hologram::web

extern "C" {

EMSCRIPTEN_KEEPALIVE const char* hg_text() { return text.data(); }
EMSCRIPTEN_KEEPALIVE uint32_t hg_text_length() { return static_cast<uint32_t>(text.size()); }

// Opens "cpu" or "webgpu", and uses it from now on. An attempt.
EMSCRIPTEN_KEEPALIVE uint32_t hg_open(const char* name) {
  return guarded([&] {
    const auto type = hologram::parse_backend(name);
    if (!type) throw std::invalid_argument(fmt::format("there is no backend {}", name));
    auto& known = executors()[name];
    if (known == nullptr) known = std::make_shared<const Executor>(*type);
    used = known;
    return 1u;
  });
}
// Lets go of everything.
EMSCRIPTEN_KEEPALIVE void hg_close() {
  batch().reset();
  values.reset();
  hologram::web::close_models();
  tensors().clear();
  used = nullptr;
  executors().clear();
}

// What is called between hg_attempt and hg_attempted may return kNotYet; it is called again, once
// the values that it needs are there, between others of these, the first of which says `again`. So
// does the second where that is still to come; else what was brought for it is let go.
EMSCRIPTEN_KEEPALIVE void hg_attempt(uint32_t again) {
  if (again == 0) values.emplace();
  attempt.emplace(*values);
}
EMSCRIPTEN_KEEPALIVE void hg_attempted(uint32_t again) {
  attempt.reset();
  if (again == 0) values.reset();
}

// Throws what went wrong on the device, as far as it is known.
EMSCRIPTEN_KEEPALIVE uint32_t hg_check() {
  return guarded([] {
    executor().synchronize();
    return 1u;
  });
}

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

// Computes the tensor and starts to bring it to the page: leaves {"number": …}, by which JavaScript
// finds what comes; 0 if the tensor is on the CPU, where hg_read has it, or has no elements.
EMSCRIPTEN_KEEPALIVE uint32_t hg_fetch(uint32_t handle) {
  return guarded([&] {
    const Tensor flat = hologram::tensor::dense(tensor_of(handle));
    uint32_t number = 0;
    if (flat.size() > 0 && flat.executor().device().backend == hologram::BackendType::WebGpu) {
      flat.eval();
      number = webgpu::bring(hologram::tensor::Access::look(flat).result.where);
    }
    text = Json{{"number", number}}.dump();
    return 1u;
  });
}

// Starts what was asked for.
EMSCRIPTEN_KEEPALIVE uint32_t hg_start(uint32_t handle) {
  return guarded([&] {
    tensor_of(handle).eval();
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
    for (const auto& item : wanted.at("inputs").items()) {
      with_argument(item.value(), [&](auto given) { inputs.insert_or_assign(item.key(), given); });
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
// "grid": [1, 1, 1], "rounds": 1000}; leaves {"outputs": what hg_evaluate leaves, "grid": […]}.
EMSCRIPTEN_KEEPALIVE uint32_t hg_run(const char* request) {
  return guarded([&] {
    const Json wanted = Json::parse(request);
    const auto program = hologram::Program::parse(wanted.at("text").get<std::string>());
    std::vector<hologram::TensorArgument> arguments;
    for (const auto& item : wanted.at("arguments").items()) {
      with_argument(item.value(), [&](auto given) { arguments.push_back({item.key(), given}); });
    }
    hologram::LaunchOptions options;
    options.executor = executor();
    if (wanted.contains("shapes"))
      for (const auto& [name, shape] : wanted["shapes"].items())
        options.shapes[name] = shape_of(shape);
    if (wanted.contains("grid")) {
      const auto grid = wanted["grid"].get<hologram::Grid>();
      options.grid = grid;
    }
    if (wanted.contains("rounds")) options.budget = wanted["rounds"].get<uint64_t>();
    hologram::RunReport report;
    options.report = &report;
    Json outputs = Json::array();
    for (const auto& [name, tensor] : hologram::launch(program, arguments, options)) {
      tensor.eval();
      outputs.push_back(json_of(tensor, add(tensor)));
      outputs.back()["name"] = name;
    }
    text = Json{{"outputs", outputs}, {"grid", report.grid}}.dump();
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

// {"program": "program …"}: what it takes and gives, {"name": …, "buffers": [{"name": "x",
// "access": "in", "dtype": "f32", "shape": ["n", 3]}], "scalars": [{"name": "a", "dtype": "f32",
// "default": 1.5}]}; a shape that any may have is null. {"expression": "a + b"}: the names that it
// needs values for and those that it gives, {"inputs": ["a", "b"], "outputs": [""]}.
EMSCRIPTEN_KEEPALIVE uint32_t hg_describe(const char* request) {
  return guarded([&] {
    const Json wanted = Json::parse(request);
    if (wanted.contains("expression")) {
      const auto expression = Expression::parse(wanted["expression"].get<std::string>());
      text = Json{{"inputs", expression.inputs()}, {"outputs", expression.outputs()}}.dump();
      return 1u;
    }
    const auto program = hologram::Program::parse(wanted.at("program").get<std::string>());
    Json buffers = Json::array(), scalars = Json::array();
    for (const auto& p : program.buffers()) {
      Json shape = p.dims.empty() ? Json() : Json::array();
      for (const auto& dim : p.dims)
        shape.push_back(dim.name.empty() ? Json(dim.length) : Json(dim.name));
      buffers.push_back({{"name", p.name},
                         {"access", std::string(name_of(p.access))},
                         {"dtype", std::string(hologram::name_of(p.type))},
                         {"shape", std::move(shape)}});
    }
    for (const auto& p : program.scalars()) {
      if (p.dimension) continue;
      scalars.push_back({{"name", p.name}, {"dtype", std::string(hologram::name_of(p.type))}});
      if (p.otherwise) scalars.back()["default"] = number_of(p.type, *p.otherwise);
    }
    text = Json{{"name", program.name()}, {"buffers", buffers}, {"scalars", scalars}}.dump();
    return 1u;
  });
}

// {"handles": [1, 2], "dialect": "wgsl"}: the programs that reading these tensors would launch for
// fused kernels, [{"name": …, "text": …}], in a language of GPUs or, without a dialect, as Atlas.
EMSCRIPTEN_KEEPALIVE uint32_t hg_kernels(const char* request) {
  return guarded([&] {
    const Json wanted = Json::parse(request);
    std::vector<Tensor> all;
    for (const uint32_t handle : wanted.at("handles").get<std::vector<uint32_t>>())
      all.push_back(tensor_of(handle));
    Json kernels = Json::array();
    for (const hologram::program::Program& program : hologram::kernels_of(all)) {
      kernels.push_back({{"name", program.name()}});
      kernels.back()["text"] =
          wanted.contains("dialect")
              ? hologram::in_dialect(program, wanted["dialect"].get<std::string>())
              : program.text();
    }
    text = kernels.dump();
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
    Json types = Json::array();
    for (size_t t = 1; t < hologram::kDTypeCount; t++)
      if (info.storage.has(static_cast<DType>(t)))
        types.push_back(std::string(hologram::name_of(static_cast<DType>(t))));
    text = Json{{"backend", std::string(hologram::name_of(info.backend))},
                {"name", info.name},
                {"driver", info.driver},
                {"software", info.software},
                {"exact", info.numerics == hologram::Numerics::Exact},
                {"memory", info.total_memory},
                {"limits",
                 {{"bytes", info.max_allocation},
                  {"lanes", info.max_lanes},
                  {"workgroupBytes", info.max_shared_bytes},
                  {"buffers", info.max_bindings}}},
                {"dtypes", types}}
               .dump();
    return 1u;
  });
}

// {"live": bytes of tensors, "cached": kept for others, …} of the device in use.
EMSCRIPTEN_KEEPALIVE uint32_t hg_memory() {
  return guarded([&] {
    const hologram::PoolStatistics pool = executor().pool_statistics();
    text = Json{{"live", pool.live_bytes}, {"cached", pool.cached_bytes}}.dump();
    return 1u;
  });
}
EMSCRIPTEN_KEEPALIVE uint32_t hg_trim() {
  return guarded([&] {
    executor().trim();
    return 1u;
  });
}

// The names of the cases of the conformance suite that match the filter, for hg_batch. An attempt.
EMSCRIPTEN_KEEPALIVE uint32_t hg_cases(const char* filter) {
  return guarded([&] {
    Json names = Json::array();
    const auto name = [&](const std::string& one) {
      names.push_back(one);
      return false;
    };
    hologram::check_conformance(executor(), {.filter = filter, .on_result = {}, .choose = name});
    batch().reset();
    text = names.dump();
    return 1u;
  });
}

// Cases, ["add/f32/dense", …]; leaves [{"name": …, "verdict": "passed", "reason": …}]. An attempt,
// also for what the suite finds out about the device besides.
EMSCRIPTEN_KEEPALIVE uint32_t hg_batch(const char* names) {
  return guarded([&] {
    auto& one = batch();
    if (one == nullptr || one->executor != used) one = std::make_unique<Batch>(used);
    if (one->asked != names) one->start(names);
    if (!one->run()) return kNotYet;
    text = one->results.dump();
    one->asked.clear();
    one->values.clear();
    return 1u;
  });
}

}  // extern "C"
