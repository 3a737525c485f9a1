// The second step of attention whose keys are cut into parts.
#include "algorithms/attention/programs.hpp"
#include "algorithms/attention/terms.hpp"

namespace hologram::graph::attention {

namespace {

using program::Access;

class Combine : public Terms {
 public:
  explicit Combine(const Key& key) : Terms("attention_parts", {kCombineLanes}, key) {}

  program::Program write() {
    parts_of_result_ = b_.buffer("parts_of_result", key_.wide, Access::In);
    if (key_.sinks) sinks_ = b_.buffer("sinks", key_.wide, Access::In);
    result_ = b_.buffer("result", key_.result, Access::Out);
    if (key_.with_logs) declare_kept();
    const Value rows = scalar("rows"), queries = scalar("queries"), heads = scalar("heads");
    parts_ = scalar("parts");
    states_ = scalar("states");
    const int64_t features = key_.value_features;
    const Value at = b_.global_id(0), row = at / features, feature = at % features;
    b_.if_(row < rows, [&] {
      const Var largest = b_.var(never()), total = b_.var(real(0)), sum = b_.var(real(0));
      b_.for_(whole(0), parts_, 1, [&](Value part) {
        b_.set(largest, max(b_.get(largest), state(part * rows + row, 0)));
      });
      const Value base = base_of(b_.get(largest));
      b_.for_(whole(0), parts_, 1, [&](Value part) {
        const Value of = part * rows + row, factor = exp(state(of, 0) - base);
        b_.set(total, fma(factor, state(of, 1), b_.get(total)));
        b_.set(sum, fma(factor, b_.load(parts_of_result_, of * features + feature), b_.get(sum)));
      });
      const Epilogue e = epilogue(b_.get(largest), b_.get(total), row / queries % heads);
      store_result(row, feature, b_.get(sum), e);
      if (key_.with_logs) b_.if_(feature == 0, [&] { store_log(row, e); });
    });
    return finish();
  }

 private:
  Value state(Value row, int64_t which) {
    return b_.load(parts_of_result_, states_ + row * 2 + which);
  }

  Buf parts_of_result_{};
};

}  // namespace

program::Program combine_program(const Key& key) { return Combine(key).write(); }

}  // namespace hologram::graph::attention
