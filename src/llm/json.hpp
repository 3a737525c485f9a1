// The JSON files beside a model.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "core/messages.hpp"

namespace hologram::llm {

using Json = nlohmann::json;
using OrderedJson = nlohmann::ordered_json;  // keys as they were written

// IoError if it is not there or does not parse.
Json json_of(const std::string& folder, const std::string& file);
// What is sent or written by hand; discarded if it does not parse or is nested too deeply.
OrderedJson parse_json(std::string_view text);
// An empty object if it is not there.
Json optional_json_of(const std::string& folder, const std::string& file);
// What stands under a key of an object; `otherwise` if it is not there or of another kind.
std::string text_of(const Json& json, const char* key, const char* otherwise = "");
bool flag_of(const Json& json, const char* key, bool otherwise);

// read(), which looks into JSON of `path`; IoError where that is of another shape than was
// expected.
template <class Read>
auto checked(const std::string& path, const Read& read) {
  try {
    return read();
  } catch (const Json::exception&) {
    throw core::error(core::Text::ModelDamaged, path, "its JSON is of another shape");
  }
}

}  // namespace hologram::llm
