// hologram verify
#include <fmt/format.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "arguments.hpp"
#include "command.hpp"
#include "hologram/error.hpp"
#include "hologram/receipt.hpp"

namespace hologram::tool {

int verify(const VerifyArguments& options) {
  std::ifstream file(options.receipt);
  std::stringstream text;
  text << file.rdbuf();
  if (!file)
    throw Error(ErrorKind::IoError, fmt::format("cannot read '{}'", options.receipt),
                "Check the path.");
  const llm::Receipt receipt = llm::Receipt::from_json(text.str());
  const Executor executor = options.device.empty()
                                ? default_executor()
                                : Executor::from_config(parse_device(options.device));
  const llm::Verification seen = llm::verify(receipt, options.model, executor);
  if (options.json) {
    const nlohmann::ordered_json object = {{"equal", seen.equal()},
                                           {"changed_layers", seen.changed_layers},
                                           {"steps", seen.steps},
                                           {"equal_tokens", seen.equal_tokens},
                                           {"equal_logits", seen.equal_logits},
                                           {"made_on", receipt.device},
                                           {"verified_on", executor.device().name}};
    fmt::print("{}\n", object.dump(2));
  } else {
    fmt::print("{}: {} (made on {}, computed on {})\n", seen.equal() ? "equal" : "not equal",
               seen.text(), receipt.device, executor.device().name);
  }
  return seen.equal() ? 0 : 1;
}

}  // namespace hologram::tool
