// Chats as the text that a model was trained with, by its template.
#pragma once

#include <span>
#include <string>

#include "hologram/llm.hpp"
#include "llm/jinja/template.hpp"
#include "llm/vocabulary.hpp"

namespace hologram::llm {

class ChatTemplate {
 public:
  // `path` is for messages. UnsupportedOperation for what is no template that can be run.
  ChatTemplate(const Vocabulary& vocabulary, std::string path);
  // InvalidArgument for JSON that is none, and for what the template refuses.
  std::string render(std::span<const Message> messages, const ChatOptions& options) const;

 private:
  const std::string path_, begin_, end_;
  jinja::Template template_;
};

}  // namespace hologram::llm
