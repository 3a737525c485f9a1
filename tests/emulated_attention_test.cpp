// Attention by tiles in workgroup memory, on the emulated CUDA driver, beside its formula and the
// program of the processor.
#include "attention_draws.hpp"
#include "cuda_fixture.hpp"

namespace hologram {
namespace {

using namespace attention_draws;

class EmulatedAttention : public CudaTest {
 protected:
  void SetUp() override { driver_.execute(&how_); }
  fake::Execution how_;
};

TEST_F(EmulatedAttention, HasTheBitsOfTheProcessorsProgram) {
  const Executor program = Executor::builder().backend(BackendType::Cpu).timeout_ms(600000).build();
  for (uint32_t seed = 300; seed < 304; seed++) {
    SCOPED_TRACE(seed);
    const Draw draw = drawn(seed, DType::F32);
    const std::vector<Array> here = computed(draw, executor());
    expect_close(here, expected(draw), 100);
    expect_same_bits(here, computed(draw, program));
  }
}

// Few queries and many keys: by parts, whose sums are put together.
TEST_F(EmulatedAttention, OfFewQueriesIsComputedByParts) {
  const Executor program = Executor::builder().backend(BackendType::Cpu).timeout_ms(600000).build();
  Drawer d(1);
  Draw draw;
  draw.of_key_head = 4;
  draw.arrays = {d.numbers({1, 8, 2, 16}, DType::F32), d.numbers({1, 2, 1100, 16}, DType::F32),
                 d.numbers({1, 2, 1100, 8}, DType::F32), d.numbers({1, 8, 2, 8}, DType::F32)};
  draw.sinks = d.numbers({8}, DType::F32);
  draw.options = {.is_causal = true, .enable_gqa = true, .query_offset = 900};
  const std::vector<Array> here = computed(draw, executor());
  expect_close(here, expected(draw), 100);
  expect_same_bits(here, computed(draw, program));
}

}  // namespace
}  // namespace hologram
