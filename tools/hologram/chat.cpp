// hologram chat
#include <fmt/format.h>

#include <cstdio>
#include <iostream>
#include <string>

#include "command.hpp"
#include "hologram/llm.hpp"
#include "interrupt.hpp"

namespace hologram::tool {

int chat(const LanguageArguments& options) {
  llm::Model model = llm::Model::open(options.model, model_options(options));
  std::vector<llm::Message> messages;
  if (!options.system.empty()) messages.push_back({"system", options.system});
  model.chat_prompt(messages);  // or an error, before anybody types
  fmt::print(stderr, "{} in {:.2f} s. An empty line or the end of the input ends it.\n",
             model.architecture(), model.load_seconds());
  llm::GenerateOptions how = generate_options(options);
  for (std::string line;;) {
    fmt::print(stderr, "> ");
    if (!std::getline(std::cin, line) || line.empty()) break;
    messages.push_back({"user", line});
    Progress progress;
    const Interrupt interrupt(progress);  // ends the answer, not the talk
    how.on_text = [&](std::string_view text) {
      std::fwrite(text.data(), 1, text.size(), stdout);
      std::fflush(stdout);
      return Interrupt::signal() == 0;
    };
    const llm::Generation g = model.chat(messages, how);
    fmt::print("\n");
    fmt::print(stderr, "{}\n", speed_line(g));
    messages.push_back({"assistant", g.text});
    how.sampling.seed++;
  }
  return 0;
}

}  // namespace hologram::tool
