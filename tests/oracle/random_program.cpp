#include "oracle/random_program.hpp"

#include <algorithm>

#include "oracle/program_writer.hpp"
#include "oracle/random_values.hpp"
#include "oracle/scalar_model.hpp"

namespace hologram::oracle {

RandomCase random_case(Choices& choices) {
  ProgramPlan plan = make_plan(choices);
  ProgramWriter(choices, plan).write();
  RandomCase c;
  c.grid = plan.grid;
  for (const BufferPlan& b : plan.buffers) {
    const size_t count = static_cast<size_t>(b.length()), size = size_of(b.type);
    Memory memory(count * size);
    // Bytes of 0xff are a NaN.
    // Of bool every byte but 0 is true; it is 0 or 1 only when a program has written it.
    for (size_t i = 0; i < count; i++) {
      store_element(b.type, &memory[i * size], random_value(compute_type(b.type), choices));
      if (b.type == DType::Bool && choices.percent(30))
        memory[i] = static_cast<uint8_t>(choices.below(256));
      if (is_float(b.type) && choices.percent(6)) std::fill_n(&memory[i * size], size, 0xff);
    }
    c.buffers.push_back(std::move(memory));
    c.shapes.push_back(b.shape);
  }
  c.module = plan.builder->finish_unverified();
  for (const program::ScalarParam& s : c.module.scalars)
    for (const ScalarPlan& p : plan.scalars)
      if (p.name == s.name) c.scalars.push_back(p.bits);
  return c;
}

}  // namespace hologram::oracle
