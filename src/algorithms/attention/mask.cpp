#include "algorithms/attention/programs.hpp"
#include "algorithms/attention/terms.hpp"

namespace hologram::graph::attention {

namespace {

using program::Access;

class ForLibrary : public Terms {
 public:
  ForLibrary(const char* name, const Key& key) : Terms(name, {kMaskLanes}, key) {}

  program::Program mask() {
    mask_ = b_.buffer("mask", key_.added, Access::In);
    const Buf numbers = b_.buffer("numbers", key_.result, Access::Out);
    const Value rows = scalar("rows"), step = scalar("step");
    heads_ = scalar("heads");
    declare_places();
    declare_mask_strides();
    const Value at = b_.global_id(0), row = at / step, key = at % step;
    b_.if_((row < rows) & (key < keys_), [&] {
      const Value head = row / queries_;
      const Pair pair{head / heads_, head % heads_, row % queries_, key};
      b_.store(numbers, at, masked(real(0), pair));
    });
    return finish();
  }

  program::Program finite_logs() {
    logs_ = b_.buffer("logs", key_.wide, Access::In);
    const Buf finite = b_.buffer("finite", key_.wide, Access::Out);
    const Value rows = scalar("rows"), row = b_.global_id(0);
    b_.if_(row < rows, [&] { b_.store(finite, row, log_of(row)); });
    return finish();
  }
};

}  // namespace

program::Program mask_program(const Key& key) { return ForLibrary("attention_mask", key).mask(); }
program::Program finite_logs_program(const Key& key) {
  return ForLibrary("attention_logs", key).finite_logs();
}

}  // namespace hologram::graph::attention
