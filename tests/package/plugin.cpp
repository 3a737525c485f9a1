// The part of a plugin that its host sees: C functions, no exceptions.
#include <vector>

#include "hologram/hologram.hpp"

using namespace hologram;

namespace {

Program doubling() {
  program::Builder b("doubling");
  const auto x = b.buffer("x", DType::F32, program::Access::InOut);
  const auto i = b.global_id(0);
  b.if_(i < b.length(x), [&] { b.store(x, i, b.load(x, i) * 2); });
  return b.finish();
}

}  // namespace

// Creates an executor, doubles `count` numbers with it, and destroys it: 0 if all are right.
extern "C" HOLOGRAM_API int plugin_run(int count) {
  try {
    const Executor executor(BackendType::Cpu);
    const std::vector<float> ones(static_cast<size_t>(count), 1.0f);
    const auto groups = static_cast<uint64_t>(count + 255) / 256;
    const auto out = executor.run(doubling(), {{"x", Array::from(ones, {count})}}, {groups, 1, 1});
    for (const float value : out.at("x").as<float>())
      if (value != 2.0f) return 1;
    return 0;
  } catch (...) {
    return 2;
  }
}
