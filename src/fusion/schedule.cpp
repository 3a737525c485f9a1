// Greedy fusion. Nodes are met consumers first; one joins a kernel if all that use it stand in that
// kernel and their way of looking at it can be followed through to its own inputs. So no value that
// is used by two kernels is computed twice, but for what is read in less memory, and kernels
// never wait for each other in a circle: one that was begun later never needs the result of one
// that was begun before.
#include "fusion/schedule.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/messages.hpp"
#include "fusion/columns.hpp"
#include "fusion/joining.hpp"
#include "fusion/library_kernels.hpp"
#include "fusion/terms.hpp"
#include "graph/elementwise.hpp"
#include "graph/opaque_op.hpp"

namespace hologram::graph {
namespace {

constexpr size_t kMostMembers = 64;
constexpr size_t kMostWays = 4;  // in which one kernel looks at the same value

class Scheduler {
 public:
  // `kept` are written to memory and read, though they might be fused.
  Scheduler(const ScheduleOptions& options, const std::set<const Node*>& kept)
      : options_(options), kept_(kept) {}
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;
  // Also where it ended early.
  ~Scheduler() {
    for (Node* node : order_) node->slot = UINT32_MAX;
  }

  Schedule run(const std::vector<Node*>& roots) {
    // Small results last of all that could be placed then: there are kernels of their size already.
    std::vector<Node*> by_size = roots;
    std::stable_sort(by_size.begin(), by_size.end(), [](const Node* a, const Node* b) {
      return element_count(a->shape) < element_count(b->shape);
    });
    for (Node* root : by_size) collect(root);
    for (Node* root : roots)
      if (root->slot != UINT32_MAX) uses_[root->slot].root = true;
    for (size_t i = order_.size(); i-- > 0;) place(order_[i]);
    Schedule result;
    for (size_t i = drafts_.size(); i-- > 0;) {
      Draft& draft = drafts_[i];
      Step& step = result.steps.emplace_back();
      step.opaque = draft.opaque;
      if (!draft.members.empty() && draft.opaque != nullptr) {
        step.epilogue = epilogue_of(*draft.roots.front().node);
        step.kernel = kernel_of(*step.epilogue);
      } else if (draft.opaque == nullptr) {
        step.kernel = build_kernel(draft);
      }
    }
    result.cuts = std::move(cuts_);
    return result;
  }

 private:
  struct Use {
    size_t draft;
    View view;
    friend bool operator==(const Use&, const Use&) = default;
  };
  struct Uses {
    std::vector<Use> list;
    bool root = false;
    std::vector<size_t> drafts;  // that it is computed in
    bool is_in(size_t draft) const {
      return std::find(drafts.begin(), drafts.end(), draft) != drafts.end();
    }
  };

  // Lazy nodes, inputs before those who use them.
  void collect(Node* root) {
    std::vector<std::pair<Node*, size_t>> path = {{root, 0}};
    while (!path.empty()) {
      auto& [node, next] = path.back();
      if (next == 0) {
        const NodeState state = node->state.load(std::memory_order_acquire);
        if (state == NodeState::Failed) std::rethrow_exception(node->error);
        const bool given = node->kind == Kind::Data && state == NodeState::Lazy;
        if (given && !options_.tracing) throw core::error(core::Text::CaptureRead);
        if (given || state == NodeState::Ready || node->slot != UINT32_MAX) {
          path.pop_back();
          continue;
        }
      }
      if (next < node->inputs.size()) {
        path.emplace_back(node->inputs[next++].node.get(), 0);
        continue;
      }
      if (node->slot == UINT32_MAX) {
        order_.push_back(node);
        uses_.emplace_back();
        node->slot = static_cast<uint32_t>(order_.size() - 1);
      }
      path.pop_back();
    }
  }

  void place(Node* node) {
    Uses& uses = uses_[node->slot];
    std::string reason;
    if (!uses.list.empty() &&
        (ends(node, uses) || is_gathered(node, uses) || joins(node, uses, reason)))
      return;
    if (!uses.list.empty()) cuts_.push_back({node, std::move(reason)});
    begin(node);
  }

