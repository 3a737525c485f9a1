// Any bytes as one of the JSON files of a model's folder, whose name is FUZZ_FILE: an Error, or
// what stands in it.
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "hologram/error.hpp"
#include "hologram/receipt.hpp"
#include "llm/config_folder.hpp"
#include "llm/encoder_source.hpp"
#include "llm/safetensors.hpp"
#include "llm/tokenizer.hpp"

using namespace hologram;

namespace {

// A folder in memory, where the system has one, that goes with the process.
struct Folder {
  Folder() {
    std::string name = std::filesystem::exists("/dev/shm") ? "/dev/shm/hologram-fuzz-XXXXXX"
                                                           : "/tmp/hologram-fuzz-XXXXXX";
    if (mkdtemp(name.data()) == nullptr) std::abort();
    path = name;
  }
  ~Folder() { std::filesystem::remove_all(path); }
  std::string path;
};

void read(const std::string& folder, const std::string& text) {
  const std::string_view file = FUZZ_FILE;
  if (file == "config.json") {
    llm::read_config(folder);
  } else if (file == "tokenizer.json" || file == "vocab.txt") {
    const llm::Tokenizer tokenizer(llm::read_vocabulary(folder));
    tokenizer.decode(tokenizer.encode("ab c \xff 12 [X]<s>", true, true), true);
  } else if (file == "receipt.json") {
    llm::Receipt::from_json(text);
  } else {
    llm::for_each_member(folder, "model", [](const auto&, const auto&) {});
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Folder folder;
  const std::string text(reinterpret_cast<const char*>(data), size);
  std::ofstream(folder.path + "/" + FUZZ_FILE, std::ios::binary) << text;
  try {
    read(folder.path, text);
    if (std::string_view(FUZZ_FILE) == "config.json") llm::open_encoder(folder.path);
  } catch (const Error&) {
  }
  return 0;
}
