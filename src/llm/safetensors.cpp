#include "llm/safetensors.hpp"

#include <filesystem>
#include <set>

#include "core/messages.hpp"
#include "llm/json.hpp"

namespace hologram::llm {

void for_each_member(
    const std::string& folder, const std::string& stem,
    const std::function<void(const std::string& file, const files::Member&)>& take) {
  const std::filesystem::path path(folder);
  const std::string name = stem + ".safetensors", index_name = name + ".index.json";
  std::set<std::string> parts;
  if (std::filesystem::exists(path / index_name)) {
    const auto damaged = [&](const std::string& what) {
      return core::error(core::Text::ModelDamaged, (path / index_name).string(), what);
    };
    const Json index = json_of(folder, index_name);
    const auto map = index.find("weight_map");
    if (map == index.end() || !map->is_object()) throw damaged("it has no 'weight_map'");
    for (const auto& [tensor, file] : map->items()) {
      if (!file.is_string()) throw damaged("the file of '" + tensor + "' is no text");
      parts.insert(file.get<std::string>());
    }
  } else {
    parts.insert(name);
  }
  for (const std::string& part : parts) {
    // A folder's files only: what is elsewhere is none of an index's business.
    if (part.empty() || std::filesystem::path(part).filename() != part || part == "..")
      throw core::error(core::Text::ModelDamaged, folder, "its index names '" + part + "'");
    const std::string file = (path / part).string();
    for (const files::Member& member : files::inspect(file).members) take(file, member);
  }
}

}  // namespace hologram::llm