  // A product whose only reader is a kernel that a library can compute with it: they are one step.
  // Whoever else holds one of the nodes may ask for it later, and is not to wait for it then.
  bool ends(Node* node, const Uses& uses) {
    if (node->kind != Kind::Opaque || !options_.fusion || options_.library == nullptr) return false;
    if (uses.root || uses.list.size() != 1) return false;
    Draft& draft = drafts_[uses.list.front().draft];
    if (draft.opaque != nullptr || draft.roots.size() != 1) return false;
    Node* const last = draft.roots.front().node;
    if (draft.roots.front().target != last) return false;
    const std::optional<Epilogue> ending = epilogue_of(*last);
    if (!ending || ending->product != node || ending->members != draft.members) return false;
    const auto is_held = [last](const Node* n) {
      return n != last && n->references.load(std::memory_order_acquire) > 1;
    };
    if (is_held(node) || std::any_of(draft.members.begin(), draft.members.end(), is_held))
      return false;
    if (!node->work->takes_epilogue(*ending) || !options_.library->has_epilogues()) return false;
    draft.opaque = node;
    const size_t index = uses.list.front().draft;
    for (const Input& input : node->inputs) use(input.node.get(), index, input.view());
    return true;
  }

  // Rows side by side are enough for a device whose groups are so large.
  bool fill_groups(const Node& pieces) const {
    constexpr int64_t kSideBySide = 64, kFewestRows = 4096, kFewestLanes = 1 << 15;
    const int64_t all = element_count(pieces.shape);
    return pieces.chunk <= kLongestLanePiece && all / pieces.shape[0] >= kFewestRows &&
           all >= kFewestLanes && pieces.shape.back() >= kSideBySide &&
           compute_type(pieces.dtype) == pieces.dtype && pieces.dtype != DType::Bool;
  }

  // Pieces that nobody but a kernel reads that puts them together: a group may have all of a row's.
  bool is_gathered(Node* node, const Uses& uses) {
    if (node->kind != Kind::Reduce || !node->makes_pieces() || !options_.fusion) return false;
    if (node->is_guarded()) return false;
    if (uses.root || uses.list.size() != 1) return false;
    const int64_t pieces = node->shape[0];
    if (pieces == 0 || pieces > kMostGathered) return false;
    Draft& draft = drafts_[uses.list.front().draft];
    const auto sums = std::find_if(draft.members.begin(), draft.members.end(),
                                   [&](const Node* n) { return n->kind == Kind::Reduce; });
    if (draft.opaque != nullptr || draft.roots.size() != 1 || draft.row_axes != 1 ||
        draft.reads.size() != 1 || sums == draft.members.end() ||
        (*sums)->inputs[0].node.get() != node || (*sums)->combine != node->combine)
      return false;
    if (!(options_.large_groups
              ? fill_groups(*node)
              : draft.members.size() == 1 && library_adds_row(options_.library, *node, **sums)))
      return false;
    // Element by element, and the pieces as they lie.
    const Shape kept(draft.domain.begin(), draft.domain.end() - 1);
    View whole = dense_view(kept);
    if (kept != Shape(node->shape.begin() + 1, node->shape.end())) return false;
    whole.shape.push_back(pieces);
    whole.strides.push_back(element_count(kept));
    if (uses.list.front().view != canonical(std::move(whole)) ||
        draft.roots.front().way.shape.size() != kept.size() ||
        draft.roots.front().to.shape.size() != kept.size())
      return false;
    draft.domain = node->inputs[0].view().shape;
    draft.row_axes = node->reduced;
    draft.chunk = node->chunk;
    draft.combines_partials = true;
    add_member(uses.list.front().draft, node, {dense_view(node->shape)});
    return true;
  }

  // Whether the kernel reads or makes the node, or something that its elements are made of.
  bool reads_in(Node* node, size_t draft) const {
    std::vector<Node*> above = {node};
    for (size_t i = 0; i < above.size() && i < kFarthest; i++) {
      Node* const at = above[i];
      if (drafts_[draft].reads.count(at) > 0) return true;
      if (at->slot == UINT32_MAX) continue;
      if (uses_[at->slot].is_in(draft)) return true;
      if (at->kind != Kind::Elementwise) continue;
      for (const Input& input : at->inputs)
        if (!input.node->shape.empty()) above.push_back(input.node.get());
    }
    return false;
  }

