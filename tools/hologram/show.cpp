// hologram show FILE.atlas, hologram show --expr 'a*b + c' a:f32[1000] …
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "arguments.hpp"
#include "command.hpp"
#include "errors.hpp"
#include "hologram/dialects.hpp"
#include "hologram/expression.hpp"
#include "hologram/kernels.hpp"
#include "spelling.hpp"

namespace hologram::tool {
namespace {

using program::Program;
using Json = nlohmann::ordered_json;

// Each dialect that was asked for, with the program in it. Where all were asked for, one that lacks
// something says so in a comment.
std::vector<std::pair<std::string_view, std::string>> in_dialects(const Program& program,
                                                                  std::string_view asked) {
  std::vector<std::pair<std::string_view, std::string>> texts;
  for (const std::string_view name : dialect_names()) {
    if (asked != name && asked != kEveryDialect) continue;
    try {
      texts.emplace_back(name, in_dialect(program, name));
    } catch (const Error& e) {
      if (asked == name || e.kind() != ErrorKind::UnsupportedOperation) throw;
      texts.emplace_back(name, fmt::format("// Not in {}: {}.\n", name, e.what()));
    }
  }
  return texts;
}

void print_dialects(const Program& program, std::string_view asked) {
  bool first = true;
  for (const auto& [name, text] : in_dialects(program, asked)) {
    fmt::print("{}{}", first ? "" : "\n", text);
    first = false;
  }
}

std::string hash_text(const Program& program) {
  return fmt::format("{:016x}{:016x}", program.hash().high, program.hash().low);
}

Json describe(const Program& program, std::string_view dialect) {
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
  Json json = {{"program", program.name()},
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
  for (const auto& [name, text] : in_dialects(program, dialect)) json["dialects"][name] = text;
  return json;
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

// "a:f32[1000, 3]" as the name and a tensor whose values nobody reads; "c=2.5" as a number.
std::pair<std::string, Operand> parse_input(const std::string& text, const Executor& executor) {
  constexpr const char* kRemedy = "Write NAME:DTYPE[LENGTHS], as in a:f32[1000,3], or NAME=NUMBER.";
  const auto wrong = [&] { return UsageError(fmt::format("'{}' is no input", text), kRemedy); };
  if (text.find(':') == std::string::npos) {
    const auto [name, value] = split_assignment(text, kRemedy);
    const auto number = parse_operand(name, value);
    if (!number) throw wrong();
    return {name, *number};
  }
  const size_t colon = text.find(':'), open = text.find('[', colon);
  if (open == std::string::npos || !text.ends_with("]")) throw wrong();
  const auto dtype = parse_dtype(text.substr(colon + 1, open - colon - 1));
  if (!dtype || *dtype == DType::None) throw wrong();
  std::string lengths = text.substr(open + 1, text.size() - open - 2);
  lengths.erase(std::remove(lengths.begin(), lengths.end(), ' '), lengths.end());
  const Shape shape = lengths.empty() ? Shape() : parse_shape(text.substr(0, open + 1), lengths);
  return {text.substr(0, colon), Tensor::from(Array(*dtype, shape), executor)};
}

int show_expression(const ShowArguments& options) {
  const Expression expression = Expression::parse(options.expression);
  const Executor executor = Executor::from_config(BackendConfig::from_environment());
  Expression::Inputs inputs;
  for (const std::string& word : options.words) inputs.insert(parse_input(word, executor));
  std::vector<Tensor> values;
  for (const auto& [name, tensor] : expression.evaluate(inputs, executor))
    if (name == expression.last()) values.push_back(tensor);
  const std::vector<Program> programs = kernels_of(values);
  if (options.json) {
    Json list = Json::array();
    for (const Program& program : programs) list.push_back(describe(program, options.dialect));
    const Json object = {{"explain", explain(values)}, {"kernels", list}};
    fmt::print("{}\n", object.dump(2, ' ', false, Json::error_handler_t::replace));
    return 0;
  }
  fmt::print("{}", explain(values));
  for (const Program& program : programs) {
    fmt::print("\n");
    if (!options.dialect.empty()) print_dialects(program, options.dialect);
    else fmt::print("{}", options.optimized ? program.optimized_text() : program.text());
  }
  return 0;
}

}  // namespace

int show(const ShowArguments& options) {
  if (!options.expression.empty()) return show_expression(options);
  constexpr const char* kRemedy = "Write hologram show FILE.atlas, or --expr 'EXPR'.";
  if (options.words.empty()) throw UsageError("show needs a file", kRemedy);
  if (options.words.size() > 1)
    throw UsageError(fmt::format("'{}' is one word too many", options.words[1]), kRemedy);
  const std::string& file = options.words.front();
  const Program program = Program::parse(read_text(file), file);
  if (options.json)
    fmt::print(
        "{}\n",
        describe(program, options.dialect).dump(2, ' ', false, Json::error_handler_t::replace));
  else if (!options.dialect.empty()) print_dialects(program, options.dialect);
  else if (options.source) fmt::print("{}", program.text());
  else if (options.optimized) fmt::print("{}", program.optimized_text());
  else print_all(program);
  return 0;
}

}  // namespace hologram::tool
