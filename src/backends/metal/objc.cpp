#include "backends/metal/objc.hpp"

#include "backends/metal/driver.hpp"

namespace hologram::backends::metal {

Pool::Pool() : pool_(Driver::instance().runtime().push()) {}
Pool::~Pool() { Driver::instance().runtime().pop(pool_); }

void release(Object* object) {
  if (is_ending()) return;
  const Pool pool;  // what it was made of may be handed out when it goes
  Driver::instance().messages().release(object);
}

Object* make(Class* of) {
  const Messages& messages = Driver::instance().messages();
  return messages.init(messages.alloc(of));
}

Object* retain(Object* object) { return Driver::instance().messages().retain(object); }

std::string string_of(String* text) {
  const char* const bytes = text == nullptr ? nullptr : Driver::instance().messages().utf8(text);
  return bytes == nullptr ? std::string() : bytes;
}

String* string_from(const std::string& text) {
  const Driver& driver = Driver::instance();
  return driver.messages().string(driver.classes().strings, text.c_str(), kUtf8);
}

std::string string_of(ErrorObject* error) {
  std::string text;
  if (error != nullptr) text = string_of(Driver::instance().messages().description(error));
  return text.empty() ? "it does not say why" : text;
}

}  // namespace hologram::backends::metal
