// generate_docs FOLDER: makes the generated parts of the documents in docs/ anew.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "conformance/document.hpp"
#include "expression/reference.hpp"
#include "program/library.hpp"
#include "program/reference.hpp"
#include "runtime/settings.hpp"

namespace {

struct Document {
  const char* name;
  std::string (*renew)(std::string_view document);
};

constexpr Document kDocuments[] = {
    {"atlas.md", hologram::program::with_instruction_reference},
    {"conformance.md",
     [](std::string_view) {
       using hologram::BackendType, hologram::Executor;
       return hologram::conformance::document(
           hologram::check_conformance(Executor(BackendType::Cpu)));
     }},
    {"expressions.md", hologram::expression::with_function_reference},
    {"configuration.md", hologram::runtime::with_settings_reference},
    {"program-library.md", hologram::program::library_reference},
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: generate_docs docs\n");
    return 2;
  }
  for (const Document& document : kDocuments) {
    const std::filesystem::path path = std::filesystem::path(argv[1]) / document.name;
    std::stringstream old;
    old << std::ifstream(path).rdbuf();
    const std::string text = document.renew(old.str());
    if (!(std::ofstream(path) << text)) return 1;
  }
  return 0;
}