  // Pieces of rows that another kernel reads in the same pieces are made beside those, and so is
  // what one guard asks for; unless that kernel or one before it needs them.
  bool joins_siblings(Node* node) {
    if (!node->makes_pieces() && !node->is_guarded()) return false;
    if (!options_.fusion) return false;
    for (size_t i = drafts_.size(); i-- > 0;) {
      Draft& draft = drafts_[i];
      const Uses& uses = uses_[node->slot];
      if (std::any_of(uses.list.begin(), uses.list.end(),
                      [i](const Use& use) { return use.draft >= i; }))
        return false;
      if (draft.opaque != nullptr || draft.roots.empty()) continue;
      const Node& other = *draft.roots.front().node;
      if (draft.roots.front().target != &other || !are_siblings(*node, other)) continue;
      if (!(node->is_guarded() || reads_in(node->inputs[0].node.get(), i)) ||
          draft.reads.size() + draft.roots.size() + 1 > options_.max_bindings)
        continue;
      const Draft::Root& first = draft.roots.front();
      draft.roots.push_back({node, first.way, node, first.to});
      add_member(i, node, {draft.roots.back().way});
      return true;
    }
    return false;
  }

  // A result that nothing else needs can be made by any kernel that has begun: what it is made of
  // will be made before that.
  bool is_made_beside(Node* node) {
    if (!uses_[node->slot].root || !uses_[node->slot].list.empty() || !options_.fusion)
      return false;
    for (size_t i = drafts_.size(); i-- > 0;) {
      const auto way = way_beside(drafts_[i], *node);
      if (!way) continue;
      Draft draft = drafts_[i];
      std::vector<View> ways = {*way};
      std::string reason;
      if (!can_join(node, draft, ways, true, reason)) continue;
      drafts_[i] = std::move(draft);
      add_member(i, node, ways);
      return true;
    }
    return false;
  }

  // A kernel of its own for the node, or a step of its kind.
  void begin(Node* node) {
    if (joins_siblings(node) || is_made_beside(node)) return;
    if (node->kind == Kind::Opaque) {
      Draft& draft = drafts_.emplace_back();
      draft.opaque = node;
      for (const Input& input : node->inputs)
        use(input.node.get(), drafts_.size() - 1, input.view());
      return;
    }
    if (node->kind == Kind::Assemble) {
      for (size_t i = node->parts.size(); i-- > 0;) {
        Draft& draft = drafts_.emplace_back();
        draft.domain = node->parts[i].shape;
        draft.roots.push_back(
            {node->inputs[i].node.get(), node->inputs[i].view(), node, node->parts[i]});
        use(node->inputs[i].node.get(), drafts_.size() - 1, node->inputs[i].view());
      }
      return;
    }
    Draft& draft = drafts_.emplace_back();
    View to = dense_view(node->shape);
    if (node->kind == Kind::Reduce) {
      draft.domain = node->inputs[0].view().shape;
      draft.row_axes = node->reduced;
      draft.chunk = node->chunk;
      draft.combines_partials = node->combines_partials;
    } else {
      const auto axis = options_.fusion ? axis_of_columns(*node) : std::nullopt;
      if (axis) to = with_axis_last(to, *axis);
      draft.domain = to.shape;
    }
    if (node->makes_pieces()) {  // the codes of the kernel add the piece's number
      to.shape.erase(to.shape.begin());
      to.strides.erase(to.strides.begin());
    }
    draft.roots.push_back({node, to, node, to});
    add_member(drafts_.size() - 1, node, {to});
  }

  void use(Node* node, size_t draft, const View& view) {
    drafts_[draft].reads.insert(node);
    if (node->slot == UINT32_MAX) return;  // there already
    auto& list = uses_[node->slot].list;
    const Use made{draft, canonical(view)};
    if (std::find(list.begin(), list.end(), made) == list.end()) list.push_back(made);
  }

  void add_member(size_t index, Node* node, const std::vector<View>& ways) {
    drafts_[index].members.push_back(node);
    drafts_[index].reads.erase(node);
    uses_[node->slot].drafts.push_back(index);
    for (const View& way : ways)
      for (const Input& input : node->inputs)
        use(input.node.get(), index, *through(drafts_[index], *node, input, way));
  }

