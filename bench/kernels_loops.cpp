#include "interp/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "../bench/kernels_loops.cpp"
#include <hwy/foreach_target.h>

#include <cmath>
#include <numbers>

#include "interp/vector-inl.hpp"
#include "loops.hpp"
#include "program/expansions/functions.hpp"

HWY_BEFORE_NAMESPACE();
namespace loops::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
namespace ex = hologram::program::expansions::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using F = hologram::interp::HWY_NAMESPACE::VectorValue<D>;
constexpr D d;
constexpr size_t kLanes = hn::MaxLanes(d);

// f(i) for whole vectors from `begin` on, stored; the rest through a vector of its own.
template <class Fn>
HWY_INLINE void elementwise(const float* const* in, float* out, size_t begin, size_t end, Fn fn) {
  size_t i = begin;
  for (; i + kLanes <= end; i += kLanes)
    hn::StoreU(fn([&](size_t k) HWY_ATTR { return F{hn::LoadU(d, in[k] + i)}; }).v, d, out + i);
  if (i == end) return;
  HWY_ALIGN float rest[kLanes];
  hn::Store(fn([&](size_t k) HWY_ATTR {
              HWY_ALIGN float from[kLanes] = {};
              for (size_t j = 0; i + j < end; j++) from[j] = in[k][i + j];
              return F{hn::Load(d, from)};
            }).v,
            d, rest);
  for (size_t j = 0; i + j < end; j++) out[i + j] = rest[j];
}

#define ELEMENTWISE(name, expression)                                                  \
  void name(const float* const* in, float* out, size_t begin, size_t end, size_t) {    \
    elementwise(in, out, begin, end, [](auto x) HWY_ATTR -> F { return expression; }); \
  }
ELEMENTWISE(add_loop, x(0) + x(1))
ELEMENTWISE(fma_loop, fma(x(0), x(1), x(2)))
ELEMENTWISE(triad_loop, fma(x(1), x(1).lit(3), x(0)))
ELEMENTWISE(sigmoid_loop, ex::sigmoid(x(0) * x(1) + x(2)) * x(3) - x(4))

HWY_INLINE F twelve_of(F a, F b, F c, F e, F f) {
  F t = (a * b + c) * e - f;
  t = F{hn::Max(t.v, hn::Zero(d))} * t.lit(0.5) + a;
  t = sqrt(abs(t)) - b;
  return {hn::Min((t * t).v, hn::Set(d, 4))};
}
ELEMENTWISE(twelve_loop, twelve_of(x(0), x(1), x(2), x(3), x(4)))

ELEMENTWISE(gelu_loop, fma(x(0) * x(0).lit(0.5), ex::erf(x(0) * x(0).lit(std::numbers::sqrt2 / 2)),
                           x(0) * x(0).lit(0.5)))
ELEMENTWISE(exp_loop, ex::exp(x(0)))

// sum + what is added of vector and of element i; four chains of additions.
template <class Vector, class Element>
HWY_INLINE float sum_by(size_t count, Vector add, Element element) {
  auto s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0;
  size_t i = 0;
  for (; i + 4 * kLanes <= count; i += 4 * kLanes) {
    s0 = add(s0, i);
    s1 = add(s1, i + kLanes);
    s2 = add(s2, i + 2 * kLanes);
    s3 = add(s3, i + 3 * kLanes);
  }
  float sum = hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(s0, s1), hn::Add(s2, s3))));
  for (; i < count; i++) sum += element(i);
  return sum;
}
using V = hn::Vec<D>;

HWY_INLINE float sum_of(const float* x, size_t count) {
  return sum_by(
      count, [x](V s, size_t i) HWY_ATTR { return hn::Add(s, hn::LoadU(d, x + i)); },
      [x](size_t i) HWY_ATTR { return x[i]; });
}
void dot_loop(const float* const* in, float* out, size_t begin, size_t end, size_t) {
  const float *a = in[0] + begin, *b = in[1] + begin;
  *out = sum_by(
      end - begin,
      [a, b](V s, size_t i)
          HWY_ATTR { return hn::MulAdd(hn::LoadU(d, a + i), hn::LoadU(d, b + i), s); },
      [a, b](size_t i) HWY_ATTR { return a[i] * b[i]; });
}
void sum_loop(const float* const* in, float* out, size_t begin, size_t end, size_t) {
  *out = sum_of(in[0] + begin, end - begin);
}
void row_sums_loop(const float* const* in, float* out, size_t begin, size_t end, size_t columns) {
  for (size_t row = begin; row < end; row++) out[row] = sum_of(in[0] + row * columns, columns);
}

