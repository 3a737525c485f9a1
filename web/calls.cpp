#include "calls.hpp"

namespace hologram::web {

std::string text;

void take(const Json& options, const Fields& fields) {
  for (const auto& [name, value] : options.items()) {
    const auto field = fields.find(name);
    if (field == fields.end()) {
      std::string known;
      for (const auto& one : fields) known += (known.empty() ? "" : ", ") + one.first;
      throw std::invalid_argument(fmt::format("there is no option {}; known are {}", name, known));
    }
    try {
      field->second(value);
    } catch (const Json::exception&) {
      throw std::invalid_argument(fmt::format("{} cannot be {}", name, value.dump()));
    }
  }
}

}  // namespace hologram::web
