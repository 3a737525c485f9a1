// What a config.json says of a decoder.
#pragma once

#include <string>

#include "llm/config.hpp"
#include "llm/json.hpp"

namespace hologram::llm {

struct FolderConfig {
  Config config;
  bool tied = false;  // whether the embedding is the output's matrix, too
};
// All but the number of tokens. IoError, UnsupportedOperation.
FolderConfig read_config(const std::string& folder);

}  // namespace hologram::llm
