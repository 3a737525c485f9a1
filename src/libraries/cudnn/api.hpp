// What is used of cuDNN 9: its graph interface, where everything is an attribute of a descriptor.
// A test compares these declarations with the vendor's own.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hologram::libraries::cudnn {

using Status = int;                        // cudnnStatus_t
using Handle = struct CudnnHandle*;        // cudnnHandle_t
using NativeStream = struct CudnnStream*;  // cudaStream_t, which is the driver's
using Descriptor = void*;                  // cudnnBackendDescriptor_t

// ROW(result, member, exported name, parameters)
#define HOLOGRAM_CUDNN(ROW)                                                                     \
  ROW(Status, property, cudnnGetProperty, (int which, int* value))                              \
  ROW(size_t, cuda_version, cudnnGetCudartVersion, ())                                          \
  ROW(const char*, status_name, cudnnGetErrorString, (Status status))                           \
  ROW(Status, create, cudnnCreate, (Handle * handle))                                           \
  ROW(Status, set_stream, cudnnSetStream, (Handle handle, NativeStream stream))                 \
  ROW(Status, descriptor_create, cudnnBackendCreateDescriptor, (int kind, Descriptor* created)) \
  ROW(Status, descriptor_destroy, cudnnBackendDestroyDescriptor, (Descriptor descriptor))       \
  ROW(Status, descriptor_finalize, cudnnBackendFinalize, (Descriptor descriptor))               \
  ROW(Status, set, cudnnBackendSetAttribute,                                                    \
      (Descriptor descriptor, int attribute, int type, int64_t count, const void* values))      \
  ROW(Status, get, cudnnBackendGetAttribute,                                                    \
      (Descriptor descriptor, int attribute, int type, int64_t most, int64_t* count,            \
       void* values))                                                                           \
  ROW(Status, execute, cudnnBackendExecute, (Handle handle, Descriptor plan, Descriptor memory))

// NOLINTNEXTLINE(bugprone-macro-parentheses)
#define HOLOGRAM_MEMBER(result, member, symbol, parameters) result(*member) parameters = nullptr;
struct Functions {
  HOLOGRAM_CUDNN(HOLOGRAM_MEMBER)
};
#undef HOLOGRAM_MEMBER

inline constexpr int kVersion = 9;  // that all this is about

// cudnnStatus_t; those of a category are between it and the next thousand.
inline constexpr Status kSuccess = 0, kNotSupported = 3000, kNoHostMemory = 4003,
                        kNoDeviceMemory = 4004;
// libraryPropertyType: what `property` tells.
inline constexpr int kMajor = 0, kMinor = 1, kPatch = 2;
// cudnnBackendDescriptorType_t.
inline constexpr int kPointwise = 0, kConvolution = 1, kEngine = 2, kEngineConfig = 3,
                     kHeuristic = 4, kPlan = 5, kForward = 10, kOperationPointwise = 13,
                     kGraph = 15, kVariantPack = 16, kTensor = 17, kMatmul = 18,
                     kOperationMatmul = 19, kReduction = 21, kOperationReduction = 22,
                     kOperationReshape = 31;
// cudnnBackendAttributeType_t.
inline constexpr int kTypeHandle = 0, kTypeData = 1, kTypeBool = 2, kTypeInt64 = 3, kTypeFloat = 4,
                     kTypeDouble = 5, kTypePointer = 6, kTypeMode = 7, kTypeHeuristicMode = 8,
                     kTypeNote = 11, kTypePointwiseMode = 14, kTypeDescriptor = 15,
                     kTypeReductionOperator = 18;
// cudnnBackendAttributeName_t: of elementwise calculations, a convolution,
inline constexpr int kPointwiseMode = 0, kPointwiseComputeType = 1, kPointwiseAxis = 9;
inline constexpr int kComputeType = 100, kConvolutionMode = 101, kDilations = 102, kStrides = 103,
                     kPaddingBehind = 104, kPaddingBefore = 105, kSpatialAxes = 106;
// of heuristics, an engine's configuration, a plan,
inline constexpr int kHeuristicMode = 200, kHeuristicGraph = 201, kHeuristicResults = 202,
                     kConfigEngine = 300, kPlanHandle = 400, kPlanConfig = 401,
                     kPlanWorkspace = 402;
// of a forward convolution, a graph, a tensor,
inline constexpr int kForwardAlpha = 700, kForwardBeta = 701, kForwardConvolution = 702,
                     kForwardW = 703, kForwardX = 704, kForwardY = 705, kGraphHandle = 800,
                     kGraphOperations = 801, kTensorAlignment = 900, kTensorType = 901,
                     kTensorLengths = 902, kTensorStrides = 903, kTensorNumber = 906,
                     kTensorVirtual = 907, kTensorByValue = 908;
// of operations: an elementwise one,
inline constexpr int kPointwiseDescriptor = 750, kPointwiseX = 751, kPointwiseB = 752,
                     kPointwiseY = 753, kPointwiseDx = 756, kPointwiseDy = 757, kPointwiseT = 758;
// a product of matrices, a reduction, another way to see a tensor,
inline constexpr int kMatmulComputeType = 1500, kMatmulA = 1520, kMatmulB = 1521, kMatmulC = 1522,
                     kMatmulDescriptor = 1523, kReductionOperator = 1600,
                     kReductionComputeType = 1601, kReductionX = 1610, kReductionY = 1611,
                     kReductionDescriptor = 1612, kReshapeX = 2200, kReshapeY = 2201;
// of memory for the tensors, of an engine.
inline constexpr int kPackNumbers = 1000, kPackPointers = 1001, kPackWorkspace = 1003,
                     kEngineNotes = 1303;
// cudnnDataType_t, cudnnConvolutionMode_t, cudnnBackendHeurMode_t.
inline constexpr int kF32 = 0, kF64 = 1, kF16 = 2, kI32 = 4, kBF16 = 9, kBool = 11;
inline constexpr int kCrossCorrelation = 1;
inline constexpr int kFallback = 2, kModeA = 3;
// cudnnPointwiseMode_t: y of x and b; kSelect has x where t holds, else b.
inline constexpr int kAdd = 0, kMul = 1, kMaximum = 3, kDiv = 6, kSub = 9, kExp = 13, kLog = 15,
                     kIdentity = 21, kTanh = 101, kTanhBackward = 201, kGreater = 302,
                     kGreaterEqual = 303, kLess = 304, kAnd = 400, kIndex = 501, kSelect = 601;
// cudnnReduceTensorOp_t.
inline constexpr int kReduceAdd = 0, kReduceMaximum = 3;
// cudnnBackendNumericalNote_t.
inline constexpr int kTensorCore = 0, kDownConverts = 1, kReducedSums = 2, kFourier = 3,
                     kNondeterministic = 4, kWinograd = 5, kWinograd4 = 6, kWinograd6 = 7,
                     kWinograd13 = 8, kNotes = 16;  // room for more than there are

}  // namespace hologram::libraries::cudnn
