// A language over bytes, given by rules that call each other, as an automaton with a stack; its
// states are found as they are met and kept, so that each costs its work once.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace hologram::llm {

class Grammar {
 public:
  static constexpr int kDead = -1;  // the state in which nothing fits any more

  // ---- rules: nodes, from which bytes lead on ----
  int add_rule();  // its first node is first_of(rule)
  int first_of(int rule) const { return rules_[static_cast<size_t>(rule)]; }
  int add_node();               // InvalidArgument if there are too many
  void join(int from, int to);  // without a byte
  void end_rule(int node);      // the rule may end here
  int bytes(int from, uint8_t first, uint8_t last, int to = -1);  // to: a new node unless given
  int text(int from, std::string_view text);
  int call(int from, int rule);

  // ---- states ----
  int start(int rule);
  int next(int state, uint8_t byte);
  int next(int state, std::string_view text);
  bool can_end(int state) const { return states_[static_cast<size_t>(state)].can_end; }
  bool must_end(int state) const { return states_[static_cast<size_t>(state)].tops.empty(); }

 private:
  struct Node {
    struct Edge {
      uint8_t first, last;
      int to;
    };
    std::vector<Edge> edges;
    std::vector<std::pair<int, int>> calls;  // rule, and the node behind it
    std::vector<int> joined;
    bool ends = false;
  };
  // A node in whose rule we are, and to where that returns: a frame, or -1.
  struct Frame {
    int node, back;
    bool operator==(const Frame& other) const { return node == other.node && back == other.back; }
    bool operator<(const Frame& other) const {
      return std::tie(node, back) < std::tie(other.node, other.back);
    }
  };
  struct State {
    std::vector<int> tops;  // frames from which bytes lead on
    bool can_end = false;
    std::array<int, 256> next{};  // kUnknown, kDead or a state
  };
  static constexpr int kUnknown = -2;
  int frame(int node, int back);
  int state_of(std::vector<Frame> open);

  std::vector<Node> nodes_;
  std::vector<int> rules_;
  std::vector<Frame> frames_;
  std::map<Frame, int> frame_ids_;
  std::vector<State> states_;
  std::map<std::pair<std::vector<int>, bool>, int> state_ids_;
};

}  // namespace hologram::llm
