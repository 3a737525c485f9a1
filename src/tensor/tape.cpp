#include "tensor/tape.hpp"

#include <algorithm>
#include <numeric>

#include "core/messages.hpp"
#include "graph/elementwise.hpp"
#include "hologram/ops.hpp"

namespace hologram::tensor {

using core::Text;
using graph::Node;
using graph::View;

constinit thread_local Recorder* t_recorder = nullptr;

namespace {

// Of a node that is recorded; no other one ever has the same.
uint64_t identity_of(Node& node) {
  static std::atomic<uint64_t> last{0};
  uint64_t id = node.identity.load(std::memory_order_acquire);
  if (id != 0) return id;
  const uint64_t fresh = last.fetch_add(1, std::memory_order_relaxed) + 1;
  return node.identity.compare_exchange_strong(id, fresh, std::memory_order_acq_rel) ? fresh : id;
}

// Axes along which the same element is seen again, and the view without them.
std::vector<int> repeated_axes(const View& view) {
  std::vector<int> axes;
  for (size_t k = 0; k < view.shape.size(); k++)
    if (view.strides[k] == 0 && view.shape[k] > 1) axes.push_back(static_cast<int>(k));
  return axes;
}

// Whether it sees each element once at most: no view of the public interface does otherwise.
bool sees_once(const View& view) {
  InlineVector<size_t, kMaxRank> order;
  for (size_t k = 0; k < view.shape.size(); k++)
    if (view.shape[k] > 1) order.push_back(k);
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::abs(view.strides[a]) < std::abs(view.strides[b]);
  });
  int64_t span = 0;  // from the first to the last element along the axes before
  for (const size_t k : order) {
    if (std::abs(view.strides[k]) <= span) return false;
    span += std::abs(view.strides[k]) * (view.shape[k] - 1);
  }
  return true;
}

// If the view is all of a dense tensor with its axes in another order, that order.
std::optional<std::vector<int>> permutation(const View& view, const Shape& shape) {
  const View whole = graph::dense_view(shape);
  if (view.shape.size() != shape.size() || view.offset != 0) return {};
  std::vector<int> axes(shape.size(), -1);  // of the view, for each axis of the tensor
  for (size_t k = 0; k < shape.size(); k++)
    for (size_t j = 0; j < shape.size() && axes[k] < 0; j++) {
      const bool taken = std::find(axes.begin(), axes.end(), static_cast<int>(j)) != axes.end();
      if (!taken && view.shape[j] == shape[k] &&
          (shape[k] == 1 || view.strides[j] == whole.strides[k]))
        axes[k] = static_cast<int>(j);
    }
  if (std::find(axes.begin(), axes.end(), -1) != axes.end()) return {};
  return axes;
}

}  // namespace

void Tape::watch(const Tensor& tensor) { watched_.push_back(slot_for(tensor)); }

bool Tape::tracks(const Tensor& tensor) const {
  const uint64_t id = Access::look(tensor).identity.load(std::memory_order_acquire);
  return id != 0 && slots_.contains(id);
}

uint32_t Tape::slot_for(const Tensor& tensor) {
  Node& node = Access::look(tensor);
  const auto [at, added] = slots_.emplace(identity_of(node), static_cast<uint32_t>(shapes_.size()));
  if (added) shapes_.push_back(node.shape);
  return at->second;
}

Tape::Place Tape::place_of(const Tensor& tensor) const {
  Place place;
  place.view = Access::view(tensor);
  place.dtype = tensor.dtype();
  if (is_float(tensor.dtype()) && tracks(tensor))
    place.slot = slots_.at(Access::look(tensor).identity.load(std::memory_order_acquire));
  return place;
}

void Tape::add(const Tensors& operands, const Tensors& results,
               const std::shared_ptr<const Pullback>& pullback) {
  Entry entry;
  bool depends = false;
  for (const Tensor& t : operands) {
    entry.operands.push_back(place_of(t));
    depends = depends || entry.operands.back().slot != kNone;
  }
  if (!depends) return;
  for (const Tensor& t : results) {
    // An operand looked at in another way: its view says all there is to say.
    if (tracks(t) && results.size() == 1) return;
    if (is_float(t.dtype())) slot_for(t);
    entry.results.push_back(place_of(t));
  }
  entry.pullback = pullback;
  entries_.push_back(std::move(entry));
}

Tensor Tape::seen(const Tensor& adjoint, const Place& place) const {
  const Shape& whole = shapes_[place.slot];
  if (graph::is_dense(place.view) &&
      graph::element_count(place.view.shape) == graph::element_count(whole))
    return adjoint.reshape(place.view.shape);
  if (const auto axes = permutation(place.view, whole)) {
    std::vector<int> back(axes->size());
    for (size_t k = 0; k < axes->size(); k++)
      back[static_cast<size_t>((*axes)[k])] = static_cast<int>(k);
    return adjoint.permute(back);
  }
  return Access::make(Access::node(dense(adjoint.broadcast_to(whole))), View(place.view));
}

