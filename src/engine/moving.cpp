#include "engine/moving.hpp"

#include <unordered_map>

#include "graph/signature.hpp"

namespace hologram::graph {
namespace {

// Whether the pieces of a row go through memory is for the other device to say: here they do.
Input in_pieces(const Node& node, Context& context, std::vector<Input> inputs) {
  const Shape& row = inputs.front().view().shape;
  int64_t length = 1;
  for (size_t k = row.size() - node.reduced; k < row.size(); k++) length *= row[k];
  const int64_t count = (length + node.chunk - 1) / node.chunk;
  Shape shape = node.shape;
  shape.insert(shape.begin(), count);
  auto pieces = std::make_unique<Node>(Kind::Reduce, context, node.dtype, shape);
  pieces->traced = node.traced;
  pieces->combine = node.combine;
  pieces->reduced = node.reduced;
  pieces->chunk = node.chunk;
  for (Input& input : inputs) pieces->inputs.push_back(std::move(input));
  View whole = dense_view(node.shape);
  whole.shape.push_back(count);
  whole.strides.push_back(element_count(node.shape));
  return {NodeRef::adopt(pieces.release()), std::move(whole)};
}

NodeRef moved(const Node& node, Context& context, std::vector<Input> inputs) {
  if (!node.combines_partials)
    return NodeRef::adopt(copy_of(node, context, std::move(inputs)).release());
  std::vector<Input> pieces = {in_pieces(node, context, std::move(inputs))};
  auto sum = copy_of(node, context, std::move(pieces));
  sum->reduced = 1;
  sum->combines_partials = false;
  sum->chunk = 0;
  return NodeRef::adopt(sum.release());
}

}  // namespace

std::unique_ptr<Node> copy_of(const Node& node, Context& context, std::vector<Input> inputs) {
  auto copy = std::make_unique<Node>(node.kind, context, node.dtype, node.shape);
  copy->traced = node.traced;
  copy->op = node.op;
  copy->attributes = node.attributes;
  copy->combine = node.combine;
  copy->reduced = node.reduced;
  copy->combines_partials = node.combines_partials;
  copy->chunk = node.chunk;
  copy->parts = node.parts;
  copy->work = node.work;
  copy->meaning = node.meaning;
  if (inputs.empty()) copy->keep_context();
  copy->inputs.reserve(inputs.size());
  for (Input& input : inputs) copy->inputs.push_back(std::move(input));
  return copy;
}

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
  GraphSignature signature;
  signature.walk(asked, true);
  for (Node* node : signature.nodes()) {
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
    images.emplace(node, moved(*node, to, std::move(inputs)));
  }
  for (const NodeRef& root : roots) {
    const auto known = images.find(root.get());
    made.roots.push_back(known != images.end() ? known->second : bring(root));
  }
  return made;
}

}  // namespace hologram::graph
