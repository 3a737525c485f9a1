// A test of graphs of attention on the emulated cuDNN: operands, plain loops to compare with,
// memory of the emulated driver, plans and runs.
#pragma once

#include <optional>

#include "cudnn_fixture.hpp"
#include "cudnn_graphs.hpp"

namespace hologram {

using cudnn_graphs::Attention;
using cudnn_graphs::Axes;
using cudnn_graphs::Form;
using cudnn_graphs::Node;
using cudnn_graphs::Place;
using libraries::cudnn::Cudnn;
using libraries::cudnn::Handle;
using libraries::cudnn::Object;
using libraries::cudnn::Status;
namespace api = libraries::cudnn;

inline constexpr int kFast = 11, kGeneral = 12;  // engines of the emulated library
inline constexpr Status kBadParameter = 2000;
inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

inline DType dtype(int type) {
  switch (type) {
    case api::kF16: return DType::F16;
    case api::kBF16: return DType::BF16;
    case api::kI32: return DType::I32;
    default: return DType::F32;
  }
}

template <class F>
void each(const Axes& n, F f) {
  for (int64_t b = 0; b < n[0]; b++)
    for (int64_t h = 0; h < n[1]; h++)
      for (int64_t i = 0; i < n[2]; i++)
        for (int64_t j = 0; j < n[3]; j++) f(Axes{b, h, i, j});
}

// Numbers by batch, head, row and feature.
struct Numbers {
  Axes n;
  std::vector<double> all;
  explicit Numbers(const Axes& lengths)
      : n(lengths), all(static_cast<size_t>(n[0] * n[1] * n[2] * n[3]), 0) {}
  double& at(int64_t b, int64_t h, int64_t i, int64_t j) {
    return all[static_cast<size_t>(((b * n[1] + h) * n[2] + i) * n[3] + j)];
  }
};

// What attention and its gradients are, by plain loops in double.
struct Right {
  std::map<std::string, Numbers> x;

  Right(const Form& f, std::map<std::string, Numbers> given) : x(std::move(given)) {
    for (const auto& [name, n] : {std::pair{"o", f.of_o()},
                                  {"l", f.of_rows()},
                                  {"dq", f.of_q()},
                                  {"dk", f.of_k()},
                                  {"dv", f.of_v()}})
      x.emplace(name, Numbers(n));
    for (int64_t b = 0; b < f.batch; b++)
      for (int64_t h = 0; h < f.heads; h++)
        for (int64_t i = 0; i < f.rows; i++) row(f, b, h, i);
  }
  Numbers& of(const char* name) { return x.at(name); }

 private:
  void row(const Form& f, int64_t b, int64_t h, int64_t i) {
    const int64_t g = h / (f.heads / f.key_heads), own = i + f.keys - f.rows;
    const auto keys = static_cast<size_t>(f.keys);
    std::vector<double> s(keys, -kInfinity), slope(keys, 1), p(keys), dp(keys);
    double most = f.sink ? of("sink").at(0, h, 0, 0) : -kInfinity;
    for (int64_t j = 0; j < f.keys; j++) {
      if ((f.causal && j > own) || (f.window && j + kWindow <= own)) continue;
      if (f.lengths && (static_cast<double>(i) >= of("lq").at(b, 0, 0, 0) ||
                        static_cast<double>(j) >= of("lk").at(b, 0, 0, 0)))
        continue;
      double score = 0;
      for (int64_t k = 0; k < f.features; k++)
        score += of("q").at(b, h, i, k) * of("k").at(b, g, j, k);
      score *= static_cast<double>(f.scale());
      const auto at = static_cast<size_t>(j);
      if (f.cap != 0) {
        const double t = std::tanh(score / static_cast<double>(f.cap));
        score = static_cast<double>(f.cap) * t;
        slope[at] = 1 - t * t;
      }
      if (f.bias) score += of("bias").at(0, 0, i, j);
      s[at] = score;
      most = std::max(most, score);
    }
    double sum = f.sink ? std::exp(of("sink").at(0, h, 0, 0) - most) : 0, drop = 0;
    for (size_t j = 0; j < keys; j++)
      if (s[j] != -kInfinity) sum += p[j] = std::exp(s[j] - most);
    of("l").at(b, h, i, 0) = most + std::log(sum);
    for (size_t at = 0; at < keys; at++) {
      if (p[at] == 0) continue;
      p[at] /= sum;
      for (int64_t k = 0; k < f.values; k++) {
        const auto j = static_cast<int64_t>(at);
        of("o").at(b, h, i, k) += p[at] * of("v").at(b, g, j, k);
        of("dv").at(b, g, j, k) += p[at] * of("do").at(b, h, i, k);
        dp[at] += of("do").at(b, h, i, k) * of("v").at(b, g, j, k);
      }
      drop += dp[at] * p[at];
    }
    for (size_t at = 0; at < keys; at++)
      for (int64_t k = 0; k < f.features; k++) {
        const auto j = static_cast<int64_t>(at);
        const double ds = static_cast<double>(f.scale()) * slope[at] * p[at] * (dp[at] - drop);
        of("dq").at(b, h, i, k) += ds * of("k").at(b, g, j, k);
        of("dk").at(b, g, j, k) += ds * of("q").at(b, h, i, k);
      }
  }
  static constexpr int64_t kWindow = cudnn_graphs::kWindow;
};

class CudnnGraphs : public CudnnTest {
 protected:
  using Buffers = std::map<std::string, std::byte*>;
  struct Planned {
    std::vector<Object> configs{};
    std::vector<Status> statuses{};  // of the plans, in the order that they are offered
    std::vector<int64_t> workspaces{};
    std::optional<Object> plan{};  // the last that could be made
    int64_t workspace = 0;
  };

