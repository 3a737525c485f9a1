// What the calls from JavaScript share: see web.cpp.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "backends/webgpu/browser.hpp"
#include "hologram/error.hpp"
#include "hologram/executor.hpp"
#include "hologram/tensor.hpp"

namespace hologram::web {

using Json = nlohmann::json;

constexpr uint32_t kNotYet = UINT32_MAX;

extern std::string text;  // of the last call

// The one in use. InvalidArgument without one.
const Executor& executor();

// Tensors by their handles.
uint32_t add(Tensor tensor);
const Tensor& tensor_of(uint32_t handle);
// {"handle": 1, "dtype": "f32", "shape": [2, 3]}
Json json_of(const Tensor& tensor, uint32_t handle);

void close_models();

// Options by their names, each of which goes into a field.
using Fields = std::map<std::string, std::function<void(const Json&)>, std::less<>>;
template <class T>
std::function<void(const Json&)> into(T& field) {
  return [&field](const Json& value) { value.get_to(field); };
}
void take(const Json& options, const Fields& fields);

// Texts of models may end within a character.
inline std::string text_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// Runs the body; what it throws becomes the text.
template <class Body>
uint32_t guarded(const Body& body) {
  try {
    text.clear();
    return body();
  } catch (const Error& e) {
    text = text_of(
        {{"kind", std::string(name_of(e.kind()))}, {"message", e.what()}, {"remedy", e.remedy()}});
  } catch (const backends::webgpu::NotYet&) {
    return kNotYet;
  } catch (const std::exception& e) {
    text = text_of({{"kind", "InvalidArgument"}, {"message", e.what()}, {"remedy", ""}});
  }
  return 0;
}

}  // namespace hologram::web
