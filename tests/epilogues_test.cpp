// Products of tensors with a bias and relu behind them on CUDA, where cuBLASLt may compute both
// before it stores. Driver and library are emulated, kernels do nothing there: what is compared
// with the CPU's bits came by an epilogue, and what is not is counted.
#include <bit>
#include <functional>
#include <thread>

#include "cublaslt_fixture.hpp"

namespace hologram {
namespace {

using ops::matmul;
using ops::relu;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN(),
                kInfinity = std::numeric_limits<float>::infinity();

// Operands of a layer on a device. Sums are exact, whatever their order; some are NaN or infinite.
struct Layer {
  static constexpr int64_t kRows = 6, kInner = 8, kColumns = 12;

  explicit Layer(const Executor& on, DType dtype = DType::F32)
      : x(numbers({kRows, kInner}, 1, on).to(dtype).eval()),
        w(numbers({kInner, kColumns}, 2, on).to(dtype).eval()),
        b(numbers({kColumns}, 3, on).to(dtype).eval()),
        column(numbers({kRows, 1}, 4, on).to(dtype).eval()) {}

  static Tensor numbers(const Shape& shape, uint32_t seed, const Executor& on) {
    std::mt19937 random(seed);
    size_t count = 1;
    for (const int64_t n : shape) count *= static_cast<size_t>(n);
    std::vector<float> values(count);
    for (float& v : values) v = static_cast<float>(random() % 17) - 8;
    if (seed == 1) {
      values[0] = kNaN;
      values[9] = kInfinity;
      values[18] = -kInfinity;
    }
    if (seed == 3) values[1] = kNaN, values[2] = -0.0F, values[3] = kInfinity;
    return Tensor::from_vector(values, shape, on);
  }

