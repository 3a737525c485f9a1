// What the standard leaves open, or what a driver might do otherwise than it promises: tried when a
// device is opened, and programs are printed for what was seen.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "backends/webgpu/program.hpp"
#include "core/half.hpp"

namespace hologram::backends::webgpu {
namespace {

constexpr uint64_t kTrials = 32768;

// Every half, the numbers in the midst between two neighbours and those beside them, and others.
std::vector<float> numbers_near_halves() {
  std::vector<float> numbers;
  constexpr uint16_t kInfinity = 0x7c00;
  for (uint16_t half = 0; half < kInfinity; half++) {
    const float a = core::f16_to_f32(half);
    const float b = half + 1 == kInfinity ? 65536.0F : core::f16_to_f32(half + 1);
    const auto midst = std::bit_cast<uint32_t>((a + b) / 2);
    for (const uint32_t bits : {std::bit_cast<uint32_t>(a), midst - 1, midst, midst + 1})
      numbers.push_back(std::bit_cast<float>(bits | (half % 2u) << 31));
  }
  for (const uint32_t bits : {0x7f800000u, 0xff800000u, 0x7fc00000u, 0x7f800001u, 0x7f7fffffu,
                              0x00000001u, 0x80000001u, 0x47800000u})
    numbers.push_back(std::bit_cast<float>(bits));
  return numbers;
}

bool same(float a, float b) {
  return std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b) ||
         (std::isnan(a) && std::isnan(b));
}

// What the program makes of the numbers, by a lane for each; its only scalar is how many.
std::vector<std::byte> outcome(const std::shared_ptr<Session>& session, const char* text,
                               std::span<const std::byte> in, uint64_t lanes, uint64_t bytes) {
  const Program program = Program::parse(text, "trial");
  const WgProgram ready(session, program, {});
  WgBuffer from(session, in.size()), to(session, bytes);
  session->write(from.buffer(), 0, in.data(), in.size());
  const hal::Binding bindings[] = {{&from, 0, in.size()}, {&to, 0, bytes}};
  const uint64_t groups = (lanes - 1) / ready.group_lanes() + 1;
  hal::Launch launch;
  launch.grid = {groups, 1, 1};
  launch.bindings = bindings;
  launch.scalars = {&lanes, 1};
  ready.launch(launch, {.first = 0, .end = groups});
  std::vector<std::byte> found(bytes);
  session->read(found.data(), to.buffer(), 0, bytes);
  session->check();
  return found;
}

}  // namespace

void Session::try_out() {
  try_arithmetic();
  const auto holds = [](const auto& trial) {
    try {
      return trial();
    } catch (const Error&) {
      return false;  // it has the feature, and does not compile what needs it
    }
  };
  if (has(kHalves)) {
    traits_.halves = true;
    traits_.halves = holds([&] { return converts(); });
  }
  // A part of the language, of which a device says nothing.
  traits_.packed = true;
  traits_.packed = holds([&] { return multiplies_bytes(); });
  if (has(kSubgroups) && std::has_single_bit(least_subgroup_)) {
    constexpr uint32_t kMost = 32;
    traits_.subgroup = std::min(least_subgroup_, kMost);
    if (!holds([&] { return reduces(); })) traits_.subgroup = 0;
  }
}

// WGSL leaves open whether denormals are kept, fma rounds once, and quotients and roots correctly,
// and whether a product and a sum become one fma. What they are given must not be known to the
// compiler.
void Session::try_arithmetic() {
  constexpr uint32_t kLanes = 64, kTested = 4096, kResults = 5;
  constexpr float kStep = 0x1p-23F;
  dialects::Printed printed;
  printed.text =
      "@group(0) @binding(0) var<storage, read_write> result: array<f32>;\n"
      "@group(0) @binding(1) var<uniform> given: vec4f;\n"
      "@compute @workgroup_size(64) fn test(@builtin(global_invocation_id) id: vec3u) {\n"
      "  let a = bitcast<f32>(((id.x * 2654435769u) >> 9u) | bitcast<u32>(given.w));\n"
      "  let b = bitcast<f32>(((id.x * 2246822519u) >> 9u) | bitcast<u32>(given.w));\n"
      "  result[5u * id.x] = fma(given.x, given.y, given.z);\n"
      "  result[5u * id.x + 1u] = a / b;\n"
      "  result[5u * id.x + 2u] = sqrt(a);\n"
      "  let product = given.x * given.y;\n"
      "  result[5u * id.x + 3u] = product + given.z;\n"
      "  let smallest = bitcast<f32>(bitcast<u32>(given.w) - 0x3f000000u);\n"
      "  result[5u * id.x + 4u] = smallest * 0.5f;\n}\n";
  printed.entry = "test";
  printed.arguments.emplace_back();
  printed.block_binding = 1;
  const auto kernel = pipeline("test of arithmetic", printed);
  std::vector<float> results(size_t{kResults} * kTested);
  const WgBuffer buffer(shared_from_this(), results.size() * sizeof(float));
  const Bound bound{buffer.buffer(), 0, buffer.room(), true};
  const float given[] = {1 + kStep, 1 + kStep, -(1 + 2 * kStep), 1};
  launch("test of arithmetic", *kernel, {&bound, 1}, std::as_bytes(std::span(given)),
         kTested / kLanes);
  read(reinterpret_cast<std::byte*>(results.data()), buffer.buffer(), 0,
       results.size() * sizeof(float));
  const auto number = [](uint32_t i, uint32_t factor) {
    return std::bit_cast<float>(i * factor >> 9 | 0x3f800000u);
  };
  for (uint32_t i = 0; i < kTested; i++) {
    const float a = number(i, 2654435769u), b = number(i, 2246822519u);
    const float* const found = &results[size_t{kResults} * i];
    traits_.fused = traits_.fused && found[0] == kStep * kStep;
    traits_.divides = traits_.divides && found[1] == a / b && found[2] == std::sqrt(a);
    traits_.contracts = traits_.contracts || found[3] != 0;
    traits_.flushes = traits_.flushes || found[4] == 0;
  }
}

