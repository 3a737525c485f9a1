// The subcommands. Each stands in a file of its own and registers itself with the parser.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace hologram::tool {

// What is left to do once the command line has been read; the result is the exit code.
using Action = std::function<int()>;

void add_bench(CLI::App& app, Action& action);
void add_conformance(CLI::App& app, Action& action);
void add_devices(CLI::App& app, Action& action);
void add_run(CLI::App& app, Action& action);
void add_eval(CLI::App& app, Action& action);
void add_show(CLI::App& app, Action& action);
void add_estimate(CLI::App& app, Action& action);
void add_help(CLI::App& app, Action& action);

}  // namespace hologram::tool
