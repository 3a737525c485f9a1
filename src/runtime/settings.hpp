// The settings: one table, from which come the readers of file and environment, the check of what
// code asks for, and docs/configuration.md.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "hologram/config.hpp"
#include "hologram/error.hpp"

namespace hologram::runtime {

// What a file can say; nothing where the type is one that no setting has.
using Value = std::variant<std::monostate, bool, int64_t, std::string, std::vector<std::string>>;

// The type of the field says how it is read and shown.
using Field = std::variant<bool BackendConfig::*, int BackendConfig::*, uint64_t BackendConfig::*,
                           std::string BackendConfig::*, BackendType BackendConfig::*,
                           std::vector<BackendType> BackendConfig::*,
                           std::optional<LogLevel> BackendConfig::*, Jit BackendConfig::*>;

// Where a value comes from: the same is spelled differently.
enum class Source : uint8_t { Environment, File, Code };

struct Setting {
  std::string_view name;      // of the field, and the key in a file
  std::string_view variable;  // two settings may share one, and each takes its part
  Field field;
  std::string_view meaning;
  uint64_t most = 0;                                   // of a number
  std::vector<std::string_view> (*names)() = nullptr;  // of a text that is one of some names
  std::string_view also = {};                          // that a file's path may be: "auto or "

  // These return false, and change nothing, if the value is not a good one.
  bool read_variable(BackendConfig& config, std::string_view text) const;
  bool read_value(BackendConfig& config, const Value& value) const;

  bool valid(const BackendConfig& config) const;
  std::string text(const BackendConfig& config) const;  // as in a file
  std::string good(Source source) const;                // "a number from 0 to 7"
  // The error for a bad value. `place` is what it was given to, as in "HOLOGRAM_STRICT".
  Error refusal(Source source, std::string_view place, std::string_view shown) const;
};

std::span<const Setting> all_settings();

// InvalidConfig if no backend is called so.
BackendType backend_named(std::string_view name);

// InvalidConfig if a field has a value that it cannot have.
void check(const BackendConfig& config);

// The document with its generated part, which two comments enclose, made anew from the table.
std::string with_settings_reference(std::string_view document);

}  // namespace hologram::runtime
