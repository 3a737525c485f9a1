// The command `hologram`.
#include <cstring>

#include "command.hpp"
#include "errors.hpp"

namespace {

bool wants_json(int argc, char** argv) {
  for (int i = 1; i < argc; i++)
    if (std::strcmp(argv[i], "--json") == 0) return true;
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace hologram::tool;
  const bool json = wants_json(argc, argv);
  if (!json) print_messages();
  return guarded(json, [&] { return run_command_line(argc, argv); });
}