  void SetUp() override {
    context_ = driver_.new_context(0);
    ASSERT_EQ(call("cuCtxPushCurrent_v2", context_), 0);
    ASSERT_EQ(call("cuStreamCreate", &stream_, 1u), 0);
    ASSERT_EQ(cudnn()->create(&handle_), api::kSuccess);
  }
  void TearDown() override {
    for (const uint64_t address : taken_) call("cuMemFree_v2", address);
    call("cuStreamDestroy_v2", stream_);
    call("cuCtxPopCurrent_v2", &context_);
    EXPECT_EQ(library_.alive(), 0);
  }
  static const Cudnn& cudnn() { return Cudnn::instance(12); }

  std::byte* take(size_t bytes) {
    uint64_t address = 0;
    EXPECT_EQ(call("cuMemAlloc_v2", &address, bytes), 0);
    taken_.push_back(address);
    return reinterpret_cast<std::byte*>(address);  // NOLINT(performance-no-int-to-ptr)
  }
  static std::byte* element(const Node& t, std::byte* start, const Axes& i) {
    return start +
           (i[0] * t.strides[0] + i[1] * t.strides[1] + i[2] * t.strides[2] + i[3] * t.strides[3]) *
               static_cast<int64_t>(size_of(dtype(t.type)));
  }
  // By head and row, however it lies in the graph: what has been turned is turned back.
  static Node as_rows(const std::string& name, Node t) {
    if (name != "k" && (name != "v" || t.strides[3] == 1)) return t;
    t.lengths = cudnn_graphs::turned(t.lengths);
    t.strides = cudnn_graphs::turned(t.strides);
    return t;
  }
  Buffers allocate(const Attention& a) {
    Buffers buffers;
    for (const auto& [name, t] : a.memory) {
      size_t bytes = size_of(dtype(t.type));
      for (size_t axis = 0; axis < 4; axis++)
        bytes +=
            static_cast<size_t>((t.lengths[axis] - 1) * t.strides[axis]) * size_of(dtype(t.type));
      buffers[name] = take(bytes);
    }
    return buffers;
  }
  static void write(const Attention& a, const Buffers& buffers, Right& right) {
    for (const auto& [name, given] : a.memory)
      if (const auto found = right.x.find(name); found != right.x.end()) {
        const Node t = as_rows(name, given);
        std::byte* const start = buffers.at(name);
        each(t.lengths, [&](const Axes& i) {
          products::put(dtype(t.type), element(t, start, i),
                        found->second.at(i[0], i[1], i[2], i[3]));
        });
      }
  }
  static void compare(const Attention& a, const Buffers& buffers, const std::string& name,
                      Right& right) {
    SCOPED_TRACE(name);
    const Node t = as_rows(name, a.memory.at(name));
    // Shares are rounded before they are multiplied, and so are gradients before they are added up.
    const double most = 3 * products::epsilon(dtype(a.form.type)),
                 error = name == "l" ? 1e-6 : most;
    each(t.lengths, [&](const Axes& i) {
      const auto got =
          static_cast<double>(products::element(dtype(t.type), element(t, buffers.at(name), i)));
      const double want = right.of(name.c_str()).at(i[0], i[1], i[2], i[3]);
      if (got == want) return;  // infinite, too
      ASSERT_NEAR(got, want, error * (1 + std::fabs(want)));
    });
  }

