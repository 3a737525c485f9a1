#include "hologram/nn/flat.hpp"

#include <algorithm>

#include "nn/common.hpp"
#include "tensor/access.hpp"

namespace hologram::nn {

namespace {

using tensor::Access;

// The largest power of 2 that divides the number of elements, as far as it matters to memory.
int64_t alignment_of(const Shape& shape) {
  constexpr int64_t kMost = 256;
  const int64_t count = graph::element_count(shape);
  return count == 0 ? kMost : std::min(kMost, count & -count);
}

// Of elements from which on a tensor stays by itself: to join its gradient would take longer than a
// launch of its own.
constexpr int64_t kLarge = int64_t{1} << 22;

// The node that this is a part of, from `start` on as it lies in memory.
graph::NodeRef whole_of(const Tensor& tensor, int64_t start, int64_t count) {
  const graph::Node& node = Access::look(tensor);
  const graph::View view = graph::canonical(Access::view(tensor));
  const graph::View wanted =
      graph::canonical({tensor.shape(), graph::dense_strides(tensor.shape()), start});
  if (node.shape != Shape{count} || !(view == wanted)) return {};
  return Access::node(tensor);
}

}  // namespace

Flat::Flat(const std::vector<Tensor>& like) {
  std::vector<const Tensor*> firsts;  // of the groups
  for (size_t i = 0; i < like.size(); i++) {
    const Tensor& t = like[i];
    shapes_.push_back(t.shape());
    const auto is_alike = [&](const Tensor* first) {
      return first->size() < kLarge && first->dtype() == t.dtype() &&
             &tensor::context_of(*first) == &tensor::context_of(t);
    };
    const auto found =
        t.size() >= kLarge ? firsts.end() : std::find_if(firsts.begin(), firsts.end(), is_alike);
    const auto at = static_cast<size_t>(found - firsts.begin());
    if (found == firsts.end()) {
      firsts.push_back(&t);
      groups_.emplace_back();
    }
    groups_[at].parts.push_back({i, 0});
  }
  for (Group& group : groups_) {
    std::stable_sort(group.parts.begin(), group.parts.end(), [&](const Part& a, const Part& b) {
      return alignment_of(shapes_[a.tensor]) > alignment_of(shapes_[b.tensor]);
    });
    for (Part& part : group.parts) {
      part.start = group.count;
      group.count += graph::element_count(shapes_[part.tensor]);
    }
  }
}

std::vector<Tensor> Flat::join(const std::vector<Tensor>& tensors) const {
  std::vector<Tensor> joined;
  if (tensors.empty()) return joined;
  if (tensors.size() != shapes_.size())
    throw core::error(Text::NnCount, "join", tensors.size(), "tensors", shapes_.size());
  for (size_t i = 0; i < tensors.size(); i++)
    need_shape("join", "a tensor", tensors[i], shapes_[i]);
  joined.reserve(groups_.size());
  for (const Group& group : groups_) {
    const auto whole = [&](const Part& part) {
      return whole_of(tensors[part.tensor], part.start, group.count);
    };
    const graph::NodeRef first = whole(group.parts.front());
    const bool is_joined = first && std::all_of(group.parts.begin(), group.parts.end(),
                                                [&](const Part& p) { return whole(p) == first; });
    if (is_joined) {
      joined.push_back(Access::make(first));
      continue;
    }
    if (group.parts.size() == 1) {
      joined.push_back(tensors[group.parts.front().tensor].reshape({-1}));
      continue;
    }
    std::vector<Tensor> rows;
    for (const Part& part : group.parts) rows.push_back(tensors[part.tensor].reshape({-1}));
    joined.push_back(ops::concat(rows));
  }
  return joined;
}

std::vector<Tensor> Flat::split(const std::vector<Tensor>& joined) const {
  std::vector<Tensor> tensors;
  if (joined.empty()) return tensors;
  if (joined.size() != groups_.size())
    throw core::error(Text::NnCount, "split", joined.size(), "tensors", groups_.size());
  tensors.resize(shapes_.size());
  for (size_t k = 0; k < groups_.size(); k++) {
    need_shape("split", "a tensor", joined[k], {groups_[k].count});
    for (const Part& part : groups_[k].parts) {
      const Shape& shape = shapes_[part.tensor];
      const int64_t end = part.start + graph::element_count(shape);
      tensors[part.tensor] = joined[k].slice(0, {part.start, end}).reshape(shape);
    }
  }
  return tensors;
}

}  // namespace hologram::nn
