// Convolutions by cuDNN, with a library (fake_cudnn.cpp) and a driver (fake_cuda.cpp) that are
// emulated: what is asked of it, and what comes of it.
#include <functional>
#include <numeric>

#include "algorithms/weight_order.hpp"
#include "cudnn_fixture.hpp"

namespace hologram {
namespace {

using cudnn_cases::axis;
using cudnn_cases::describe;
using cudnn_cases::kTypes;
using cudnn_cases::Operands;
using cudnn_cases::rounding_of;
using cudnn_cases::Types;
using hal::ConvDesc;

constexpr int kInternalError = 4000;
constexpr int kByTiles = 1, kWithTensorCores = 6, kPlain = 8;  // engines of the emulated library

void run(hal::Device& device, const hal::LibraryPlan& plan, Operands& o,
         const std::array<uint64_t, 3>& offsets = {}) {
  const auto stream = device.stream();
  std::vector<std::unique_ptr<hal::Buffer>> buffers;
  std::vector<hal::Binding> bindings;
  for (size_t i = 0; i < 3; i++) {
    hal::HostBuffer host(o.memory[i].data(), o.memory[i].size());
    buffers.push_back(device.allocate(o.memory[i].size() + offsets[i]));
    bindings.push_back({buffers[i].get(), offsets[i], o.memory[i].size()});
    stream->copy(bindings[i], {&host, 0, host.size()});
  }
  const auto workspace = device.allocate(std::max<uint64_t>(plan.workspace(), 1));
  stream->call(plan, bindings, {workspace.get(), 0, plan.workspace()});
  hal::HostBuffer host(o.memory[2].data(), o.memory[2].size());
  stream->copy({&host, 0, host.size()}, bindings[2]);
  stream->wait(stream->submit(), {});
}

std::shared_ptr<hal::LibraryPlan> planned(hal::Device& device, const ConvDesc& desc) {
  auto answer = device.library()->plan(desc);
  if (auto* refused = std::get_if<hal::Refusal>(&answer)) {
    ADD_FAILURE() << refused->reason;
    return nullptr;
  }
  return std::get<std::shared_ptr<hal::LibraryPlan>>(answer);
}

std::string refusal(hal::Device& device, const ConvDesc& desc) {
  auto answer = device.library()->plan(desc);
  auto* refused = std::get_if<hal::Refusal>(&answer);
  return refused == nullptr ? "nothing"
                            : (refused->is_fallback ? "fallback: " : "") + refused->reason;
}

TEST_F(CudnnTest, MatchesPlainLoops) {
  const auto gpu = device();
  std::mt19937 random(1);
  const auto from = [&](int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random() % static_cast<uint32_t>(high - low + 1));
  };
  const auto any_axis = [&] {
    const int64_t kernel = from(1, 4), dilation = from(1, 2);
    return axis(from(8, 12), kernel, from(1, 3), dilation, from(0, 2), from(0, 2));
  };
  for (const Types& types : kTypes)
    for (uint32_t round = 0; round < 20; round++) {
      ConvDesc desc =
          describe(types, from(1, 3), from(1, 3), from(1, 4), from(1, 4), any_axis(), any_axis());
      std::array<uint64_t, 3> offsets{};
      for (size_t i = 0; i < 2; i++) offsets[i] = round % 4 * size_of(types.x);
      const auto alignment = [](uint64_t offset) {
        return static_cast<uint32_t>((offset | 256) & (~(offset | 256) + 1));
      };
      desc.alignment_x = alignment(offsets[0]);
      desc.alignment_w = alignment(offsets[1]);
      SCOPED_TRACE(std::string(name_of(types.x)) + ' ' + std::to_string(round));
      const auto plan = planned(*gpu, desc);
      ASSERT_NE(plan, nullptr);
      Operands o(desc, round);
      run(*gpu, *plan, o, offsets);
      ASSERT_LE(rounding_of(desc, o), size_of(types.d) < 4 ? 1 : 8);
    }
}

// Rounded operands where they were asked for, and never by another way than sums of products.
TEST_F(CudnnTest, EnginesThatPromisesForbidAreNotUsed) {
  const auto engine = [&](const Types& types, const BackendConfig& how) {
    const auto gpu = device(how);
    const ConvDesc desc = describe(types);
    const auto plan = planned(*gpu, desc);
    Operands o(desc, 3);
    run(*gpu, *plan, o);
    const bool rounds = rounding_of(desc, o) > 16;
    EXPECT_EQ(rounds, library_.engine() == kWithTensorCores && types.x == DType::F32);
    EXPECT_EQ(plan->workspace(), library_.engine() == kWithTensorCores ? 512u : 0u);
    EXPECT_EQ(plan->name(), std::string("cuDNN convolution ") + std::string(name_of(types.x)) +
                                (rounds ? " by tf32" : ""));
    return library_.engine();
  };
  BackendConfig how = config();
  EXPECT_EQ(engine(kTypes[0], how), kPlain);
  EXPECT_EQ(engine(kTypes[1], how), kWithTensorCores);
  EXPECT_EQ(engine(kTypes[2], how), kWithTensorCores);
  EXPECT_EQ(engine(kTypes[3], how), kWithTensorCores);
  how.allow_tf32 = true;
  EXPECT_EQ(engine(kTypes[0], how), kWithTensorCores);
  how.enable_tensor_cores = false;
  EXPECT_EQ(engine(kTypes[0], how), kPlain);
  EXPECT_EQ(engine(kTypes[2], how), kPlain);
  how = config();
  how.allow_winograd = true;
  const auto gpu = device(how);
  const ConvDesc desc = describe(kTypes[0]);
  Operands o(desc, 3);
  run(*gpu, *planned(*gpu, desc), o);
  EXPECT_EQ(library_.engine(), kByTiles);
}

TEST_F(CudnnTest, RefusesWithAReasonWhatItCannotDo) {
  const auto gpu = device();
  const auto refused = [&](const std::function<void(ConvDesc&)>& change) {
    ConvDesc desc = describe();
    change(desc);
    return refusal(*gpu, desc);
  };
  EXPECT_EQ(refused([](ConvDesc&) {}), "nothing");
  EXPECT_EQ(refused([](ConvDesc& d) { d.x = d.w = d.d = d.accumulate = DType::I32; }),
            "no convolution of i32 and i32 to i32");
  EXPECT_EQ(refused([](ConvDesc& d) { d.w = DType::F16; }), "no convolution of f32 and f16 to f32");
  EXPECT_EQ(refused([](ConvDesc& d) { d.d = DType::F16; }), "no convolution of f32 and f32 to f16");
  EXPECT_EQ(refused([](ConvDesc& d) { d.accumulate = DType::F64; }),
            "no convolution of f32 and f32 to f32");
  EXPECT_EQ(refused([](ConvDesc& d) { d.batch = 0; }), "there is nothing to convolve");
  EXPECT_EQ(refused([](ConvDesc& d) { d.x_strides[2]++; }), "x is not dense");
  EXPECT_EQ(refused([](ConvDesc& d) { d.w_strides = {48, 12, 4, 1}; }), "w is not dense");
  EXPECT_EQ(refused([](ConvDesc& d) { d.rows.output -= 2; }),
            "the result is shorter than it could be");
  EXPECT_EQ(refused([](ConvDesc& d) {
              d = describe(kTypes[0], 1 << 20, 1, 3, 4, axis(70, 1), axis(60, 1));
            }),
            "fallback: cuDNN: x has more than 2147483647 elements");
  library_.refuse(true);
  EXPECT_EQ(refused([](ConvDesc& d) { d.alignment_x = 4; }), "nothing") << "it is known already";
  EXPECT_EQ(refused([](ConvDesc& d) { d.alignment_x = 16; }),
            "fallback: cuDNN: it has no engine for the convolution");
  ConvDesc wide = describe(kTypes[1]);
  EXPECT_EQ(refusal(*gpu, wide), "cuDNN: it has no engine for the convolution");
}

TEST_F(CudnnTest, PlansAConvolutionOnce) {
  const auto gpu = device(), again = device();
  const ConvDesc desc = describe();
  const auto plan = planned(*gpu, desc);
  EXPECT_EQ(plan, planned(*gpu, desc));
  EXPECT_EQ(plan, planned(*again, desc)) << "another executor's device is the same device";
  EXPECT_EQ(library_.calls("cudnnCreate"), 1);
  const int alive = library_.alive();
  for (const auto& change : std::initializer_list<void (*)(ConvDesc&)>{
           [](ConvDesc& d) { d = describe(kTypes[2]); },
           [](ConvDesc& d) { d = describe(kTypes[4]); }, [](ConvDesc& d) { d.alignment_x = 8; },
           [](ConvDesc& d) { d.alignment_w = 16; },
           [](ConvDesc& d) { d = describe(kTypes[0], 2, 1, 3, 4, axis(7, 3), axis(6, 3)); }}) {
    ConvDesc other = desc;
    change(other);
    EXPECT_NE(plan, planned(*gpu, other));
  }
  EXPECT_GT(library_.alive(), alive);
  const int made = library_.calls("cudnnBackendCreateDescriptor");
  for (int i = 0; i < 10; i++) EXPECT_EQ(plan, planned(*gpu, desc));
  EXPECT_EQ(library_.calls("cudnnBackendCreateDescriptor"), made);
}

LibraryInfo listed() {
  for (const LibraryInfo& library : discover_libraries())
    if (library.name == "cuDNN") return library;
  return {};
}

TEST_F(CudnnTest, IsListedWithItsFileOrAReason) {
  EXPECT_EQ(listed().version, "9.14.2");
  EXPECT_EQ(listed().path, FAKE_CUDNN);
  EXPECT_EQ(listed().reason, "");
}

TEST_F(CudnnTest, AnotherLibraryOfThatNameIsAReason) {
  setenv("HOLOGRAM_CUDNN_LIBRARY", "libm.so.6", 1);
  EXPECT_EQ(listed().reason, "not usable (it lacks cudnnGetProperty)");
  EXPECT_EQ(refusal(*device(), describe()),
            "fallback: cuDNN: not usable (it lacks cudnnGetProperty)");
}

TEST_F(CudnnTest, AnotherVersionIsAReason) {
  library_.version(8, 12);
  EXPECT_EQ(listed().reason, "not usable (it is version 8.14.2, and 9 is known)");
}

TEST_F(CudnnTest, OneForANewerDriverIsAReason) {
  library_.version(9, 13);
  EXPECT_EQ(listed().reason, "not usable (it is for CUDA 13, the driver for CUDA 12)");
  EXPECT_FALSE(device()->library()->wants_dense_images());
}

TEST_F(CudnnTest, OneThatDoesNotTellItsVersionIsAReason) {
  library_.fail("cudnnGetProperty", 1, 1, kInternalError);
  EXPECT_EQ(listed().reason, "not usable (it does not tell its version)");
}

TEST_F(CudnnTest, WithoutADriverItIsNotLookedFor) {
  setenv("HOLOGRAM_CUDA_LIBRARY", "libnone.so", 1);
  EXPECT_EQ(listed().reason.find("not looked for: the NVIDIA driver is not"), 0u);
}

// What kernels of the device do to weights, done by the CPU.
TEST(CudnnWeights, AreBroughtIntoTheOrderOfOutputs) {
  const ConvDesc d = describe(kTypes[0], 1, 2, 3, 2, axis(5, 3), axis(5, 2));
  const int64_t rows = 3, columns = 2, channels = 3, outputs = 4;
  const std::array<int64_t, 4> lying = {-columns * channels * outputs, channels * outputs + 1,
                                        outputs, 1};
  const int64_t start = (rows - 1) * columns * channels * outputs;
  const graph::WeightOrder order = graph::weight_order(d, lying, start);
  std::vector<float> x(100), y(72, -1.0f);
  std::iota(x.begin(), x.end(), 0.0f);
  EXPECT_EQ(order.bytes, y.size() * sizeof(float));
  const auto cpu = products::cpu(1);
  const auto from = cpu->adopt(reinterpret_cast<std::byte*>(x.data()), x.size() * sizeof(float)),
             to = cpu->adopt(reinterpret_cast<std::byte*>(y.data()), y.size() * sizeof(float));
  const auto executable = cpu->compile(graph::order_program(order.key), {});
  const hal::Binding bindings[] = {{from.get(), 0, from->size()}, {to.get(), 0, to->size()}};
  const auto stream = cpu->stream();
  stream->launch({.executable = executable.get(),
                  .grid = order.grid,
                  .bindings = bindings,
                  .scalars = order.scalars,
                  .deadline = {},
                  .budget = 0,
                  .progress = nullptr});
  stream->wait(stream->submit(), {});
  size_t at = 0;
  for (int64_t o = 0; o < outputs; o++)
    for (int64_t i = 0; i < rows; i++)
      for (int64_t j = 0; j < columns; j++)
        for (int64_t c = 0; c < channels; c++)
          ASSERT_EQ(y[at++], x[static_cast<size_t>(start + o * lying[3] + i * lying[0] +
                                                   j * lying[1] + c * lying[2])]);
}

}  // namespace
}  // namespace hologram
