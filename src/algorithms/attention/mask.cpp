#include "algorithms/attention/programs.hpp"
#include "algorithms/attention/terms.hpp"

namespace hologram::graph::attention {

namespace {

using program::Access;

class MaskNumbers : public Terms {
 public:
  explicit MaskNumbers(const Key& key) : Terms("attention_mask", {kMaskLanes}, key) {}

  program::Program write() {
    mask_ = b_.buffer("mask", key_.added, Access::In);
    const Buf numbers = b_.buffer("numbers", key_.result, Access::Out);
    const Value rows = scalar("rows"), step = scalar("step");
    heads_ = scalar("heads");
    queries_ = scalar("queries");
    keys_ = scalar("keys");
    first_ = scalar("first");
    before_ = scalar("before");
    after_ = scalar("after");
    declare_mask_strides();
    const Value at = b_.global_id(0), row = at / step, key = at % step;
    b_.if_((row < rows) & (key < keys_), [&] {
      const Value head = row / queries_;
      const Pair pair{head / heads_, head % heads_, row % queries_, key};
      b_.store(numbers, at, masked(real(0), pair));
    });
    return finish();
  }
};

class FiniteLogs : public Terms {
 public:
  explicit FiniteLogs(const Key& key) : Terms("attention_logs", {kMaskLanes}, key) {}

  program::Program write() {
    logs_ = b_.buffer("logs", key_.wide, Access::In);
    const Buf finite = b_.buffer("finite", key_.wide, Access::Out);
    const Value rows = scalar("rows"), row = b_.global_id(0);
    b_.if_(row < rows, [&] { b_.store(finite, row, log_of(row)); });
    return finish();
  }
};

}  // namespace

program::Program mask_program(const Key& key) { return MaskNumbers(key).write(); }
program::Program finite_logs_program(const Key& key) { return FiniteLogs(key).write(); }

}  // namespace hologram::graph::attention
