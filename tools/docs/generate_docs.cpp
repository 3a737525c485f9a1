// generate_docs FILE: makes the list of instructions in docs/atlas.md anew.
#include <cstdio>
#include <fstream>
#include <sstream>

#include "program/reference.hpp"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: generate_docs docs/atlas.md\n");
    return 2;
  }
  std::stringstream document;
  document << std::ifstream(argv[1]).rdbuf();
  const std::string text = hologram::program::with_instruction_reference(document.str());
  return std::ofstream(argv[1]) << text ? 0 : 1;
}
