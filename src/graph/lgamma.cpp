// The logarithm of the gamma function's magnitude: around its zeros 1 and 2 by polynomials
// (scripts/coefficients_functions.py), up to 8 by products that lead there, then by Stirling's
// series; below 0 by reflection.
#include "graph/elementwise_functions.hpp"

#include <limits>
#include <numbers>

#include "graph/polynomial.hpp"

namespace hologram::graph {
namespace {

using program::apply;
using program::Op;
using program::Value;

constexpr double kOne32[] = {0.166292782,  -0.177682882, 0.0452779781, -0.0505540164, 0.107086707,
                             -0.118744583, 0.124872636,  -0.143374466, 0.169584351,   -0.207414359,
                             0.270580379,  -0.400685179, 0.822467035,  -0.577215666};
constexpr double kTwo32[] = {-0.000250562021, 0.00057025125,  -0.00118748481,
                             0.00287886868,   -0.00738592088, 0.0205816254,
                             -0.0673522941,   0.322467018,    0.422784335};
constexpr double kOne64[] = {
    -0.22513960340091928,  0.23220268431813382,  0.16833795110458487,    -0.17310581118613022,
    -0.15340561526661966,  0.15846766634774326,  -0.0044852626038577431, 0.005299145410064582,
    -0.056639693222859539, 0.059288786676676641, -0.051177808935222263,  0.054058776743014574,
    -0.058989240310658993, 0.062671110472769297, -0.066655507194440143,  0.071419357246629368,
    -0.076933243387345285, 0.083354589002950181, -0.090953990507096093,  0.10009943008747753,
    -0.11133426648064039,  0.12550967015385275,  -0.14404989676093186,   0.16955717698926045,
    -0.20738555102872174,  0.27058080842783371,  -0.40068563438653134,   0.82246703342411313,
    -0.57721566490153286};
constexpr double kTwo64[] = {
    -1.3219945666117874e-7, 2.78740805211359e-7,   -4.3252393445604816e-7,  9.2005278949681005e-7,
    -2.0439048107029907e-6, 4.3847044045983603e-6, -9.4387150992115327e-6,  2.0505590755833453e-5,
    -4.4926313379155697e-5, 9.9457673558194982e-5, -0.00022315475400520508, 0.00050966951541154583,
    -0.0011927539118428157, 0.0028905103310342669, -0.0073855510286719984,  0.02058080842778038,
    -0.067352301053198103,  0.32246703342411324,   0.42278433509846714};
// Of 1 / x^2.
constexpr double kStirling32[] = {1.0 / 1260, -1.0 / 360, 1.0 / 12};
constexpr double kStirling64[] = {1.0 / 156,  -691.0 / 360360, 1.0 / 1188, -1.0 / 1680,
                                  1.0 / 1260, -1.0 / 360,      1.0 / 12};
// (log(2 pi) - 1) / 2
constexpr double kStirling = 0.41893853320467274178;
constexpr double kFar = 8;

Value abs(Value a) { return apply(Op::Abs, {a}); }
Value log(Value a) { return apply(Op::Log, {a}); }

}  // namespace

program::Value lgamma_of(const Operands& x) {
  const bool wide = x.compute() == DType::F64;
  const auto by = [&](Value v, std::span<const double> f32, std::span<const double> f64) {
    return polynomial(v, wide ? f64 : f32);
  };
  const Value size = abs(x[0]), is_small = size < 0.5, is_far = size >= kFar;
  const Value of = select(is_small, x[0], size);
  const Value from_1 = select(is_small, of, of - 1), around_1 = from_1 * by(from_1, kOne32, kOne64);
  // (of - 1) (of - 2) … down to what is around 2.
  Value left = of, product = x.builder.constant(x.compute(), 1.0);
  for (int i = 0; i < 6; i++) {
    const Value above = left >= 2.5;
    left = select(above, left - 1, left);
    product = select(above, product * left, product);
  }
  const Value around_2 = (left - 2) * by(left - 2, kTwo32, kTwo64);
  const Value logarithm = log(select(is_small, size, select(is_far, size, product)));
  const Value near =
      select(of < 1.5, select(is_small, around_1 - logarithm, around_1), around_2 + logarithm);
  const Value inverse = x.builder.constant(x.compute(), 1.0) / of;
  const Value series = inverse * by(inverse * inverse, kStirling32, kStirling64);
  const Value far = fma(of - 0.5, logarithm - 1, series + kStirling);
  const Value above_0 = select(is_far, far, near);
  const Value rest = abs(x[0] - apply(Op::Round, {x[0]}));
  const Value is_pole = (x[0] < 0) & (rest == 0);
  const Value sine = apply(Op::Sin, {rest * std::numbers::pi});
  const Value reflected =
      log(x.builder.constant(x.compute(), std::numbers::pi) / (size * sine)) - above_0;
  const Value infinity = x.builder.constant(x.compute(), std::numeric_limits<double>::infinity());
  const Value result = select(is_small | (x[0] > 0), above_0, reflected);
  const Value finite = select(apply(Op::IsInf, {x[0]}) | is_pole, infinity, result);
  return select(apply(Op::IsNan, {x[0]}), x[0], finite);
}

}  // namespace hologram::graph
