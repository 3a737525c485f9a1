// What the metadata of a GGUF file say of its architecture.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/messages.hpp"
#include "files/gguf.hpp"

namespace hologram::llm {

inline constexpr int64_t kMostOfAnything = int64_t{1} << 31;

// Entries under the architecture's name.
class Entries {
 public:
  Entries(const files::Gguf& file, std::string_view architecture)
      : file_(file), prefix_(std::string(architecture) + ".") {}

  int64_t count(const std::string& name, std::optional<int64_t> otherwise = {}) const {
    const auto given = file_.integers(prefix_ + name);
    // Some models have one number a layer; all of them alike is what is known.
    if (!given.empty() &&
        std::any_of(given.begin(), given.end(), [&](int64_t n) { return n != given[0]; }))
      lacks("layers that differ in '" + name + "'", "the same in all layers");
    const auto value = given.empty() ? otherwise : std::optional(given[0]);
    if (!value) damaged("there is no '" + prefix_ + name + "'");
    if (*value < 0 || *value >= kMostOfAnything) damaged("'" + prefix_ + name + "' is wrong");
    return *value;
  }
  int64_t positive(const std::string& name, std::optional<int64_t> otherwise = {}) const {
    const int64_t value = count(name, otherwise);
    if (value == 0) damaged("'" + prefix_ + name + "' is wrong");
    return value;
  }
  double number(const std::string& name, double otherwise) const {
    const double value = file_.number(prefix_ + name).value_or(otherwise);
    if (!std::isfinite(value)) damaged("'" + prefix_ + name + "' is wrong");
    return value;
  }
  std::string text(const std::string& name) const {
    return std::string(file_.text(prefix_ + name).value_or(""));
  }
  [[noreturn]] void damaged(const std::string& what) const {
    throw core::error(core::Text::ModelDamaged, file_.path(), what);
  }
  [[noreturn]] void lacks(const std::string& what, const std::string& instead) const {
    throw core::error(core::Text::ModelLacks, file_.path(), what, instead);
  }

 private:
  const files::Gguf& file_;
  std::string prefix_;
};

}  // namespace hologram::llm
