// The graphs of the emulated CUDA driver, and what is captured from its streams.
#include <algorithm>
#include <span>
#include <utility>

#include "fake_cuda_world.hpp"

// NOLINTBEGIN(readability-identifier-naming, bugprone-macro-parentheses, performance-no-int-to-ptr)
using namespace hologram;
using namespace hologram::fake;

namespace {

constexpr int kNotUpdated = 910;  // CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE

// A node is known by its number; each must come after the one before it, or be a kernel that is
// told so by the next call.
int add_node(Graph graph, std::span<const GraphNode> after, const Node& work, GraphNode* node) {
  Object* found = find(graph, "graph");
  if (found == nullptr || after.size() > 1 || found->awaits_edge) return 400;
  if (!after.empty() && after[0] != handle<GraphNode>(found->nodes.size())) return 1;
  found->awaits_edge = after.empty() && !found->nodes.empty();
  found->nodes.push_back(work);
  *node = handle<GraphNode>(found->nodes.size());
  return 0;
}

void run_node(World& w, const Node& node) {
  if (node.call) node.call();
  else if (node.is_graph)
    for (const Node& child : node.children) run_node(w, child);
  else run(w, node.kernel);
}

bool same_kind(const Node& a, const Node& b) {
  if (a.is_graph != b.is_graph || (a.call == nullptr) != (b.call == nullptr) ||
      a.children.size() != b.children.size())
    return false;
  for (size_t i = 0; i < a.children.size(); i++)
    if (!same_kind(a.children[i], b.children[i])) return false;
  return true;
}

}  // namespace

extern "C" {

int cuGraphCreate(Graph* graph, unsigned flags) {
  ENTER;
  return make(graph, "graph", flags);
}
int cuGraphDestroy(Graph graph) {
  ENTER;
  return destroy(graph, "graph");
}
int cuGraphAddKernelNode(GraphNode* node, Graph graph, const GraphNode* after, size_t count,
                         const KernelNode* kernel) {
  ENTER;
  return add_node(
      graph, {after, count},
      {.kernel = kernel_of(kernel->function, kernel->grid_x, kernel->block_x, kernel->parameters)},
      node);
}
int cuGraphAddMemsetNode(GraphNode* node, Graph graph, const GraphNode* after, size_t count,
                         const FillNode* fill, Context context) {
  ENTER;
  if (context != current()) return 201;
  const auto fill_it = [to = fill->to, pattern = fill->value, words = fill->width] {
    std::fill_n(reinterpret_cast<unsigned*>(to), words, pattern);
  };
  return fill->element != sizeof(unsigned)
             ? 1
             : add_node(graph, {after, count}, {.call = fill_it}, node);
}
int cuGraphAddChildGraphNode(GraphNode* node, Graph graph, const GraphNode* after, size_t count,
                             Graph child) {
  ENTER;
  const Object* found = find(child, "graph");
  if (found == nullptr) return 400;
  return add_node(graph, {after, count}, {.children = found->nodes, .is_graph = true}, node);
}
int cuGraphAddDependencies_v2(Graph graph, const GraphNode* from, const GraphNode* to,
                              const Edge* edges, size_t count) {
  ENTER;
  Object* found = find(graph, "graph");
  if (found == nullptr || !found->awaits_edge || count != 1) return 400;
  const size_t nodes = found->nodes.size();
  const auto is_kernel = [&](size_t i) {
    return found->nodes[i].kernel.ran.blocks > 0 && !found->nodes[i].is_graph;
  };
  if (*from != handle<GraphNode>(nodes - 1) || *to != handle<GraphNode>(nodes) ||
      edges->from_port != kWhenItsBlocksEnd || edges->to_port != 0 ||
      edges->type != kProgrammatic || !is_kernel(nodes - 1) || !is_kernel(nodes - 2))
    return 1;
  found->awaits_edge = false;
  return 0;
}
int cuStreamBeginCapture_v2(NativeStream stream, int mode) {
  ENTER;
  Object* found = find(stream, "stream");
  if (found == nullptr || found->captures || mode != kCaptureRelaxed) return 400;
  found->captures = true;
  return 0;
}
// A capture ends even if that fails.
int cuStreamEndCapture(NativeStream stream, Graph* graph) {
  World& world = fake::world();
  const std::lock_guard guard(world.mutex);
  Object* found = find(stream, "stream");
  if (found == nullptr || !found->captures) return 400;
  const std::vector<Node> nodes = std::exchange(found->nodes, {});
  found->captures = false;
  *graph = nullptr;
  ENTER;
  const int status = make(graph, "graph");
  if (status == 0) find(*graph, "graph")->nodes = nodes;
  return status;
}
int cuGraphInstantiateWithFlags(ReadyGraph* ready, Graph graph, unsigned long long) {
  ENTER;
  const Object* from = find(graph, "graph");
  if (from == nullptr || from->awaits_edge) return 400;
  const std::vector<Node> nodes = from->nodes;
  const int status = make(ready, "ready graph");
  if (status == 0) find(*ready, "ready graph")->nodes = nodes;
  return status;
}
int cuGraphExecKernelNodeSetParams(ReadyGraph ready, GraphNode node, const KernelNode* kernel) {
  ENTER;
  Object* found = find(ready, "ready graph");
  if (found == nullptr) return 400;
  found->nodes.at(reinterpret_cast<uintptr_t>(node) - 1).kernel =
      kernel_of(kernel->function, kernel->grid_x, kernel->block_x, kernel->parameters);
  return 0;
}
int cuGraphExecChildGraphNodeSetParams(ReadyGraph ready, GraphNode node, Graph child) {
  ENTER;
  Object *found = find(ready, "ready graph"), *from = find(child, "graph");
  if (found == nullptr || from == nullptr) return 400;
  Node& old = found->nodes.at(reinterpret_cast<uintptr_t>(node) - 1);
  const Node with{.children = from->nodes, .is_graph = true};
  if (!same_kind(old, with)) return kNotUpdated;
  old = with;
  return 0;
}
int cuGraphUpload(ReadyGraph ready, NativeStream stream) {
  ENTER;
  return find(ready, "ready graph") != nullptr && is_stream(stream) ? 0 : 400;
}
int cuGraphLaunch(ReadyGraph ready, NativeStream stream) {
  ENTER;
  const Object* found = find(ready, "ready graph");
  if (found == nullptr || !is_stream(stream)) return 400;
  const auto launch = [&w, nodes = found->nodes] {
    for (const Node& node : nodes) run_node(w, node);
  };
  w.streams.put(stream, emulated::Streams::Kind::Kernel, launch);
  return 0;
}
int cuGraphExecDestroy(ReadyGraph ready) {
  ENTER;
  return destroy(ready, "ready graph");
}

}  // extern "C"

// NOLINTEND(readability-identifier-naming, bugprone-macro-parentheses, performance-no-int-to-ptr)
