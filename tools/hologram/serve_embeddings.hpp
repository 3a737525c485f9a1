// /v1/embeddings of `hologram serve`: vectors of texts as JSON of OpenAI's interface.
#pragma once

#include <string>

#include "hologram/embeddings.hpp"
#include "serve_requests.hpp"

namespace hologram::tool {

// The answer to one request, in pieces, so that a client that has gone is noticed between them.
class Vectors {
 public:
  Vectors(AskedVectors asked, llm::Embedder embedder, std::string model);

  bool done() const { return made_ == asked_.texts.size(); }
  // The next piece of the JSON, with the vectors of some texts. Error.
  std::string next();

 private:
  std::string row(std::span<const float> vector);

  const AskedVectors asked_;
  const llm::Embedder embedder_;
  const std::string model_;
  size_t made_ = 0;  // texts
};

}  // namespace hologram::tool
