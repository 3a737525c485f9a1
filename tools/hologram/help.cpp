// hologram help [TOPIC]
#include <fmt/format.h>

#include <string>

#include "command.hpp"
#include "errors.hpp"
#include "help_topics.hpp"
#include "spelling.hpp"

namespace hologram::tool {

int help(const std::string& topic, const std::function<std::string(const std::string&)>& usage) {
  if (topic.empty()) {
    fmt::print("{}", overview());
    return 0;
  }
  const std::string text = topic_text(topic);
  if (!text.empty()) {
    fmt::print("{}", text);
    return 0;
  }
  if (const std::string options = usage(topic); !options.empty()) {
    fmt::print("{}", options);
    return 0;
  }
  const auto names = topic_names();
  throw UsageError(
      fmt::format("there is no help on '{}'", topic),
      fmt::format("The topics are: {}.{}", fmt::join(names, ", "), suggestion(topic, names)));
}

}  // namespace hologram::tool
