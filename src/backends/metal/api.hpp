// What is used of Metal: its objects, numbers and messages, under the names of its documentation. A
// test compares them with Apple's own headers for C++.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/metal/objc.hpp"

namespace hologram::backends::metal {

using UInt = unsigned long;  // NSUInteger
using Int = long;            // NSInteger

// What pointers to objects point to.
struct Device;
struct Queue;
struct CommandBuffer;
struct ComputeEncoder;
struct BlitEncoder;
struct BufferObject;
struct Library;
struct Function;
struct Pipeline;
struct PipelineDescriptor;
struct CompileOptions;
struct Reflection;

struct Size {
  UInt width, height, depth;
};
struct Range {
  UInt location, length;
};

inline constexpr UInt kUtf8 = 4;                                       // NSStringEncoding
inline constexpr UInt kStorageShared = 0, kStoragePrivate = 2UL << 4;  // MTLResourceOptions
inline constexpr Int kMathModeSafe = 0;                                // MTLMathMode
inline constexpr Int kPreciseFunctions = 1;  // MTLMathFloatingPointFunctions
inline constexpr UInt kNoOption = 0;         // MTLPipelineOption

// MTLGPUFamily: the families of Apple's own GPUs count up from the first, those of others are two.
inline constexpr Int kFirstAppleFamily = 1001, kLastAppleFamily = 1010, kLargeGroupsFamily = 1004;
inline constexpr Int kFirstMacFamily = 2001, kSecondMacFamily = 2002;

// MTLCommandBufferStatus: those from kCompleted on are final.
inline constexpr UInt kCompleted = 4, kFailed = 5;

// MTLCommandBufferError.
inline constexpr Int kErrorTimeout = 2, kErrorAccessRevoked = 4, kErrorOutOfMemory = 8,
                     kErrorDeviceRemoved = 11;

// Limits that every device has: the tables of buffers and bytes that Metal's feature sets promise.
inline constexpr UInt kMostBuffers = 31, kMostBytes = 4096;

// MESSAGE(member, class, selector, type): the type is that of the function that does it, without
// the selector, which stands behind the first parameter.
#define HOLOGRAM_METAL_MESSAGES(MESSAGE)                                                           \
  MESSAGE(alloc, +NSObject, "alloc", Object*(Class*))                                              \
  MESSAGE(init, NSObject, "init", Object*(Object*))                                                \
  MESSAGE(retain, NSObject, "retain", Object*(Object*))                                            \
  MESSAGE(release, NSObject, "release", void(Object*))                                             \
  MESSAGE(responds, NSObject, "respondsToSelector:", Bool(Object*, Selector))                      \
  MESSAGE(string, +NSString, "stringWithCString:encoding:", String*(Class*, const char*, UInt))    \
  MESSAGE(utf8, NSString, "UTF8String", const char*(String*))                                      \
  MESSAGE(description, NSError, "localizedDescription", String*(ErrorObject*))                     \
  MESSAGE(code, NSError, "code", Int(ErrorObject*))                                                \
  MESSAGE(count, NSArray, "count", UInt(Array*))                                                   \
  MESSAGE(element, NSArray, "objectAtIndex:", Object*(Array*, UInt))                               \
  MESSAGE(set_fast_math, MTLCompileOptions, "setFastMathEnabled:", void(CompileOptions*, Bool))    \
  MESSAGE(set_math_mode, MTLCompileOptions, "setMathMode:", void(CompileOptions*, Int))            \
  MESSAGE(set_functions, MTLCompileOptions,                                                        \
          "setMathFloatingPointFunctions:", void(CompileOptions*, Int))                            \
  MESSAGE(name, MTLDevice, "name", String*(Device*))                                               \
  MESSAGE(is_unified, MTLDevice, "hasUnifiedMemory", Bool(Device*))                                \
  MESSAGE(is_low_power, MTLDevice, "isLowPower", Bool(Device*))                                    \
  MESSAGE(is_removable, MTLDevice, "isRemovable", Bool(Device*))                                   \
  MESSAGE(working_set, MTLDevice, "recommendedMaxWorkingSetSize", uint64_t(Device*))               \
  MESSAGE(allocated, MTLDevice, "currentAllocatedSize", UInt(Device*))                             \
  MESSAGE(most_buffer_bytes, MTLDevice, "maxBufferLength", UInt(Device*))                          \
  MESSAGE(most_shared_bytes, MTLDevice, "maxThreadgroupMemoryLength", UInt(Device*))               \
  MESSAGE(supports_family, MTLDevice, "supportsFamily:", Bool(Device*, Int))                       \
  MESSAGE(new_queue, MTLDevice, "newCommandQueue", Queue*(Device*))                                \
  MESSAGE(new_buffer, MTLDevice,                                                                   \
          "newBufferWithLength:options:", BufferObject*(Device*, UInt, UInt))                      \
  MESSAGE(adopt, MTLDevice, "newBufferWithBytesNoCopy:length:options:deallocator:",                \
          BufferObject*(Device*, const void*, UInt, UInt, Block*))                                 \
  MESSAGE(new_library, MTLDevice, "newLibraryWithSource:options:error:",                           \
          Library*(Device*, String*, const CompileOptions*, ErrorObject**))                        \
  MESSAGE(new_pipeline, MTLDevice,                                                                 \
          "newComputePipelineStateWithDescriptor:options:reflection:error:",                       \
          Pipeline*(Device*, const PipelineDescriptor*, UInt, Reflection**, ErrorObject**))        \
  MESSAGE(set_function, MTLComputePipelineDescriptor,                                              \
          "setComputeFunction:", void(PipelineDescriptor*, const Function*))                       \
  MESSAGE(set_most_threads, MTLComputePipelineDescriptor,                                          \
          "setMaxTotalThreadsPerThreadgroup:", void(PipelineDescriptor*, UInt))                    \
  MESSAGE(new_function, MTLLibrary, "newFunctionWithName:", Function*(Library*, String*))          \
  MESSAGE(most_threads, MTLComputePipelineState, "maxTotalThreadsPerThreadgroup", UInt(Pipeline*)) \
  MESSAGE(contents, MTLBuffer, "contents", void*(BufferObject*))                                   \
  MESSAGE(command_buffer, MTLCommandQueue, "commandBuffer", CommandBuffer*(Queue*))                \
  MESSAGE(compute, MTLCommandBuffer, "computeCommandEncoder", ComputeEncoder*(CommandBuffer*))     \
  MESSAGE(blit, MTLCommandBuffer, "blitCommandEncoder", BlitEncoder*(CommandBuffer*))              \
  MESSAGE(commit, MTLCommandBuffer, "commit", void(CommandBuffer*))                                \
  MESSAGE(wait, MTLCommandBuffer, "waitUntilCompleted", void(CommandBuffer*))                      \
  MESSAGE(status, MTLCommandBuffer, "status", UInt(CommandBuffer*))                                \
  MESSAGE(error, MTLCommandBuffer, "error", ErrorObject*(CommandBuffer*))                          \
  MESSAGE(start_time, MTLCommandBuffer, "GPUStartTime", double(CommandBuffer*))                    \
  MESSAGE(end_time, MTLCommandBuffer, "GPUEndTime", double(CommandBuffer*))                        \
  MESSAGE(set_pipeline, MTLComputeCommandEncoder,                                                  \
          "setComputePipelineState:", void(ComputeEncoder*, const Pipeline*))                      \
  MESSAGE(set_buffer, MTLComputeCommandEncoder,                                                    \
          "setBuffer:offset:atIndex:", void(ComputeEncoder*, const BufferObject*, UInt, UInt))     \
  MESSAGE(set_bytes, MTLComputeCommandEncoder,                                                     \
          "setBytes:length:atIndex:", void(ComputeEncoder*, const void*, UInt, UInt))              \
  MESSAGE(dispatch, MTLComputeCommandEncoder,                                                      \
          "dispatchThreadgroups:threadsPerThreadgroup:", void(ComputeEncoder*, Size, Size))        \
  MESSAGE(end_compute, MTLComputeCommandEncoder, "endEncoding", void(ComputeEncoder*))             \
  MESSAGE(copy, MTLBlitCommandEncoder,                                                             \
          "copyFromBuffer:sourceOffset:toBuffer:destinationOffset:size:",                          \
          void(BlitEncoder*, const BufferObject*, UInt, const BufferObject*, UInt, UInt))          \
  MESSAGE(fill, MTLBlitCommandEncoder,                                                             \
          "fillBuffer:range:value:", void(BlitEncoder*, const BufferObject*, Range, uint8_t))      \
  MESSAGE(end_blit, MTLBlitCommandEncoder, "endEncoding", void(BlitEncoder*))

struct Messages {
#define HOLOGRAM_MESSAGE(member, of, selector, ...) Message<__VA_ARGS__> member{selector};
  HOLOGRAM_METAL_MESSAGES(HOLOGRAM_MESSAGE)
#undef HOLOGRAM_MESSAGE
};

// The classes that are sent messages.
#define HOLOGRAM_METAL_CLASSES(CLASS)         \
  CLASS(strings, "NSString")                  \
  CLASS(compile_options, "MTLCompileOptions") \
  CLASS(descriptors, "MTLComputePipelineDescriptor")

struct Classes {
#define HOLOGRAM_CLASS(member, name) Class* member = nullptr;
  HOLOGRAM_METAL_CLASSES(HOLOGRAM_CLASS)
#undef HOLOGRAM_CLASS
};

}  // namespace hologram::backends::metal
