// What evaluating a graph would do, in words.
#include <fmt/format.h>

#include <unordered_map>

#include "engine/context.hpp"
#include "fusion/codegen.hpp"
#include "fusion/joining.hpp"
#include "graph/composite.hpp"
#include "graph/elementwise.hpp"
#include "graph/opaque_op.hpp"
#include "hologram/tensor.hpp"

namespace hologram::graph {
namespace {

std::string in_bytes(double n) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  size_t unit = 0;
  while (n >= 10240 && unit + 1 < std::size(kUnits)) {
    n /= 1024;
    unit++;
  }
  return fmt::format("{:.0f} {}", n, kUnits[unit]);
}

const char* words_of(Traversal walk) {
  switch (walk) {
    case Traversal::Elements: return "a lane an element";
    case Traversal::Blocks: return "a lane a block of random numbers";
    case Traversal::Tiles: return "a group a square of elements";
    case Traversal::LaneRows: return "a lane a row";
    case Traversal::Pieces: return "a group some rows, a lane a piece of one";
    case Traversal::GroupRows: return "a group of lanes a row";
  }
  return "";
}

// The graph before it is lowered: operations in order, numbered, with what they are made of.
std::string meant_by(const std::vector<Node*>& nodes, bool with_candidates) {
  std::unordered_map<const Node*, size_t> numbers;
  std::string text = "before lowering:\n";
  for (const Node* node : nodes) {
    const bool lazy = node->state.load(std::memory_order_acquire) == NodeState::Lazy;
    if (!lazy || node->kind == Kind::Data || is_number(*node)) continue;
    const size_t number = numbers.size() + 1;
    numbers.emplace(node, number);
    text += fmt::format("   %{} = {}", number, describe(*node));
    for (const Input& input : node->inputs) {
      const auto known = numbers.find(input.node.get());
      text += &input == node->inputs.begin() ? " of " : ", ";
      text += known != numbers.end() ? fmt::format("%{}", known->second) : describe(*input.node);
    }
    text += "\n";
    if (with_candidates && node->kind == Kind::Composite &&
        node->meaning->op->candidates != nullptr)
      text += in_lines(
          node->meaning->op->candidates(*node, {node->inputs.begin(), node->inputs.size()}));
  }
  return text + "lowered:\n";
}

}  // namespace

std::string name_of(const Kernel& kernel) {
  constexpr size_t kMostNames = 5;
  std::string name = "fused";
  if (kernel.members.empty()) return "copy";
  for (size_t i = kernel.members.size(); i-- > 0;) {
    if (kernel.members.size() - i > kMostNames) return name + "_more";
    const Node& node = *kernel.members[i];
    if (kernel.combines_partials && node.kind == Kind::Reduce && node.chunk == 0)
      continue;  // the same again
    name +=
        "_" + (node.kind == Kind::Reduce ? "reduce_" + std::string(program::name_of(node.combine))
                                         : std::string(node.op->name));
  }
  return name;
}

double operations(const Kernel& kernel, const Layout& how, const Program& program) {
  double lanes = 1;
  for (const int64_t n : how.outer) lanes *= static_cast<double>(n);
  if (how.row.empty()) return program.cost().flops * lanes;
  double flops = 0;
  for (const Term& t : kernel.terms) {
    const double times = t.per_row ? 1 : static_cast<double>(kernel.row_length());
    if (t.kind == TermKind::Apply) flops += times;
    if (t.kind == TermKind::Reduce) flops += static_cast<double>(kernel.row_length());
  }
  return flops * static_cast<double>(kernel.outer_count());
}

std::string Context::explain(const std::vector<Node*>& roots, ExplainOptions wanted) {
  const std::lock_guard lock(mutex());
  std::vector<Node*> lazy;
  for (Node* root : roots)
    if (root->state.load(std::memory_order_acquire) == NodeState::Lazy) lazy.push_back(root);
  if (lazy.empty()) return "Nothing to do: the values are there.\n";
  signature_.walk(lazy, false);
  const auto [plan, steps] = plan_of(signature_, options(), false);
  std::string text = fmt::format("{} step{} on {}\n", plan.steps.size(),
                                 plan.steps.size() == 1 ? "" : "s", device().name);
  if (steps.lowered != nullptr) text += meant_by(signature_.nodes(), wanted.candidates);
  size_t number = 0;
  for (const Step& step : plan.steps) {
    number++;
    if (step.epilogue) {
      text += fmt::format("{}. {}\n", number, describe(*step.opaque));
      for (const Input& input : step.opaque->inputs)
        text += fmt::format("   reads {}\n", describe(*input.node));
      if (step.epilogue->bias != nullptr)
        text += fmt::format("   reads {}\n", describe(*step.epilogue->bias->node));
      const auto refusal = step.opaque->work->refuses(*this, *step.epilogue);
      text += fmt::format(
          "   then {}, {}\n", name_of(step.kernel),
          refusal ? "a kernel: " + refusal->reason : "which the library does before it stores");
      text += fmt::format("   makes {}\n", describe(*step.epilogue->last));
      if (wanted.candidates) text += in_lines(step.opaque->work->candidates(*this, *step.opaque));
      continue;
    }
    if (step.opaque != nullptr) {
      text += fmt::format("{}. {}\n", number, describe(*step.opaque));
      for (const Input& input : step.opaque->inputs)
        text += fmt::format("   reads {}\n", describe(*input.node));
      const Candidates all = step.opaque->work->candidates(*this, *step.opaque);
      text += fmt::format("   {}\n", doer(all));
      if (wanted.candidates) text += in_lines(all);
      continue;
    }
    const Kernel& kernel = step.kernel;
    const Layout how = layout(kernel, hints_of(device()));
    const auto [read, written] = traffic(kernel);
    const Program& program = program_of(kernel, how);
    text += fmt::format("{}. {}: {} over {}, {}\n", number, name_of(kernel),
                        words_of(how.traversal), to_string(kernel.domain),
                        how.index == DType::I32 ? "32-bit indices" : "64-bit indices");
    text += fmt::format("   reads {} in {} buffer{}, writes {} in {}, {:.3g} operations\n",
                        in_bytes(read), kernel.loads.size(), kernel.loads.size() == 1 ? "" : "s",
                        in_bytes(written), kernel.outputs.size(), operations(kernel, how, program));
    const auto known = library_kernel_of(kernel, how);
    if (const auto library = known ? library_of(known->desc) : nullptr)
      text += fmt::format("   by {}\n", library->name());
    else if (const std::string note = state_.note(program); !note.empty())
      text += "   " + note + "\n";
    for (const Output& output : kernel.outputs)
      text += fmt::format("   makes {}\n", describe(*output.target));
  }
  for (const Cut& cut : plan.cuts)
    text += fmt::format("{} goes through memory: {}\n", describe(*cut.node), cut.reason);
  return text;
}

}  // namespace hologram::graph