  // Whether little of the node is computed for the draft, or seldom.
  static bool needs_little(const Draft& draft, const Node& node, const std::vector<View>& views) {
    constexpr int64_t kLittle = 16;
    const auto is_little = [&](const View& view) {
      const View way = padded(view, draft.domain);
      return draft.evaluations(node, way) <= element_count(node.shape) / kLittle;
    };
    return draft.is_guarded() || std::all_of(views.begin(), views.end(), is_little);
  }

  // What is little beside what another kernel needs is computed again.
  bool joins(Node* node, const Uses& uses, std::string& reason) {
    if (kept_.count(node) > 0) {
      reason = "each walk over a row would compute it again";
      return false;
    }
    std::map<size_t, std::vector<View>> views;
    for (const Use& use : uses.list) views[use.draft].push_back(use.view);
    size_t unguarded = 0, stores = views.begin()->first;
    for (const auto& [index, list] : views) {
      if (views.size() > 1 && needs_little(drafts_[index], *node, list)) continue;
      unguarded++;
      stores = index;
    }
    const bool again = unguarded > 1 && is_read_in_less(*node);
    if ((unguarded > 1 && !again) || (views.size() > 1 && node->kind == Kind::Reduce)) {
      if (is_stored_by_first(node, views, reason)) return true;
      reason = options_.fusion ? "two kernels use it" : "fusion is off";
      return false;
    }
    struct Joined {
      size_t index;
      Draft draft;
      std::vector<View> ways;
    };
    std::vector<Joined> all;
    for (const auto& [index, list] : views) {
      Joined& joined = all.emplace_back(Joined{index, drafts_[index], list});
      if (!can_join(node, joined.draft, joined.ways, uses.root && index == stores, reason))
        return false;
    }
    for (Joined& joined : all) {
      drafts_[joined.index] = std::move(joined.draft);
      add_member(joined.index, node, joined.ways);
    }
    return true;
  }

  // Of the kernels that use it, the one that runs first may store what is one of its rows, all of
  // what it reads along them where it reads that once, and what is so small that a kernel of its
  // own would cost its launch alone.
  bool is_stored_by_first(Node* node, std::map<size_t, std::vector<View>>& views,
                          std::string& reason) {
    auto& [index, ways] = *views.rbegin();
    Draft draft = drafts_[index];
    constexpr int64_t kSmall = 1 << 16;
    const bool is_small = draft.row_axes == 0 && draft.opaque == nullptr &&
                          node->kind == Kind::Elementwise && element_count(draft.domain) <= kSmall;
    const bool reads_once = options_.large_groups && draft.row_axes > 0 && draft.chunk == 0 &&
                            !draft.is_guarded() && node->kind == Kind::Elementwise;
    const bool stores = is_small || reads_once ||
                        std::any_of(ways.begin(), ways.end(),
                                    [&](const View& way) { return stores_rows(draft, way); });
    if (!options_.fusion || !stores || !can_join(node, draft, ways, true, reason)) return false;
    drafts_[index] = std::move(draft);
    add_member(index, node, ways);
    return true;
  }

