// Templates in the part of Jinja that chat templates are written in, computed as Python's jinja2
// does in the sandbox that transformers sets up for them: values do not change, nothing outside is
// reached, and work, memory and depth have limits.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "llm/jinja/value.hpp"

namespace hologram::llm::jinja {

struct Node;

struct Environment {
  Items variables;
  // What strftime_now says: the time, in the form that strftime takes.
  std::function<std::string(const std::string& form)> now = {};  // the local time of the machine
  int64_t most_steps = 10'000'000;                               // Failure beyond
};

class Template {
 public:
  explicit Template(std::string_view source);  // Failure, with its line
  Template(Template&&) noexcept;
  ~Template();
  std::string render(const Environment& environment) const;  // Failure

 private:
  std::unique_ptr<const Node> body_;
};

}  // namespace hologram::llm::jinja
