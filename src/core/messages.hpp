// Every error text of hologram stands in one table, core/messages.inc, so that the wording can be
// read and tested in one place.
#pragma once

#include <fmt/core.h>

#include "hologram/error.hpp"

namespace hologram::core {

enum class Text {
#define MESSAGE(id, kind, what, remedy) id,
#include "core/messages.inc"
#undef MESSAGE
};

struct Message {
  std::string_view id;
  ErrorKind kind;
  const char* what;
  const char* remedy;
};

const Message& message(Text text);
std::size_t message_count();

Error format_error(Text text, fmt::format_args args);

// The Error for `text`; both of its sentences may use any of the arguments ({0}, {1}, …).
template <class... Args>
Error error(Text text, const Args&... args) {
  return format_error(text, fmt::make_format_args(args...));
}

}  // namespace hologram::core
