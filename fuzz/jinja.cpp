// Any bytes, read as a chat template and run: a Failure, or a text, soon and in little memory.
#include "llm/jinja/template.hpp"

using namespace hologram::llm;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const OrderedJson kVariables = OrderedJson::parse(R"({"messages": [
      {"role": "system", "content": " a\nb "}, {"role": "user", "content": [{"type": "text", "text": "é"}]},
      {"role": "assistant", "content": null, "tool_calls": [{"function": {"name": "f", "arguments": {"x": [1, 2.5]}}}]}],
      "tools": [{"type": "function", "function": {"name": "f", "parameters": {}}}], "add_generation_prompt": true})");
  try {
    const jinja::Template made({reinterpret_cast<const char*>(data), size});
    jinja::Environment environment;
    for (const auto& [key, value] : kVariables.items())
      environment.variables.emplace_back(key, jinja::Value::from(value));
    environment.now = [](const std::string&) { return "now"; };
    environment.most_steps = 200'000;
    made.render(environment);
  } catch (const jinja::Failure&) {
  }
  return 0;
}
