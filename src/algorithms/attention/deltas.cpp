// What gradients of attention take off: of each row, the sum of its result times the change of it.
#include "algorithms/attention/programs.hpp"
#include "algorithms/attention/terms.hpp"

namespace hologram::graph::attention {

namespace {

using program::Access;

class Deltas : public Terms {
 public:
  explicit Deltas(const Key& key) : Terms("attention_deltas", {kDeltaLanes}, key) {}

  program::Program write() {
    g_.buffer = b_.buffer("change", key_.change, Access::In);
    const Buf result = b_.buffer("result", key_.wide_result ? key_.wide : key_.result, Access::In);
    const Buf deltas = b_.buffer("deltas", key_.wide, Access::Out);
    const Value rows = scalar("rows"), queries = scalar("queries"), heads = scalar("heads");
    declare_strides("g", g_);
    const Value row = b_.global_id(0), head = row / queries;
    b_.if_(row < rows, [&] {
      const Value first = g_.first(head / heads, head % heads, row % queries),
                  first_result = row * int64_t{key_.value_features};
      const Var sum = b_.var(real(0));
      b_.for_(whole(0), whole(key_.value_features), 1, [&](Value d) {
        const Value change = b_.cast(b_.load(g_.buffer, g_.at(first, d)), key_.wide);
        b_.set(sum,
               fma(change, b_.cast(b_.load(result, first_result + d), key_.wide), b_.get(sum)));
      });
      b_.store(deltas, row, b_.get(sum));
    });
    return finish();
  }
};

}  // namespace

program::Program deltas_program(const Key& key) { return Deltas(key).write(); }

}  // namespace hologram::graph::attention
