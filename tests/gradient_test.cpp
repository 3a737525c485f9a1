// Gradients against finite differences in f64, against each other, and where there is a corner
// against what the documents choose.
#include "hologram/gradient.hpp"

#include "gradients.hpp"
#include "graph/elementwise.hpp"
#include "hologram/error.hpp"
#include "hologram/graph.hpp"
#include "hologram/linalg.hpp"
#include "tensor/access.hpp"

namespace hologram {
namespace {

using namespace gradients;

TEST(Gradient, OfEveryElementwiseRow) {
  for (const graph::ElementwiseOp& op : graph::elementwise_table()) {
    const bool of_floats =
        op.accepts == graph::Accepts::Any || op.accepts == graph::Accepts::Number;
    if (op.rule == graph::Rule::Test || !of_floats) continue;
    Random random(7);
    double low = std::max(op.low, -2.5), high = std::min(op.high, 2.5);
    if (op.low >= 0 || op.name == "lgamma" || op.name == "cbrt") low = 0.3;
    low = std::max(low, op.low + 0.1);
    if (op.low >= -1) low = std::max(low, -0.9);
    if (op.high <= 1) high = 0.9;
    const size_t first = op.rule == graph::Rule::Choice ? 1 : 0;
    const Tensor condition = (random.tensor({3, 4}, -1, 1) > 0).eval();
    Tensors x;
    for (size_t i = first; i < op.arity; i++)
      x.push_back(random.tensor(i == 0 ? Shape{3, 4} : Shape{4}, low, high));
    if (op.name == "clamp") x = {x[0], f64({-0.5}), f64({0.75})};
    const auto function = [&](const Tensors& t) -> Tensors {
      std::vector<Operand> operands;
      if (first == 1) operands.emplace_back(condition);
      for (const Tensor& one : t) operands.emplace_back(one);
      return {tensor::apply(op, operands)};
    };
    check(std::string(op.name).c_str(), function, x);
  }
}

TEST(Gradient, OfEveryFunction) {
  uint32_t seed = 100;
  for (const Function& f : functions()) {
    Random random(++seed);
    Tensors x;
    for (const Shape& shape : f.shapes) x.push_back(random.tensor(shape, f.low, f.high));
    check(
        f.name, [&](const Tensors& t) { return Tensors{f.of(t)}; }, x, seed);
  }
}

// Chains of functions of one tensor; tanh keeps intermediate values bounded.
TEST(Gradient, OfRandomCompositions) {
  const std::vector<Function> all = functions();
  for (uint32_t seed = 1; seed <= 60; seed++) {
    Random random(seed);
    std::vector<const Function*> chosen;
    chosen.reserve(4);
    for (int i = 0; i < 4; i++)
      chosen.push_back(&all[random.below(static_cast<uint32_t>(all.size()))]);
    const auto function = [&](const Tensors& x) {
      Tensor t = x[0];
      Tensor sum = ops::sum(ops::sin(t));
      for (const Function* f : chosen) {
        Tensors operands;
        for (const Shape& shape : f->shapes) {
          // As many elements of what there is as are needed, over and over.
          const int64_t n = count_of(shape);
          const Tensor flat = t.flatten();
          operands.push_back(
              ops::tanh(ops::tile(flat, {n / flat.size() + 1}).slice(0, {0, n}).reshape(shape) +
                        ops::arange(0, n, 1, DType::F64).reshape(shape) * 0.037));
        }
        t = f->of(operands);
        sum = sum + ops::sum(ops::cos(t * 0.7));
      }
      return Tensors{sum};
    };
    check(std::to_string(seed).c_str(), function, {random.tensor({3, 4}, -1, 1)}, seed, 1e-5);
  }
}

Doubles by(const std::function<Tensor(const Tensor&)>& function, const Tensor& x) {
  return values_of(gradient([&](const Tensor& t) { return ops::sum(function(t)); }, x)[0]);
}

TEST(Gradient, OfLinearAlgebra) {
  using namespace linalg;
  const Tensor one = ops::eye(3, -1, 0, DType::F64);
  try {
    inv(one).eval();
  } catch (const Error& error) {
    GTEST_SKIP() << error.what();
  }
  // Far from singular; symmetric, where only one half is looked at.
  const auto good = [&](const Tensor& x) { return x * 0.3 + one * 2; };
  const auto symmetric = [&](const Tensor& x) {
    return good((x + x.transpose(-2, -1)) * 0.5) + ops::arange(0, 3, 1, DType::F64) * one;
  };
  using T = const Tensors&;
  const std::vector<Function> all = {
      {"solve", {{2, 3, 3}, {3, 2}}, [&](T x) { return solve(good(x[0]), x[1]); }},
      {"solve of a vector", {{3, 3}, {3}}, [&](T x) { return solve(good(x[0]), x[1]); }},
      {"inv", {{2, 3, 3}}, [&](T x) { return inv(good(x[0])); }},
      {"det", {{2, 3, 3}}, [&](T x) { return det(good(x[0])); }},
      {"slogdet", {{3, 3}}, [&](T x) { return slogdet(good(x[0])).logabsdet; }},
      {"cholesky", {{2, 3, 3}}, [&](T x) { return cholesky(symmetric(x[0])); }},
      {"cholesky above", {{3, 3}}, [&](T x) { return cholesky(symmetric(x[0]), true); }},
      {"eigvalsh", {{2, 3, 3}}, [&](T x) { return eigvalsh(symmetric(x[0])); }},
      {"eigh",
       {{3, 3}},
       [&](T x) {
         const Eigh e = eigh(symmetric(x[0]));
         return ops::square(e.eigenvectors) * e.eigenvalues;
       }},
      {"svdvals", {{4, 3}}, [&](T x) { return svdvals(x[0]); }},
      {"einsum",
       {{2, 3}, {3, 4}},
       [](T x) {
         return ops::einsum("ij,jk->ki", {x[0], x[1]});
       }},
      {"index",
       {{3, 4}},
       [](T x) {
         return ops::index(x[0], {{}, some_indices()});
       }},
      {"quantile", {{3, 4}}, [](T x) { return ops::quantile(x[0], 0.3, 1); }},
  };
  uint32_t seed = 40;
  for (const Function& f : all) {
    Random random(++seed);
    Tensors x;
    for (const Shape& shape : f.shapes) x.push_back(random.tensor(shape, -1, 1));
    check(
        f.name, [&](const Tensors& t) { return Tensors{f.of(t)}; }, x, seed);
  }
  try {
    (void)gradient([](const Tensor& x) { return ops::sum(pinv(x)); }, one);
    FAIL() << "a gradient has been lost";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::UnsupportedOperation);
  }
}

TEST(Gradient, OfLgammaBelowZero) {
  check("lgamma", [](const Tensors& x) { return Tensors{ops::lgamma(x[0])}; },
        {f64({-0.4, -1.3, -2.6, 0.2, 7.5, 100})});
}

TEST(Gradient, AtCorners) {
  using namespace ops;
  const Tensor ties = f64({2, 1, 2, -2}), zeros = f64({3, 0, 2, 0}), one = f64({3, 0, 2, 5});
  EXPECT_EQ(by([](const Tensor& x) { return max(x); }, ties), (Doubles{0.5, 0, 0.5, 0}));
  EXPECT_EQ(by([](const Tensor& x) { return min(abs(x)); }, ties), (Doubles{0, 1, 0, 0}));
  EXPECT_EQ(by([](const Tensor& x) { return norm(x, kInfinity); }, ties),
            (Doubles{1.0 / 3, 0, 1.0 / 3, -1.0 / 3}));
  EXPECT_EQ(by([](const Tensor& x) { return maximum(x, 2); }, ties), (Doubles{0.5, 0, 0.5, 0}));
  EXPECT_EQ(by([](const Tensor& x) { return prod(x); }, zeros), (Doubles{0, 0, 0, 0}));
  EXPECT_EQ(by([](const Tensor& x) { return prod(x); }, one), (Doubles{0, 30, 0, 0}));
  EXPECT_EQ(by([](const Tensor& x) { return cumprod(x); }, one), (Doubles{1, 3 + 6 + 30, 0, 0}));
  EXPECT_EQ(by([](const Tensor& x) { return cumprod(x); }, zeros), (Doubles{1, 3 + 6, 0, 0}));
  EXPECT_EQ(by([](const Tensor& x) { return norm(x); }, f64({0, 0})), (Doubles{0, 0}));
  EXPECT_EQ(by([](const Tensor& x) { return std(x); }, f64({4, 4})), (Doubles{0, 0}));
  EXPECT_EQ(by([](const Tensor& x) { return abs(x); }, f64({0, -3})), (Doubles{0, -1}));
  EXPECT_EQ(by([](const Tensor& x) { return relu(x); }, f64({0, -1, 2})), (Doubles{0, 0, 1}));
  EXPECT_EQ(by([](const Tensor& x) { return hypot(x, 0.0); }, f64({0, -3})), (Doubles{0, -1}));
  EXPECT_EQ(by([](const Tensor& x) { return pow(x, 0.0); }, f64({0, 3})), (Doubles{0, 0}));
  EXPECT_EQ(by([](const Tensor& x) { return pow(0.0, x); }, f64({0, 3})), (Doubles{0, 0}));
  EXPECT_EQ(by([](const Tensor& x) { return logsumexp(x); }, f64({-kInfinity, -kInfinity})),
            (Doubles{0, 0}));
  // Of several values for one place the last one stays.
  const Tensor same = Tensor::from({1, 1, 0}).to(DType::I64);
  EXPECT_EQ(by([&](const Tensor& x) { return scatter(ops::zeros({3}, DType::F64), same, x, 0); },
               f64({5, 6, 7})),
            (Doubles{0, 1, 1}));
  // Whichever comes first in a window, and NaN too.
  EXPECT_EQ(by([](const Tensor& x) { return max_pool2d(x, {.kernel = 2}); },
               f64({4, 4, 4, 4}, {2, 2, 1})),
            (Doubles{1, 0, 0, 0}));
}

TEST(Gradient, EmptyAndSingleAxes) {
  using namespace ops;
  const Tensor none = Tensor::from_vector(Doubles{}, {0, 3}), single = f64({2}, {1, 1});
  for (const auto& f : std::vector<std::function<Tensor(const Tensor&)>>{
           [](const Tensor& x) { return sum(x, 0); }, [](const Tensor& x) { return prod(x, 0); },
           [](const Tensor& x) { return cumsum(x, 0); }, [](const Tensor& x) { return x * x; },
           [](const Tensor& x) { return sort(x, 0); }, [](const Tensor& x) { return norm(x); },
           [](const Tensor& x) {
             return matmul(x, ones({3, 2}, DType::F64));
           },
           [](const Tensor& x) {
             return concat({x, x}, 1);
           }})
    EXPECT_EQ(by(f, none), Doubles{});
  EXPECT_EQ(by([](const Tensor& x) { return sum(x, 0) * prod(x) + mean(x, 1); }, single),
            Doubles{5});
  EXPECT_EQ(by([](const Tensor& x) { return max(x, 0) * softmax(x, 1); }, single), Doubles{1});
}

TEST(Gradient, OfGradients) {
  const Tensor x = f64({1, 2, 3});
  const auto cube = [](const Tensor& t) { return ops::sum(t * t * t); };
  const auto first = [&](const Tensor& t) { return gradient(cube, t)[0]; };
  EXPECT_EQ(by(first, x), (Doubles{6, 12, 18}));
  const auto second = [&](const Tensor& t) {
    return gradient([&](const Tensor& s) { return ops::sum(first(s)); }, t)[0];
  };
  EXPECT_EQ(by(second, x), (Doubles{6, 6, 6}));
  // By what an inner function closes over.
  EXPECT_EQ(by(
                [](const Tensor& a) {
                  return gradient([a](const Tensor& b) { return ops::sum(a * b * b); },
                                  f64({1, 2, 3}))[0];
                },
                x),
            (Doubles{2, 4, 6}));
  uint32_t seed = 0;
  for (const Function& f : functions()) {
    Random random(++seed);
    Tensors t;
    for (const Shape& shape : f.shapes) t.push_back(random.tensor(shape, f.low, f.high));
    check(
        f.name,
        [&](const Tensors& in) {
          const Vjp back = vjp([&](const Tensors& a) { return Tensors{f.of(a)}; }, in);
          return back.pullback({ops::cos(back.values[0])});
        },
        t, seed, 1e-5);
  }
}

TEST(Gradient, WhatTheFunctionClosesOverIsConstant) {
  const Tensor x = f64({1, 2, 3});
  EXPECT_EQ(by([&](const Tensor& t) { return t * x; }, x), (Doubles{1, 2, 3}));
  EXPECT_EQ(by([](const Tensor& t) { return t * stop_gradient(t); }, x), (Doubles{1, 2, 3}));
  EXPECT_EQ(by(
                [](const Tensor& t) {
                  return t * t.slice(0, {0, 1}).item<double>();
                },
                x),
            (Doubles{1, 1, 1}));
  // The same tensor twice is two inputs.
  const auto both =
      gradient([](const Tensor& a, const Tensor& b) { return ops::sum(a * a * b); }, x, x);
  EXPECT_EQ(values_of(both[0]), (Doubles{2, 8, 18}));
  EXPECT_EQ(values_of(both[1]), (Doubles{1, 4, 9}));
  // Parts of one tensor, as parameters in one piece of memory are.
  const Tensor all = f64({1, 2, 3, 4});
  const auto parts = gradient([](const Tensor& a, const Tensor& b) { return ops::sum(a * b); },
                              all.slice(0, {0, 2}), all.slice(0, {2, 4}));
  EXPECT_EQ(values_of(parts[0]), (Doubles{3, 4}));
  EXPECT_EQ(values_of(parts[1]), (Doubles{1, 2}));
}

TEST(Gradient, GoesOnThroughReadingAndChanging) {
  const Tensor x = f64({1, 2, 3});
  EXPECT_EQ(by(
                [](const Tensor& t) {
                  Tensor y = t * 2;
                  y.eval();
                  y += t;
                  Tensor z = ops::zeros({3}, DType::F64);
                  z.assign(y * t);
                  EXPECT_GT(ops::sum(z).item<double>(), 0);
                  return z;
                },
                x),
            (Doubles{6, 12, 18}));
  // Longer than what the graph keeps unevaluated.
  EXPECT_EQ(by(
                [](const Tensor& t) {
                  Tensor y = t;
                  for (int i = 0; i < 2000; i++) y = y + t;
                  return y;
                },
                x),
            (Doubles{2001, 2001, 2001}));
}

TEST(Gradient, OfIntegersAndWhatHasNoSlopeIsZero) {
  const Tensor x = f64({1.5, 2.5});
  EXPECT_EQ(by([](const Tensor& t) { return ops::floor(t) + (t > 2).to(DType::F64); }, x),
            (Doubles{0, 0}));
  EXPECT_EQ(by([](const Tensor& t) { return t.to(DType::I32).to(DType::F64) * t; }, x),
            (Doubles{1, 2}));
  EXPECT_EQ(by([](const Tensor&) { return f64({1}); }, x), (Doubles{0, 0}));
  for (const DType dtype : {DType::F16, DType::BF16, DType::F32}) {
    const Tensor narrow = x.to(dtype);
    const Tensor g = gradient([](const Tensor& t) { return ops::mean(t * t); }, narrow)[0];
    EXPECT_EQ(g.dtype(), dtype);
    EXPECT_EQ(values_of(g), (Doubles{1.5, 2.5}));
  }
}

TEST(Gradient, OfACapturedStep) {
  const Tensor x = f64({1, 2, 3}), w = f64({1, 2, 3, 4, 5, 6}, {3, 2});
  const auto step = [](const Tensor& in, const Tensor& weight) {
    const auto [loss, g] = value_and_gradient(
        [&](const Tensor& t) { return ops::sum(ops::square(ops::matmul(in, t))); }, weight);
    return Tensors{loss, weight - 0.01 * g[0]};
  };
  const Tensors direct = step(x, w), captured = capture(step, x, w).launch(x, w);
  EXPECT_EQ(values_of(direct[0]), values_of(captured[0]));
  EXPECT_EQ(values_of(direct[1]), values_of(captured[1]));
  const Graph inner = capture([](const Tensor& t) { return t * t; }, x);
  try {
    (void)by([&](const Tensor& t) { return inner.launch(t)[0]; }, x);
    FAIL() << "a gradient has been lost";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::UnsupportedOperation);
  }
}