  Planned plan(const Object& graph, int mode = api::kModeA) const {
    Planned r;
    Object heuristic(cudnn(), api::kHeuristic);
    heuristic.set_one(api::kHeuristicGraph, graph);
    heuristic.set_one(api::kHeuristicMode, api::kTypeHeuristicMode, mode);
    EXPECT_EQ(heuristic.finish(), api::kSuccess);
    int64_t count = 0;
    EXPECT_EQ(heuristic.get(api::kHeuristicResults, api::kTypeDescriptor, 0, count, nullptr),
              api::kSuccess);
    std::vector<api::Descriptor> descriptors;
    for (int64_t i = 0; i < count; i++) {
      r.configs.emplace_back(cudnn(), api::kEngineConfig);
      descriptors.push_back(r.configs.back().descriptor());
    }
    EXPECT_EQ(heuristic.get(api::kHeuristicResults, api::kTypeDescriptor, count, count,
                            descriptors.data()),
              api::kSuccess);
    for (const Object& config : r.configs) {
      Object plan(cudnn(), api::kPlan);
      plan.set_one(api::kPlanConfig, config);
      plan.set_one(api::kPlanHandle, api::kTypeHandle, handle_);
      r.statuses.push_back(plan.finish());
      r.workspaces.push_back(0);
      int64_t got = 0;
      if (r.statuses.back() != api::kSuccess) continue;
      plan.get(api::kPlanWorkspace, api::kTypeInt64, 1, got, &r.workspaces.back());
      if (r.workspaces.back() > 1 << 20 || r.plan) continue;
      r.workspace = r.workspaces.back();
      r.plan.emplace(std::move(plan));
    }
    return r;
  }
  // Puts it on the stream.
  Status execute(const Planned& planned, const std::map<int64_t, std::byte*>& memory,
                 std::byte* workspace) {
    std::vector<int64_t> numbers;
    std::vector<std::byte*> pointers;
    for (const auto& [number, pointer] : memory) {
      numbers.push_back(number);
      pointers.push_back(pointer);
    }
    Object pack(cudnn(), api::kVariantPack);
    pack.set(api::kPackNumbers, api::kTypeInt64, std::span<const int64_t>(numbers));
    pack.set(api::kPackPointers, api::kTypePointer, std::span<std::byte* const>(pointers));
    pack.set_one(api::kPackWorkspace, api::kTypePointer, workspace);
    if (pack.finish() != api::kSuccess) return pack.status();
    EXPECT_EQ(cudnn()->set_stream(handle_, stream_), api::kSuccess);
    return cudnn()->execute(handle_, planned.plan->descriptor(), pack.descriptor());
  }
  void wait() { ASSERT_EQ(call("cuStreamSynchronize", stream_), 0); }
  static std::map<int64_t, std::byte*> memory_of(Attention& a, const Buffers& buffers) {
    std::map<int64_t, std::byte*> memory;
    for (const auto& [name, t] : a.memory) memory[t.number] = buffers.at(name);
    for (auto& [number, value] : a.graph.values)
      memory[number] = reinterpret_cast<std::byte*>(&value);
    return memory;
  }
  void run(Attention& a, const Buffers& buffers, int engine = kFast) {
    ASSERT_EQ(a.graph.status, api::kSuccess) << library_.wrong();
    ASSERT_EQ(a.graph.finish(handle_, a.form.reversed), api::kSuccess) << library_.wrong();
    const Planned planned = plan(*a.graph.graph);
    ASSERT_TRUE(planned.plan) << library_.reason();
    ASSERT_EQ(execute(planned, memory_of(a, buffers), take(static_cast<size_t>(planned.workspace))),
              api::kSuccess)
        << library_.wrong();
    wait();
    EXPECT_EQ(library_.engine(), engine);
  }

  static Right drawn(const Form& f) {
    std::mt19937 random(7);
    std::normal_distribution<double> some;
    std::map<std::string, Numbers> x;
    const auto draw = [&](const char* name, const Axes& n, int type) {
      Numbers& numbers = x.emplace(name, Numbers(n)).first->second;
      for (double& value : numbers.all) {
        std::array<std::byte, 8> bytes{};
        products::put(dtype(type), bytes.data(), some(random));
        value = static_cast<double>(products::element(dtype(type), bytes.data()));
      }
    };
    draw("q", f.of_q(), f.type);
    draw("k", f.of_k(), f.type);
    draw("v", f.of_v(), f.type);
    draw("do", f.of_o(), f.type);
    draw("bias", {1, 1, f.rows, f.keys}, f.type);
    draw("sink", {1, f.heads, 1, 1}, api::kF32);
    for (const auto& [name, n] : {std::pair{"lq", f.rows}, {"lk", f.keys}}) {
      Numbers& numbers = x.emplace(name, Numbers({f.batch, 1, 1, 1})).first->second;
      for (int64_t b = 0; b < f.batch; b++) numbers.at(b, 0, 0, 0) = static_cast<double>(n - b);
    }
    return {f, std::move(x)};
  }

  void check(const Form& form) {
    Right right = drawn(form);
    Attention forward(cudnn(), form), backward(cudnn(), form);
    forward.forward();
    const Buffers there = allocate(forward);
    Right inputs = right;
    for (const char* name : {"o", "l", "dq", "dk", "dv"}) inputs.x.erase(name);
    write(forward, there, inputs);
    run(forward, there);
    compare(forward, there, "o", right);
    compare(forward, there, "l", right);
    // Rows of padding have no key and L is -inf: of these the real one knows by `lengths` of its
    // products, which are not emulated.
    if (form.lengths) return;
    backward.backward();
    const Buffers back = allocate(backward);
    Right of_backward = right;
    for (const char* name : {"dq", "dk", "dv"}) of_backward.x.erase(name);
    write(backward, back, of_backward);
    run(backward, back);
    for (const char* name : {"dq", "dk", "dv"}) compare(backward, back, name, right);
  }

  void* context_ = nullptr;
  api::NativeStream stream_ = nullptr;
  Handle handle_ = nullptr;
  std::vector<uint64_t> taken_;
};

}  // namespace hologram
