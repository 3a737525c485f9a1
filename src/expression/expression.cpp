#include "hologram/expression.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/messages.hpp"
#include "core/nearest.hpp"
#include "expression/evaluate.hpp"
#include "expression/rows.hpp"

namespace hologram {

using core::Text;

struct Expression::State {
  expression::Syntax syntax;
};

namespace {

using expression::Syntax;
using expression::Value;

// UnknownInput for a name that the expression does not have.
void check_name(const Syntax& syntax, const std::string& name) {
  const std::vector<std::string>& all = syntax.inputs;
  if (std::find(all.begin(), all.end(), name) != all.end()) return;
  const std::string_view near =
      core::nearest(name, std::vector<std::string_view>(all.begin(), all.end()));
  throw core::error(Text::ExpressionUnknownInput, name,
                    all.empty() ? "none" : fmt::format("{}", fmt::join(all, ", ")),
                    near.empty() ? "" : fmt::format(" Did you mean {}?", near));
}

std::map<std::string, Value> values_of(const Syntax& syntax, const Expression::Inputs& inputs) {
  std::map<std::string, Value> values;
  for (const auto& [name, operand] : inputs) {
    check_name(syntax, name);
    values.emplace(name, Value(operand));
  }
  return values;
}

bool ends_with_value(const Syntax& syntax) {
  return syntax.nodes[syntax.last].kind != expression::Kind::Assign;
}

// The node that gives an output.
uint32_t node_of(const Syntax& syntax, const std::string& output) {
  if (output.empty() && ends_with_value(syntax)) return syntax.last;
  std::vector<std::string_view> names;
  for (const expression::Assigned& a : syntax.assigned) {
    if (a.name == output) return a.node;
    names.emplace_back(a.name);
  }
  const std::string_view near = core::nearest(output, names);
  throw core::error(Text::ExpressionOutput, output,
                    names.empty()
                        ? "Write NAME = … in the expression."
                        : fmt::format("It assigns: {}.{}", fmt::join(names, ", "),
                                      near.empty() ? "" : fmt::format(" Did you mean {}?", near)));
}

}  // namespace

Expression Expression::parse(std::string_view text, std::string_view file) {
  return Expression(std::make_shared<State>(State{expression::parse(text, file)}));
}

const std::string& Expression::text() const { return state_->syntax.text; }
const std::vector<std::string>& Expression::inputs() const { return state_->syntax.inputs; }

std::vector<std::string> Expression::outputs() const {
  const Syntax& syntax = state_->syntax;
  std::vector<std::string> names;
  for (const expression::Assigned& a : syntax.assigned) names.push_back(a.name);
  if (ends_with_value(syntax)) names.emplace_back();
  return names;
}

std::string Expression::last() const {
  const expression::Node& node = state_->syntax.nodes[state_->syntax.last];
  return node.kind == expression::Kind::Assign ? node.name : std::string();
}

Expression::Results Expression::evaluate(const Inputs& inputs, const Executor& executor) const {
  const Syntax& syntax = state_->syntax;
  expression::Evaluator evaluator(syntax, executor, values_of(syntax, inputs));
  evaluator.run();
  Results results;
  for (const std::string& name : outputs())
    results.emplace_back(name,
                         expression::to_tensor(evaluator.value(node_of(syntax, name)), executor));
  return results;
}

Expression::RowReport Expression::evaluate_by_rows(const Inputs& inputs,
                                                   const std::map<std::string, RowSource>& sources,
                                                   const std::vector<std::string>& outputs,
                                                   const RowSink& sink, const RowOptions& options,
                                                   const Executor& executor) const {
  const Syntax& syntax = state_->syntax;
  for (const auto& [name, source] : sources) check_name(syntax, name);
  std::vector<expression::Assigned> wanted;
  wanted.reserve(outputs.size());
  for (const std::string& name : outputs) wanted.push_back({name, node_of(syntax, name)});
  return expression::ByRows(syntax, executor, values_of(syntax, inputs), sources, wanted, sink,
                            options)
      .run();
}

std::vector<FunctionInfo> expression_functions() {
  std::vector<FunctionInfo> list;
  for (const expression::Function& f : expression::functions())
    list.push_back({std::string(f.name), expression::find_callable(f.name).signature(),
                    std::string(f.meaning)});
  for (const graph::ElementwiseOp& op : graph::elementwise_table())
    list.push_back({std::string(op.name), expression::find_callable(op.name).signature(),
                    std::string(op.meaning)});
  return list;
}

}  // namespace hologram
