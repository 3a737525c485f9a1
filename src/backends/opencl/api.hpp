// What is used of OpenCL 1.2: types, numbers and functions, under the names of its specification. A
// test compares them with the Khronos headers.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hologram::backends::opencl {

// What handles point to.
struct Platform;
struct Device;
struct ContextObject;
struct Queue;
struct Memory;
struct ProgramObject;
struct Kernel;
struct Event;

inline constexpr int32_t kSuccess = 0, kMemoryFailure = -4, kOutOfHost = -6,
                         kInvalidBufferSize = -61, kNoPlatform = -1001;

inline constexpr uint64_t kTypeCpu = 1 << 1, kTypeAll = 0xFFFFFFFF;
inline constexpr uint64_t kReadWrite = 1 << 0, kUseHostMemory = 1 << 3;  // of a buffer
inline constexpr uint64_t kKeepTimes = 1 << 1;                           // a queue
inline constexpr uint64_t kUndefinedContent = 1 << 1;  // of a buffer that is to be brought
inline constexpr int32_t kComplete = 0;                // an event; failed below, under way above
inline constexpr uint32_t kFalse = 0, kTrue = 1;

// Of CL_DEVICE_SINGLE_FP_CONFIG and CL_DEVICE_DOUBLE_FP_CONFIG.
inline constexpr uint64_t kDenormals = 1 << 0, kInfNan = 1 << 1, kNearest = 1 << 2, kFma = 1 << 5,
                          kCorrectDivide = 1 << 7;

enum class PlatformInfo : uint32_t { Name = 0x0902 };
enum class DeviceInfoName : uint32_t {
  Type = 0x1000,
  ComputeUnits = 0x1002,
  WorkGroupSize = 0x1004,
  WorkItemSizes = 0x1005,
  MaxAllocation = 0x1010,
  ParameterSize = 0x1017,
  SingleConfig = 0x101B,
  GlobalMemory = 0x101F,
  LocalMemory = 0x1023,
  LittleEndian = 0x1026,
  Available = 0x1027,
  CompilerAvailable = 0x1028,
  Name = 0x102B,
  DriverVersion = 0x102D,
  Version = 0x102F,
  Extensions = 0x1030,
  DoubleConfig = 0x1032,
  UnifiedMemory = 0x1035,
  NvidiaMajor = 0x4000,  // cl_nv_device_attribute_query
  NvidiaMinor = 0x4001,
  AmdBoard = 0x4038,       // cl_amd_device_attribute_query
  AmdFreeMemory = 0x4039,  // KiB in all, KiB of the largest free block
};
enum class ProgramInfo : uint32_t { BinarySizes = 0x1165, Binaries = 0x1166 };
enum class BuildInfo : uint32_t { Options = 0x1182, Log = 0x1183 };
enum class EventTime : uint32_t { Start = 0x1282, End = 0x1283 };  // in nanoseconds
enum class KernelInfo : uint32_t { WorkGroupSize = 0x11B0 };
enum class EventInfo : uint32_t { Status = 0x11D3 };