TEST(Gradient, CustomAndCheckpoint) {
  const Tensor x = f64({1, 2, 3}), scale = f64({2, 3, 4});
  const TensorFunction twice =
      custom_gradient([](const Tensors& t) { return Tensors{t[0] * t[0]}; },
                      [](const Tensors& in, const Tensors& out, const Tensors& g) {
                        EXPECT_EQ(values_of(out[0]), values_of(in[0] * in[0]));
                        return Tensors{g[0] * 7};
                      });
  EXPECT_EQ(by([&](const Tensor& t) { return twice({t})[0]; }, x), (Doubles{7, 7, 7}));
  const auto kept = [](const Tensor& t, const Tensor& s) { return ops::sum(ops::sin(t) * s * t); };
  const auto forgotten = [](const Tensor& t, const Tensor& s) {
    return ops::sum(checkpoint([s](const Tensors& in) {
                      return Tensors{ops::sin(in[0]) * s, in[0]};
                    })({t})[0] *
                    t);
  };
  for (size_t i = 0; i < 2; i++)
    EXPECT_EQ(values_of(gradient(kept, x, scale)[i]), values_of(gradient(forgotten, x, scale)[i]));
  const auto second = [&](const auto& f) {
    return by([&](const Tensor& t) { return gradient(f, t, scale)[0]; }, x);
  };
  EXPECT_EQ(second(kept), second(forgotten));
}

