#include "hologram/graph.hpp"

#include <algorithm>

#include "core/messages.hpp"
#include "core/out_of_memory.hpp"
#include "engine/moving.hpp"
#include "graph/elementwise.hpp"
#include "hologram/movement.hpp"
#include "tensor/draws.hpp"
#include "tensor/parts.hpp"
#include "tensor/tape.hpp"

namespace hologram {

using core::Text;
using graph::Node;
using graph::NodeRef;
using graph::NodeState;
using tensor::Access;

struct Graph::State {
  std::shared_ptr<graph::Context> context;
  std::vector<NodeRef> given, meant;  // as it was captured
  std::vector<NodeRef> roots;         // lowered
  std::vector<Donation> donations;
  size_t inputs = 0;                            // of the given nodes; the last one may be of draws
  uint32_t draws = 0;                           // operations that draw random numbers
  std::vector<Shape> shapes;                    // of the results, as which the roots are read
  mutable graph::Context::Recording recording;  // changes under the lock of the context

  void record(const std::vector<Donation>& donated);
  // What the next launch draws: what calling the function would.
  Tensor next_draws() const {
    const auto [key, number] = context->next_random(draws);
    std::vector<uint32_t> words;
    for (const uint64_t word : {key, key >> 32, number, number >> 32})
      words.push_back(static_cast<uint32_t>(word));
    return Tensor::from_vector(std::move(words), {4}, context->handle());
  }
};

// Of the innermost capture: one of another executor draws there as if it were not captured.
tensor::CapturedDraws* tensor::CapturedDraws::of(const graph::Context& context) {
  return current_ != nullptr && &context_of(current_->words_) == &context ? current_ : nullptr;
}

namespace {

// Made of nothing but numbers: kernels compute it in less time than they would read it.
bool is_generated(const Node& node) {
  return node.kind == graph::Kind::Elementwise && node.inputs.empty() && !node.op->draws;
}

// The same, as the capture's own. A number would be rounded in memory.
NodeRef own(const Node& generated) {
  auto node =
      std::make_unique<Node>(generated.kind, *generated.context, generated.dtype, generated.shape);
  node->op = generated.op;
  node->attributes = generated.attributes;
  node->traced = true;
  node->keep_context();
  return NodeRef::adopt(node.release());
}

// A cast of nobody else's that makes elements wider: on the way it costs less than memory that is
// read at each launch, as of the weights of a model.
bool widens(const Node& node) {
  return node.op == &graph::source::kCast && node.references.load(std::memory_order_acquire) == 1 &&
         size_of(node.inputs[0].node->dtype) < size_of(node.dtype);
}

// Everything lazy below the roots that is not made of stand-ins: constants, computed now.
std::vector<Tensor> constants_below(const std::vector<NodeRef>& roots) {
  std::vector<Tensor> found;
  std::vector<Node*> path;
  struct Seen {
    std::vector<Node*> nodes;
    ~Seen() {
      for (Node* node : nodes) node->slot = UINT32_MAX;
    }
  } seen;
  path.reserve(roots.size());
  for (const NodeRef& root : roots) path.push_back(root.get());
  while (!path.empty()) {
    Node* node = path.back();
    path.pop_back();
    if (node->state.load(std::memory_order_acquire) != NodeState::Lazy) continue;
    if (!node->traced) {
      found.push_back(Access::make(NodeRef(node)));
      continue;
    }
    if (node->slot != UINT32_MAX) continue;
    seen.nodes.push_back(node);
    node->slot = 0;  // met
    const bool fuses = node->kind == graph::Kind::Elementwise ||
                       node->kind == graph::Kind::Reduce || node->kind == graph::Kind::Composite;
    for (graph::Input& input : node->inputs) {
      const Node& node_in = *input.node;
      const bool lazy = node_in.state.load(std::memory_order_acquire) == NodeState::Lazy;
      if (fuses && lazy && !node_in.traced) {
        if (is_generated(node_in)) input.node = own(node_in);
        else if (widens(node_in)) input.node->traced = true;
      }
      path.push_back(input.node.get());
    }
  }
  return found;
}

template <class State>
std::vector<graph::Donated> checked(const std::vector<Donation>& donated, const State& state) {
  std::vector<graph::Donated> list;
  for (const Donation& each : donated) {
    const auto text = [&](const std::vector<NodeRef>& nodes, size_t at) {
      return at < nodes.size()
                 ? std::string(name_of(nodes[at]->dtype)) + to_string(nodes[at]->shape)
                 : std::string("not there");
    };
    const std::string input = text(state.given, each.input),
                      result = each.result < state.shapes.size() &&
                                       state.roots[each.result]->shape != state.shapes[each.result]
                                   ? std::string(name_of(state.roots[each.result]->dtype)) +
                                         to_string(state.shapes[each.result])
                                   : text(state.roots, each.result);
    const auto is_other = [&](const graph::Donated& other) {
      return other.input == each.input || other.root == state.roots[each.result].get();
    };
    if (input != result || input == "not there")
      throw core::error(Text::DonationAlike, each.input, each.result, input, result);
    if (std::any_of(list.begin(), list.end(), is_other))
      throw core::error(Text::DonationAlike, each.input, each.result, "donated", "already");
    list.push_back({state.given[each.input].get(), state.roots[each.result].get(), each.input});
  }
  return list;
}

// Held by this handle alone, and so its memory.
bool is_nobody_elses(const Tensor& tensor) {
  const Node& node = Access::look(tensor);
  return node.references.load(std::memory_order_acquire) == 1 && node.result.pooled &&
         node.result.owner.use_count() == 1;
}

std::vector<graph::Storage> storages_of(const std::vector<Tensor>& tensors) {
  std::vector<graph::Storage> storages;
  storages.reserve(tensors.size());
  for (const Tensor& t : tensors) storages.push_back(Access::node(t)->result);
  return storages;
}

}  // namespace

void Graph::State::record(const std::vector<Donation>& donated) {
  donations = donated;
  meant = roots;
  recording = context->record(given, meant, checked(donated, *this));
  roots = recording.roots;
}

Graph::Graph(const Function& function, const std::vector<Tensor>& examples,
             const std::vector<Donation>& donated) {
  if (examples.empty()) throw core::error(Text::CaptureInputs);
  auto state = std::make_shared<State>();
  state->context = tensor::context_of(examples.front()).shared();
  std::vector<Tensor> stand_ins;
  for (const Tensor& t : examples) {
    if (&tensor::context_of(t) != state->context.get()) throw core::error(Text::CaptureApart);
    auto node = std::make_unique<Node>(graph::Kind::Data, *state->context, t.dtype(), t.shape());
    node->traced = true;
    const NodeRef stand_in = NodeRef::adopt(node.release());
    state->given.push_back(stand_in);
    stand_ins.push_back(Access::make(stand_in));
  }
  state->inputs = state->given.size();
  auto words = std::make_unique<Node>(graph::Kind::Data, *state->context, DType::U32, Shape{4});
  words->traced = true;
  const NodeRef of_draws = NodeRef::adopt(words.release());
  tensor::CapturedDraws draws(Access::make(of_draws));
  const std::vector<Tensor> results = function(stand_ins);
  state->draws = draws.count();
  if (state->draws > 0) state->given.push_back(of_draws);
  for (const Tensor& result : results) {
    if (&tensor::context_of(result) != state->context.get()) throw core::error(Text::CaptureApart);
    const NodeRef node = Access::node(result);
    const bool is_own =
        node->traced && node->kind != graph::Kind::Data && tensor::is_whole(result) &&
        std::find(state->roots.begin(), state->roots.end(), node) == state->roots.end();
    state->roots.push_back(is_own ? node : Access::node(ops::copy(result)));
    state->shapes.push_back(result.shape());
  }
  core::or_out_of_memory([&] {
    eval(constants_below(state->roots));
    state->record(donated);
  });
  state_ = std::move(state);
}

Graph Graph::to(const Executor& executor) const {
  auto state = std::make_shared<State>();
  state->context = graph::Context::of(executor);
  const auto bring = [&](const NodeRef& ready) {
    return Access::node(Access::make(ready).to(executor).eval());
  };
  core::or_out_of_memory([&] {
    graph::Moved moved = graph::moved(state_->given, state_->meant, *state->context, bring);
    state->given = std::move(moved.given);
    state->roots = std::move(moved.roots);
    state->inputs = state_->inputs;
    state->draws = state_->draws;
    state->shapes = state_->shapes;
    state->record(state_->donations);
  });
  Graph graph;
  graph.state_ = std::move(state);
  return graph;
}

void Graph::check(const std::vector<Tensor>& inputs) const {
  // What happens inside is not recorded: better none than a wrong gradient.
  if (tensor::is_recording())
    for (const Tensor& t : inputs)
      if (tensor::is_tracked(t)) throw core::error(Text::LaunchGradient);
  if (inputs.size() != state_->inputs)
    throw core::error(Text::LaunchCount, inputs.size(), state_->inputs);
  for (size_t i = 0; i < inputs.size(); i++) {
    const Node& expected = *state_->given[i];
    if (inputs[i].shape() != expected.shape)
      throw core::error(Text::LaunchShape, i, to_string(inputs[i].shape()),
                        to_string(expected.shape));
    if (inputs[i].dtype() != expected.dtype)
      throw core::error(Text::LaunchDType, i, name_of(inputs[i].dtype()), name_of(expected.dtype));
    if (&tensor::context_of(inputs[i]) != state_->context.get())
      throw core::error(Text::CaptureApart);
  }
}

// As they are given to the device, computed, and behind them what is drawn.
std::vector<Tensor> Graph::dense(std::vector<Tensor> inputs) const {
  std::vector<Tensor> dense;
  dense.reserve(inputs.size() + 1);
  for (const Tensor& t : inputs) dense.push_back(tensor::dense(t));
  if (state_->draws > 0) dense.push_back(state_->next_draws());
  inputs.clear();
  eval(dense);
  return dense;
}

std::vector<Tensor> Graph::launch(std::vector<Tensor> inputs) const {
  check(inputs);
  return core::or_out_of_memory([&] {
    std::vector<Tensor> dense = this->dense(std::move(inputs));
    for (const graph::Donated& each : state_->recording.donated) {
      if (is_nobody_elses(dense[each.input])) continue;
      {
        const std::lock_guard lock(state_->context->mutex());
        state_->context->copy_donated(each.input, "somebody else holds it");
      }
      dense[each.input] = ops::copy(dense[each.input]).eval();
    }
    const auto results = state_->context->replay(state_->recording, state_->given,
                                                 storages_of(dense), state_->roots);
    std::vector<Tensor> tensors;
    for (size_t i = 0; i < results.size(); i++) {
      const Node& root = *state_->roots[i];
      auto node = std::make_unique<Node>(graph::Kind::Data, *state_->context, root.dtype,
                                         state_->shapes[i]);
      node->result = results[i];
      node->state = NodeState::Ready;
      tensors.push_back(Access::make(NodeRef::adopt(node.release())));
    }
    return tensors;
  });
}

void Graph::launch_into(std::vector<Tensor> inputs, const std::vector<Tensor>& results) const {
  check(inputs);
  if (results.size() != state_->roots.size())
    throw core::error(Text::LaunchResults, results.size(), state_->roots.size());
  for (size_t i = 0; i < results.size(); i++) {
    const Node& node = Access::look(results[i]);
    const bool fits = results[i].shape() == state_->shapes[i] &&
                      results[i].dtype() == state_->roots[i]->dtype &&
                      tensor::is_whole(results[i]) && node.context == state_->context.get();
    const bool is_foreign = node.state.load(std::memory_order_acquire) == NodeState::Ready &&
                            !node.result.pooled && node.result.where.buffer != nullptr &&
                            node.result.where.buffer->host() == nullptr;
    if (!fits || !is_foreign || !state_->recording.donated.empty())
      throw core::error(Text::LaunchInto, i, to_string(state_->shapes[i]),
                        name_of(state_->roots[i]->dtype));
  }
  core::or_out_of_memory([&] {
    const std::vector<Tensor> given = dense(std::move(inputs));
    const std::vector<graph::Storage> into = storages_of(results);
    state_->context->replay(state_->recording, state_->given, storages_of(given), state_->roots,
                            into);
  });
}

size_t Graph::steps() const { return state_->recording.plan.steps.size(); }

std::string Graph::note() const {
  const graph::Recorded& recorded = state_->recording.recorded;
  if (recorded.list != nullptr) return recorded.list->note();
  return recorded.reason.empty() ? "step by step" : "step by step: " + recorded.reason;
}

}  // namespace hologram
