// A kernel as the scheduler drafts it, and its terms.
#pragma once

#include <optional>
#include <set>

#include "core/function_ref.hpp"
#include "fusion/kernel.hpp"

namespace hologram::graph {

struct Draft {
  struct Root {
    Node* node;  // what is stored: this node
    View way;    // as seen over the domain,
    Node* target;
    View to;  // and where
  };
  Node* opaque = nullptr;  // a step that is no kernel
  Shape domain;
  size_t row_axes = 0;
  int64_t chunk = 0;
  bool combines_partials = false;
  std::vector<Node*> members;
  std::vector<Root> roots;
  std::set<Node*> reads;  // of members, that are no members

  int64_t outer_count() const;  // of rows, or elements
  // How often the kernel computes the node, which it looks at so.
  int64_t evaluations(const Node& node, const View& way) const;
  bool is_guarded() const;  // its rows are read only where a guard says so
};

// The view with the axes that the domain has got since: nothing differs along them.
View padded(View view, const Shape& domain);

// How a kernel that looks at `node` by `way` looks at one of its inputs; empty where strides cannot
// say it.
std::optional<View> through(const Draft& draft, const Node& node, const Input& input,
                            const View& way);

Kernel build_terms(const Draft& draft, core::FunctionRef<bool(const Node&)> is_member);

}  // namespace hologram::graph
