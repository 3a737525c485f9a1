// Any bytes, read as a JSON schema: an Error, or a grammar, of which the first choices that there
// are lead to JSON or on and on.
#include "llm/json_schema.hpp"

#include "hologram/error.hpp"
#include "llm/json.hpp"

using namespace hologram::llm;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    Grammar grammar;
    int state = grammar.start(
        add_json_schema(grammar, {reinterpret_cast<const char*>(data), size}, "", ""));
    std::string text;
    while (text.size() < 200 && state != Grammar::kDead && !grammar.must_end(state)) {
      // Closing marks first, so that it ends.
      int next = Grammar::kDead;
      for (const char c : std::string_view("}]\",:0tfnrueasl{[-. \\")) {
        next = grammar.next(state, static_cast<uint8_t>(c));
        if (next == Grammar::kDead) continue;
        text += c;
        break;
      }
      for (int byte = 0; byte < 256 && next == Grammar::kDead; byte++) {
        next = grammar.next(state, static_cast<uint8_t>(byte));
        if (next != Grammar::kDead) text += static_cast<char>(byte);
      }
      state = next;
    }
    if (state != Grammar::kDead && grammar.must_end(state) && parse_json(text).is_discarded())
      __builtin_trap();
  } catch (const hologram::Error&) {
  }
  return 0;
}