namespace call {
using Notify = void (*)(const char*, const void*, size_t, void*);
using Built = void (*)(ProgramObject*, void*);

using clGetPlatformIDs = int32_t(uint32_t, Platform**, uint32_t*);
using clGetPlatformInfo = int32_t(Platform*, PlatformInfo, size_t, void*, size_t*);
using clGetDeviceIDs = int32_t(Platform*, uint64_t, uint32_t, Device**, uint32_t*);
using clGetDeviceInfo = int32_t(Device*, DeviceInfoName, size_t, void*, size_t*);
using clCreateContext = ContextObject*(const intptr_t*, uint32_t, Device* const*, Notify, void*,
                                       int32_t*);
using clReleaseContext = int32_t(ContextObject*);
using clCreateCommandQueue = Queue*(ContextObject*, Device*, uint64_t, int32_t*);
using clReleaseCommandQueue = int32_t(Queue*);
using clCreateBuffer = Memory*(ContextObject*, uint64_t, size_t, void*, int32_t*);
using clReleaseMemObject = int32_t(Memory*);
using clCreateProgramWithSource = ProgramObject*(ContextObject*, uint32_t, const char**,
                                                 const size_t*, int32_t*);
using clCreateProgramWithBinary = ProgramObject*(ContextObject*, uint32_t, Device* const*,
                                                 const size_t*, const unsigned char**, int32_t*,
                                                 int32_t*);
using clBuildProgram = int32_t(ProgramObject*, uint32_t, Device* const*, const char*, Built, void*);
using clGetProgramInfo = int32_t(ProgramObject*, ProgramInfo, size_t, void*, size_t*);
using clGetProgramBuildInfo = int32_t(ProgramObject*, Device*, BuildInfo, size_t, void*, size_t*);
using clReleaseProgram = int32_t(ProgramObject*);
using clCreateKernel = Kernel*(ProgramObject*, const char*, int32_t*);
using clSetKernelArg = int32_t(Kernel*, uint32_t, size_t, const void*);
using clGetKernelWorkGroupInfo = int32_t(Kernel*, Device*, KernelInfo, size_t, void*, size_t*);
using clReleaseKernel = int32_t(Kernel*);
using clEnqueueNDRangeKernel = int32_t(Queue*, Kernel*, uint32_t, const size_t*, const size_t*,
                                       const size_t*, uint32_t, Event* const*, Event**);
using clEnqueueReadBuffer = int32_t(Queue*, Memory*, uint32_t, size_t, size_t, void*, uint32_t,
                                    Event* const*, Event**);
using clEnqueueWriteBuffer = int32_t(Queue*, Memory*, uint32_t, size_t, size_t, const void*,
                                     uint32_t, Event* const*, Event**);
using clEnqueueCopyBuffer = int32_t(Queue*, Memory*, Memory*, size_t, size_t, size_t, uint32_t,
                                    Event* const*, Event**);
using clEnqueueFillBuffer = int32_t(Queue*, Memory*, const void*, size_t, size_t, size_t, uint32_t,
                                    Event* const*, Event**);
using clEnqueueMigrateMemObjects = int32_t(Queue*, uint32_t, Memory* const*, uint64_t, uint32_t,
                                           Event* const*, Event**);
using clEnqueueMarkerWithWaitList = int32_t(Queue*, uint32_t, Event* const*, Event**);
using clEnqueueBarrierWithWaitList = int32_t(Queue*, uint32_t, Event* const*, Event**);
using clGetEventInfo = int32_t(Event*, EventInfo, size_t, void*, size_t*);
using clGetEventProfilingInfo = int32_t(Event*, EventTime, size_t, void*, size_t*);
using clWaitForEvents = int32_t(uint32_t, Event* const*);
using clReleaseEvent = int32_t(Event*);
using clFlush = int32_t(Queue*);
}  // namespace call

// clang-format off
#define HOLOGRAM_OPENCL_CALLS(X)                                                                \
  X(clGetPlatformIDs) X(clGetPlatformInfo) X(clGetDeviceIDs) X(clGetDeviceInfo)                 \
  X(clCreateContext) X(clReleaseContext) X(clCreateCommandQueue) X(clReleaseCommandQueue)       \
  X(clCreateBuffer) X(clReleaseMemObject) X(clCreateProgramWithSource)                          \
  X(clCreateProgramWithBinary) X(clBuildProgram) X(clGetProgramInfo) X(clGetProgramBuildInfo)   \
  X(clReleaseProgram) X(clCreateKernel) X(clSetKernelArg) X(clGetKernelWorkGroupInfo)           \
  X(clReleaseKernel) X(clEnqueueNDRangeKernel) X(clEnqueueReadBuffer) X(clEnqueueWriteBuffer)   \
  X(clEnqueueCopyBuffer) X(clEnqueueFillBuffer) X(clEnqueueMigrateMemObjects)                   \
  X(clEnqueueMarkerWithWaitList) X(clEnqueueBarrierWithWaitList) X(clGetEventInfo)              \
  X(clGetEventProfilingInfo) X(clWaitForEvents) X(clReleaseEvent) X(clFlush)
// clang-format on

// The functions of the loader; null before it is there.
struct Api {
#define CALL(name) call::name* name = nullptr;
  HOLOGRAM_OPENCL_CALLS(CALL)
#undef CALL
};

}  // namespace hologram::backends::opencl
