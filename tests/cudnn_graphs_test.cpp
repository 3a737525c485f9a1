// The emulated cuDNN itself (fake_cudnn.cpp): graphs of attention, forward and backward, against
// plain loops; for which graphs it has engines; what it does not let pass.
#include <functional>

#include "cudnn_graphs_fixture.hpp"

namespace hologram {
namespace {

std::vector<std::pair<std::string, std::function<void(Form&)>>> forms() {
  return {
      {"plain", [](Form&) {}},
      {"f16", [](Form& f) { f.type = api::kF16; }},
      {"as many heads of keys", [](Form& f) { f.key_heads = 4; }},
      {"one head of keys, reversed", [](Form& f) { f.key_heads = 1, f.reversed = true; }},
      {"causal", [](Form& f) { f.causal = true; }},
      {"rows without a key", [](Form& f) { f.causal = true, f.rows = 7; }},
      {"window", [](Form& f) { f.causal = f.window = true; }},
      {"bias", [](Form& f) { f.bias = true; }},
      {"cap", [](Form& f) { f.cap = 0.75f, f.causal = true; }},
      {"lengths", [](Form& f) { f.lengths = true; }},
      {"sink", [](Form& f) { f.sink = true, f.causal = true; }},
      {"a sink alone", [](Form& f) { f.sink = f.causal = true, f.rows = 7; }},
      {"deterministic", [](Form& f) { f.deterministic = true, f.causal = true; }},
      {"one of each", [](Form& f) { f.batch = f.heads = f.key_heads = f.rows = f.keys = 1; }},
  };
}

TEST_F(CudnnGraphs, AttentionAndItsGradientsArePlainLoops) {
  for (const auto& [name, change] : forms()) {
    SCOPED_TRACE(name);
    Form form;
    change(form);
    check(form);
    if (HasFatalFailure()) return;
  }
}

// As what is between operations is, when it is of such a type.
TEST_F(CudnnGraphs, NumbersBetweenOperationsAreRounded) {
  const Axes n = {1, 1, 2, 8};
  for (const int type : {api::kF16, api::kBF16, api::kF32}) {
    Attention a(cudnn(), {});
    const Node x = a.add("x", n, cudnn_graphs::dense(n), api::kF32),
               y = a.add("y", n, cudnn_graphs::dense(n), api::kF32),
               between = a.graph.between(n, type);
    a.graph.reshape(x, between);
    a.graph.elementwise(api::kIdentity, {{api::kPointwiseX, &between}, {api::kPointwiseY, &y}});
    const Buffers buffers = allocate(a);
    std::array<float, 16> given{}, got{};
    for (size_t i = 0; i < given.size(); i++) given[i] = 1 + static_cast<float>(i) * 0x1p-12f;
    std::memcpy(buffers.at("x"), given.data(), sizeof given);
    run(a, buffers, kGeneral);
    std::memcpy(got.data(), buffers.at("y"), sizeof got);
    for (size_t i = 0; i < given.size(); i++) {
      std::array<std::byte, 4> bytes{};
      products::put(dtype(type), bytes.data(), static_cast<double>(given[i]));
      EXPECT_EQ(static_cast<long double>(got[i]), products::element(dtype(type), bytes.data()));
    }
  }
}

TEST_F(CudnnGraphs, EnginesAreOfferedAsForConvolutions) {
  const auto offers = [&](bool back, const std::function<void(Form&)>& change,
                          int mode = api::kModeA) {
    Form form;
    change(form);
    Attention a(cudnn(), form);
    if (back) a.backward();
    else a.forward();
    EXPECT_EQ(a.graph.finish(handle_), api::kSuccess) << library_.wrong();
    const Planned planned = plan(*a.graph.graph, mode);
    EXPECT_EQ(planned.statuses.empty(),
              std::string(library_.reason()) != "" || mode != api::kModeA);
    if (planned.statuses.size() > 1) {
      EXPECT_EQ(planned.statuses[0], 3002) << "the first cannot be planned";
    }
    return planned.workspaces;
  };
  using Sizes = std::vector<int64_t>;
  constexpr int64_t kHuge = int64_t{1} << 40;
  const auto nothing = [](Form&) {};
  EXPECT_EQ(offers(false, nothing), (Sizes{0, kHuge, 256, 256}));
  EXPECT_EQ(offers(false, nothing, api::kFallback), Sizes{});
  const int64_t shared = 2 * 2 * 4 * 5 * (8 + 16);
  EXPECT_EQ(offers(true, nothing), (Sizes{0, kHuge + shared, 256 + shared, 256 + shared}));
  EXPECT_EQ(offers(true, [](Form& f) { f.key_heads = 4; }), (Sizes{0, kHuge, 256, 256}));
  EXPECT_EQ(offers(true, [](Form& f) { f.key_heads = 4, f.deterministic = true; })[2],
            256 + 2 * 4 * 64 * 64 * 2);
  EXPECT_EQ(offers(true, [](Form& f) { f.key_heads = 4, f.sums_between = true; }), Sizes{256});
  EXPECT_GT(offers(true, [](Form& f) { f.sums_at_once = true; })[2], int64_t{1} << 32);
}

TEST_F(CudnnGraphs, HasNoEngineForWhatTheRealOneHasNone) {
  const auto reason = [&](bool back, const std::function<void(Form&)>& change) {
    Form form;
    change(form);
    Attention a(cudnn(), form);
    if (back) a.backward();
    else a.forward();
    EXPECT_EQ(a.graph.finish(handle_), api::kSuccess) << library_.wrong();
    const Planned planned = plan(*a.graph.graph);
    EXPECT_EQ(planned.configs.empty(), std::string(library_.reason()) != "");
    return std::string(library_.reason());
  };
  const std::string size = "the number of features is no multiple of 8 or above 256";
  EXPECT_EQ(reason(false, [](Form&) {}), "");
  EXPECT_EQ(reason(true, [](Form&) {}), "");
  EXPECT_EQ(reason(false, [](Form& f) { f.type = api::kF32; }),
            "operands of a product are neither f16 nor bf16");
  EXPECT_EQ(reason(true, [](Form& f) { f.type = api::kF32; }),
            "operands of a product are neither f16 nor bf16");
  EXPECT_EQ(reason(false, [](Form& f) { f.features = 12, f.heads = f.key_heads = 2; }), size);
  EXPECT_EQ(reason(false, [](Form& f) { f.features = 256; }), "");
  EXPECT_EQ(reason(false, [](Form& f) { f.features = 264; }), size);
  EXPECT_EQ(reason(true, [](Form& f) { f.values = 264; }), size);
  EXPECT_EQ(reason(false, [](Form& f) { f.compute = api::kF16; }),
            "a product is not computed in f32");
  EXPECT_EQ(reason(false, [](Form& f) { f.wide_shares = true; }),
            "operands of a product have different types");
  EXPECT_EQ(reason(false, [](Form& f) { f.without_log = true; }),
            "a softmax is without its statistics");
  EXPECT_EQ(reason(false, [](Form& f) { f.half_scores = true; }),
            "a tensor between operations is not f32");
}

// The real one does not say so, or too late: that is noted.
TEST_F(CudnnGraphs, HasNoEngineForWhatDoesHarm) {
  const auto reason = [&](const std::function<void(Attention&)>& fill) {
    Attention a(cudnn(), {});
    fill(a);
    EXPECT_EQ(a.graph.finish(handle_), api::kSuccess) << library_.wrong();
    EXPECT_TRUE(plan(*a.graph.graph).configs.empty());
    EXPECT_EQ(library_.wrong(), "a graph does harm: " + std::string(library_.reason()));
    library_.forgive();
    return std::string(library_.reason());
  };
  EXPECT_EQ(reason([](Attention& a) {
              a.form.bool_mask = true;
              a.forward();
            }),
            "a bool is in memory");
  EXPECT_EQ(reason([](Attention& a) {
              a.form.gap = 4;
              a.forward();
            }),
            "a stride is not a multiple of 16 bytes");
  EXPECT_EQ(reason([](Attention& a) {
              a.form.gap = 4;
              a.backward();
            }),
            "a stride is not a multiple of 16 bytes");
  EXPECT_EQ(reason([](Attention& a) {
              const Axes n = {1, 2, 3, 8};
              const Node x = a.add("x", n, {64, 32, 8, 1}, api::kF32),
                         y = a.add("y", n, {128, 64, 16, 2}, api::kF32);
              a.graph.elementwise(api::kExp, {{api::kPointwiseX, &x}, {api::kPointwiseY, &y}});
            }),
            "the elements of a row are not neighbours");
}

// Graphs of one or two operations that are finished, or not.
TEST_F(CudnnGraphs, GraphsThatAreNoneAreNotFinished) {
  using cudnn_graphs::Graph;
  const auto wrong = [&](const std::function<void(Graph&)>& fill) {
    Graph graph(cudnn());
    fill(graph);
    const Status status = graph.status == api::kSuccess ? graph.finish(handle_) : graph.status;
    std::string what = library_.wrong();
    // Where memory lies is only looked at when the work is done.
    EXPECT_TRUE(status == api::kSuccess || (status == kBadParameter && !what.empty())) << status;
    library_.forgive();
    return what;
  };
  const Axes n = {1, 2, 3, 8}, rows = {1, 2, 3, 1}, one = {1, 1, 1, 1};
  const auto memory = [&](Graph& g, const Axes& lengths, int type = api::kF32) {
    return g.tensor(lengths, cudnn_graphs::dense(lengths), type);
  };
  const auto exponential = [&](Graph& g, const Node& x, const Node& y) {
    g.elementwise(api::kExp, {{api::kPointwiseX, &x}, {api::kPointwiseY, &y}});
  };
  EXPECT_EQ(wrong([&](Graph& g) { exponential(g, memory(g, n), memory(g, n)); }), "");
  EXPECT_EQ(wrong([&](Graph& g) { exponential(g, memory(g, rows), memory(g, rows)); }), "");
  EXPECT_EQ(wrong([&](Graph& g) {
              exponential(g, g.tensor(n, cudnn_graphs::dense(n), api::kF32, Place::Memory, 7),
                          g.tensor(n, cudnn_graphs::dense(n), api::kF32, Place::Memory, 7));
            }),
            "two tensors have the same number");
  EXPECT_EQ(wrong([&](Graph& g) { exponential(g, g.between(n), memory(g, n)); }),
            "a virtual tensor is made by nobody");
  EXPECT_EQ(wrong([&](Graph& g) { exponential(g, memory(g, n), g.value(1.0f)); }),
            "what is passed by value is not one number that is given");
  EXPECT_EQ(wrong([&](Graph& g) {
              const Node x = g.between(n), y = g.between(n);
              exponential(g, x, y);
              exponential(g, y, x);
            }),
            "operations wait for each other");
  EXPECT_EQ(wrong([&](Graph& g) {
              const Node x = memory(g, n), y = memory(g, n);
              exponential(g, x, y);
              exponential(g, x, y);
            }),
            "a tensor is made twice");
  EXPECT_EQ(wrong([&](Graph& g) {
              exponential(g, memory(g, n), memory(g, {1, 2, 3, 16}));
            }),
            "sizes do not go together");
  EXPECT_EQ(wrong([&](Graph& g) {
              exponential(g, memory(g, n), g.tensor(n, {0, 24, 8, 1}, api::kF32));
            }),
            "a length, a stride or an alignment is below 1");
  EXPECT_EQ(wrong([&](Graph& g) {
              g.reshape(memory(g, n), g.tensor(n, {48, 24, 16, 1}, api::kF32, Place::Between));
            }),
            "sizes do not go together")
      << "elements that are nowhere";
  EXPECT_EQ(wrong([&](Graph& g) {
              g.product(memory(g, {1, 3, 4, 8}), memory(g, {1, 2, 8, 4}), g.between({1, 3, 4, 4}));
            }),
            "sizes do not go together")
      << "two heads for three";
  EXPECT_EQ(wrong([&](Graph& g) {
              const Node x = memory(g, n), y = memory(g, n);
              g.elementwise(api::kAdd, {{api::kPointwiseX, &x}, {api::kPointwiseY, &y}});
            }),
            "an operation has too few tensors or too many");
  EXPECT_EQ(wrong([&](Graph& g) {
              const Node x = memory(g, n), y = memory(g, n);
              g.elementwise(4, {{api::kPointwiseX, &x}, {api::kPointwiseY, &y}});
            }),
            "an elementwise operation is not emulated");
  EXPECT_EQ(wrong([&](Graph& g) {
              const Node x = memory(g, n), y = g.between(n, api::kI32);
              g.elementwise(api::kIndex, {{api::kPointwiseX, &x}, {api::kPointwiseY, &y}});
            }),
            "an axis is not where it belongs");
  EXPECT_EQ(wrong([&](Graph& g) { g.reduce(5, memory(g, n), g.between(rows)); }),
            "a reduction is not emulated");
  EXPECT_EQ(wrong([&](Graph& g) {
              Object unfinished(cudnn(), api::kTensor);
              const Node x = memory(g, n), y{9, n, n, api::kF32, &unfinished};
              exponential(g, x, y);
            }),
            "a descriptor that is not finished is spoken of");
  EXPECT_EQ(wrong([&](Graph& g) {
              exponential(g, memory(g, n), memory(g, n));
              g.forget_tensors();
            }),
            "an operation has no descriptor");
  EXPECT_EQ(wrong([&](Graph& g) {
              const Node x = memory(g, one), y = memory(g, one);
              Object real_lengths(cudnn(), api::kOperationMatmul);
              real_lengths.set_one(1525, *x.object);
              g.status = real_lengths.status();
              exponential(g, x, y);
            }),
            "a descriptor has no such attribute");
}

TEST_F(CudnnGraphs, MemoryThatIsNotAsWasSaidIsRefused) {
  Form form;
  Right right = drawn(form);
  Attention a(cudnn(), form);
  a.forward();
  const Buffers buffers = allocate(a);
  right.x.erase("o");
  write(a, buffers, right);
  ASSERT_EQ(a.graph.finish(handle_), api::kSuccess);
  const Planned planned = plan(*a.graph.graph);
  std::byte* const room = take(256);
  std::byte* workspace = room;
  const auto wrong = [&](const std::function<void(std::map<int64_t, std::byte*>&)>& change) {
    auto memory = memory_of(a, buffers);
    workspace = room;
    change(memory);
    const Status status = execute(planned, memory, workspace);
    wait();
    std::string what = library_.wrong();
    // Where memory lies is only looked at when the work is done.
    EXPECT_TRUE(status == api::kSuccess || (status == kBadParameter && !what.empty())) << status;
    library_.forgive();
    return what;
  };
  using Memory = std::map<int64_t, std::byte*>;
  const auto of = [&](const char* name) { return a.memory.at(name).number; };
  const int64_t scale = a.graph.values.begin()->first;
  EXPECT_EQ(wrong([](Memory&) {}), "");
  EXPECT_EQ(wrong([&](Memory& m) { m.erase(of("o")); }), "a tensor has no memory");
  EXPECT_EQ(wrong([&](Memory& m) { m.erase(scale); }), "a tensor has no memory");
  EXPECT_EQ(wrong([&](Memory& m) { m[of("q")] = nullptr; }), "the memory of a tensor is null");
  EXPECT_EQ(wrong([&](Memory& m) { m[1000] = room; }),
            "there is memory for a tensor that the graph has not");
  // Numbers go up as tensors are made; the one behind those given is S.
  EXPECT_EQ(wrong([&](Memory& m) { m[scale + 1] = room; }), "a virtual tensor has memory");
  EXPECT_EQ(wrong([&](Memory& m) { m[scale] = room; }),
            "what is passed by value is in device memory");
  std::vector<std::byte> host(4096);
  EXPECT_EQ(wrong([&](Memory& m) { m[of("q")] = host.data(); }),
            "a tensor is not, or not all, in device memory");
  EXPECT_EQ(wrong([&](Memory& m) { m[of("q")] += 16; }),
            "a tensor is not, or not all, in device memory");
  std::byte* const more = take(4096);
  EXPECT_EQ(wrong([&](Memory& m) { m[of("q")] = more + 16; }), "");
  EXPECT_EQ(wrong([&](Memory& m) { m[of("q")] = more + 8; }),
            "a tensor is not aligned as was promised, or not to 16 bytes");
  EXPECT_EQ(wrong([&](Memory& m) { m[of("k")] = m[of("q")] = more; }), "");
  EXPECT_EQ(wrong([&](Memory& m) { m[of("o")] = m[of("q")] = more; }),
            "two tensors share memory that is written to");
  EXPECT_EQ(wrong([&](Memory& m) { workspace = m[of("o")]; }), "a tensor lies in the workspace");
  EXPECT_EQ(wrong([&](Memory&) { workspace = nullptr; }), "there is no workspace");
  EXPECT_EQ(wrong([&](Memory&) { workspace = room + 16; }),
            "the workspace is smaller than was asked for");
  a.graph.forget_tensors();
  EXPECT_EQ(wrong([](Memory&) {}), "a descriptor of a graph is gone");
}

// As gradients of queries, keys and values do that are one array.
TEST_F(CudnnGraphs, TensorsMayLieBetweenEachOthersRows) {
  const Axes n = {1, 1, 3, 8}, rows = {48, 48, 16, 1};
  Attention a(cudnn(), {});
  const Node x = a.add("x", n, cudnn_graphs::dense(n), api::kF32),
             y = a.add("y", n, rows, api::kF32), z = a.add("z", n, rows, api::kF32);
  for (const Node* to : {&y, &z})
    a.graph.elementwise(api::kExp, {{api::kPointwiseX, &x}, {api::kPointwiseY, to}});
  ASSERT_EQ(a.graph.finish(handle_), api::kSuccess);
  const Planned planned = plan(*a.graph.graph);
  ASSERT_TRUE(planned.plan);
  std::byte *const given = take(96), *const array = take(192), *const room = take(256);
  std::memset(given, 0, 96);
  EXPECT_EQ(execute(planned, {{x.number, given}, {y.number, array}, {z.number, array + 32}}, room),
            api::kSuccess);
  wait();
  std::array<float, 48> got{};
  std::memcpy(got.data(), array, sizeof got);
  EXPECT_EQ(std::count(got.begin(), got.end(), 1.0f), 48);
  execute(planned, {{x.number, given}, {y.number, array}, {z.number, array + 16}}, room);
  wait();
  EXPECT_STREQ(library_.wrong(), "two tensors share memory that is written to");
  library_.forgive();
}

// The numbers of the host are those of the call; what is in the device's memory, those of the run.
TEST_F(CudnnGraphs, WhatIsPassedByValueIsReadAtTheCall) {
  Form form;
  Attention a(cudnn(), form);
  a.forward();
  const Buffers buffers = allocate(a);
  Right right = drawn(form), inputs = right;
  for (const char* name : {"o", "l"}) inputs.x.erase(name);
  write(a, buffers, inputs);
  ASSERT_EQ(a.graph.finish(handle_, true), api::kSuccess);
  const Planned planned = plan(*a.graph.graph);
  std::byte* const workspace = take(256);
  void *graph = nullptr, *ready = nullptr;
  ASSERT_EQ(call("cuStreamBeginCapture_v2", stream_, 2), 0);
  ASSERT_EQ(execute(planned, memory_of(a, buffers), workspace), api::kSuccess);
  ASSERT_EQ(call("cuStreamEndCapture", stream_, &graph), 0);
  for (auto& [number, value] : a.graph.values) value = 0;
  ASSERT_EQ(call("cuGraphInstantiateWithFlags", &ready, graph, 0ull), 0);
  EXPECT_EQ(buffers.at("o")[0], std::byte{0xa5}) << "nothing has run yet";
  ASSERT_EQ(call("cuGraphLaunch", ready, stream_), 0);
  wait();
  compare(a, buffers, "o", right);
  compare(a, buffers, "l", right);
  call("cuGraphExecDestroy", ready);
  call("cuGraphDestroy", graph);
}

}  // namespace
}  // namespace hologram