  Tensor x, w, b, column;
};

using Formula = std::function<Tensor(const Layer&)>;

// In functions of their own: what an expression is made of lives to its end, and what is held is
// stored.
Tensor both(const Layer& l) { return relu(matmul(l.x, l.w) + l.b); }
Tensor bias_alone(const Layer& l) { return matmul(l.x, l.w) + l.b; }
Tensor of_itself(const Tensor& t) { return relu(matmul(t, t) + t.select(0, 1)); }

class Epilogues : public CublasLt {
 protected:
  static Executor gpu(bool fusion = true) {
    BackendConfig how = config();
    how.fusion = fusion;
    return Executor::from_config(how);
  }
  // The emulated driver converts nothing: what is not f32 is made on the CPU.
  static Layer layer(const Executor& on, DType dtype = DType::F32) {
    Layer here(Executor(BackendType::Cpu), dtype);
    const auto there = [&](const Tensor& t) { return Tensor::from(t.array(), on); };
    here.x = there(here.x), here.w = there(here.w), here.b = there(here.b);
    here.column = there(here.column);
    return here;
  }
  static void expect_bits(const Array& found, const Array& wanted) {
    ASSERT_EQ(found.dtype(), wanted.dtype());
    ASSERT_EQ(found.shape(), wanted.shape());
    const size_t size = size_of(found.dtype());
    for (size_t i = 0; i < found.bytes(); i += size) {
      const long double value = products::element(found.dtype(), found.data() + i),
                        right = products::element(found.dtype(), wanted.data() + i);
      if (std::isnan(right)) EXPECT_TRUE(std::isnan(value)) << i / size;
      else
        EXPECT_EQ(std::memcmp(found.data() + i, wanted.data() + i, size), 0)
            << i / size << ": " << value << ", not " << right;
    }
  }
  static Array on_cpu(const Formula& formula, DType dtype = DType::F32) {
    return formula(Layer(Executor(BackendType::Cpu), dtype)).array();
  }
  // Calls of the library and launches of kernels that a formula takes.
  struct Steps {
    uint64_t calls, launches;
    friend bool operator==(const Steps&, const Steps&) = default;
    friend std::ostream& operator<<(std::ostream& out, const Steps& s) {
      return out << s.calls << " calls, " << s.launches << " launches";
    }
  };
  static Steps steps(const Executor& on, const std::function<void()>& work) {
    const Counters before = on.counters();
    work();
    const Counters after = on.counters();
    EXPECT_EQ(after.fallbacks, 0u);
    return {after.library_calls - before.library_calls, after.launches - before.launches};
  }
  Steps steps(const Formula& formula, DType dtype = DType::F32, bool fusion = true) {
    const Executor on = gpu(fusion);
    const Layer l = layer(on, dtype);
    return steps(on, [&] { formula(l).eval(); });
  }
};

TEST_F(Epilogues, LeaveTheBitsOfTheKernels) {
  struct Case {
    const char* name;
    Formula formula;
  };
  const std::vector<Case> cases = {
      {"bias and relu", both},
      {"bias", bias_alone},
      {"bias before", [](const Layer& l) { return l.b + matmul(l.x, l.w); }},
      {"relu", [](const Layer& l) { return relu(matmul(l.x, l.w)); }},
      {"transposed", [](const Layer& l) { return relu(matmul(l.w.transpose(), l.x.transpose())); }},
      {"a part",
       [](const Layer& l) {
         return relu(matmul(l.x, l.w.slice(1, {4, 12})) + l.b.slice(0, {4, 12}));
       }},
      {"rows",
       [](const Layer& l) {
         return relu(matmul(l.x, l.w) + l.b.reshape({1, 12}));
       }},
      {"two axes of rows",
       [](const Layer& l) {
         return relu(matmul(l.x.reshape({2, 3, 8}), l.w) + l.b);
       }},
      {"another shape",
       [](const Layer& l) {
         return relu(matmul(l.x, l.w).reshape({3, 2, 12}) + l.b);
       }},
      {"a batch",
       [](const Layer& l) {
         return relu(matmul(l.x.reshape({2, 3, 8}), l.w.reshape({2, 8, 6})));
       }},
  };
  for (const DType dtype : {DType::F32, DType::F64})
    for (const Case& each : cases) {
      SCOPED_TRACE(std::string(each.name) + ' ' + std::string(name_of(dtype)));
      const Executor on = gpu();
      const Layer l = layer(on, dtype);
      Array found;
      const int before = library_.ended();
      const Steps taken = steps(on, [&] { found = each.formula(l).array(); });
      EXPECT_EQ(taken.calls, 1u);
      EXPECT_GT(library_.ended(), before);
      EXPECT_EQ(taken.launches, 0u);
      expect_bits(found, on_cpu(each.formula, dtype));
    }
}

// Halves are rounded when the product is stored: relu can wait no longer or shorter than that.
TEST_F(Epilogues, HalvesHaveReluAlone) {
  for (const DType dtype : {DType::F16, DType::BF16}) {
    const Formula relu_alone = [](const Layer& l) { return relu(matmul(l.x, l.w)); };
    const Executor on = gpu();
    const Layer l = layer(on, dtype);
    Array found;
    EXPECT_EQ(steps(on, [&] { found = relu_alone(l).array(); }), (Steps{1, 0}));
    expect_bits(found, on_cpu(relu_alone, dtype));
    const int before = library_.ended();
    EXPECT_EQ(steps(both, dtype), (Steps{1, 1}));
    EXPECT_EQ(library_.ended(), before);
  }
}

TEST_F(Epilogues, AreForNothingElse) {
  const std::vector<std::pair<const char*, Formula>> cases = {
      {"a number a row", [](const Layer& l) { return relu(matmul(l.x, l.w) + l.column); }},
      {"one number", [](const Layer& l) { return relu(matmul(l.x, l.w) + 1); }},
      {"a matrix",
       [](const Layer& l) {
         return matmul(l.x, l.w) + l.w.slice(0, {0, 6});
       }},
      {"more in the kernel", [](const Layer& l) { return both(l) * 2; }},
      {"relu first", [](const Layer& l) { return relu(matmul(l.x, l.w)) + l.b; }},
      {"twice", [](const Layer& l) { return matmul(l.x, l.w) - l.b; }},
      {"turned",
       [](const Layer& l) {
         return relu(matmul(l.x, l.w.slice(1, {0, 6})).transpose() + l.b.slice(0, {0, 6}));
       }},
      {"every second",
       [](const Layer& l) {
         return matmul(l.x, l.w.slice(1, {0, 6})) + l.b.slice(0, {0, 12, 2});
       }},
      {"backwards",
       [](const Layer& l) {
         return matmul(l.x, l.w) + l.b.slice(0, {std::nullopt, std::nullopt, -1});
       }},
      {"not aligned",
       [](const Layer& l) {
         return matmul(l.x, l.w.slice(1, {0, 8})) + l.b.slice(0, {1, 9});
       }},
  };
  for (const auto& [name, formula] : cases) {
    SCOPED_TRACE(name);
    const int before = library_.ended();
    EXPECT_EQ(steps(formula), (Steps{1, 1}));
    // The trial of an epilogue, if there was one, is not the work.
    EXPECT_LE(library_.ended() - before, 1);
  }
  // Whole numbers, and a product of a product.
  const Executor on = gpu();
  const Tensor whole = ops::zeros({8, 8}, DType::I8, on).eval();
  EXPECT_EQ(steps(on, [&] { relu(matmul(whole, whole)).eval(); }).launches, 2u);
}

TEST_F(Epilogues, AProductThatSomebodyElseWantsIsStored) {
  const Executor on = gpu();
  const Layer l = layer(on);
  {
    const Tensor h = matmul(l.x, l.w);
    EXPECT_EQ(steps(on, [&] { relu(h + l.b).eval(); }), (Steps{1, 1}));
    EXPECT_EQ(steps(on, [&] { h.eval(); }), (Steps{0, 0})) << "it is there";
  }
  {
    const Tensor h = matmul(l.x, l.w), sum = h + l.b, y = relu(sum);
    EXPECT_EQ(steps(on, [&] { eval({sum, y}); }), (Steps{1, 1}));
  }
  {
    const Tensor h = matmul(l.x, l.w);
    const Tensor y = relu(h), z = h * 2;
    EXPECT_EQ(steps(on, [&] { eval({y, z}); }).calls, 1u);
    EXPECT_EQ(steps(on, [&] { h.eval(); }), (Steps{0, 0}));
  }
  // The sum that relu is taken of is held: the product would be computed again for it.
  {
    const auto sum_and_relu = [&] {
      const Tensor sum = matmul(l.x, l.w) + l.b;
      relu(sum).eval();
      sum.eval();
    };
    EXPECT_EQ(steps(on, sum_and_relu).calls, 1u);
  }
  EXPECT_EQ(library_.ended(), 0);
  // The plan of a graph whose product is held is no plan for one whose product is not.
  for (int i = 0; i < 3; i++) {
    EXPECT_EQ(steps(on, [&] { both(l).eval(); }), (Steps{1, 0}));
    const Tensor h = matmul(l.x, l.w);
    EXPECT_EQ(steps(on, [&] { relu(h + l.b).eval(); }), (Steps{1, 1}));
  }
}

TEST_F(Epilogues, WithoutFusionThereAreNone) {
  EXPECT_EQ(steps(both, DType::F32, false), (Steps{1, 2}));
  EXPECT_EQ(library_.ended(), 0);
}

// One plan serves graphs of the same structure, whatever they hold.
TEST_F(Epilogues, AreRepeated) {
  const Executor on = gpu();
  const Layer l = layer(on);
  const Array right = on_cpu(both);
  for (int i = 0; i < 5; i++) {
    Array found;
    EXPECT_EQ(steps(on, [&] { found = both(l).array(); }), (Steps{1, 0}));
    expect_bits(found, right);
  }
  EXPECT_EQ(library_.ended(), 5 + 1) << "and one trial";
  EXPECT_EQ(library_.calls("cublasLtMatmulAlgoGetHeuristic"), 1);
  // Another executor of the device finds it tried.
  const Executor other = gpu();
  const Layer there = layer(other);
  EXPECT_EQ(steps(other, [&] { both(there).eval(); }), (Steps{1, 0}));
  EXPECT_EQ(library_.ended(), 7);
  // A bias elsewhere, and one that is not aligned.
  const Tensor long_bias = Tensor::from_vector(std::vector<float>(30, 1), {30}, on);
  const auto with = [&](int64_t from) {
    const auto formula = [&l, &long_bias, from] {
      return relu(matmul(l.x, l.w) + long_bias.slice(0, {from, from + 12}));
    };
    return [formula] { formula().eval(); };
  };
  EXPECT_EQ(steps(on, with(4)), (Steps{1, 0}));
  EXPECT_EQ(steps(on, with(1)), (Steps{1, 1}));
  EXPECT_EQ(steps(on, with(8)), (Steps{1, 0}));
  // Into the memory of what is replaced.
  Tensor y = both(l).eval();
  const Array before = y.array();
  EXPECT_EQ(steps(on, [&] { y.assign(both(l)); }), (Steps{1, 0}));
  expect_bits(y.array(), before);
}

TEST_F(Epilogues, ChainsOfLayers) {
  const auto chain = [](const Layer& l) {
    Tensor t = l.x;
    const Tensor square = l.w.slice(1, {0, 8});
    for (int i = 0; i < 3; i++) t = relu(matmul(t, square) + l.b.slice(0, {0, 8}));
    return t;
  };
  const Executor on = gpu();
  const Layer l = layer(on);
  Array found;
  EXPECT_EQ(steps(on, [&] { found = chain(l).array(); }), (Steps{3, 0}));
  expect_bits(found, on_cpu(chain));
}

TEST_F(Epilogues, AreNodesOfCapturedCalculations) {
  const Executor on = gpu();
  const Layer l = layer(on);
  both(l).eval();
  const Graph graph = capture(
      [&](const Tensor& t) {
        const Tensor h = relu(matmul(t, l.w.slice(1, {0, 8})) + l.b.slice(0, {0, 8}));
        return relu(matmul(h, l.w) + l.b);
      },
      l.x);
  EXPECT_EQ(graph.note(), "a CUDA graph of 2 nodes");
  const Layer cpu{Executor(BackendType::Cpu)};
  for (int i = 0; i < 3; i++) {
    const Tensor x = Tensor::from((cpu.x * (i + 1)).array(), on);
    Tensor result;
    EXPECT_EQ(steps(on, [&] { result = graph.launch(x)[0]; }), (Steps{2, 0}));
    const Tensor h = relu(matmul(cpu.x * (i + 1), cpu.w.slice(1, {0, 8})) + cpu.b.slice(0, {0, 8}));
    expect_bits(result.array(), relu(matmul(h, cpu.w) + cpu.b).array());
  }
  // The bias may be what is given.
  const auto square = [](const Layer& layer, int i) { return layer.w.slice(1, {0, 8}) * i; };
  const Graph biased = capture(of_itself, Tensor::from(square(cpu, 1).array(), on));
  for (int i = 1; i < 4; i++) {
    const Tensor t = Tensor::from(square(cpu, i).array(), on);
    Tensor result;
    EXPECT_EQ(steps(on, [&] { result = biased.launch(t)[0]; }), (Steps{1, 0}));
    expect_bits(result.array(), of_itself(square(cpu, i)).array());
  }
}

TEST_F(Epilogues, AreTried) {
  struct World {
    const char* name;
    uint32_t most;
    FakeBlasLt::Relu relu;
    bool bias_runs;  // a bias alone
    const char* said;
    bool tensor_cores, tf32;  // so that nothing of it has been tried before
    BackendConfig how() const {
      BackendConfig how = config();
      how.enable_tensor_cores = tensor_cores;
      how.allow_tf32 = tf32;
      return how;
    }
  };
  for (const World& world :
       {World{"loses NaN", 6, FakeBlasLt::LosesNan, true, "cuBLASLt makes 0 of nan", true, false},
        World{"keeps the sign of zero", 6, FakeBlasLt::KeepsSign, true, "cuBLASLt makes -0 of -0",
              true, true},
        World{"has none", 0, FakeBlasLt::Exact, false,
              "the product's algorithm has no such epilogue: status 15", false, false}}) {
    SCOPED_TRACE(world.name);
    library_.epilogues(world.most, world.relu);
    std::vector<std::string> said;
    set_log_callback([&](LogLevel, std::string_view text) { said.emplace_back(text); },
                     LogLevel::Debug);
    const Executor fresh = Executor::from_config(world.how());
    const Layer l = layer(fresh);
    for (int i = 0; i < 2; i++) EXPECT_EQ(steps(fresh, [&] { both(l).eval(); }), (Steps{1, 1}));
    set_log_callback({});
    EXPECT_NE(std::find_if(said.begin(), said.end(),
                           [&](const std::string& text) {
                             return text.find("what follows matmul is a kernel: ") == 0 &&
                                    text.find(world.said) != std::string::npos;
                           }),
              said.end())
        << testing::PrintToString(said);
    EXPECT_NE(explain(both(l)).find(world.said), std::string::npos) << explain(both(l));
    EXPECT_EQ(steps(fresh, [&] { bias_alone(l).eval(); }), (Steps{1, world.bias_runs ? 0u : 1u}));
  }
}

TEST_F(Epilogues, AreExplainedAndProfiled) {
  BackendConfig how = config();
  how.enable_backend_profiling = true;
  const Executor on = Executor::from_config(how);
  const Layer l = layer(on);
  const std::string text = explain(both(l));
  EXPECT_EQ(text,
            "1 step on Emulated GPU\n"
            "before lowering:\n"
            "   %1 = matmul [6, 12] f32 of data [6, 8] f32, data [8, 12] f32\n"
            "   %2 = add [6, 12] f32 of %1, data [12] f32\n"
            "   %3 = relu [6, 12] f32 of %2\n"
            "lowered:\n"
            "1. matmul [1, 6, 12] f32\n"
            "   reads data [6, 8] f32\n"
            "   reads data [8, 12] f32\n"
            "   reads data [12] f32\n"
            "   then fused_add_relu, which the library does before it stores\n"
            "   makes relu [6, 12] f32\n");
  both(l).eval();
  const Profile profile = on.profile();
  ASSERT_EQ(profile.kernels.size(), 1u);
  EXPECT_EQ(profile.kernels[0].kernel, "cuBLASLt f32, bias, relu");
  EXPECT_EQ(profile.kernels[0].flops, 2.0 * 6 * 12 * 8 + 2 * 6 * 12);
  EXPECT_EQ(profile.kernels[0].bytes, 4.0 * (6 * 8 + 8 * 12 + 6 * 12 + 12));
}

// The algorithm of the product alone is the one with the epilogue.
TEST_F(Epilogues, TuningChoosesForTheProduct) {
  const FakeBlasLt::Algorithm algorithms[] = {{20, true}, {0, true}};
  library_.algorithms(algorithms, 2);
  BackendConfig how = config();
  how.autotuning_ms = 60'000;
  const Executor on = Executor::from_config(how);
  const Executor cpu(BackendType::Cpu);
  const Tensor x = Tensor::from(counting(144), on).reshape({12, 12});
  const Tensor y = Tensor::from(counting(144), cpu).reshape({12, 12});
  const Array found = of_itself(x).array();
  EXPECT_EQ(on.counters().tuning_runs, 1u);
  EXPECT_EQ(on.counters().launches, 0u);
  expect_bits(found, of_itself(y).array());
  const int slow = library_.ran(0), fast = library_.ran(1);
  of_itself(x).eval();
  matmul(x, x).eval();
  EXPECT_EQ(library_.ran(0), slow);
  EXPECT_EQ(library_.ran(1), fast + 2);
}

// Each call fails once: a kernel follows, or it is an error; afterwards it succeeds.
TEST_F(Epilogues, EveryCallMayFail) {
  const auto layer_of = [](const Tensor& x, const Tensor& w, const Tensor& b) {
    return relu(matmul(x, w) + b);
  };
  int kernels = 0, errors = 0;
  int64_t side = 20;
  for (const bool driver : {false, true})
    for (const char* call :
         driver ? std::vector<const char*>{"cuMemAlloc_v2", "cuMemcpyHtoDAsync_v2",
                                           "cuMemcpyDtoHAsync_v2", "cuStreamSynchronize",
                                           "cuMemsetD32Async"}
                : std::vector<const char*>{
                      "cublasLtMatmulDescCreate", "cublasLtMatmulDescSetAttribute",
                      "cublasLtMatmulAlgoCheck", "cublasLtMatmul", "cublasLtMatrixLayoutCreate"})
      for (int skip = 0; skip < 12; skip++) {
        SCOPED_TRACE(std::string(call) + ' ' + std::to_string(skip));
        const int64_t n = side++;
        const Executor on = gpu();
        const Tensor ones = Tensor::from_vector(
            std::vector<float>(static_cast<size_t>(n * n + 64), 1), {n * n + 64}, on);
        // Of other alignments each time: it is tried anew.
        const auto square = [&](int64_t which) {
          const int64_t from = int64_t{1} << which % 7;
          return ones.slice(0, {from, from + n * n}).reshape({n, n});
        };
        const Tensor x = n % 2 == 0 ? square(n / 2) : square(n / 2).transpose(), w = square(n / 14),
                     b = Tensor::from(counting(static_cast<size_t>(n)), on);
        on.synchronize();
        if (driver) driver_.fail(call, skip, 1, kOutOfMemory);
        else library_.fail(call, skip, 1, kInternalError);
        const Error error = error_of([&] {
          layer_of(x, w, b).eval();
          on.synchronize();
        });
        driver_.fail(nullptr, 0, 0, 0);
        library_.fail(nullptr, 0, 0, 0);
        if (std::string(error.what()) != "no error") errors++;
        else kernels += static_cast<int>(on.counters().launches);
        const Counters before = on.counters();
        const std::vector<float> again = layer_of(x, w, b).to_vector<float>();
        EXPECT_EQ(on.counters().library_calls, before.library_calls + 1);
        EXPECT_EQ(on.counters().launches, before.launches);
        EXPECT_EQ(again.front(), static_cast<float>(n));
        EXPECT_EQ(again.back(), static_cast<float>(2 * n - 1));
      }
  EXPECT_GT(kernels, 20);
  EXPECT_GE(errors, 1);
}

// Each thread has a bias of its own; the plan is one.
TEST_F(Epilogues, ThreadsDoNotMixTheirBiases) {
  const Executor first = gpu();
  const Layer shared = layer(first);
  both(shared).eval();
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  threads.reserve(6);
  for (int t = 0; t < 6; t++)
    threads.emplace_back([&, t] {
      const Executor on = gpu();
      Layer l = layer(on);
      l.x = Tensor::from_vector(std::vector<float>(48, 0), {6, 8}, on);
      l.b = Tensor::from_vector(std::vector<float>(12, static_cast<float>(t)), {12}, on);
      for (int i = 0; i < 100; i++)
        for (const float v : bias_alone(l).to_vector<float>())
          wrong += v != static_cast<float>(t) ? 1 : 0;
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(library_.ended(), 602 + 1) << "with the trials of two epilogues";
}

}  // namespace
}  // namespace hologram