  // Makes the draft, and the ways in which it looks at the node, what they are with it.
  bool can_join(Node* node, Draft& draft, std::vector<View>& ways, bool is_result,
                std::string& reason) const {
    const auto refuse = [&](std::string why) {
      reason = std::move(why);
      return false;
    };
    if (!options_.fusion && !is_number(*node)) return refuse("fusion is off");
    if (draft.opaque != nullptr)
      return refuse(fmt::format("{} reads it from memory", describe(*draft.opaque)));
    if (node->kind != Kind::Elementwise && node->kind != Kind::Reduce)
      return refuse("it is not fused");
    if (draft.members.size() >= kMostMembers) return refuse("the kernel is long enough");
    if (ways.size() > kMostWays) return refuse("it is looked at in too many ways");
    auto reads = draft.reads;
    reads.erase(node);
    for (const Input& input : node->inputs) reads.insert(input.node.get());
    const size_t outputs = draft.roots.size() + (is_result ? 1 : 0);
    if (reads.size() + outputs > options_.max_bindings)
      return refuse("the kernel has as many buffers as a device takes");

    // Some may be from before the domain had the axes of a row.
    std::vector<View> different;
    for (View& way : ways)
      if (View whole = canonical(padded(std::move(way), draft.domain));
          std::find(different.begin(), different.end(), whole) == different.end())
        different.push_back(std::move(whole));
    ways = std::move(different);
    if (node->kind == Kind::Reduce) {
      if (draft.row_axes == 0 && library_adds_rows(options_.library, *node))
        return refuse("a library adds up its rows");
      if (!takes_row(draft, *node, ways, reason)) return false;
      draft.chunk = node->chunk;
      draft.combines_partials = node->combines_partials;
    }
    const bool is_kept = is_costly(*node) || follows_what_is_costly(*node);
    if (node->kind == Kind::Elementwise && draft.row_axes == 0 && is_kept)
      foresee_row(draft, *node, ways);
    for (View& way : ways) way = padded(way, draft.domain);
    for (const View& way : ways) {
      if (draft.evaluations(*node, way) > element_count(node->shape) && is_kept)
        return refuse("it would be computed again for each element it is repeated for");
      for (const Input& input : node->inputs)
        if (!through(draft, *node, input, way))
          return refuse("strides cannot say how its inputs are looked at");
    }
    if (is_result && combines_partials_alone(draft))
      return refuse("it is a result, and rows are gathered");
    if (is_result) {
      // In other ways, as the first element of each row, it may be looked at as well.
      const auto stored = std::find_if(ways.begin(), ways.end(),
                                       [&](const View& way) { return covers(draft, *node, way); });
      if (stored == ways.end()) return refuse("it is a result, of another shape than the kernel's");
      if (draft.chunk != 0 && !draft.combines_partials &&
          is_constant_along(*stored, draft.row_axes))
        return refuse("it is a result, and the rows are reduced in pieces");
      draft.roots.push_back({node, *stored, node, *stored});
    }
    return true;
  }

  // Makes the kernel one over rows that this reduction walks, if it is not yet.
  bool takes_row(Draft& draft, const Node& node, const std::vector<View>& ways,
                 std::string& reason) const {
    const Shape row = reduced_shape(node);
    const auto refuse = [&](const char* why) {
      reason = why;
      return false;
    };
    if (node.makes_pieces() || !has_way_of(draft, node))
      return refuse("the rows are reduced in pieces");
    if (ways.size() != 1) return refuse("it is looked at in more than one way");
    const View& way = ways[0];
    if (draft.row_axes == 0) {
      const bool within = ends_with(draft.domain, row) && is_constant_along(way, row.size()) &&
                          element_count(row) > 1;
      if (within) {
        draft.row_axes = row.size();
        if (draft.outer_count() <= element_count(node.shape)) return true;
        draft.row_axes = 0;
      }
      if (element_count(draft.domain) > element_count(node.shape))
        return refuse("its rows are not those of the kernel");
      draft.domain.insert(draft.domain.end(), row.begin(), row.end());
      draft.row_axes = row.size();
      return draft.domain.size() <= kMaxRank || refuse("the kernel has axes enough");
    }
    const bool same = draft.row_axes == row.size() && ends_with(draft.domain, row);
    if (!same || !is_constant_along(way, draft.row_axes) ||
        draft.outer_count() > element_count(node.shape))
      return refuse("its rows are not those of the kernel");
    return true;
  }

  Kernel build_kernel(const Draft& draft) {
    return build_terms(draft, [&](const Node& node) {
      return node.slot != UINT32_MAX &&
             uses_[node.slot].is_in(static_cast<size_t>(&draft - drafts_.data()));
    });
  }

  const ScheduleOptions& options_;
  const std::set<const Node*>& kept_;
  std::vector<Node*> order_;
  std::vector<Uses> uses_;  // by slot
  std::vector<Draft> drafts_;
  std::vector<Cut> cuts_;
};

}  // namespace

Schedule schedule(const std::vector<Node*>& roots, const ScheduleOptions& options) {
  std::set<const Node*> kept;
  while (true) {
    Schedule made = Scheduler(options, kept).run(roots);
    bool again = false;
    for (const Step& step : made.steps)
      if (const Node* node = worth_keeping(step.kernel, options.costs))
        again = kept.insert(node).second || again;
    if (!again) return made;
  }
}

}  // namespace hologram::graph
