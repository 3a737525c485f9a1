// hologram help [TOPIC]
#include <fmt/format.h>

#include <memory>

#include "command.hpp"
#include "errors.hpp"
#include "help_topics.hpp"
#include "spelling.hpp"

namespace hologram::tool {
namespace {

int help(CLI::App& app, const std::string& topic) {
  if (topic.empty()) {
    fmt::print("{}", overview());
    return 0;
  }
  const std::string text = topic_text(topic);
  if (!text.empty()) {
    fmt::print("{}", text);
    return 0;
  }
  for (const CLI::App* sub : app.get_subcommands({})) {
    if (sub->get_name() != topic) continue;
    fmt::print("{}", sub->help("hologram"));
    return 0;
  }
  const auto names = topic_names();
  throw UsageError(
      fmt::format("there is no help on '{}'", topic),
      fmt::format("The topics are: {}.{}", fmt::join(names, ", "), suggestion(topic, names)));
}

}  // namespace

void add_help(CLI::App& app, Action& action) {
  auto topic = std::make_shared<std::string>();
  CLI::App* sub = app.add_subcommand("help", "Learn hologram, topic by topic");
  sub->add_option("topic", *topic, fmt::format("{}", fmt::join(topic_names(), ", ")));
  sub->callback([&app, topic, &action] { action = [&app, topic] { return help(app, *topic); }; });
}

}  // namespace hologram::tool