void Tape::accumulate(Tensors& adjoints, const Place& place, Tensor g) const {
  if (place.slot == kNone || !g.defined()) return;
  const Shape& whole = shapes_[place.slot];
  View view = place.view;
  g = sum_to(g, view.shape).to(place.dtype);
  if (const std::vector<int> axes = repeated_axes(view); !axes.empty()) {
    g = ops::sum(g, axes);
    for (size_t k = axes.size(); k-- > 0;) {
      view.shape.erase(view.shape.begin() + axes[k]);
      view.strides.erase(view.strides.begin() + axes[k]);
    }
  }
  if (graph::is_dense(view) && graph::element_count(view.shape) == graph::element_count(whole)) {
    g = g.reshape(whole);
  } else if (const auto axes = permutation(view, whole)) {
    g = g.permute(*axes);
  } else {
    if (!sees_once(view))
      throw core::error(Text::InternalError, "a gradient of an overlapping view");
    // Elements that nobody has seen have none.
    const Tensor zeros = ops::zeros(whole, place.dtype, g.executor());
    g = with_gradient(
        Tensors{g},
        [&] {
          return assemble(place.dtype, whole, {{zeros, graph::dense_view(whole)}, {g, view}},
                          context_of(g));
        },
        [&](const Tensor&) {
          return [view](const Tensor& of, const Wanted&) {
            return Tensors{Access::make(Access::node(dense(of)), View(view))};
          };
        });
  }
  Tensor& sum = adjoints[place.slot];
  sum = sum.defined() ? sum + g : std::move(g);
}

Tensors Tape::pull(const Tensors& results, const Tensors& cotangents) const {
  Tensors adjoints(shapes_.size());
  for (size_t i = 0; i < results.size(); i++)
    accumulate(adjoints, place_of(results[i]), cotangents[i]);
  std::vector<bool> is_watched(shapes_.size());
  for (const uint32_t slot : watched_) is_watched[slot] = true;
  for (size_t e = entries_.size(); e-- > 0;) {
    const Entry* const entry = &entries_[e];
    Tensors g;
    bool any = false;
    for (const Place& result : entry->results) {
      Tensor& of = g.emplace_back();
      if (result.slot == kNone || !adjoints[result.slot].defined()) continue;
      of = seen(adjoints[result.slot], result);
      any = true;
    }
    // Nothing that was recorded before it adds to these.
    for (const Place& result : entry->results)
      if (result.slot != kNone && !is_watched[result.slot]) adjoints[result.slot] = Tensor();
    if (!any) continue;
    Wanted wanted;
    for (const Place& operand : entry->operands) wanted.push_back(operand.slot != kNone);
    Tensors back = (*entry->pullback)(g, wanted);
    for (size_t i = 0; i < back.size(); i++)
      accumulate(adjoints, entry->operands[i], std::move(back[i]));
  }
  Tensors gradients;
  for (const uint32_t slot : watched_) gradients.push_back(adjoints[slot]);
  return gradients;
}

namespace {

void met(const Recorder& probe, const Tensors& operands) {
  for (const Tensor& t : operands) {
    const auto is_same = [&](const Tensor& m) { return &Access::look(m) == &Access::look(t); };
    if (std::any_of(probe.met->begin(), probe.met->end(), is_same)) continue;
    for (const Recorder* r = probe.outer; r != nullptr; r = r->outer)
      if (r->tape != nullptr && is_float(t.dtype()) && r->tape->tracks(t)) {
        probe.met->push_back(Access::make(Access::node(t)));
        break;
      }
  }
}

}  // namespace

bool is_tracked(const Tensor& tensor) {
  for (const Recorder* r = t_recorder; r != nullptr; r = r->outer)
    if (r->tape != nullptr && r->tape->tracks(tensor)) return true;
  return false;
}

void record(const Tensors& operands, const Tensors& results, Pullback pullback) {
  const auto shared = std::make_shared<const Pullback>(std::move(pullback));
  for (const Recorder* r = t_recorder; r != nullptr; r = r->outer) {
    // Outside of a probe nothing is recorded: what it has met is an operand of a record to come.
    if (r->tape == nullptr) return met(*r, operands);
    if (std::none_of(operands.begin(), operands.end(),
                     [&](const Tensor& t) { return r->tape->tracks(t); }))
      continue;
    r->tape->add(operands, results, shared);
  }
}

void record_same(const Tensor& operand, const Tensor& result) {
  record({operand}, {result}, [](const Tensors& g, const Wanted&) { return g; });
}

Tensor renamed(const Tensor& tensor) {
  Node& from = Access::look(tensor);
  auto node =
      std::make_unique<Node>(graph::Kind::Elementwise, *from.context, from.dtype, tensor.shape());
  node->op = &graph::source::kCopy;
  node->alias_of = std::make_unique<const graph::Input>(input_of(tensor));
  node->inputs.push_back(*node->alias_of);
  return finish(std::move(node));
}

Tensor sum_to(const Tensor& tensor, const Shape& shape) {
  if (tensor.shape() == shape) return tensor;
  const size_t added = tensor.shape().size() - shape.size();
  std::vector<int> axes;
  for (size_t k = 0; k < tensor.shape().size(); k++)
    if (k < added || (shape[k - added] == 1 && tensor.shape()[k] != 1))
      axes.push_back(static_cast<int>(k));
  return ops::sum(tensor, axes).reshape(shape);
}

}  // namespace hologram::tensor
