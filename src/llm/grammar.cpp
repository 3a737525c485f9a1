#include "llm/grammar.hpp"

#include <algorithm>
#include <set>

#include "core/messages.hpp"

namespace hologram::llm {
namespace {

constexpr size_t kMostNodes = 200'000, kMostStates = 20'000, kMostFrames = 500'000;

void require_few(size_t count, size_t most) {
  if (count >= most)
    throw core::error(core::Text::ModelArgument, "the JSON schema", "too large", "a smaller one");
}

}  // namespace

int Grammar::add_node() {
  require_few(nodes_.size(), kMostNodes);
  nodes_.emplace_back();
  return static_cast<int>(nodes_.size()) - 1;
}
int Grammar::add_rule() {
  rules_.push_back(add_node());
  return static_cast<int>(rules_.size()) - 1;
}
void Grammar::join(int from, int to) { nodes_[static_cast<size_t>(from)].joined.push_back(to); }
void Grammar::end_rule(int node) { nodes_[static_cast<size_t>(node)].ends = true; }

int Grammar::bytes(int from, uint8_t first, uint8_t last, int to) {
  if (to < 0) to = add_node();
  nodes_[static_cast<size_t>(from)].edges.push_back({first, last, to});
  return to;
}
int Grammar::text(int from, std::string_view text) {
  for (const char c : text) from = bytes(from, static_cast<uint8_t>(c), static_cast<uint8_t>(c));
  return from;
}
int Grammar::call(int from, int rule) {
  const int to = add_node();
  nodes_[static_cast<size_t>(from)].calls.emplace_back(rule, to);
  return to;
}

int Grammar::frame(int node, int back) {
  const auto [at, fresh] = frame_ids_.emplace(Frame{node, back}, static_cast<int>(frames_.size()));
  if (fresh) {
    require_few(frames_.size(), kMostFrames);
    frames_.push_back({node, back});
  }
  return at->second;
}

// All that can be reached without a byte: calls are entered, and rules that may end are left.
int Grammar::state_of(std::vector<Frame> open) {
  std::set<Frame> seen;
  std::set<int> tops;
  bool can_end = false;
  while (!open.empty()) {
    const Frame f = open.back();
    open.pop_back();
    if (!seen.insert(f).second) continue;
    require_few(seen.size(), kMostFrames);
    const Node& node = nodes_[static_cast<size_t>(f.node)];
    if (!node.edges.empty()) tops.insert(frame(f.node, f.back));
    for (const int to : node.joined) open.push_back({to, f.back});
    for (const auto& [rule, behind] : node.calls) {
      // A call at a rule's very end needs no frame of its own.
      const Node& then = nodes_[static_cast<size_t>(behind)];
      const bool last =
          then.ends && then.edges.empty() && then.calls.empty() && then.joined.empty();
      open.push_back({first_of(rule), last ? f.back : frame(behind, f.back)});
    }
    if (!node.ends) continue;
    if (f.back < 0) can_end = true;
    else open.push_back(frames_[static_cast<size_t>(f.back)]);
  }
  if (tops.empty() && !can_end) return kDead;
  const std::pair key(std::vector<int>(tops.begin(), tops.end()), can_end);
  const auto [at, fresh] = state_ids_.emplace(key, static_cast<int>(states_.size()));
  if (fresh) {
    require_few(states_.size(), kMostStates);
    State made{key.first, can_end, {}};
    made.next.fill(kUnknown);
    states_.push_back(std::move(made));
  }
  return at->second;
}

int Grammar::start(int rule) { return state_of({{first_of(rule), -1}}); }

int Grammar::next(int state, uint8_t byte) {
  const int known = states_[static_cast<size_t>(state)].next[byte];
  if (known != kUnknown) return known;
  std::vector<Frame> open;
  for (const int top : states_[static_cast<size_t>(state)].tops) {
    const Frame f = frames_[static_cast<size_t>(top)];
    for (const Node::Edge& edge : nodes_[static_cast<size_t>(f.node)].edges)
      if (byte >= edge.first && byte <= edge.last) open.push_back({edge.to, f.back});
  }
  const int found = open.empty() ? kDead : state_of(std::move(open));
  states_[static_cast<size_t>(state)].next[byte] = found;
  return found;
}

int Grammar::next(int state, std::string_view text) {
  for (const char c : text) {
    if (state == kDead) return kDead;
    state = next(state, static_cast<uint8_t>(c));
  }
  return state;
}

}  // namespace hologram::llm
