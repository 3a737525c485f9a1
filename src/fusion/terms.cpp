#include "fusion/terms.hpp"

#include <algorithm>
#include <unordered_map>

#include "graph/elementwise.hpp"

namespace hologram::graph {

int64_t Kernel::outer_count() const {
  int64_t count = 1;
  for (size_t k = 0; k < outer_axes(); k++) count *= domain[k];
  return count;
}

int64_t Kernel::row_length() const {
  int64_t count = 1;
  for (size_t k = outer_axes(); k < domain.size(); k++) count *= domain[k];
  return count;
}

int64_t Draft::outer_count() const {
  int64_t count = 1;
  for (size_t k = 0; k + row_axes < domain.size(); k++) count *= domain[k];
  return count;
}

int64_t Draft::evaluations(const Node& node, const View& way) const {
  const bool per_row = row_axes > 0 && is_constant_along(way, row_axes);
  return per_row || node.kind == Kind::Reduce ? outer_count() : element_count(domain);
}

bool Draft::is_guarded() const {
  bool reduces = false;
  for (const Node* node : members) {
    if (node->kind == Kind::Reduce && !node->is_guarded()) return false;
    reduces = reduces || node->kind == Kind::Reduce;
  }
  return reduces;
}

Traffic traffic(const Kernel& kernel) {
  Traffic t;
  for (const Node* node : kernel.loads)
    t.read +=
        static_cast<double>(element_count(node->shape)) * static_cast<double>(size_of(node->dtype));
  for (const Output& output : kernel.outputs) {
    // In pieces, or once a row, if that is what the term is.
    const double elements =
        (kernel.chunk != 0 && !kernel.combines_partials) || output.target->kind != Kind::Assemble
            ? static_cast<double>(element_count(output.target->shape))
            : static_cast<double>(element_count(kernel.views[output.view].shape));
    t.written += elements * static_cast<double>(size_of(output.target->dtype));
  }
  return t;
}

View padded(View view, const Shape& domain) {
  for (size_t k = view.shape.size(); k < domain.size(); k++) {
    view.shape.push_back(domain[k]);
    view.strides.push_back(0);
  }
  return view;
}

std::optional<View> through(const Draft& draft, const Node& node, const Input& input,
                            const View& way) {
  const View view = input.view();
  if (node.kind != Kind::Reduce) return composed(view, way);
  if (node.makes_pieces()) return padded(view, draft.domain);
  // The outer axes lead to the node's element, the row to what it is made of.
  const size_t outer = draft.domain.size() - draft.row_axes;
  const View outside{
      Shape(way.shape.begin(), way.shape.begin() + static_cast<int64_t>(outer)),
      Strides(way.strides.begin(), way.strides.begin() + static_cast<int64_t>(outer)), way.offset};
  if (node.is_guard(input)) {
    auto result = composed(view, outside);
    return result ? std::optional(padded(*std::move(result), draft.domain)) : result;
  }
  const size_t kept = view.shape.size() - node.reduced;
  const View inner{node.shape,
                   Strides(view.strides.begin(), view.strides.begin() + static_cast<int64_t>(kept)),
                   view.offset};
  auto result = composed(inner, outside);
  if (!result) return result;
  for (size_t k = kept; k < view.shape.size(); k++) {
    result->shape.push_back(view.shape[k]);
    result->strides.push_back(view.strides[k]);
  }
  return result;
}

namespace {

class TermBuilder {
 public:
  TermBuilder(const Draft& draft, core::FunctionRef<bool(const Node&)> is_member)
      : draft_(draft), is_member_(is_member) {
    kernel_.domain = draft.domain;
    kernel_.row_axes = draft.row_axes;
    kernel_.chunk = draft.chunk;
    kernel_.combines_partials = draft.combines_partials;
    kernel_.members = draft.members;
  }

  Kernel run() {
    for (const Draft::Root& root : draft_.roots) {
      const uint32_t made = term(root.node, padded(root.way, draft_.domain));
      const View to = padded(root.to, draft_.domain);
      const bool pieces =
          draft_.chunk != 0 && !draft_.combines_partials && root.node->kind == Kind::Reduce;
      kernel_.outputs.push_back({made, pieces ? view_of_pieces(to) : view_index(to), root.target});
    }
    return std::move(kernel_);
  }