void softmax_loop(const float* const* in, float* out, size_t begin, size_t end, size_t columns) {
  for (size_t row = begin; row < end; row++) {
    const float* x = in[0] + row * columns;
    float* y = out + row * columns;
    auto largest = hn::Set(d, x[0]);
    size_t j = 0;
    for (; j + kLanes <= columns; j += kLanes) largest = hn::Max(largest, hn::LoadU(d, x + j));
    float most = hn::GetLane(hn::MaxOfLanes(d, largest));
    for (; j < columns; j++) most = x[j] > most ? x[j] : most;
    const F top{hn::Set(d, most)};
    auto sums = hn::Zero(d);
    for (j = 0; j + kLanes <= columns; j += kLanes) {
      const F e = ex::exp(F{hn::LoadU(d, x + j)} - top);
      hn::StoreU(e.v, d, y + j);
      sums = hn::Add(sums, e.v);
    }
    float sum = hn::GetLane(hn::SumOfLanes(d, sums));
    for (; j < columns; j++) {
      y[j] = hn::GetLane(ex::exp(F{hn::Set(d, x[j] - most)}).v);
      sum += y[j];
    }
    const auto divisor = hn::Set(d, sum);
    for (j = 0; j + kLanes <= columns; j += kLanes)
      hn::StoreU(hn::Div(hn::LoadU(d, y + j), divisor), d, y + j);
    for (; j < columns; j++) y[j] /= sum;
  }
}

void layer_norm_loop(const float* const* in, float* out, size_t begin, size_t end, size_t columns) {
  const float *weight = in[1], *bias = in[2];
  const auto count = static_cast<float>(columns);
  for (size_t row = begin; row < end; row++) {
    const float* x = in[0] + row * columns;
    float* y = out + row * columns;
    const float mean = sum_of(x, columns) / count;
    const V means = hn::Set(d, mean);
    const float squares = sum_by(
        columns,
        [x, means](V s, size_t j) HWY_ATTR {
          const V from_mean = hn::Sub(hn::LoadU(d, x + j), means);
          return hn::MulAdd(from_mean, from_mean, s);
        },
        [x, mean](size_t j) HWY_ATTR { return (x[j] - mean) * (x[j] - mean); });
    const float scale = 1 / std::sqrt(squares / count + kEpsilon);
    const V scales = hn::Set(d, scale);
    size_t j = 0;
    for (; j + kLanes <= columns; j += kLanes) {
      const V normal = hn::Mul(hn::Sub(hn::LoadU(d, x + j), means), scales);
      hn::StoreU(hn::MulAdd(normal, hn::LoadU(d, weight + j), hn::LoadU(d, bias + j)), d, y + j);
    }
    for (; j < columns; j++) y[j] = (x[j] - mean) * scale * weight[j] + bias[j];
  }
}

const char* target_name() { return hwy::TargetName(HWY_TARGET); }

}  // namespace loops::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace loops {

// Before it is told, Highway dispatches to a function that finds out at every call.
void choose() { hwy::GetChosenTarget().Update(hwy::SupportedTargets()); }

#define LOOP(name)                            \
  HWY_EXPORT(name##_loop);                    \
  Loop name() {                               \
    choose();                                 \
    return HWY_DYNAMIC_DISPATCH(name##_loop); \
  }
LOOP(add)
LOOP(fma)
LOOP(triad)
LOOP(sigmoid)
LOOP(twelve)
LOOP(gelu)
LOOP(exp)
LOOP(sum)
LOOP(dot)
LOOP(row_sums)
LOOP(softmax)
LOOP(layer_norm)

HWY_EXPORT(target_name);
const char* target() {
  choose();
  return HWY_DYNAMIC_DISPATCH(target_name)();
}

}  // namespace loops
#endif
