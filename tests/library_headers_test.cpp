// Our declarations of other libraries' functions against their own headers, where those are
// installed. Compiling is the test.
#include <gtest/gtest.h>

#include <type_traits>

#include "backends/cuda/api.hpp"
#include "libraries/blaslt/vendor.hpp"
#include "libraries/cblas/api.hpp"
#include "libraries/cudnn/api.hpp"
#include "libraries/nvrtc/api.hpp"
#include "libraries/onednn/api.hpp"
#include "libraries/onednn/primitives_api.hpp"

#if __has_include(<cuda.h>) && __has_include(<nvrtc.h>)
#include <cuda.h>
#include <nvrtc.h>
#define HOLOGRAM_HAS_CUDA_HEADERS
#endif
#if __has_include(<cublasLt.h>)
#include <cublasLt.h>
#define HOLOGRAM_HAS_CUBLASLT_HEADER
#endif
#if __has_include(<cudnn_graph.h>)
#include <cudnn_graph.h>
#define HOLOGRAM_HAS_CUDNN_HEADER
#endif
#if __has_include(<oneapi/dnnl/dnnl.h>)
#include <oneapi/dnnl/dnnl.h>
#define HOLOGRAM_HAS_ONEDNN_HEADER
#endif
#if __has_include(<cblas-openblas.h>)
#include <cblas-openblas.h>
#define HOLOGRAM_HAS_OPENBLAS_HEADER
#elif __has_include(<openblas/cblas.h>)
#include <openblas/cblas.h>
#define HOLOGRAM_HAS_OPENBLAS_HEADER
#endif

