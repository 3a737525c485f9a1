// What a tokenizer.json has done with text before Unigram cuts it: normalizers and pre-tokenizers.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "llm/json.hpp"

namespace hologram::llm {

class Preparation {
 public:
  // IoError, UnsupportedOperation.
  Preparation(const std::string& folder, const Json& tokenizer);

  // The parts of a text that are cut each by itself. `first`: nothing stands before it.
  std::vector<std::string> parts(std::string_view given, bool first) const;
  // Whether spaces become marks, and one stands in front of a text.
  bool adds_space() const { return marks_ && scheme_ != Scheme::Never; }

  std::vector<double> scores;  // of the pieces, as the file has them
  bool bytes = false;          // unknown characters are taken apart into tokens for bytes

 private:
  enum class Scheme : uint8_t { Always, First, Never };
  using Step = std::function<std::string(const std::string&)>;

  void add_normalizer(const Json& how);
  void add_replacement(const Json& how);
  void add_pre_tokenizer(const Json& how);
  std::string marked(std::string_view word, bool first) const;
  [[noreturn]] void lacks(const std::string& what) const;

  const std::string folder_;
  std::vector<Step> steps_;
  bool words_ = false;  // cut at white space, which is left out
  bool marks_ = false;  // spaces become marks,
  bool cut_ = true;     // before which text is cut
  Scheme scheme_ = Scheme::Always;
};

}  // namespace hologram::llm
