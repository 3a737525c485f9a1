// generate [--check] ROOT: writes everything that follows from the library's own tables into the
// tree at ROOT. With --check it writes nothing, names what is not up to date, and ends with 1 if
// there is any; but for docs/conformance.md, which takes a run of the conformance suite and has a
// test.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "conformance/document.hpp"
#include "expression/reference.hpp"
#include "generate/operations.hpp"
#include "generate/python.hpp"
#include "program/library.hpp"
#include "program/reference.hpp"
#include "runtime/settings.hpp"

namespace {

namespace generate = hologram::generate;

struct File {
  const char* path;
  std::string (*renew)(std::string_view old);
};

constexpr File kFiles[] = {
    {"include/hologram/elementwise.hpp",
     [](std::string_view) { return generate::elementwise_header(); }},
    {"src/tensor/elementwise.cpp", [](std::string_view) { return generate::elementwise_source(); }},
    {"src/tensor/elementwise_gradients.cpp",
     [](std::string_view) { return generate::elementwise_gradients(); }},
    {"docs/operations.md", [](std::string_view) { return generate::elementwise_reference(); }},
    {"python/src/elementwise.cpp", [](std::string_view) { return generate::python_bindings(); }},
    {"python/hologram/_elementwise.py",
     [](std::string_view) { return generate::python_functions(); }},
    {"docs/atlas.md", hologram::program::with_instruction_reference},
    {"docs/expressions.md", hologram::expression::with_function_reference},
    {"docs/configuration.md", hologram::runtime::with_settings_reference},
    {"docs/program-library.md", hologram::program::library_reference},
    {"docs/conformance.md",
     [](std::string_view) {
       using hologram::BackendType, hologram::Executor;
       return hologram::conformance::document(
           hologram::check_conformance(Executor(BackendType::Cpu)));
     }},
};

}  // namespace

int main(int argc, char** argv) {
  bool check = false;
  std::string_view root, without;
  for (int i = 1; i < argc; i++) {
    const std::string_view word = argv[i];
    if (word == "--check") check = true;
    else if (word == "--without" && i + 1 < argc) without = argv[++i];
    else root = word;
  }
  if (root.empty()) {
    std::fputs("usage: generate [--check] [--without FILE] ROOT\n", stderr);
    return 2;
  }
  int status = 0;
  for (const File& file : kFiles) {
    if (without == file.path) continue;
    const std::filesystem::path path = std::filesystem::path(root) / file.path;
    std::stringstream old;
    old << std::ifstream(path).rdbuf();
    const std::string text = file.renew(old.str());
    if (text == old.str()) continue;
    std::printf("%s\n", file.path);
    if (check) status = 1;
    else if (!(std::ofstream(path) << text).flush()) {
      std::perror(file.path);
      return 1;
    }
  }
  if (status != 0) std::puts("not up to date: run scripts/generate");
  return status;
}
