// hologram bisect FILE.atlas name=value … --device D
#include "hologram/bisect.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "arguments.hpp"
#include "command.hpp"
#include "errors.hpp"
#include "eval_inputs.hpp"
#include "hologram/creation.hpp"
#include "spelling.hpp"

namespace hologram::tool {
namespace {

using Json = nlohmann::ordered_json;
using program::Program;
using Work = std::function<void(const Executor&)>;

bool is_program(const std::string& what) { return what.ends_with(".atlas"); }

Work program_work(const BisectArguments& options, const Program& program) {
  const auto shapes = parse_shapes(program, options.shapes);
  const auto arguments = parse_arguments(program, options.arguments, shapes, false);
  RunOptions run_options;
  run_options.shapes = shapes;
  if (!options.grid.empty()) run_options.grid = parse_grid(options.grid);
  return [=](const Executor& on) { on.run(program, arguments, run_options); };
}

Work expression_work(const BisectArguments& options) {
  const bool is_file = std::filesystem::is_regular_file(options.what);
  const auto expression = std::make_shared<Expression>(
      is_file ? Expression::parse(read_text(options.what), options.what)
              : Expression::parse(options.what));
  const auto inputs =
      std::make_shared<EvalInputs>(read_inputs(*expression, options.arguments, false));
  return [=](const Executor& on) {
    ops::seed(0, on);
    std::vector<Tensor> values;
    for (const auto& [name, value] : expression->evaluate(inputs->all(on), on))
      values.push_back(value);
    for (const Tensor& value : values) value.array();
  };
}

Json json_of(const Finding& f) {
  Json operands = Json::array();
  for (const uint64_t bits : f.operands) operands.push_back(fmt::format("{:#x}", bits));
  return {{"found", f.is_nan ? "nan" : "difference"},
          {"step", f.step},
          {"operation", f.operation},
          {"where", f.where},
          {"dtype", name_of(f.dtype)},
          {"expected", fmt::format("{:#x}", f.expected)},
          {"got", fmt::format("{:#x}", f.got)},
          {"operands", operands},
          {"line", f.line},
          {"source", f.source},
          {"file", f.file},
          {"inputs", f.inputs},
          {"command", f.command}};
}

}  // namespace

int bisect(const BisectArguments& options) {
  constexpr int kFound = 1;
  const BackendConfig device = parse_device(options.device);
  std::optional<Program> program;
  if (is_program(options.what)) program = Program::parse(read_text(options.what), options.what);
  const Work work = program ? program_work(options, *program) : expression_work(options);
  BisectOptions how;
  how.prefix = options.prefix;
  how.nan = !options.no_nan;
  const std::optional<Finding> found = hologram::bisect(device, work, how);
  if (options.json)
    fmt::print("{}\n", (found ? json_of(*found) : Json{{"found", nullptr}})
                           .dump(2, ' ', false, Json::error_handler_t::replace));
  else if (found) fmt::print("{}", found->text());
  else fmt::print("{} computes what the interpreter does\n", options.device);
  return found ? kFound : 0;
}

}  // namespace hologram::tool
