// hologram embed
#include <fmt/format.h>

#include <cstdio>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "command.hpp"
#include "errors.hpp"
#include "hologram/embeddings.hpp"

namespace hologram::tool {
namespace {

using Json = nlohmann::ordered_json;

void add_lines(const std::string& path, std::vector<std::string>& texts) {
  std::ifstream file;
  if (path != "-") file.open(path);
  std::istream& in = path == "-" ? std::cin : file;
  if (!in)
    throw Error(ErrorKind::IoError, fmt::format("cannot read '{}'", path), "Check the path.");
  for (std::string line; std::getline(in, line);) texts.push_back(line);
}

}  // namespace

int embed(const EmbedArguments& options) {
  std::vector<std::string> texts = options.texts;
  if (!options.lines.empty()) add_lines(options.lines, texts);
  if (texts.empty()) throw UsageError("there is no text", "Give texts, or a file with --lines.");
  const llm::Embedder embedder = llm::Embedder::open(options.model);
  llm::EmbedOptions how;
  how.normalize = !options.unscaled;
  how.truncate = options.truncate;
  for (const llm::Pooling pooling : {llm::Pooling::Mean, llm::Pooling::First, llm::Pooling::Last})
    if (name_of(pooling) == options.pooling) how.pooling = pooling;
  const std::vector<float> numbers = embedder.embed(texts, how).to_vector<float>();
  const auto width = static_cast<size_t>(embedder.width());
  Json rows = Json::array();
  for (size_t t = 0; t < texts.size(); t++) {
    const std::span row(numbers.data() + t * width, width);
    if (options.json) rows.push_back(std::vector<float>(row.begin(), row.end()));
    else fmt::print("{:.6g}\n", fmt::join(row, " "));
  }
  if (!options.json) return 0;
  const Json object = {{"architecture", embedder.architecture()},
                       {"pooling", name_of(how.pooling.value_or(embedder.pooling()))},
                       {"width", width},
                       {"vectors", std::move(rows)}};
  fmt::print("{}\n", object.dump());
  return 0;
}

}  // namespace hologram::tool