bool Session::converts() {
  const std::vector<float> numbers = numbers_near_halves();
  const auto bytes = std::as_bytes(std::span(numbers));
  const auto halves = outcome(shared_from_this(),
                              "program narrow(in x: f32[n], out y: f16[n]) lanes(n) {\n"
                              "  i = global_id.x\n  if i < n { y[i] = x[i] }\n}",
                              bytes, numbers.size(), numbers.size() * sizeof(uint16_t));
  const auto rounded = outcome(shared_from_this(),
                               "program rounded(in x: f32[n], out y: f32[n]) lanes(n) {\n"
                               "  i = global_id.x\n  if i < n { y[i] = round_f16(x[i]) }\n}",
                               bytes, numbers.size(), bytes.size());
  std::vector<uint16_t> every(65536);
  for (size_t i = 0; i < every.size(); i++) every[i] = static_cast<uint16_t>(i);
  const auto wide =
      outcome(shared_from_this(),
              "program widen(in x: f16[n], out y: f32[n]) lanes(n) {\n"
              "  i = global_id.x\n  if i < n { y[i] = f32(x[i]) }\n}",
              std::as_bytes(std::span(every)), every.size(), every.size() * sizeof(float));
  bool good = true;
  for (size_t i = 0; i < numbers.size(); i++) {
    uint16_t half = 0;
    float back = 0;
    std::memcpy(&half, &halves[i * sizeof half], sizeof half);
    std::memcpy(&back, &rounded[i * sizeof back], sizeof back);
    const float right = core::f16_to_f32(core::f32_to_f16(numbers[i]));
    good = good && same(core::f16_to_f32(half), right) && same(back, right);
  }
  for (size_t i = 0; i < every.size(); i++) {
    float value = 0;
    std::memcpy(&value, &wide[i * sizeof value], sizeof value);
    good = good && same(value, core::f16_to_f32(every[i]));
  }
  return good;
}

// Products of packed bytes, signed and not.
bool Session::multiplies_bytes() {
  constexpr uint32_t kLanes = 1024, kResults = 2;
  std::vector<uint32_t> words(2 * size_t{kLanes});
  for (uint32_t i = 0; i < words.size(); i++) words[i] = i * 2654435769u ^ i << 11;
  words[0] = words[1] = 0x80808080u;
  const auto found =
      outcome(shared_from_this(),
              "program bytes(in x: i32[], out y: i32[], n: i32) lanes(n) {\n"
              "  i = global_id.x\n  if i < n {\n"
              "    y[2 * i] = dot4(x[2 * i], x[2 * i + 1], 5)\n"
              "    y[2 * i + 1] = dot4(bits_u32(x[2 * i]), x[2 * i + 1], -7)\n"
              "  }\n}",
              std::as_bytes(std::span(words)), kLanes, size_t{kResults} * kLanes * sizeof(int32_t));
  bool good = true;
  for (size_t i = 0; i < kLanes; i++) {
    int32_t sums[kResults] = {5, -7}, got[kResults];
    for (int shift = 0; shift < 32; shift += 8) {
      const auto a = static_cast<uint8_t>(words[2 * i] >> shift);
      const auto b = static_cast<int8_t>(words[2 * i + 1] >> shift);
      sums[0] += static_cast<int8_t>(a) * b;
      sums[1] += a * b;
    }
    std::memcpy(got, &found[i * sizeof got], sizeof got);
    good = good && std::equal(std::begin(sums), std::end(sums), std::begin(got));
  }
  return good;
}

// Sums and maxima of groups of several sizes: which lanes a subgroup has is left open too.
bool Session::reduces() {
  std::vector<float> numbers(kTrials);
  for (uint32_t i = 0; i < numbers.size(); i++)
    numbers[i] = std::bit_cast<float>((i * 2654435769u >> 9) | 0x3f800000u);
  bool good = true;
  for (const uint32_t lanes : {64u, 256u}) {
    const std::string text = "program total(in x: f32[n], out y: f32[]) workgroup(" +
                             std::to_string(lanes) +
                             ") lanes(n) {\n  v = x[global_id.x]\n"
                             "  total = group_reduce_add(v)\n  most = group_reduce_max(v)\n"
                             "  if lane_id.x == 0 {\n    y[2 * group_id.x] = total\n"
                             "    y[2 * group_id.x + 1] = most\n  }\n}";
    const uint64_t groups = kTrials / lanes;
    const auto found = outcome(shared_from_this(), text.c_str(), std::as_bytes(std::span(numbers)),
                               kTrials, 2 * groups * sizeof(float));
    for (uint64_t g = 0; g < groups; g++) {
      std::vector<float> v(numbers.begin() + static_cast<long>(g * lanes),
                           numbers.begin() + static_cast<long>((g + 1) * lanes));
      const float most = *std::max_element(v.begin(), v.end());
      for (uint32_t d = lanes / 2; d > 0; d /= 2)
        for (uint32_t l = 0; l < d; l++) v[l] += v[l + d];
      float pair[2];
      std::memcpy(pair, &found[g * sizeof pair], sizeof pair);
      good = good && pair[0] == v[0] && pair[1] == most;
    }
  }
  return good;
}

}  // namespace hologram::backends::webgpu
