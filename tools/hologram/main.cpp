// The command `hologram`.
#include <fmt/format.h>

#include <cstdio>
#include <cstring>

#include "command.hpp"
#include "errors.hpp"
#include "help_topics.hpp"
#include "spelling.hpp"

namespace hologram::tool {
namespace {

std::vector<std::string> names_of(const std::vector<const CLI::App*>& apps) {
  std::vector<std::string> names;
  names.reserve(apps.size());
  for (const CLI::App* a : apps) names.push_back(a->get_name());
  return names;
}

const CLI::App& chosen(const CLI::App& app) {
  const auto subs = app.get_subcommands();
  return subs.empty() ? app : *subs.front();
}

// Words that no option or subcommand took.
[[noreturn]] void refuse_extras(const CLI::App& app, const std::string& wrong) {
  const CLI::App& sub = chosen(app);
  if (wrong.starts_with("-")) {
    std::vector<std::string> known;
    for (const CLI::Option* option : sub.get_options())
      for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
    throw UsageError(
        fmt::format("there is no option '{}'", wrong),
        fmt::format("`hologram {}--help` lists the options.{}",
                    &sub == &app ? "" : sub.get_name() + " ", suggestion(wrong, known)));
  }
  const std::vector<std::string> known = names_of(std::as_const(app).get_subcommands({}));
  if (&sub == &app)
    throw UsageError(
        fmt::format("there is no command '{}'", wrong),
        fmt::format("The commands are: {}.{}", fmt::join(known, ", "), suggestion(wrong, known)));
  throw UsageError(fmt::format("'{}' is one word too many", wrong),
                   fmt::format("See `hologram {} --help`.", sub.get_name()));
}

// CLI11's complaints in hologram's form.
[[noreturn]] void refuse(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App& sub = chosen(app);
  throw UsageError(error.what(), fmt::format("See `hologram {}--help`.",
                                             &sub == &app ? "" : sub.get_name() + " "));
}

int run(int argc, char** argv) {
  CLI::App app("hologram runs Atlas programs on whatever device there is.", "hologram");
  app.set_version_flag("--version", "hologram " HOLOGRAM_VERSION);
  app.footer("`hologram help` teaches, topic by topic.");
  app.allow_extras();
  Action action = [] {
    fmt::print("{}", overview());
    return 0;
  };
  for (const auto add : {add_devices, add_run, add_eval, add_show, add_estimate, add_bench,
                         add_conformance, add_help})
    add(app, action);
  for (CLI::App* sub : app.get_subcommands({})) sub->allow_extras(false)->fallthrough(false);
  app.require_subcommand(0, 1);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& e) {  // --help, --version
    return app.exit(e);
  } catch (const CLI::ExtrasError& e) {
    const auto extras = app.remaining(true);
    refuse_extras(app, extras.empty() ? e.what() : extras.front());
  } catch (const CLI::ParseError& e) {
    refuse(app, e);
  }
  if (const auto extras = app.remaining(true); !extras.empty()) refuse_extras(app, extras.front());
  const int code = action();
  if (std::fflush(stdout) != 0)
    throw Error(ErrorKind::IoError, "cannot write to the standard output",
                "Check where the output goes, and the free space there.");
  return code;
}

bool wants_json(int argc, char** argv) {
  for (int i = 1; i < argc; i++)
    if (std::strcmp(argv[i], "--json") == 0) return true;
  return false;
}

}  // namespace
}  // namespace hologram::tool

int main(int argc, char** argv) {
  using namespace hologram::tool;
  const bool json = wants_json(argc, argv);
  if (!json) print_messages();
  return guarded(json, [&] { return run(argc, argv); });
}
