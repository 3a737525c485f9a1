// Reads {"template", "variables"} a line and writes {"text"}, or {"error", "line"}: what
// templates.py holds against Python's jinja2.
#include <iostream>
#include <string>

#include "llm/jinja/template.hpp"

using namespace hologram::llm;

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    const OrderedJson given = OrderedJson::parse(line);
    OrderedJson answer;
    try {
      const jinja::Template made(given["template"].get<std::string>());
      jinja::Environment environment;
      for (const auto& [key, value] : given["variables"].items())
        environment.variables.emplace_back(key, jinja::Value::from(value));
      environment.now = [](const std::string& form) { return "<" + form + ">"; };
      answer["text"] = made.render(environment);
    } catch (const jinja::Failure& failure) {
      answer = {{"error", failure.what()}, {"line", failure.line}};
    }
    std::cout << answer.dump(-1, ' ', false, OrderedJson::error_handler_t::replace) << '\n';
  }
}
