// What is used of oneDNN's primitives. Its versions 2 and 3 differ in how descriptions are made:
// those of version 2 are structures, ours to keep, of version 3 objects of the library. A test
// compares these declarations with the library's own.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hologram::libraries::onednn {

using Status = int;  // 0 if all went well

struct EngineObject;
struct StreamObject;
struct AttributesObject;
struct DescriptionObject;  // of a primitive
struct PrimitiveObject;
struct MemoryObject;
struct LayoutObject;  // dnnl_memory_desc: how a tensor lies in memory

struct Argument {
  int which;
  MemoryObject* memory;
};

// Enumerators, and the numbers of arguments.
inline constexpr int kCpu = 1, kF32 = 3, kAnyLayout = 1, kForwardInference = 96,
                     kDirectConvolution = 1, kUserScratchpad = 1, kAskName = 8, kAskSource = 129,
                     kAskWeights = 131, kAskResult = 133, kAskScratchpad = 136;
inline constexpr unsigned kInOrder = 1;
inline constexpr int kSource = 1, kResult = 17, kWeights = 33, kScratchpad = 80;

// Room for the structures of version 2.
inline constexpr size_t kLayoutBytes = 1024, kConvolutionBytes = 8192;
inline constexpr int kMostDimensions = 12;

// What those of version 2 say: lengths in blocks of blocks, of which the innermost are dense.
inline constexpr int kBlocked = 2;
struct BlockedLayout {
  int axes;
  int64_t lengths[kMostDimensions];
  int type;
  int64_t padded[kMostDimensions], padded_before[kMostDimensions], offset;
  int kind;  // kBlocked
  struct Blocks {
    int64_t strides[kMostDimensions];
    int count;
    int64_t lengths[kMostDimensions], axes[kMostDimensions];
  } blocks;
};

// ROW(result, member, exported name, parameters)
#define HOLOGRAM_ONEDNN(ROW)                                                                       \
  ROW(Status, engine_create, dnnl_engine_create, (EngineObject * *engine, int kind, size_t index)) \
  ROW(Status, stream_create, dnnl_stream_create,                                                   \
      (StreamObject * *stream, EngineObject * engine, unsigned flags))                             \
  ROW(Status, stream_destroy, dnnl_stream_destroy, (StreamObject * stream))                        \
  ROW(Status, attributes_create, dnnl_primitive_attr_create, (AttributesObject * *attributes))     \
  ROW(Status, attributes_set_scratchpad, dnnl_primitive_attr_set_scratchpad_mode,                  \
      (AttributesObject * attributes, int mode))                                                   \
  ROW(Status, reorder_describe, dnnl_reorder_primitive_desc_create,                                \
      (DescriptionObject * *description, const LayoutObject* from, EngineObject* from_engine,      \
       const LayoutObject* to, EngineObject* to_engine, const AttributesObject* attributes))       \
  ROW(Status, query, dnnl_primitive_desc_query,                                                    \
      (const DescriptionObject* description, int what, int index, void* result))                   \
  ROW(const LayoutObject*, query_layout, dnnl_primitive_desc_query_md,                             \
      (const DescriptionObject* description, int what, int index))                                 \
  ROW(Status, description_destroy, dnnl_primitive_desc_destroy, (DescriptionObject * description)) \
  ROW(Status, primitive_create, dnnl_primitive_create,                                             \
      (PrimitiveObject * *primitive, const DescriptionObject* description))                        \
  ROW(Status, primitive_execute, dnnl_primitive_execute,                                           \
      (const PrimitiveObject* primitive, StreamObject* stream, int count,                          \
       const Argument* arguments))                                                                 \
  ROW(Status, primitive_destroy, dnnl_primitive_destroy, (PrimitiveObject * primitive))            \
  ROW(size_t, layout_bytes, dnnl_memory_desc_get_size, (const LayoutObject* layout))               \
  ROW(int, layout_equal, dnnl_memory_desc_equal, (const LayoutObject* a, const LayoutObject* b))   \
  ROW(Status, memory_create, dnnl_memory_create,                                                   \
      (MemoryObject * *memory, const LayoutObject* layout, EngineObject* engine, void* data))      \
  ROW(Status, memory_set, dnnl_memory_set_data_handle, (MemoryObject * memory, void* data))        \
  ROW(Status, memory_destroy, dnnl_memory_destroy, (MemoryObject * memory))

#define HOLOGRAM_ONEDNN_2(ROW)                                                            \
  ROW(Status, layout_by_strides, dnnl_memory_desc_init_by_strides,                        \
      (LayoutObject * layout, int dimensions, const int64_t* lengths, int type,           \
       const int64_t* strides))                                                           \
  ROW(Status, layout_by_tag, dnnl_memory_desc_init_by_tag,                                \
      (LayoutObject * layout, int dimensions, const int64_t* lengths, int type, int tag)) \
  ROW(Status, convolution_init, dnnl_dilated_convolution_forward_desc_init,               \
      (ConvolutionObject * convolution, int kind, int algorithm, const LayoutObject* x,   \
       const LayoutObject* w, const LayoutObject* bias, const LayoutObject* d,            \
       const int64_t* strides, const int64_t* dilations, const int64_t* before,           \
       const int64_t* behind))                                                            \
  ROW(Status, describe, dnnl_primitive_desc_create,                                       \
      (DescriptionObject * *description, const void* operation,                           \
       const AttributesObject* attributes, EngineObject* engine, const DescriptionObject* hint))

#define HOLOGRAM_ONEDNN_3(ROW)                                                             \
  ROW(Status, layout_with_strides, dnnl_memory_desc_create_with_strides,                   \
      (LayoutObject * *layout, int dimensions, const int64_t* lengths, int type,           \
       const int64_t* strides))                                                            \
  ROW(Status, layout_with_tag, dnnl_memory_desc_create_with_tag,                           \
      (LayoutObject * *layout, int dimensions, const int64_t* lengths, int type, int tag)) \
  ROW(Status, layout_destroy, dnnl_memory_desc_destroy, (LayoutObject * layout))           \
  ROW(Status, convolution_describe, dnnl_convolution_forward_primitive_desc_create,        \
      (DescriptionObject * *description, EngineObject * engine, int kind, int algorithm,   \
       const LayoutObject* x, const LayoutObject* w, const LayoutObject* bias,             \
       const LayoutObject* d, const int64_t* strides, const int64_t* dilations,            \
       const int64_t* before, const int64_t* behind, const AttributesObject* attributes))

struct ConvolutionObject;  // dnnl_convolution_desc_t of version 2

// NOLINTNEXTLINE(bugprone-macro-parentheses)
#define HOLOGRAM_MEMBER(result, member, symbol, parameters) result(*member) parameters = nullptr;
struct Functions {
  HOLOGRAM_ONEDNN(HOLOGRAM_MEMBER)
  HOLOGRAM_ONEDNN_2(HOLOGRAM_MEMBER)
  HOLOGRAM_ONEDNN_3(HOLOGRAM_MEMBER)
};
#undef HOLOGRAM_MEMBER

}  // namespace hologram::libraries::onednn
