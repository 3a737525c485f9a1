// Attention of tensors by cuDNN, with a library (fake_cudnn*.cpp) that evaluates the graphs it is
// given, and a driver that is emulated: results and gradients beside those of the processor in f64.
#include "cudnn_fixture.hpp"
#include "hologram/gradient.hpp"
#include "hologram/nn.hpp"

namespace hologram {
namespace {

class CudnnAttention : public CudnnTest {
 protected:
  // What reads results and computes what the library does not take.
  CudnnAttention() { setenv("FAKE_CUDA_EXECUTE", "1", 1); }
};

struct Shapes {
  int64_t batch, heads, key_heads, queries, keys, features, value_features;
};

// Queries, keys, values, and how the result changes.
struct Operands {
  std::vector<Tensor> on_device, exact;
  Operands(const Shapes& s, DType dtype, const Executor& gpu) {
    const Executor cpu = Executor::builder().backend(BackendType::Cpu).cpu_target("").build();
    const Shape shapes[] = {{s.batch, s.heads, s.queries, s.features},
                            {s.batch, s.key_heads, s.keys, s.features},
                            {s.batch, s.key_heads, s.keys, s.value_features},
                            {s.batch, s.heads, s.queries, s.value_features}};
    std::mt19937 random(5);
    std::uniform_real_distribution<double> some(-1.5, 1.5);
    for (const Shape& shape : shapes) {
      Array narrow(dtype, shape);
      std::vector<double> wide(static_cast<size_t>(count_of(shape)));
      for (size_t k = 0; k < wide.size(); k++) {
        std::byte* const at = narrow.mutable_data() + k * size_of(dtype);
        products::put(dtype, at, some(random));
        wide[k] = static_cast<double>(products::element(dtype, at));
      }
      on_device.push_back(Tensor::from(narrow, gpu));
      exact.push_back(Tensor::from_vector(wide, shape, cpu));
    }
  }
};

// The largest difference over the largest element.
double difference(const Tensor& got, const Tensor& right) {
  const Array ours = got.array();
  const std::vector<double> theirs = right.to_vector<double>();
  EXPECT_EQ(static_cast<size_t>(got.size()), theirs.size());
  double most = 0, largest = 1e-30;
  for (size_t k = 0; k < theirs.size(); k++) {
    const auto x =
        static_cast<double>(products::element(got.dtype(), ours.data() + k * size_of(got.dtype())));
    EXPECT_FALSE(std::isnan(x)) << k;
    most = std::max(most, std::fabs(x - theirs[k]));
    largest = std::max(largest, std::fabs(theirs[k]));
  }
  return most / largest;
}

std::vector<Tensor> changes(const std::vector<Tensor>& x, const nn::AttentionOptions& options) {
  const auto attention = [&](const std::vector<Tensor>& all) -> std::vector<Tensor> {
    return {nn::scaled_dot_product_attention(all[0], all[1], all[2], options)};
  };
  const Vjp made = vjp(attention, {x[0], x[1], x[2]});
  std::vector<Tensor> all = made.pullback({x[3]});
  all.insert(all.begin(), made.values[0]);
  return all;
}

struct Case {
  const char* name;
  Shapes shapes;
  void (*set)(nn::AttentionOptions&);
};
constexpr Case kCases[] = {
    {"plain", {1, 2, 2, 384, 352, 16, 16}, [](nn::AttentionOptions&) {}},
    {"causal", {2, 2, 2, 300, 450, 24, 8}, [](nn::AttentionOptions& o) { o.is_causal = true; }},
    {"grouped heads",
     {1, 6, 2, 210, 220, 16, 16},
     [](nn::AttentionOptions& o) {
       o.enable_gqa = true;
       o.is_causal = true;
     }},
    {"causal to the last key",
     {1, 2, 1, 200, 700, 8, 8},
     [](nn::AttentionOptions& o) {
       o.enable_gqa = true;
       o.is_causal = true;
       o.query_offset = 500;
       o.scale = 0.5;
     }},
    {"more queries than keys",
     {1, 2, 2, 700, 200, 8, 8},
     [](nn::AttentionOptions& o) {
       o.is_causal = true;
       o.query_offset = -500;
     }},
    {"window",
     {1, 2, 2, 400, 400, 8, 8},
     [](nn::AttentionOptions& o) {
       o.is_causal = true;
       o.window = nn::AttentionWindow{.before = 37, .after = 0};
     }},
    {"window to the last key",
     {1, 2, 2, 300, 500, 8, 8},
     [](nn::AttentionOptions& o) {
       o.is_causal = true;
       o.query_offset = 200;
       o.window = nn::AttentionWindow{.before = 64, .after = 0};
     }},
    {"soft cap",
     {1, 2, 2, 400, 400, 8, 8},
     [](nn::AttentionOptions& o) {
       o.is_causal = true;
       o.softcap = 2;
     }},
};

TEST_F(CudnnAttention, ResultsAndGradientsAreThoseOfF64) {
  for (const bool deterministic : {false, true}) {
    BackendConfig how = config();
    how.strict = true;
    how.deterministic = deterministic;
    const Executor gpu = Executor::from_config(how);
    for (const DType dtype : {DType::F16, DType::BF16})
      for (const Case& c : kCases) {
        SCOPED_TRACE(c.name);
        nn::AttentionOptions options;
        c.set(options);
        const Operands x(c.shapes, dtype, gpu);
        const uint64_t before = gpu.counters().library_calls;
        const std::vector<Tensor> got = changes(x.on_device, options);
        eval({got[0], got[1], got[2], got[3]});
        EXPECT_EQ(gpu.counters().library_calls, before + 2) << "forward and backward";
        const std::vector<Tensor> right = changes(x.exact, options);
        for (size_t i = 0; i < got.size(); i++) {
          EXPECT_EQ(got[i].dtype(), dtype);
          EXPECT_LE(difference(got[i], right[i]), dtype == DType::F16 ? 2e-3 : 1.6e-2) << i;
        }
        const Tensor alone = nn::scaled_dot_product_attention(x.on_device[0], x.on_device[1],
                                                              x.on_device[2], options);
        EXPECT_LE(difference(alone, right[0]), dtype == DType::F16 ? 1e-3 : 8e-3);
      }
    EXPECT_EQ(gpu.counters().fallbacks, 0u);
  }
}

struct MaskCase {
  const char* name;
  Shapes shapes;
  void (*set)(nn::AttentionOptions&);
  Shape mask;
  bool adds;  // numbers of the operands' dtype; else bools
};
const MaskCase kMaskCases[] = {
    {"of all", {1, 2, 2, 300, 350, 16, 16}, [](nn::AttentionOptions&) {}, {300, 350}, false},
    {"of keys", {2, 2, 2, 200, 301, 8, 8}, [](nn::AttentionOptions&) {}, {2, 1, 1, 301}, false},
    {"of each of the batch",
     {3, 2, 1, 160, 170, 8, 8},
     [](nn::AttentionOptions& o) { o.enable_gqa = true; },
     {3, 1, 160, 170},
     false},
    {"added to each head",
     {2, 3, 3, 130, 127, 8, 16},
     [](nn::AttentionOptions&) {},
     {3, 130, 127},
     true},
    {"added to all",
     {2, 2, 2, 150, 160, 8, 8},
     [](nn::AttentionOptions&) {},
     {2, 2, 150, 160},
     true},
    {"beside a window",
     {1, 2, 2, 300, 320, 8, 8},
     [](nn::AttentionOptions& o) {
       o.is_causal = true;
       o.query_offset = 11;
       o.window = nn::AttentionWindow{.before = 40, .after = {}};
     },
     {300, 320},
     false},
};

// Every seventh row of a mask sees nothing.
TEST_F(CudnnAttention, MasksAreAdded) {
  BackendConfig how = config();
  how.strict = true;
  const Executor gpu = Executor::from_config(how);
  for (const DType dtype : {DType::F16, DType::BF16})
    for (const MaskCase& c : kMaskCases) {
      SCOPED_TRACE(c.name);
      const Operands x(c.shapes, dtype, gpu);
      Array mask(c.adds ? dtype : DType::Bool, c.mask);
      const auto keys = static_cast<size_t>(c.mask.back());
      for (size_t k = 0; k < static_cast<size_t>(count_of(c.mask)); k++) {
        const bool sees = (k * 2654435761u >> 7) % 3 != 0 && k / keys % 7 != 2;
        const double added = sees ? static_cast<double>(k % 5) / 4 - 0.5 : -HUGE_VAL;
        products::put(mask.dtype(), mask.mutable_data() + k * size_of(mask.dtype()),
                      c.adds ? added
                      : sees ? 1
                             : 0);
      }
      nn::AttentionOptions options;
      c.set(options);
      options.mask = Tensor::from(mask, gpu);
      const Counters before = gpu.counters();
      const std::vector<Tensor> got = changes(x.on_device, options);
      eval({got[0], got[1], got[2], got[3]});
      EXPECT_EQ(gpu.counters().library_calls, before.library_calls + 2) << "forward and backward";
      options.mask = Tensor::from(mask, x.exact[0].executor());
      const std::vector<Tensor> right = changes(x.exact, options);
      for (size_t i = 0; i < got.size(); i++)
        EXPECT_LE(difference(got[i], right[i]), dtype == DType::F16 ? 2e-3 : 1.6e-2) << i;
    }
  EXPECT_EQ(gpu.counters().fallbacks, 0u);
}

// As they lie in one array of a layer: [batch, length, heads, 3 x features].
TEST_F(CudnnAttention, OperandsAreReadAsTheyLie) {
  const Executor gpu = Executor::from_config(config());
  const Shapes s{2, 2, 2, 300, 300, 16, 16};
  const Operands x(s, DType::F16, gpu);
  Array packed(DType::F16, {2, 300, 3, 2, 16});
  for (size_t part = 0; part < 3; part++) {
    const Array one = x.on_device[part].array();
    for (int64_t b = 0; b < 2; b++)
      for (int64_t h = 0; h < 2; h++)
        for (int64_t n = 0; n < 300; n++)
          std::memcpy(packed.mutable_data() +
                          (((b * 300 + n) * 3 + static_cast<int64_t>(part)) * 2 + h) * 32,
                      one.data() + ((b * 2 + h) * 300 + n) * 32, 32);
  }
  const Tensor all = Tensor::from(packed, gpu);
  const auto part = [&](int64_t i) {
    return all.slice(2, {i, i + 1}).squeeze(2).permute({0, 2, 1, 3});
  };
  const Tensor got = nn::scaled_dot_product_attention(part(0), part(1), part(2)).eval();
  EXPECT_EQ(gpu.counters().library_calls, 1u);
  EXPECT_EQ(gpu.counters().launches, 0u) << "nothing is copied";
  const Tensor right = nn::scaled_dot_product_attention(x.exact[0], x.exact[1], x.exact[2]);
  EXPECT_LE(difference(got, right), 1e-3);
}

TEST_F(CudnnAttention, IsPlannedOnceAndCaptured) {
  const Executor gpu = Executor::from_config(config());
  const Operands x({1, 2, 2, 384, 352, 16, 16}, DType::BF16, gpu);
  const Graph graph =
      capture([](const Tensor& q, const Tensor& k,
                 const Tensor& v) { return nn::scaled_dot_product_attention(q, k, v); },
              x.on_device[0], x.on_device[1], x.on_device[2]);
  EXPECT_EQ(graph.note(), "a CUDA graph of 1 nodes");
  const Tensor right = nn::scaled_dot_product_attention(x.exact[0], x.exact[1], x.exact[2]);
  for (int i = 0; i < 3; i++) {
    const Tensor got = graph.launch(x.on_device[0], x.on_device[1], x.on_device[2])[0];
    EXPECT_LE(difference(got, right), 8e-3);
  }
  EXPECT_EQ(gpu.counters().fallbacks, 0u);
}

// What the library does not take, our own programs compute: nothing of it is a fallback.
TEST_F(CudnnAttention, OthersAreComputedByPrograms) {
  BackendConfig how = config();
  how.strict = true;
  const Executor gpu = Executor::from_config(how);
  const auto asks = [&](const Shapes& s, DType dtype, const nn::AttentionOptions& options = {}) {
    const Operands x(s, dtype, gpu);
    const uint64_t before = gpu.counters().library_calls;
    nn::scaled_dot_product_attention(x.on_device[0], x.on_device[1], x.on_device[2], options)
        .eval();
    return gpu.counters().library_calls > before;
  };
  const Shapes usual{1, 2, 2, 400, 400, 16, 16};
  EXPECT_TRUE(asks(usual, DType::F16));
  EXPECT_FALSE(asks(usual, DType::F32)) << "its bits are those of all devices";
  EXPECT_FALSE(asks({1, 2, 2, 400, 400, 12, 12}, DType::F16));
  EXPECT_FALSE(asks({1, 2, 2, 40, 40, 16, 16}, DType::F16)) << "little to compute";
  nn::AttentionOptions masked;
  masked.mask = ops::full({400, 400}, 0.5, DType::F32, gpu);
  EXPECT_FALSE(asks(usual, DType::F16, masked)) << "it would be rounded";
  masked.mask = ops::full({400, 400}, true, DType::Bool, gpu);
  masked.softcap = 2;
  EXPECT_FALSE(asks(usual, DType::F16, masked));
  nn::AttentionOptions window;
  window.window = nn::AttentionWindow{.before = 5, .after = {}};
  EXPECT_FALSE(asks(usual, DType::F16, window));
  nn::AttentionOptions between;
  between.is_causal = true;
  between.query_offset = 7;
  EXPECT_FALSE(asks(usual, DType::F16, between));
  EXPECT_EQ(gpu.counters().fallbacks, 0u);
}

TEST_F(CudnnAttention, WithoutItOurOwnProgramRunsAndThatIsTold) {
  setenv("HOLOGRAM_CUDNN_LIBRARY", "libnone.so", 1);
  set_log_callback([](LogLevel, std::string_view) {});
  const Executor gpu = Executor::from_config(config());
  const Operands x({1, 2, 2, 400, 400, 16, 16}, DType::F16, gpu);
  nn::scaled_dot_product_attention(x.on_device[0], x.on_device[1], x.on_device[2]).eval();
  set_log_callback({});
  EXPECT_EQ(gpu.counters().fallbacks, 1u);
  EXPECT_EQ(gpu.counters().library_calls, 0u);
}

// One call after the other fails: a program computes it, which is counted, or it is an error that
// says what; and afterwards it succeeds.
TEST_F(CudnnAttention, EveryCallMayFail) {
  constexpr int kInternalError = 4000;
  set_log_callback([](LogLevel, std::string_view) {});
  int own = 0, errors = 0;
  int64_t queries = 400;
  for (const char* call :
       {"cudnnBackendCreateDescriptor", "cudnnBackendSetAttribute", "cudnnBackendFinalize",
        "cudnnBackendGetAttribute", "cudnnSetStream", "cudnnBackendExecute"})
    for (int skip = 0;; skip += 7) {
      SCOPED_TRACE(std::string(call) + ' ' + std::to_string(skip));
      const Executor gpu = Executor::from_config(config());
      const Operands x({1, 1, 1, ++queries, 700, 8, 8}, DType::F16, gpu);
      const auto result = [&] {
        return nn::scaled_dot_product_attention(x.on_device[0], x.on_device[1], x.on_device[2]);
      };
      const int before = library_.calls(call), alive = library_.alive();
      library_.fail(call, skip, 1, kInternalError);
      const Error error = error_of([&] { result().eval(); });
      library_.fail(nullptr, 0, 0, 0);
      const Counters counted = gpu.counters();
      if (std::string(error.what()) != "no error") {
        errors++;
        EXPECT_FALSE(error.remedy().empty());
      } else {
        EXPECT_EQ(counted.library_calls + counted.fallbacks, 1u);
        own += static_cast<int>(counted.fallbacks);
        if (counted.fallbacks > 0) {
          EXPECT_EQ(library_.alive(), alive) << "what was made for the plan is gone";
        }
      }
      if (library_.calls(call) - before <= skip) break;
    }
  set_log_callback({});
  EXPECT_GT(own, 20);
  EXPECT_GE(errors, 2);
}

}  // namespace
}  // namespace hologram
