// The emulated driver as HIP: the functions of fake_cuda*.cpp and fake_nvrtc.cpp under the names
// that HIP and hipRTC give them. Those that HIP has in another form stand in fake_hip.cpp.
#pragma once

#include "backends/rocm/api.hpp"
#include "libraries/hiprtc/api.hpp"

#define cuInit hipInit
#define cuDriverGetVersion hipDriverGetVersion
#define cuDeviceGetCount hipGetDeviceCount
#define cuDeviceGet hipDeviceGet
#define cuDeviceGetName hipDeviceGetName
#define cuDeviceTotalMem_v2 hipDeviceTotalMem
#define cuDeviceGetPCIBusId hipDeviceGetPCIBusId
#define cuDeviceCanAccessPeer hipDeviceCanAccessPeer
#define cuCtxSynchronize hipDeviceSynchronize
#define cuMemGetInfo_v2 hipMemGetInfo
#define cuMemAlloc_v2 hipMalloc
#define cuMemFree_v2 hipFree
#define cuMemHostAlloc hipHostMalloc
#define cuMemFreeHost hipHostFree
#define cuPointerGetAttributes hipDrvPointerGetAttributes
#define cuMemcpyHtoDAsync_v2 hipMemcpyHtoDAsync
#define cuMemcpyDtoHAsync_v2 hipMemcpyDtoHAsync
#define cuMemcpyDtoDAsync_v2 hipMemcpyDtoDAsync
#define cuMemsetD32Async hipMemsetD32Async
#define cuModuleLoadDataEx hipModuleLoadDataEx
#define cuModuleUnload hipModuleUnload
#define cuModuleGetFunction hipModuleGetFunction
#define cuFuncGetAttribute hipFuncGetAttribute
#define cuLaunchKernel hipModuleLaunchKernel
#define cuStreamCreate hipStreamCreateWithFlags
#define cuStreamDestroy_v2 hipStreamDestroy
#define cuStreamSynchronize hipStreamSynchronize
#define cuEventCreate hipEventCreateWithFlags
#define cuEventDestroy_v2 hipEventDestroy
#define cuEventRecord hipEventRecord
#define cuEventQuery hipEventQuery
#define cuEventSynchronize hipEventSynchronize
#define cuEventElapsedTime hipEventElapsedTime
#define cuGraphCreate hipGraphCreate
#define cuGraphDestroy hipGraphDestroy
#define cuStreamBeginCapture_v2 hipStreamBeginCapture
#define cuStreamEndCapture hipStreamEndCapture
#define cuGraphAddChildGraphNode hipGraphAddChildGraphNode
#define cuGraphExecChildGraphNodeSetParams hipGraphExecChildGraphNodeSetParams
#define cuGraphInstantiateWithFlags hipGraphInstantiateWithFlags
#define cuGraphUpload hipGraphUpload
#define cuGraphLaunch hipGraphLaunch
#define cuGraphExecDestroy hipGraphExecDestroy

#define nvrtcCreateProgram hiprtcCreateProgram
#define nvrtcDestroyProgram hiprtcDestroyProgram
#define nvrtcCompileProgram hiprtcCompileProgram
#define nvrtcGetProgramLogSize hiprtcGetProgramLogSize
#define nvrtcGetProgramLog hiprtcGetProgramLog
#define nvrtcGetCUBINSize hiprtcGetCodeSize
#define nvrtcGetCUBIN hiprtcGetCode

#define fake_cuda fake_hip

#define EMULATED_FUNCTIONS(ROW) HOLOGRAM_HIP_DRIVER(ROW) HOLOGRAM_HIP_GRAPHS(ROW)

namespace hologram::fake {

inline constexpr char kSettings[] = "FAKE_HIP", kName[] = "HIP";
inline constexpr int kVersion = 60443484, kFirstDevice = 0;
inline constexpr uint64_t kMostThreads = UINT32_MAX;  // of a launch

}  // namespace hologram::fake