template <class F>
ErrorKind kind_of(const F& function) {
  try {
    function();
  } catch (const Error& error) {
    EXPECT_FALSE(error.remedy().empty());
    return error.kind();
  }
  ADD_FAILURE() << "no error";
  return ErrorKind::Internal;
}

TEST(Gradient, SaysWhatIsWrong) {
  const Tensor x = f64({1, 2, 3}), whole = Tensor::from({1, 2, 3});
  const auto square = [](const Tensor& t) { return t * t; };
  const TensorFunction list = [](const Tensors& t) { return Tensors{t[0] * 2}; };
  EXPECT_EQ(kind_of([&] { gradient(square, x); }), ErrorKind::ShapeMismatch);
  EXPECT_EQ(kind_of([&] { gradient(square, whole); }), ErrorKind::DTypeMismatch);
  EXPECT_EQ(kind_of([&] { gradient([](const Tensor& t) { return ops::argmax(t); }, x); }),
            ErrorKind::DTypeMismatch);
  EXPECT_EQ(kind_of([&] { vjp(list, {x}).pullback({}); }), ErrorKind::InvalidArgument);
  EXPECT_EQ(kind_of([&] { vjp(list, {x}).pullback({f64({1})}); }), ErrorKind::ShapeMismatch);
  EXPECT_EQ(kind_of([&] { jvp(list, {x}, {f64({1})}); }), ErrorKind::ShapeMismatch);
  // What went wrong inside leaves nothing behind.
  EXPECT_THROW(by([&](const Tensor& t) { return ops::matmul(t, f64({1})); }, x), Error);
  EXPECT_EQ(by(square, x), (Doubles{2, 4, 6}));
}

}  // namespace
}  // namespace hologram