namespace hologram::libraries {
namespace {

template <class T>
constexpr size_t kSize = 0;  // of what has none: void, and structures that are only declared
template <class T>
requires(sizeof(T) > 0) constexpr size_t kSize<T> = sizeof(T);

// The same to a caller: an enumeration is passed like an integer of its size, a pointer to a
// structure like any other.
template <class Ours, class Theirs>
constexpr bool kSameType = std::is_same_v<std::remove_cv_t<Ours>, std::remove_cv_t<Theirs>> ||
                           (std::is_integral_v<Ours> && std::is_enum_v<Theirs> &&
                            kSize<Ours> == kSize<Theirs>) ||
                           (std::is_class_v<Ours> && std::is_class_v<Theirs>);
template <class Ours, class Theirs>
constexpr bool kSameType<Ours*, Theirs*> =
    std::is_const_v<Ours> == std::is_const_v<Theirs>&& kSameType<Ours, Theirs>;
template <class Ours, class Theirs>
constexpr bool kSameType<Ours* const, Theirs* const> = kSameType<Ours*, Theirs*>;

template <class Ours, class Theirs>
struct SameCall : std::false_type {};
template <class R, class... P, class S, class... Q>
requires(sizeof...(P) == sizeof...(Q)) struct SameCall<R(P...), S(Q...)>
    : std::bool_constant<(kSameType<R, S> && ... && kSameType<P, Q>)> {
};
static_assert(SameCall<int(char, const float*), int(char, const float*)>::value);
static_assert(!SameCall<int(char, float*), int(char, const float*)>::value);
static_assert(!SameCall<int(int64_t), int(int32_t)>::value);
static_assert(!SameCall<int(int64_t*), int(int32_t*)>::value);
static_assert(!SameCall<int(int**), int(int*)>::value);
static_assert(SameCall<int(int* const*), int(int* const*)>::value);
static_assert(!SameCall<int(int* const*), int(float* const*)>::value);
static_assert(!SameCall<int(int), int(int, int)>::value);

TEST(LibraryHeaders, OneDnn) {
#ifdef HOLOGRAM_HAS_ONEDNN_HEADER
  static_assert(SameCall<onednn::GetVersion, decltype(dnnl_version)>::value);
  static_assert(SameCall<onednn::Sgemm, decltype(dnnl_sgemm)>::value);
  static_assert(SameCall<onednn::Igemm<int8_t>, decltype(dnnl_gemm_s8s8s32)>::value);
  static_assert(SameCall<onednn::Igemm<uint8_t>, decltype(dnnl_gemm_u8s8s32)>::value);
  using Ours = onednn::Version;
  static_assert(sizeof(Ours) == sizeof(dnnl_version_t));
  static_assert(offsetof(Ours, major) == offsetof(dnnl_version_t, major));
  static_assert(offsetof(Ours, patch) == offsetof(dnnl_version_t, patch));
  static_assert(offsetof(Ours, cpu_runtime) == offsetof(dnnl_version_t, cpu_runtime));
  static_assert(onednn::kSequential == DNNL_RUNTIME_SEQ && onednn::kOpenMp == DNNL_RUNTIME_OMP &&
                onednn::kThreadPool == DNNL_RUNTIME_THREADPOOL);
  using namespace onednn;
#define SAME_CALL(result, member, symbol, parameters) \
  static_assert(SameCall<result parameters, decltype(symbol)>::value, #symbol);
  HOLOGRAM_ONEDNN(SAME_CALL)
#if DNNL_VERSION_MAJOR == 2
  HOLOGRAM_ONEDNN_2(SAME_CALL)
  static_assert(sizeof(dnnl_memory_desc_t) <= kLayoutBytes);
  using Lies = dnnl_memory_desc_t;
  static_assert(offsetof(BlockedLayout, lengths) == offsetof(Lies, dims) &&
                offsetof(BlockedLayout, padded) == offsetof(Lies, padded_dims) &&
                offsetof(BlockedLayout, padded_before) == offsetof(Lies, padded_offsets) &&
                offsetof(BlockedLayout, offset) == offsetof(Lies, offset0) &&
                offsetof(BlockedLayout, kind) == offsetof(Lies, format_kind) &&
                offsetof(BlockedLayout, blocks) == offsetof(Lies, format_desc));
  using Blocks = dnnl_blocking_desc_t;
  static_assert(offsetof(BlockedLayout::Blocks, count) == offsetof(Blocks, inner_nblks) &&
                offsetof(BlockedLayout::Blocks, lengths) == offsetof(Blocks, inner_blks) &&
                offsetof(BlockedLayout::Blocks, axes) == offsetof(Blocks, inner_idxs) &&
                sizeof(BlockedLayout::Blocks) == sizeof(Blocks));
  static_assert(kBlocked == dnnl_blocked && kMostDimensions == DNNL_MAX_NDIMS);
  static_assert(sizeof(dnnl_convolution_desc_t) <= kConvolutionBytes);
#else
  HOLOGRAM_ONEDNN_3(SAME_CALL)
#endif
#undef SAME_CALL
  static_assert(sizeof(Argument) == sizeof(dnnl_exec_arg_t) &&
                offsetof(Argument, memory) == offsetof(dnnl_exec_arg_t, memory));
  static_assert(kCpu == dnnl_cpu && kF32 == dnnl_f32 && kAnyLayout == dnnl_format_tag_any &&
                kForwardInference == dnnl_forward_inference &&
                kDirectConvolution == dnnl_convolution_direct &&
                kUserScratchpad == dnnl_scratchpad_mode_user && kInOrder == dnnl_stream_in_order);
  static_assert(kAskName == dnnl_query_impl_info_str && kAskSource == dnnl_query_src_md &&
                kAskWeights == dnnl_query_weights_md && kAskResult == dnnl_query_dst_md &&
                kAskScratchpad == dnnl_query_scratchpad_md);
  static_assert(kSource == DNNL_ARG_SRC && kResult == DNNL_ARG_DST &&
                onednn::kWeights == DNNL_ARG_WEIGHTS && kScratchpad == DNNL_ARG_SCRATCHPAD);
#else
  GTEST_SKIP() << "libdnnl-dev is not installed";
#endif
}

TEST(LibraryHeaders, OpenBlas) {
#ifdef HOLOGRAM_HAS_OPENBLAS_HEADER
  static_assert(SameCall<cblas::Gemm<float>, decltype(cblas_sgemm)>::value);
  static_assert(SameCall<cblas::Gemm<double>, decltype(cblas_dgemm)>::value);
  static_assert(SameCall<cblas::GetConfig, decltype(openblas_get_config)>::value);
  static_assert(SameCall<cblas::GetNumThreads, int()>::value);
  static_assert(SameCall<cblas::SetNumThreads, decltype(openblas_set_num_threads)>::value);
  static_assert(cblas::kRowMajor == CblasRowMajor && cblas::kPlain == CblasNoTrans &&
                cblas::kTransposed == CblasTrans);
#else
  GTEST_SKIP() << "libopenblas-dev is not installed";
#endif
}

TEST(LibraryHeaders, Cuda) {
#ifdef HOLOGRAM_HAS_CUDA_HEADERS
  using namespace backends::cuda;
  using namespace backends::driver;
#define SAME(member, symbol)                                                                       \
  static_assert(                                                                                   \
      SameCall<std::remove_pointer_t<decltype(DriverFunctions::member)>, decltype(symbol)>::value, \
      #symbol);
  HOLOGRAM_CUDA_DRIVER(SAME)
#if CUDA_VERSION >= 12030
  HOLOGRAM_CUDA_NEWER_DRIVER(SAME)
  static_assert(sizeof(LaunchAttribute) == sizeof(CUlaunchAttribute) &&
                offsetof(LaunchAttribute, value) == offsetof(CUlaunchAttribute, value) &&
                kWaitsItself == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION &&
                sizeof(LaunchConfig) == sizeof(CUlaunchConfig) &&
                offsetof(LaunchConfig, stream) == offsetof(CUlaunchConfig, hStream) &&
                offsetof(LaunchConfig, attributes) == offsetof(CUlaunchConfig, attrs) &&
                offsetof(LaunchConfig, count) == offsetof(CUlaunchConfig, numAttrs));
  static_assert(sizeof(Edge) == sizeof(CUgraphEdgeData) &&
                offsetof(Edge, type) == offsetof(CUgraphEdgeData, type) &&
                kWhenItsBlocksEnd == CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC &&
                kProgrammatic == CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC);
#endif
  static_assert(sizeof(KernelNode) == sizeof(CUDA_KERNEL_NODE_PARAMS_v1) &&
                offsetof(KernelNode, shared) == offsetof(CUDA_KERNEL_NODE_PARAMS, sharedMemBytes) &&
                offsetof(KernelNode, extra) == offsetof(CUDA_KERNEL_NODE_PARAMS, extra));
  static_assert(sizeof(FillNode) == sizeof(CUDA_MEMSET_NODE_PARAMS) &&
                offsetof(FillNode, value) == offsetof(CUDA_MEMSET_NODE_PARAMS, value) &&
                offsetof(FillNode, width) == offsetof(CUDA_MEMSET_NODE_PARAMS, width));
  static_assert(sizeof(Address) == sizeof(CUdeviceptr) && sizeof(Context) == sizeof(CUcontext));
  static_assert(kSuccess == CUDA_SUCCESS && kOutOfMemory == CUDA_ERROR_OUT_OF_MEMORY &&
                kNoDevice == CUDA_ERROR_NO_DEVICE && kNotReady == CUDA_ERROR_NOT_READY &&
                kOutOfResources == CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
  static_assert(kMaxThreads == CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK &&
                kMaxShared == CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK &&
                kMultiprocessors == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT &&
                kIntegrated == CU_DEVICE_ATTRIBUTE_INTEGRATED &&
                kMajor == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR &&
                kMinor == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  static_assert(kMemoryType == CU_POINTER_ATTRIBUTE_MEMORY_TYPE &&
                kDeviceOrdinal == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL &&
                kRangeStart == CU_POINTER_ATTRIBUTE_RANGE_START_ADDR &&
                kRangeSize == CU_POINTER_ATTRIBUTE_RANGE_SIZE &&
                kDeviceMemory == CU_MEMORYTYPE_DEVICE && kHostMemory == CU_MEMORYTYPE_HOST &&
                kLocalBytes == CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES &&
                kRegisters == CU_FUNC_ATTRIBUTE_NUM_REGS);
  static_assert(kNonBlocking == CU_STREAM_NON_BLOCKING && kBlockingSync == CU_EVENT_BLOCKING_SYNC &&
                kNoTiming == CU_EVENT_DISABLE_TIMING && kPortable == CU_MEMHOSTALLOC_PORTABLE &&
                kCaptureRelaxed == CU_STREAM_CAPTURE_MODE_RELAXED);
#else
  GTEST_SKIP() << "CUDA's headers are not there; scripts/offline-compilers fetches them";
#endif
}

TEST(LibraryHeaders, Nvrtc) {
#ifdef HOLOGRAM_HAS_CUDA_HEADERS
  using namespace nvrtc;
#undef SAME
#define SAME(member, symbol, parameters) \
  static_assert(SameCall<Status parameters, decltype(symbol)>::value, #symbol);
  HOLOGRAM_NVRTC(SAME)
#undef SAME
#else
  GTEST_SKIP() << "CUDA's headers are not there; scripts/offline-compilers fetches them";
#endif
}

TEST(LibraryHeaders, CublasLt) {
#ifdef HOLOGRAM_HAS_CUBLASLT_HEADER
  using namespace blaslt;
#define SAME(member, name, parameters) \
  static_assert(SameCall<Status parameters, decltype(cublasLt##name)>::value, #name);
  HOLOGRAM_BLASLT(SAME)
  HOLOGRAM_CUBLASLT(SAME)
#undef SAME
  using Theirs = cublasLtMatmulHeuristicResult_t;
  constexpr const Vendor& v = kCublasLt;
  static_assert(v.algorithm_bytes == sizeof(cublasLtMatmulAlgo_t) &&
                sizeof(Algorithm) >= sizeof(cublasLtMatmulAlgo_t) &&
                sizeof(Theirs) == v.algorithm_bytes + sizeof(BehindAlgorithm) &&
                offsetof(Theirs, algo) == 0 &&
                offsetof(Theirs, workspaceSize) ==
                    v.algorithm_bytes + offsetof(BehindAlgorithm, workspace) &&
                offsetof(Theirs, state) == v.algorithm_bytes + offsetof(BehindAlgorithm, state));
  static_assert(kSuccess == CUBLAS_STATUS_SUCCESS &&
                kNotInitialized == CUBLAS_STATUS_NOT_INITIALIZED &&
                v.alloc_failed == CUBLAS_STATUS_ALLOC_FAILED &&
                v.invalid_value == CUBLAS_STATUS_INVALID_VALUE &&
                v.not_supported == CUBLAS_STATUS_NOT_SUPPORTED);
  static_assert(v.statuses[0].first == CUBLAS_STATUS_NOT_INITIALIZED &&
                v.statuses[1].first == CUBLAS_STATUS_ALLOC_FAILED &&
                v.statuses[2].first == CUBLAS_STATUS_INVALID_VALUE &&
                v.statuses[3].first == CUBLAS_STATUS_ARCH_MISMATCH &&
                v.statuses[4].first == CUBLAS_STATUS_MAPPING_ERROR &&
                v.statuses[5].first == CUBLAS_STATUS_EXECUTION_FAILED &&
                v.statuses[6].first == CUBLAS_STATUS_INTERNAL_ERROR &&
                v.statuses[7].first == CUBLAS_STATUS_NOT_SUPPORTED &&
                v.statuses[8].first == CUBLAS_STATUS_LICENSE_ERROR);
  static_assert(kMajor == MAJOR_VERSION && kMinor == MINOR_VERSION && kPatch == PATCH_LEVEL);
  static_assert(kF32 == CUDA_R_32F && kF64 == CUDA_R_64F && kF16 == CUDA_R_16F &&
                kI8 == CUDA_R_8I && kI32 == CUDA_R_32I && kBF16 == CUDA_R_16BF);
  static_assert(v.compute_f32 == CUBLAS_COMPUTE_32F &&
                v.compute_tf32 == CUBLAS_COMPUTE_32F_FAST_TF32 &&
                v.compute_f64 == CUBLAS_COMPUTE_64F && v.compute_i32 == CUBLAS_COMPUTE_32I);
  static_assert(v.plain == CUBLAS_OP_N && v.transposed == CUBLAS_OP_T);
  static_assert(v.transpose_a == CUBLASLT_MATMUL_DESC_TRANSA &&
                v.transpose_b == CUBLASLT_MATMUL_DESC_TRANSB &&
                v.epilogue == CUBLASLT_MATMUL_DESC_EPILOGUE &&
                v.bias_pointer == CUBLASLT_MATMUL_DESC_BIAS_POINTER &&
                v.batch_count == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT &&
                v.batch_stride == CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET);
  static_assert(kMaxWorkspace == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES &&
                kReductionSchemes == CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK &&
                kAlignmentA == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES &&
                kAlignmentB == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES &&
                kAlignmentC == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES &&
                kAlignmentD == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES &&
                kImplementations == CUBLASLT_MATMUL_PREF_IMPL_MASK);
  static_assert(kNoEpilogue == CUBLASLT_EPILOGUE_DEFAULT && kRelu == CUBLASLT_EPILOGUE_RELU &&
                kBias == CUBLASLT_EPILOGUE_BIAS && (kRelu | kBias) == CUBLASLT_EPILOGUE_RELU_BIAS);
  static_assert(kReductionOfSums == CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE &&
                kTensorCores == CUBLASLT_NUMERICAL_IMPL_FLAGS_TENSOR_OP_MASK);
#else
  GTEST_SKIP() << "cuBLASLt's header is not there; scripts/offline-compilers --cublas fetches it";
#endif
}

TEST(LibraryHeaders, Cudnn) {
#ifdef HOLOGRAM_HAS_CUDNN_HEADER
  using namespace cudnn;
#define SAME(result, member, symbol, parameters) \
  static_assert(SameCall<result parameters, decltype(symbol)>::value, #symbol);
  HOLOGRAM_CUDNN(SAME)
#undef SAME
  static_assert(kVersion == CUDNN_MAJOR);
  static_assert(kSuccess == CUDNN_STATUS_SUCCESS && kNotSupported == CUDNN_STATUS_NOT_SUPPORTED &&
                kNoHostMemory == CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED &&
                kNoDeviceMemory == CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED &&
                CUDNN_STATUS_CATEGORY(CUDNN_STATUS_NOT_SUPPORTED_SHAPE) == kNotSupported);
  static_assert(kMajor == MAJOR_VERSION && kMinor == MINOR_VERSION && kPatch == PATCH_LEVEL);
  static_assert(kConvolution == CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR &&
                kEngine == CUDNN_BACKEND_ENGINE_DESCRIPTOR &&
                kEngineConfig == CUDNN_BACKEND_ENGINECFG_DESCRIPTOR &&
                kHeuristic == CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR &&
                kPlan == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR &&
                kForward == CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR &&
                kGraph == CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR &&
                kVariantPack == CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR &&
                kTensor == CUDNN_BACKEND_TENSOR_DESCRIPTOR &&
                kPointwise == CUDNN_BACKEND_POINTWISE_DESCRIPTOR &&
                kOperationPointwise == CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR &&
                kMatmul == CUDNN_BACKEND_MATMUL_DESCRIPTOR &&
                kOperationMatmul == CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR &&
                kReduction == CUDNN_BACKEND_REDUCTION_DESCRIPTOR &&
                kOperationReduction == CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR &&
                kOperationReshape == CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR);
  static_assert(
      kTypeHandle == CUDNN_TYPE_HANDLE && kTypeData == CUDNN_TYPE_DATA_TYPE &&
      kTypeInt64 == CUDNN_TYPE_INT64 && kTypeFloat == CUDNN_TYPE_FLOAT &&
      kTypeDouble == CUDNN_TYPE_DOUBLE && kTypePointer == CUDNN_TYPE_VOID_PTR &&
      kTypeMode == CUDNN_TYPE_CONVOLUTION_MODE && kTypeHeuristicMode == CUDNN_TYPE_HEUR_MODE &&
      kTypeNote == CUDNN_TYPE_NUMERICAL_NOTE && kTypeDescriptor == CUDNN_TYPE_BACKEND_DESCRIPTOR &&
      kTypeBool == CUDNN_TYPE_BOOLEAN && kTypePointwiseMode == CUDNN_TYPE_POINTWISE_MODE &&
      kTypeReductionOperator == CUDNN_TYPE_REDUCTION_OPERATOR_TYPE);
  static_assert(
      sizeof(int) == sizeof(cudnnDataType_t) && sizeof(int) == sizeof(cudnnBackendHeurMode_t) &&
      sizeof(int) == sizeof(cudnnConvolutionMode_t) &&
      sizeof(int) == sizeof(cudnnBackendNumericalNote_t) &&
      sizeof(int) == sizeof(cudnnPointwiseMode_t) && sizeof(int) == sizeof(cudnnReduceTensorOp_t));
  static_assert(kComputeType == CUDNN_ATTR_CONVOLUTION_COMP_TYPE &&
                kConvolutionMode == CUDNN_ATTR_CONVOLUTION_CONV_MODE &&
                kDilations == CUDNN_ATTR_CONVOLUTION_DILATIONS &&
                kStrides == CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES &&
                kPaddingBehind == CUDNN_ATTR_CONVOLUTION_POST_PADDINGS &&
                kPaddingBefore == CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS &&
                kSpatialAxes == CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS);
  static_assert(kHeuristicMode == CUDNN_ATTR_ENGINEHEUR_MODE &&
                kHeuristicGraph == CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH &&
                kHeuristicResults == CUDNN_ATTR_ENGINEHEUR_RESULTS &&
                kConfigEngine == CUDNN_ATTR_ENGINECFG_ENGINE &&
                kPlanHandle == CUDNN_ATTR_EXECUTION_PLAN_HANDLE &&
                kPlanConfig == CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG &&
                kPlanWorkspace == CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE);
  static_assert(kForwardAlpha == CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA &&
                kForwardBeta == CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA &&
                kForwardConvolution == CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC &&
                kForwardW == CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W &&
                kForwardX == CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X &&
                kForwardY == CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y &&
                kGraphHandle == CUDNN_ATTR_OPERATIONGRAPH_HANDLE &&
                kGraphOperations == CUDNN_ATTR_OPERATIONGRAPH_OPS);
  static_assert(kTensorAlignment == CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT &&
                kTensorType == CUDNN_ATTR_TENSOR_DATA_TYPE &&
                kTensorLengths == CUDNN_ATTR_TENSOR_DIMENSIONS &&
                kTensorStrides == CUDNN_ATTR_TENSOR_STRIDES &&
                kTensorNumber == CUDNN_ATTR_TENSOR_UNIQUE_ID &&
                kTensorVirtual == CUDNN_ATTR_TENSOR_IS_VIRTUAL &&
                kTensorByValue == CUDNN_ATTR_TENSOR_IS_BY_VALUE);
  static_assert(kPointwiseMode == CUDNN_ATTR_POINTWISE_MODE &&
                kPointwiseComputeType == CUDNN_ATTR_POINTWISE_MATH_PREC &&
                kPointwiseAxis == CUDNN_ATTR_POINTWISE_AXIS &&
                kPointwiseDescriptor == CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR &&
                kPointwiseX == CUDNN_ATTR_OPERATION_POINTWISE_XDESC &&
                kPointwiseB == CUDNN_ATTR_OPERATION_POINTWISE_BDESC &&
                kPointwiseY == CUDNN_ATTR_OPERATION_POINTWISE_YDESC &&
                kPointwiseDx == CUDNN_ATTR_OPERATION_POINTWISE_DXDESC &&
                kPointwiseDy == CUDNN_ATTR_OPERATION_POINTWISE_DYDESC &&
                kPointwiseT == CUDNN_ATTR_OPERATION_POINTWISE_TDESC);
  static_assert(kMatmulComputeType == CUDNN_ATTR_MATMUL_COMP_TYPE &&
                kMatmulA == CUDNN_ATTR_OPERATION_MATMUL_ADESC &&
                kMatmulB == CUDNN_ATTR_OPERATION_MATMUL_BDESC &&
                kMatmulC == CUDNN_ATTR_OPERATION_MATMUL_CDESC &&
                kMatmulDescriptor == CUDNN_ATTR_OPERATION_MATMUL_DESC &&
                kReductionOperator == CUDNN_ATTR_REDUCTION_OPERATOR &&
                kReductionComputeType == CUDNN_ATTR_REDUCTION_COMP_TYPE &&
                kReductionX == CUDNN_ATTR_OPERATION_REDUCTION_XDESC &&
                kReductionY == CUDNN_ATTR_OPERATION_REDUCTION_YDESC &&
                kReductionDescriptor == CUDNN_ATTR_OPERATION_REDUCTION_DESC &&
                kReshapeX == CUDNN_ATTR_OPERATION_RESHAPE_XDESC &&
                kReshapeY == CUDNN_ATTR_OPERATION_RESHAPE_YDESC);
  static_assert(kPackNumbers == CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS &&
                kPackPointers == CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS &&
                kPackWorkspace == CUDNN_ATTR_VARIANT_PACK_WORKSPACE &&
                kEngineNotes == CUDNN_ATTR_ENGINE_NUMERICAL_NOTE);
  static_assert(kF32 == CUDNN_DATA_FLOAT && kF64 == CUDNN_DATA_DOUBLE && kF16 == CUDNN_DATA_HALF &&
                kI32 == CUDNN_DATA_INT32 && kBF16 == CUDNN_DATA_BFLOAT16 &&
                kBool == CUDNN_DATA_BOOLEAN && kCrossCorrelation == CUDNN_CROSS_CORRELATION &&
                kFallback == CUDNN_HEUR_MODE_FALLBACK && kModeA == CUDNN_HEUR_MODE_A);
  static_assert(kAdd == CUDNN_POINTWISE_ADD && kMul == CUDNN_POINTWISE_MUL &&
                kMaximum == CUDNN_POINTWISE_MAX && kDiv == CUDNN_POINTWISE_DIV &&
                kSub == CUDNN_POINTWISE_SUB && kExp == CUDNN_POINTWISE_EXP &&
                kLog == CUDNN_POINTWISE_LOG && kIdentity == CUDNN_POINTWISE_IDENTITY &&
                kTanh == CUDNN_POINTWISE_TANH_FWD && kTanhBackward == CUDNN_POINTWISE_TANH_BWD &&
                kGreater == CUDNN_POINTWISE_CMP_GT && kGreaterEqual == CUDNN_POINTWISE_CMP_GE &&
                kLess == CUDNN_POINTWISE_CMP_LT && kAnd == CUDNN_POINTWISE_LOGICAL_AND &&
                kIndex == CUDNN_POINTWISE_GEN_INDEX && kSelect == CUDNN_POINTWISE_BINARY_SELECT &&
                kReduceAdd == CUDNN_REDUCE_TENSOR_ADD && kReduceMaximum == CUDNN_REDUCE_TENSOR_MAX);
  static_assert(kTensorCore == CUDNN_NUMERICAL_NOTE_TENSOR_CORE &&
                kDownConverts == CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS &&
                kReducedSums == CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION &&
                kFourier == CUDNN_NUMERICAL_NOTE_FFT &&
                kNondeterministic == CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC &&
                kWinograd == CUDNN_NUMERICAL_NOTE_WINOGRAD &&
                kWinograd4 == CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_4x4 &&
                kWinograd6 == CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_6x6 &&
                kWinograd13 == CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13 &&
                kNotes >= CUDNN_NUMERICAL_NOTE_TYPE_COUNT);
#else
  GTEST_SKIP() << "cuDNN's header is not there; scripts/offline-compilers --cudnn fetches it";
#endif
}

}  // namespace
}  // namespace hologram::libraries
