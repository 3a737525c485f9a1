#include "dialects/opencl.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cstring>

namespace hologram::dialects {
namespace {

using Handle = void*;
using Size = size_t;
constexpr uint64_t kAnyDevice = 0xffffffff;
constexpr uint32_t kBuildLog = 0x1183, kDoubleConfig = 0x1032;
constexpr uint8_t kGuard = 0x5b;
constexpr size_t kGuardBytes = 256;

}  // namespace

struct OpenCl::Api {
  int (*platforms)(uint32_t, Handle*, uint32_t*);
  int (*devices)(Handle, uint64_t, uint32_t, Handle*, uint32_t*);
  int (*device_info)(Handle, uint32_t, Size, void*, Size*);
  Handle (*context)(const intptr_t*, uint32_t, const Handle*, void*, void*, int*);
  Handle (*queue)(Handle, Handle, uint64_t, int*);
  Handle (*buffer)(Handle, uint64_t, Size, void*, int*);
  Handle (*program)(Handle, uint32_t, const char**, const Size*, int*);
  int (*build)(Handle, uint32_t, const Handle*, const char*, void*, void*);
  int (*build_info)(Handle, Handle, uint32_t, Size, void*, Size*);
  Handle (*kernel)(Handle, const char*, int*);
  int (*argument)(Handle, uint32_t, Size, const void*);
  int (*launch)(Handle, Handle, uint32_t, const Size*, const Size*, const Size*, uint32_t,
                const void*, void*);
  int (*read)(Handle, Handle, uint32_t, Size, Size, void*, uint32_t, const void*, void*);
  int (*write)(Handle, Handle, uint32_t, Size, Size, const void*, uint32_t, const void*, void*);
  int (*finish)(Handle);
  int (*release_buffer)(Handle);
  int (*release_kernel)(Handle);
  int (*release_program)(Handle);
};

OpenCl* OpenCl::get(std::string& reason) {
  static std::string why;
  static OpenCl* const found = []() -> OpenCl* {
    void* library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      why = "libOpenCL.so.1 is not installed";
      return nullptr;
    }
    auto made = std::make_unique<OpenCl>();
    made->api_ = std::make_unique<Api>();
    Api& api = *made->api_;
    const auto load = [&](auto& function, const char* name) {
      function =
          reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    };
    load(api.platforms, "clGetPlatformIDs");
    load(api.devices, "clGetDeviceIDs");
    load(api.device_info, "clGetDeviceInfo");
    load(api.context, "clCreateContext");
    load(api.queue, "clCreateCommandQueue");
    load(api.buffer, "clCreateBuffer");
    load(api.program, "clCreateProgramWithSource");
    load(api.build, "clBuildProgram");
    load(api.build_info, "clGetProgramBuildInfo");
    load(api.kernel, "clCreateKernel");
    load(api.argument, "clSetKernelArg");
    load(api.launch, "clEnqueueNDRangeKernel");
    load(api.read, "clEnqueueReadBuffer");
    load(api.write, "clEnqueueWriteBuffer");
    load(api.finish, "clFinish");
    load(api.release_buffer, "clReleaseMemObject");
    load(api.release_kernel, "clReleaseKernel");
    load(api.release_program, "clReleaseProgram");
    Handle platform = nullptr;
    uint32_t count = 0;
    int error = 0;
    if (api.platforms(1, &platform, &count) != 0 || count == 0 ||
        api.devices(platform, kAnyDevice, 1, &made->device_, &count) != 0 || count == 0) {
      why = "no OpenCL device is there; the package pocl-opencl-icd brings one";
      return nullptr;
    }
    made->context_ = api.context(nullptr, 1, &made->device_, nullptr, nullptr, &error);
    if (error == 0) made->queue_ = api.queue(made->context_, made->device_, 0, &error);
    if (error != 0) {
      why = "the OpenCL device cannot be opened";
      return nullptr;
    }
    uint64_t doubles = 0;
    api.device_info(made->device_, kDoubleConfig, sizeof doubles, &doubles, nullptr);
    made->f64_ = doubles != 0;
    return made.release();
  }();
  reason = why;
  return found;
}

