// Any bytes, read as a GGUF file: an Error, or metadata and tensors of which every byte is there.
#include "files/gguf.hpp"

#include "hologram/error.hpp"

using namespace hologram;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    const auto file = files::Gguf::parse("fuzz", std::as_bytes(std::span(data, size)), {});
    volatile size_t sum = 0;
    for (const auto& [name, value] : file.metadata()) {
      if (value.type == files::GgufType::Array) continue;
      if (value.type == files::GgufType::String)
        for (const std::string_view text : file.texts(name)) sum = sum + text.size();
      else sum = sum + file.numbers(name).size();
    }
    for (const files::GgufTensor& tensor : file.tensors())
      for (const std::byte byte : tensor.data) sum = sum + std::to_integer<size_t>(byte);
  } catch (const Error&) {
  }
  return 0;
}
