#include "llm/json.hpp"

#include <filesystem>
#include <string_view>

#include "core/mapped_file.hpp"
#include "core/messages.hpp"

namespace hologram::llm {
namespace {

template <class J>
J parsed(std::string_view text) {
  constexpr int kMaxDepth = 64;
  bool deep = false;
  const auto watch = [&](int depth, typename J::parse_event_t, J&) {
    deep = deep || depth > kMaxDepth;
    return !deep;
  };
  J json = J::parse(text.begin(), text.end(), watch, false);
  return deep ? J(J::value_t::discarded) : json;
}

}  // namespace

std::string text_of(const Json& json, const char* key, const char* otherwise) {
  const auto found = json.find(key);
  return found != json.end() && found->is_string() ? found->get<std::string>()
                                                   : std::string(otherwise);
}

bool flag_of(const Json& json, const char* key, bool otherwise) {
  const auto found = json.find(key);
  return found != json.end() && found->is_boolean() ? found->get<bool>() : otherwise;
}

OrderedJson parse_json(std::string_view text) { return parsed<OrderedJson>(text); }

Json json_of(const std::string& folder, const std::string& file) {
  const std::string path = (std::filesystem::path(folder) / file).string();
  const auto mapped = core::MappedFile::open(path);
  const std::string_view text(reinterpret_cast<const char*>(mapped->bytes().data()),
                              mapped->bytes().size());
  Json json = parsed<Json>(text);
  if (json.is_discarded() || !json.is_object())
    throw core::error(core::Text::ModelDamaged, path, "it does not parse");
  return json;
}

Json optional_json_of(const std::string& folder, const std::string& file) {
  return std::filesystem::exists(std::filesystem::path(folder) / file) ? json_of(folder, file)
                                                                       : Json::object();
}

}  // namespace hologram::llm
