// The inverse of erf. erfinv(x) / x is a smooth function of w = -log((1 - x) (1 + x)), and of its
// root where w is large. scripts/coefficients_functions.py makes the polynomials.
#include "graph/elementwise_functions.hpp"

#include <limits>
#include <numbers>

#include "graph/polynomial.hpp"

namespace hologram::graph {
namespace {

using program::apply;
using program::Op;
using program::Value;

constexpr double kNear32[] = {2.26059777e-8,  3.42224709e-7, -3.45477951e-6,
                              -4.38034671e-6, 0.00021831298, -0.00125375888,
                              -0.00417734652, 0.246640766,   1.50140935};
constexpr double kFar32[] = {-0.00011966033, -8.50909071e-5, 0.00122654777,
                             -0.00266854025, 0.00382216126,  -0.00526679645,
                             0.00704288419,  1.00371653,     2.95832028};
constexpr double kNear64[] = {
    -2.3623696985661074e-22, -1.6787330615256772e-19, 1.1027771591500033e-18,
    1.1125794759379465e-17,  -1.290702354613073e-16,  2.166994626283574e-17,
    6.5819553059292389e-15,  -4.0554139746886005e-14, -8.1065944564384951e-14,
    2.6335724924608484e-12,  -1.2977505202014967e-11, -5.4154417754696635e-11,
    1.0512202440121784e-9,   -4.1126331042976139e-9,  -2.9070386660191429e-8,
    4.2347877672780653e-7,   -1.3654691796592068e-6,  -1.3882523361276876e-5,
    0.00018673420802124272,  -0.00074070253416694011, -0.0060336708714270113,
    0.24015818242558971,     1.6536545626831027};
constexpr double kFar64[] = {
    -3.8310399460724114e-10, 9.0719505710299225e-8,  -2.6860975725571461e-7, 1.8323999881328578e-8,
    1.4958263152984917e-6,   -4.0139463981902919e-6, 2.9273722115986926e-6,  1.2475343474376931e-5,
    -4.731952918337189e-5,   6.8284840522929234e-5,  2.4031363245440548e-5,  -0.0003550375186306976,
    0.00095328935211181778,  -0.0016882755561681803, 0.0024914420976198812,  -0.0037512085075638538,
    0.0053709145535581983,   1.0052589676941592,     3.0838856104922207};
constexpr double kFarther64[] = {
    2.0656849209590497e-11,  -1.7773094860132881e-11, -3.4119881326503023e-10,
    1.4708942346384138e-9,   -3.6438466944612521e-9,  7.6743042655673939e-9,
    -1.5090830461083057e-8,  2.9099512855033285e-8,   -6.764542552593465e-8,
    2.2902689200442651e-7,   -9.9300183662909484e-7,  4.5260571700566977e-6,
    -1.968177521639817e-5,   7.5995277680679608e-5,   -0.00021503011949520207,
    -0.00013871931836569716, 1.0103004648645382,      4.8499064014085843};

}  // namespace

program::Value erfinv_of(const Operands& x) {
  const Value a = apply(Op::Abs, {x[0]}), one = x.builder.constant(x.compute(), 1.0);
  const Value w = -apply(Op::Log, {(one - a) * (one + a)}), root = apply(Op::Sqrt, {w});
  Value ratio;
  if (x.compute() == DType::F64) {
    const Value far =
        select(w < 16, polynomial(root - 3.25, kFar64), polynomial(root - 5, kFarther64));
    ratio = select(w < 6.25, polynomial(w - 3.125, kNear64), far);
  } else {
    ratio = select(w < 5, polynomial(w - 2.5, kNear32), polynomial(root - 3.125, kFar32));
  }
  const Value infinity = x.builder.constant(x.compute(), std::numeric_limits<double>::infinity());
  const Value nothing = x.builder.constant(x.compute(), std::numeric_limits<double>::quiet_NaN());
  const Value end = select(a == 1, apply(Op::CopySign, {infinity, x[0]}), nothing);
  return select(apply(Op::IsNan, {x[0]}), x[0], select(a < 1, ratio * x[0], end));
}

}  // namespace hologram::graph