 private:
  uint32_t term(Node* node, const View& seen) {
    const View way = canonical(seen);
    auto& known = terms_[node];
    for (const auto& [view, index] : known)
      if (view == way) return index;
    Term made = is_member_(*node) ? computed(*node, way) : loaded(node, way);
    const uint32_t index = known_reduction(made).value_or(kernel_.terms.size());
    if (index == kernel_.terms.size()) kernel_.terms.push_back(std::move(made));
    terms_[node].emplace_back(way, index);
    return index;
  }

  // The same of the same elements, as the sums that a mean and a variance are made of.
  std::optional<uint32_t> known_reduction(const Term& t) const {
    if (t.kind != TermKind::Reduce || draft_.combines_partials) return {};
    for (uint32_t k = 0; k < kernel_.terms.size(); k++) {
      const Term& other = kernel_.terms[k];
      if (other.kind == TermKind::Reduce && other.combine == t.combine && other.dtype == t.dtype &&
          other.operands == t.operands)
        return k;
    }
    return {};
  }

  Term loaded(Node* node, const View& way) {
    Term t;
    t.dtype = node->dtype;
    t.view = view_index(way);
    t.per_row = is_per_row(way);
    const auto at = std::find(kernel_.loads.begin(), kernel_.loads.end(), node);
    t.buffer = static_cast<uint32_t>(at - kernel_.loads.begin());
    if (at == kernel_.loads.end()) kernel_.loads.push_back(node);
    return t;
  }

  Term computed(Node& node, const View& way) {
    // What combines_partials pieces is one term with what makes them.
    if (draft_.combines_partials && node.kind == Kind::Reduce && node.chunk == 0)
      return computed(*node.inputs[0].node, way);
    Term t;
    t.dtype = node.dtype;
    t.per_row = draft_.row_axes > 0;
    for (const Input& input : node.inputs) {
      const uint32_t operand = term(input.node.get(), *through(draft_, node, input, way));
      t.operands.push_back(operand);
      t.level = std::max(t.level, kernel_.terms[operand].level);
      t.per_row = t.per_row && kernel_.terms[operand].per_row;
    }
    if (node.kind == Kind::Reduce) {
      t.kind = TermKind::Reduce;
      t.combine = node.combine;
      t.per_row = true;
      t.level++;
      return t;
    }
    t.kind = TermKind::Apply;
    t.op = node.op;
    t.node = &node;
    if (node.op->indexed) {
      t.view = view_index(way);
      t.per_row = t.per_row && is_per_row(way);
    }
    t.first_attribute = static_cast<uint32_t>(kernel_.attributes.size());
    t.attributes = static_cast<uint32_t>(node.attributes.size());
    for (uint32_t k = 0; k < node.attributes.size(); k++) {
      kernel_.attributes.push_back(node.attributes[k]);
      kernel_.numbers.push_back({&node, k});
    }
    return t;
  }

  bool is_per_row(const View& way) const {
    return draft_.row_axes > 0 && is_constant_along(way, draft_.row_axes);
  }

  uint32_t view_index(const View& view) {
    for (uint32_t v = 0; v < kernel_.views.size(); v++)
      if (!std::count(pieces_.begin(), pieces_.end(), v) && kernel_.views[v] == view) return v;
    kernel_.views.push_back(view);
    return static_cast<uint32_t>(kernel_.views.size() - 1);
  }
  // The layout adds a step from piece to piece to this one: no load may share it.
  uint32_t view_of_pieces(const View& view) {
    kernel_.views.push_back(view);
    pieces_.push_back(static_cast<uint32_t>(kernel_.views.size() - 1));
    return pieces_.back();
  }

  const Draft& draft_;
  core::FunctionRef<bool(const Node&)> is_member_;
  Kernel kernel_;
  std::vector<uint32_t> pieces_;
  std::unordered_map<Node*, std::vector<std::pair<View, uint32_t>>> terms_;
};

}  // namespace

Kernel build_terms(const Draft& draft, core::FunctionRef<bool(const Node&)> is_member) {
  return TermBuilder(draft, is_member).run();
}

}  // namespace hologram::graph
