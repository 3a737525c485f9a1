#include "hologram/graph.hpp"

#include <algorithm>

#include "core/messages.hpp"
#include "core/out_of_memory.hpp"
#include "hologram/movement.hpp"
#include "tensor/tape.hpp"

namespace hologram {

using core::Text;
using graph::Node;
using graph::NodeRef;
using graph::NodeState;
using tensor::Access;

struct Graph::State {
  std::shared_ptr<graph::Context> context;
  std::vector<NodeRef> given, roots;
  std::vector<Shape> shapes;                    // of the results, as which the roots are read
  mutable graph::Context::Recording recording;  // changes under the lock of the context
};

namespace {

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
    for (const graph::Input& input : node->inputs) path.push_back(input.node.get());
  }
  return found;
}

// All of a node, in its order, whatever its shape.
bool is_whole(const Tensor& tensor) {
  return graph::is_dense(Access::view(tensor)) &&
         tensor.size() == graph::element_count(Access::look(tensor).shape);
}

}  // namespace

Graph::Graph(const Function& function, const std::vector<Tensor>& examples) {
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
  for (const Tensor& result : function(stand_ins)) {
    if (&tensor::context_of(result) != state->context.get()) throw core::error(Text::CaptureApart);
    const NodeRef node = Access::node(result);
    const bool is_own =
        node->traced && node->kind != graph::Kind::Data && is_whole(result) &&
        std::find(state->roots.begin(), state->roots.end(), node) == state->roots.end();
    state->roots.push_back(is_own ? node : Access::node(ops::copy(result)));
    state->shapes.push_back(result.shape());
  }
  core::or_out_of_memory([&] {
    eval(constants_below(state->roots));
    state->recording = state->context->record(state->given, state->roots);
  });
  state_ = std::move(state);
}

std::vector<Tensor> Graph::launch(const std::vector<Tensor>& inputs) const {
  // What happens inside is not recorded: better none than a wrong gradient.
  if (tensor::is_recording())
    for (const Tensor& t : inputs)
      if (tensor::is_tracked(t)) throw core::error(Text::LaunchGradient);
  if (inputs.size() != state_->given.size())
    throw core::error(Text::LaunchCount, inputs.size(), state_->given.size());
  return core::or_out_of_memory([&] {
    std::vector<Tensor> dense;
    for (size_t i = 0; i < inputs.size(); i++) {
      const Node& expected = *state_->given[i];
      if (inputs[i].shape() != expected.shape)
        throw core::error(Text::LaunchShape, i, to_string(inputs[i].shape()),
                          to_string(expected.shape));
      if (inputs[i].dtype() != expected.dtype)
        throw core::error(Text::LaunchDType, i, name_of(inputs[i].dtype()),
                          name_of(expected.dtype));
      if (&tensor::context_of(inputs[i]) != state_->context.get())
        throw core::error(Text::CaptureApart);
      dense.push_back(tensor::dense(inputs[i]));
    }
    eval(dense);
    std::vector<graph::Storage> storages;
    storages.reserve(dense.size());
    for (const Tensor& t : dense) storages.push_back(Access::node(t)->result);
    const auto results =
        state_->context->replay(state_->recording, state_->given, storages, state_->roots);
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

size_t Graph::steps() const { return state_->recording.plan.steps.size(); }

std::string Graph::note() const {
  const graph::Taped& taped = state_->recording.taped;
  if (taped.list != nullptr) return taped.list->note();
  return taped.reason.empty() ? "step by step" : "step by step: " + taped.reason;
}

}  // namespace hologram
