#include "graph/moving.hpp"

#include <unordered_map>

#include "graph/structure.hpp"

namespace hologram::graph {
namespace {

NodeRef copied(const Node& node, Context& context, std::vector<Input> inputs) {
  const auto like = [&](const Shape& shape) {
    auto copy = std::make_unique<Node>(node.kind, context, node.dtype, shape);
    copy->traced = node.traced;
    copy->combine = node.combine;
    return copy;
  };
  auto copy = like(node.shape);
  copy->op = node.op;
  copy->attributes = node.attributes;
  copy->reduced = node.reduced;
  copy->chunk = node.chunk;
  copy->parts = node.parts;
  copy->work = node.work;
  copy->meaning = node.meaning;
  if (node.gathers) {
    // Whether pieces go through memory is for the other device to say.
    const Shape& row = inputs.front().view().shape;
    int64_t length = 1;
    for (size_t k = row.size() - node.reduced; k < row.size(); k++) length *= row[k];
    Shape shape = node.shape;
    shape.insert(shape.begin(), (length + node.chunk - 1) / node.chunk);
    auto pieces = like(shape);
    pieces->reduced = node.reduced;
    pieces->chunk = node.chunk;
    for (Input& input : inputs) pieces->inputs.push_back(std::move(input));
    View whole = dense_view(node.shape);
    whole.shape.push_back(shape.front());
    whole.strides.push_back(element_count(node.shape));
    inputs.clear();
    inputs.emplace_back(NodeRef::adopt(pieces.release()), std::move(whole));
    copy->reduced = 1;
    copy->chunk = 0;
  }
  if (inputs.empty()) copy->keep_context();
  copy->inputs.reserve(inputs.size());
  for (Input& input : inputs) copy->inputs.push_back(std::move(input));
  return NodeRef::adopt(copy.release());
}

}  // namespace

Moved moved(const std::vector<NodeRef>& given, const std::vector<NodeRef>& roots, Context& to,
            const std::function<NodeRef(const NodeRef& ready)>& bring) {
  std::unordered_map<const Node*, NodeRef> images;
  Moved made;
  for (const NodeRef& node : given) {
    auto stand_in = std::make_unique<Node>(Kind::Data, to, node->dtype, node->shape);
    stand_in->traced = true;
    made.given.push_back(NodeRef::adopt(stand_in.release()));
    images.emplace(node.get(), made.given.back());
  }
  std::vector<Node*> asked;
  asked.reserve(roots.size());
  for (const NodeRef& root : roots) asked.push_back(root.get());
  Structure structure;
  structure.walk(asked, true);
  for (Node* node : structure.nodes()) {
    if (images.contains(node)) continue;
    if (node->state.load(std::memory_order_acquire) == NodeState::Ready) {
      images.emplace(node, bring(NodeRef(node)));
      continue;
    }
    std::vector<Input> inputs;
    for (const Input& input : node->inputs) {
      const NodeRef& image = images.at(input.node.get());
      if (const View* const part = input.part()) inputs.emplace_back(image, View(*part));
      else inputs.emplace_back(image);
    }
    images.emplace(node, copied(*node, to, std::move(inputs)));
  }
  for (const NodeRef& root : roots) {
    const auto known = images.find(root.get());
    made.roots.push_back(known != images.end() ? known->second : bring(root));
  }
  return made;
}

}  // namespace hologram::graph
