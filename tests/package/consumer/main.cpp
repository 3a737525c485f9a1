// What a user of the installed library writes: the same kernel as text and with the Builder.
#include <hologram/hologram.hpp>

#include <cstdio>
#include <vector>

namespace {

const char* const kText = R"(
program saxpy(in x: f32[n], inout y: f32[n], a: f32) lanes(n) {
  i = global_id.x
  if i < n { y[i] = fma(a, x[i], y[i]) }
}
)";

hologram::Program built() {
  using namespace hologram;
  program::Builder b("saxpy");
  const auto x = b.buffer("x", DType::F32, program::Access::In);
  const auto y = b.buffer("y", DType::F32, program::Access::InOut);
  const auto a = b.scalar("a", DType::F32);
  const auto i = b.global_id(0);
  b.if_(i < b.length(y), [&] { b.store(y, i, fma(a, b.load(x, i), b.load(y, i))); });
  return b.finish();
}

bool right(const hologram::Executor& executor, const hologram::Program& saxpy) {
  constexpr int64_t n = 1000;
  std::vector<float> x(n), y(n);
  for (int64_t i = 0; i < n; i++) {
    x[static_cast<size_t>(i)] = static_cast<float>(i);
    y[static_cast<size_t>(i)] = 1;
  }
  const auto out = executor.run(
      saxpy, {{"x", hologram::Array::from(x, {n})}, {"y", hologram::Array::from(y, {n})}, {"a", 2}},
      hologram::Grid{4, 1, 1});
  const auto result = out.at("y").as<float>();
  for (size_t i = 0; i < n; i++)
    if (result[i] != 2 * static_cast<float>(i) + 1) return false;
  return true;
}

}  // namespace

int main() {
  try {
    const hologram::Executor executor;
    if (!right(executor, hologram::Program::parse(kText, "saxpy.atlas"))) return 1;
    if (!right(executor, built())) return 2;
  } catch (const hologram::Error& e) {
    std::fprintf(stderr, "%s\n%s\n", e.what(), e.remedy().c_str());
    return 3;
  }
  // Errors cross the library's border with their type.
  try {
    hologram::Program::parse("program", "broken.atlas");
    return 4;
  } catch (const hologram::Error& e) {
    return e.kind() == hologram::ErrorKind::InvalidProgram ? 0 : 5;
  }
}