void* OpenCl::program_for(const Printed& printed, std::string& log) {
  const char* text = printed.text.c_str();
  int error = 0;
  Handle program = api_->program(context_, 1, &text, nullptr, &error);
  std::string flags;
  for (const std::string& flag : compiler_flags(Language::OpenCl)) flags += flag + " ";
  error = api_->build(program, 1, &device_, flags.c_str(), nullptr, nullptr);
  if (error == 0) return program;
  Size size = 0;
  api_->build_info(program, device_, kBuildLog, 0, nullptr, &size);
  log.resize(size);
  api_->build_info(program, device_, kBuildLog, size, log.data(), nullptr);
  log += "\n" + printed.text;
  api_->release_program(program);
  return nullptr;
}

std::string OpenCl::compile(const Printed& printed) {
  std::string log;
  if (Handle program = program_for(printed, log)) api_->release_program(program);
  return log;
}

std::string OpenCl::run(const RunRequest& request, std::vector<oracle::Memory>& buffers,
                        uint32_t* ran_out) {
  const Printed& printed = *request.printed;
  std::string log;
  Handle program = program_for(printed, log);
  if (program == nullptr) return log;
  int error = 0;
  Handle kernel = api_->kernel(program, printed.entry.c_str(), &error);
  if (error != 0) return "no kernel of this name";
  std::vector<Handle> memory(buffers.size());
  Handle flag = nullptr;
  const auto make = [&](Size bytes) { return api_->buffer(context_, 1, bytes, nullptr, &error); };

  uint32_t number = 0;
  const auto scalar = [&](uint64_t bits, DType type) {
    return api_->argument(kernel, number++, size_of(type), &bits);
  };
  std::vector<std::vector<uint8_t>> images(buffers.size());
  for (const Argument& a : printed.arguments) {
    switch (a.kind) {
      case Argument::Kind::Buffer: {
        std::vector<uint8_t>& image = images[a.slot];
        const size_t before = kGuardBytes + request.offset * size_of(a.type);
        image.assign(before + buffers[a.slot].size() + kGuardBytes, kGuard);
        std::copy(buffers[a.slot].begin(), buffers[a.slot].end(),
                  image.begin() + static_cast<ptrdiff_t>(before));
        memory[a.slot] = make(image.size());
        api_->write(queue_, memory[a.slot], 1, 0, image.size(), image.data(), 0, nullptr, nullptr);
        error = api_->argument(kernel, number++, sizeof(Handle), &memory[a.slot]);
        break;
      }
      case Argument::Kind::Offset:
        error = scalar(kGuardBytes / size_of(printed.arguments[number - 1].type) + request.offset,
                       a.type);
        break;
      case Argument::Kind::Stop: {
        const uint32_t up = request.stop ? 1 : 0;
        flag = make(sizeof up);
        api_->write(queue_, flag, 1, 0, sizeof up, &up, 0, nullptr, nullptr);
        error = api_->argument(kernel, number++, sizeof(Handle), &flag);
        break;
      }
      case Argument::Kind::Local: error = api_->argument(kernel, number++, a.place, nullptr); break;
      default: error = scalar(bits_of(a, request), a.type);
    }
    if (error != 0) return "argument " + std::to_string(number - 1) + " is not taken";
  }
  const Size local = printed.lanes, global = local * blocks_of(request);
  error = api_->launch(queue_, kernel, 1, nullptr, &global, &local, 0, nullptr, nullptr);
  if (error == 0) error = api_->finish(queue_);
  for (size_t b = 0; b < buffers.size(); b++) {
    if (memory[b] == nullptr) continue;
    std::vector<uint8_t>& image = images[b];
    api_->read(queue_, memory[b], 1, 0, image.size(), image.data(), 0, nullptr, nullptr);
    const size_t before = image.size() - kGuardBytes - buffers[b].size();
    for (size_t i = 0; i < image.size(); i++)
      if ((i < before || i >= image.size() - kGuardBytes) && image[i] != kGuard)
        log = "buffer " + std::to_string(b) + " was written outside";
    std::copy_n(image.begin() + static_cast<ptrdiff_t>(before), buffers[b].size(),
                buffers[b].begin());
    api_->release_buffer(memory[b]);
  }
  if (flag != nullptr) {
    uint32_t value = 0;
    api_->read(queue_, flag, 1, 0, sizeof value, &value, 0, nullptr, nullptr);
    if (ran_out != nullptr) *ran_out = value;
    api_->release_buffer(flag);
  }
  api_->release_kernel(kernel);
  api_->release_program(program);
  if (error != 0) return "the launch failed with " + std::to_string(error);
  return log;
}

}  // namespace hologram::dialects
