// Where the models and vocabularies are that scripts/models downloads, and the small model that the
// tests bring along.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>

namespace hologram::tests {

inline constexpr const char* kNoModels = "it is not there: scripts/models downloads it";

inline std::optional<std::filesystem::path> model_file(const std::string& name) {
  std::filesystem::path folder;
  if (const char* given = std::getenv("HOLOGRAM_MODELS")) folder = given;
  else if (const char* cache = std::getenv("XDG_CACHE_HOME"))
    folder = std::filesystem::path(cache) / "hologram/models";
  else if (const char* home = std::getenv("HOME"))
    folder = std::filesystem::path(home) / ".cache/hologram/models";
  folder /= name;
  if (!std::filesystem::exists(folder)) return {};
  return folder;
}

}  // namespace hologram::tests
