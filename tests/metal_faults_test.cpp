// What the Metal backend makes of a driver that fails: an error that says what went wrong and
// where, nothing is left behind, and the next work is done.
#include <map>

#include "metal_fixture.hpp"

namespace hologram {
namespace {

class MetalFaults : public MetalTest {
 protected:
  // The error of the work while messages of the selector fail with the code, once.
  std::string failing(const char* selector, ErrorKind kind, const std::function<void()>& work,
                      int code = 1) {
    fake_.fail(selector, 0, 1, code);
    std::string text = message(work, kind);
    fake_.fail(nullptr, 0, 0, 0);
    return text;
  }
  // A tensor of a thousand numbers, computed anew.
  static std::vector<float> sum(const Executor& on) {
    const Tensor x = Tensor::from(counting(1000), on);
    return (x + x).to_vector<float>();
  }
};

struct Fault {
  const char* selector;
  ErrorKind kind;
  const char* text;
};

// Of a launch: whatever the device may answer with nothing.
TEST_F(MetalFaults, EachMessageOfALaunchMayFail) {
  const Fault faults[] = {
      {"newLibraryWithSource:options:error:", ErrorKind::Internal,
       "program '{}' does not compile on Emulated Apple GPU: program_source:1:1: error: injected\n"
       "here"},
      {"newFunctionWithName:", ErrorKind::Internal,
       "program '{}' does not compile on Emulated Apple GPU: it has no kernel atlas_{}"},
      {"newComputePipelineStateWithDescriptor:options:reflection:error:", ErrorKind::Internal,
       "program '{}' does not compile on Emulated Apple GPU: an injected failure"},
      {"commandBuffer", ErrorKind::DeviceLost,
       "Emulated Apple GPU failed in commandBuffer: there is none"},
      {"computeCommandEncoder", ErrorKind::DeviceLost,
       "Emulated Apple GPU failed in computeCommandEncoder: there is none"},
      {"commit", ErrorKind::DeviceLost,
       "Emulated Apple GPU failed in program '{}': an injected failure"},
  };
  const Executor gpu = executor();
  int number = 0;
  for (const Fault& fault : faults) {
    SCOPED_TRACE(fault.selector);
    const std::string name = "scale" + std::to_string(number++);
    const Program program = scale(name);
    Executor own = executor();
    std::string wanted = fault.text;
    for (size_t at; (at = wanted.find("{}")) != std::string::npos;) wanted.replace(at, 2, name);
    EXPECT_EQ(failing(fault.selector, fault.kind, [&] { run(own, program); }), wanted);
    own = executor();
    run(own, program);
    run(gpu);
  }
}

TEST_F(MetalFaults, MemoryThatIsNotThereIsAskedForOnce) {
  for (const int index : {kUnified, kDiscrete}) {
    const Executor gpu = executor(0, index);
    {
      const Tensor most = ops::zeros({20 << 20}, DType::F32, gpu).eval();
      const std::string text =
          message([&] { static_cast<void>(ops::ones({20 << 20}, DType::F32, gpu).eval()); },
                  ErrorKind::OutOfMemory);
      EXPECT_NE(text.find("GPU could not allocate"), std::string::npos) << text;
    }
    EXPECT_EQ(sum(gpu)[999], 2 * 999);
    // What the pool has freed meanwhile may be enough.
    fake_.fail("newBufferWithLength:options:", 0, 1, 0);
    const Tensor large = ops::zeros({8 << 20}, DType::F32, gpu);
    EXPECT_EQ(ops::sum(large).item<float>(), 0);
    fake_.fail("newBufferWithLength:options:", 0, 1000, 0);
    message([&] { static_cast<void>(ops::zeros({9 << 20}, DType::F32, gpu).eval()); },
            ErrorKind::OutOfMemory);
    fake_.fail(nullptr, 0, 0, 0);
    EXPECT_EQ(sum(gpu)[999], 2 * 999);
  }
}

TEST_F(MetalFaults, CopiesThatFailSaySo) {
  const Executor gpu = executor(0, kDiscrete);
  for (const char* selector : {"commandBuffer", "blitCommandEncoder"})
    EXPECT_EQ(failing(selector, ErrorKind::DeviceLost, [&] { sum(gpu); }),
              std::string("Emulated discrete GPU failed in ") + selector + ": there is none");
  EXPECT_EQ(sum(executor(0, kDiscrete))[999], 2 * 999);
}

// A copy in pieces is several command buffers, of each of which it is told.
TEST_F(MetalFaults, EachPieceOfACopyCounts) {
  std::vector<std::byte> bytes(40 << 20);
  const auto on = device(kDiscrete);
  const auto buffer = on->allocate(bytes.size());
  for (int piece = 0; piece < 5; piece++) {
    const auto stream = on->stream();
    hal::HostBuffer host(bytes.data(), bytes.size());
    fake_.fail("commit", piece, 1, 3);
    stream->copy({buffer.get(), 0, bytes.size()}, {&host, 0, bytes.size()});
    message([&] { stream->wait(stream->submit(), {}); }, ErrorKind::DeviceLost);
    fake_.fail(nullptr, 0, 0, 0);
  }
}

TEST_F(MetalFaults, CopiesGoOnWithFewerPieces) {
  const Executor gpu = executor(0, kDiscrete);
  EXPECT_EQ(sum(gpu)[999], 2 * 999);
  const std::vector<float> numbers(10 << 20, 1.0F);
  const Tensor x = ops::zeros({10 << 20}, DType::F32, gpu).eval();
  fake_.fail("newBufferWithLength:options:", 2, 1000, 0);
  const Tensor y = Tensor::from_vector(numbers, {10 << 20}, gpu);
  EXPECT_EQ(y.to_vector<float>(), numbers);
}

// What a command buffer ends with becomes the error that says what to do.
TEST_F(MetalFaults, CommandBuffersTellWhatHappened) {
  struct CommandsEnd {
    int code;
    ErrorKind kind;
    const char* text;
  };
  const CommandsEnd endings[] = {
      {1, ErrorKind::DeviceLost, "failed in program 'scale': an injected failure"},
      {2, ErrorKind::Timeout, "the system ended program 'scale' on Emulated Apple GPU"},
      {3, ErrorKind::DeviceLost, "failed in program 'scale': an injected failure"},
      {4, ErrorKind::DeviceLost, "Emulated Apple GPU is lost: an injected failure"},
      {8, ErrorKind::OutOfMemory, "Emulated Apple GPU is out of memory in an injected failure"},
      {11, ErrorKind::DeviceLost, "Emulated Apple GPU is lost: an injected failure"},
  };
  for (const CommandsEnd& ending : endings) {
    SCOPED_TRACE(ending.code);
    const Executor gpu = executor();
    run(gpu);
    const auto work = [&] { run(gpu); };
    EXPECT_NE(failing("commit", ending.kind, work, ending.code).find(ending.text),
              std::string::npos);
    // The results of one stream are lost, and it says so again; another one works.
    message(work, ending.kind);
    run(executor());
  }
}

TEST_F(MetalFaults, AStreamToldOfAFailureIsNotTheOther) {
  const Executor one = executor(), other = executor();
  const Tensor x = Tensor::from(counting(1000), one), y = Tensor::from(counting(1000), other);
  EXPECT_EQ((x + 1).to_vector<float>()[0], 1);
  EXPECT_EQ((y + 1).to_vector<float>()[0], 1);
  failing("commit", ErrorKind::DeviceLost, [&] { (x + 2).to_vector<float>(); });
  EXPECT_EQ((y + 2).to_vector<float>()[0], 2);
}

// A device that cannot be opened is a reason, and may be there the next time.
TEST_F(MetalFaults, OpeningMayFail) {
  for (const char* selector : {"newCommandQueue", "newLibraryWithSource:options:error:",
                               "newBufferWithLength:options:", "commandBuffer", "commit"})
    EXPECT_EQ(failing(selector, ErrorKind::BackendUnavailable, [] { executor(); })
                  .find("Metal backend not available: Emulated Apple GPU does not work: "),
              0u)
        << selector;
  run(executor());
}

// Kernels that do what they must not end their command buffers, as page faults do.
TEST_F(MetalFaults, NothingIsTakenForARightAnswer) {
  const Executor gpu = executor();
  fake_.fail("commit", 1, 1, 3);
  const Tensor x = Tensor::from(counting(1000), gpu);
  EXPECT_EQ((x + 1).to_vector<float>()[0], 1);
  message([&] { (x + 2).to_vector<float>(); }, ErrorKind::DeviceLost);
  message([&] { (x + 3).to_vector<float>(); }, ErrorKind::DeviceLost);
}

}  // namespace
}  // namespace hologram
