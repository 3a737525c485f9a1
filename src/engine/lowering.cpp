#include "engine/lowering.hpp"

#include <algorithm>
#include <unordered_map>

#include "engine/moving.hpp"
#include "engine/plan.hpp"
#include "graph/composite.hpp"
#include "graph/elementwise.hpp"
#include "graph/opaque_op.hpp"
#include "graph/signature.hpp"

namespace hologram::graph {
namespace {

bool is_lazy(const Node& node) {
  return node.state.load(std::memory_order_acquire) == NodeState::Lazy && node.kind != Kind::Data;
}

// A plan is kept by the context, and must not keep it in turn.
NodeRef adopted(std::unique_ptr<Node> node) {
  node->kept_context.reset();
  return NodeRef::adopt(node.release());
}

std::unique_ptr<Node> like(const Node& node, Kind kind) {
  return std::make_unique<Node>(kind, *node.context, node.dtype, node.shape);
}

// The elements of an input, in memory of their own.
NodeRef elements_of(const Node& node, Input input) {
  auto copy = like(node, Kind::Elementwise);
  copy->op = &source::kCopy;
  copy->inputs.push_back(std::move(input));
  return adopted(std::move(copy));
}

// What was packed of a result is of that result alone: the next run makes another.
void forget(Node& node) {
  node.result = {};
  node.packed.reset();
}

// Those behind it that nobody knows yet.
void for_each_new(Node* node, std::unordered_map<Node*, uint32_t>& known, uint32_t origin) {
  std::vector<Node*> path = {node};
  while (!path.empty()) {
    Node* const at = path.back();
    path.pop_back();
    if (!is_lazy(*at) || !known.emplace(at, origin).second) continue;
    at->kept_context.reset();
    for (const Input& input : at->inputs) path.push_back(input.node.get());
  }
}

}  // namespace

bool has_composites(const std::vector<Node*>& nodes) {
  return std::any_of(nodes.begin(), nodes.end(), [](const Node* node) {
    return node->kind == Kind::Composite && is_lazy(*node);
  });
}

Lowered::Lowered(const std::vector<Node*>& nodes, const std::vector<Node*>& roots, bool captured) {
  const SharedCopies copies;
  std::vector<NodeRef> images;
  images.reserve(nodes.size());
  std::unordered_map<const Node*, uint32_t> places;
  std::unordered_map<Node*, uint32_t> origins;  // of lowered nodes
  const auto image_of = [&](const Input& input) {
    const Node& original = *input.node;
    const NodeRef& image = images[places.at(&original)];
    if (const View* const part = input.part()) return Input(image, View(*part));
    if (image->shape == original.shape) return Input(image);
    return Input(image, dense_view(original.shape));
  };
  for (uint32_t place = 0; place < nodes.size(); place++) {
    Node& node = *nodes[place];
    places.emplace(&node, place);
    if (!is_lazy(node)) {
      if (captured) {
        images.emplace_back(&node);
        continue;
      }
      images.push_back(adopted(like(node, Kind::Data)));
      given_.push_back({place, images.back().get()});
      held_.push_back(images.back());
      continue;
    }
    std::vector<Input> inputs;
    for (const Input& input : node.inputs) inputs.push_back(image_of(input));
    if (node.kind == Kind::Composite) {
      Input made = node.meaning->op->lower(node, inputs);
      // A result that is an input, or lies in another order, is written once more.
      const View view = made.view();
      const bool is_own = is_lazy(*made.node) && !origins.contains(made.node.get()) &&
                          made.node->dtype == node.dtype && view.offset == 0 && is_dense(view) &&
                          element_count(made.node->shape) == element_count(node.shape);
      images.push_back(is_own ? made.node : elements_of(node, std::move(made)));
    } else {
      images.push_back(adopted(copy_of(node, *node.context, std::move(inputs))));
      if (!captured && (node.kind == Kind::Opaque || !node.attributes.empty()))
        copies_.push_back({place, images.back().get()});
    }
    Node* const image = images.back().get();
    for_each_new(image, origins, place);
    whole_.push_back({place, image});
    if (is_held(node)) held_.push_back(images.back());
  }
  for (const Node* root : roots) roots_.push_back(images[places.at(root)]);
  for (const auto& [node, origin] : origins) made_for_.push_back({origin, node});
}

std::vector<Node*> Lowered::root_nodes() const {
  std::vector<Node*> list;
  for (const NodeRef& root : roots_) list.push_back(root.get());
  return list;
}

void Lowered::set_plan(const std::vector<Node*>& nodes, const Plan& plan) {
  nodes_ = nodes;
  std::unordered_map<const Node*, uint32_t> places;
  for (uint32_t place = 0; place < nodes.size(); place++) places.emplace(nodes[place], place);
  // What no root needs is gone, and so is what stood for it.
  const auto keep_known = [&](std::vector<Pair>& pairs) {
    std::erase_if(pairs, [&](const Pair& pair) { return !places.contains(pair.image); });
  };
  for (auto* pairs : {&given_, &copies_, &whole_, &made_for_}) keep_known(*pairs);
  origins_.assign(nodes.size(), kNone);
  results_.assign(nodes.size(), kNone);
  for (const Pair& pair : made_for_) origins_[places.at(pair.image)] = pair.original;
  for (const Pair& pair : whole_) results_[places.at(pair.image)] = pair.original;
  made_for_.clear();
  const std::unordered_map<Node*, size_t> last = last_steps(plan, nodes);
  std::unordered_map<const Node*, uint32_t> given;
  for (uint32_t i = 0; i < given_.size(); i++) given.emplace(given_[i].image, i);
  for (const PlannedStep& step : plan.steps)
    if (step.opaque || step.product != PlannedStep::kNone)
      for_each_read(step, nodes, [&](const Node* node) {
        if (const auto pair = given.find(node); pair != given.end())
          given_[pair->second].packs = true;
      });
  last_uses_.assign(plan.steps.size(), {});
  for (Node* node : nodes) {
    const auto at = last.find(node);
    if (at == last.end()) continue;
    Uses& uses = last_uses_[at->second];
    if (const auto pair = given.find(node); pair != given.end()) uses.given.push_back(pair->second);
    else if (is_lazy(*node)) uses.results.push_back(node);
  }
}

Lowered::Run::Run(Lowered& lowered, const std::vector<Node*>& originals)
    : lowered_(lowered), originals_(originals), packed_(lowered.given_.size()) {
  for (size_t i = 0; i < packed_.size(); i++) {
    const Pair& pair = lowered.given_[i];
    Node& original = *originals[pair.original];
    pair.image->result = original.result;
    if (!pair.packs) continue;
    packed_[i] = NodeRef(&original);
    pair.image->packed = std::move(original.packed);
  }
  for (const Pair& pair : lowered.copies_) {
    const Node& original = *originals[pair.original];
    pair.image->attributes = original.attributes;
    pair.image->work = original.work;
  }
  // Some have memory already.
  for (const Pair& pair : lowered.whole_) pair.image->result = originals[pair.original]->result;
}

Lowered::Run::~Run() {
  for (uint32_t i = 0; i < lowered_.given_.size(); i++) give_back(i);
  for (Node* node : lowered_.nodes_) forget(*node);
  for (const Pair& pair : lowered_.copies_)
    if (pair.image->kind == Kind::Opaque) pair.image->work = nullptr;
}

void Lowered::Run::give_back(uint32_t pair) {
  Node& image = *lowered_.given_[pair].image;
  image.result = {};
  if (!packed_[pair]) return;
  packed_[pair]->packed = std::move(image.packed);
  packed_[pair] = {};
}

void Lowered::Run::finish(const PlannedStep& step, size_t index) {
  // One may be the only one who holds another, which a later step reads.
  std::vector<NodeRef> ready;
  for (const PlannedStep::Made& made : step.made) {
    const uint32_t original = lowered_.results_[made.place];
    if (!made.complete || original == kNone) continue;
    ready.emplace_back(originals_[original]);
    ready.back()->result = lowered_.nodes_[made.place]->result;
  }
  const Uses& last = lowered_.last_uses_[index];
  for (const uint32_t pair : last.given) give_back(pair);
  for (Node* node : last.results) forget(*node);
  for (const NodeRef& node : ready) become_ready(*node);
}

void Lowered::Run::fail(const PlannedStep& step, const std::exception_ptr& error) {
  for (const PlannedStep::Made& made : step.made) {
    Node& node = *originals_[lowered_.origins_[made.place]];
    if (!is_lazy(node)) continue;
    node.error = error;
    node.state.store(NodeState::Failed, std::memory_order_release);
  }
}

}  // namespace hologram::graph
