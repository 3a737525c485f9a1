// hologram show FILE.atlas
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "command.hpp"
#include "spelling.hpp"

namespace hologram::tool {
namespace {

using program::Program;
using Json = nlohmann::ordered_json;

struct Options {
  std::string file;
  bool source = false, optimized = false, json = false;
};

std::string hash_text(const Program& program) {
  return fmt::format("{:016x}{:016x}", program.hash().high, program.hash().low);
}

Json describe(const Program& program) {
  Json buffers = Json::array(), scalars = Json::array();
  for (const auto& p : program.buffers())
    buffers.push_back({{"name", p.name}, {"access", name_of(p.access)}, {"type", declared(p)}});
  for (const auto& p : program.scalars()) {
    Json s = {{"name", p.name}, {"type", name_of(p.type)}, {"dimension", p.dimension}};
    if (p.otherwise) s["default"] = number_text(p.type, *p.otherwise);
    scalars.push_back(std::move(s));
  }
  const auto& needs = program.needs();
  const auto cost = program.cost();
  return {{"program", program.name()},
          {"hash", hash_text(program)},
          {"buffers", buffers},
          {"scalars", scalars},
          {"workgroup", program.workgroup()},
          {"needs",
           {{"shared_bytes", needs.shared_bytes},
            {"compute", type_list(needs.compute)},
            {"storage", type_list(needs.storage)},
            {"atomics", needs.atomics},
            {"cooperative", needs.cooperative}}},
          {"cost_per_lane",
           {{"flops", cost.flops},
            {"bytes_read", cost.bytes_read},
            {"bytes_written", cost.bytes_written},
            {"instructions", cost.instructions},
            {"loops_counted_once", cost.has_unknown_loops}}},
          {"source", program.text()},
          {"optimized", program.optimized_text()}};
}

void print_parameters(const Program& program) {
  fmt::print("parameters\n");
  for (const auto& p : program.buffers())
    fmt::print("  {:6} {}: {}\n", name_of(p.access), p.name, declared(p));
  for (const auto& p : program.scalars()) {
    if (p.dimension) continue;
    fmt::print("  scalar {}: {}{}\n", p.name, name_of(p.type),
               p.otherwise ? " = " + number_text(p.type, *p.otherwise) : "");
  }
}

void print_all(const Program& program) {
  const auto& needs = program.needs();
  const auto cost = program.cost();
  const auto w = program.workgroup();
  fmt::print("program {}\nhash    {}\n", program.name(), hash_text(program));
  print_parameters(program);
  fmt::print("needs\n  workgroups of {} x {} x {} = {} lanes, {} of workgroup memory\n", w[0], w[1],
             w[2], needs.lanes, byte_text(needs.shared_bytes));
  fmt::print("  computes with {}; buffers of {}{}{}\n", type_list(needs.compute),
             type_list(needs.storage), needs.atomics ? "; atomics" : "",
             needs.cooperative ? "; lanes work together" : "");
  fmt::print("cost of a lane{}\n  {} flops, {} bytes read, {} bytes written, {} instructions\n",
             cost.has_unknown_loops ? " (loops of unknown length counted once)" : "", cost.flops,
             cost.bytes_read, cost.bytes_written, cost.instructions);
  fmt::print("\n--- as written, verified\n{}\n--- as it runs, optimised\n{}", program.text(),
             program.optimized_text());
}

int show(const Options& options) {
  const Program program = Program::parse(read_text(options.file), options.file);
  if (options.json)
    fmt::print("{}\n", describe(program).dump(2, ' ', false, Json::error_handler_t::replace));
  else if (options.source) fmt::print("{}", program.text());
  else if (options.optimized) fmt::print("{}", program.optimized_text());
  else print_all(program);
  return 0;
}

}  // namespace

void add_show(CLI::App& app, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* sub =
      app.add_subcommand("show", "Verify an Atlas program and show what will run and its cost");
  sub->add_option("file", options->file, "The program, an .atlas file")->required();
  auto* source = sub->add_flag("--source", options->source, "Only the program as it was written");
  sub->add_flag("--optimized", options->optimized, "Only the program as it will run")
      ->excludes(source);
  sub->add_flag("--json", options->json, "Print as JSON");
  sub->callback([options, &action] { action = [options] { return show(*options); }; });
}

}  // namespace hologram::tool
