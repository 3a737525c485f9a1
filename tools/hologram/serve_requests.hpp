// What clients of `hologram serve` ask for, out of the JSON of OpenAI's interface.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "command.hpp"
#include "hologram/embeddings.hpp"
#include "hologram/error.hpp"
#include "hologram/llm.hpp"

namespace hologram::tool {

using Json = nlohmann::ordered_json;

// A request that cannot be answered, as its client is told.
struct Refusal {
  int status = 400;
  std::string message;
  std::string type = "invalid_request_error";
  std::string param = {};
  Json body() const;
};
Refusal refusal_of(const Error& error);

// How a model writes calls of tools.
enum class ToolForm : uint8_t {
  None,
  Tagged,  // <tool_call>{"name": …, "arguments": …}</tool_call>, as Hermes and Qwen have it
  Bare,    // {"name": …, "parameters": …}, as Llama 3 has it
};

struct Asked {
  bool chat = false, stream = false, usage = false;
  std::vector<std::vector<int32_t>> prompts;
  int64_t n = 1;  // answers to each prompt
  llm::GenerateOptions options;
  ToolForm tools = ToolForm::None;
};

// Texts whose vectors are asked for.
struct AskedVectors {
  std::vector<std::vector<int32_t>> texts;
  bool base64 = false;  // vectors as the bytes of f32; else as numbers
};

// Refusal, Error.
Asked read_chat(const std::string& body, const llm::Model& model, const ServeArguments& limits);
Asked read_completion(const std::string& body, const llm::Model& model,
                      const ServeArguments& limits);
AskedVectors read_embeddings(const std::string& body, const llm::Embedder& embedder);

}  // namespace hologram::tool
