// What web/webgpu.js does for us. Numbers that may exceed 32 bits come as doubles, which hold them
// exactly up to 2^53.
#pragma once

#include <cstdint>

namespace hologram::backends::webgpu {

enum class About : uint32_t { Absence, Vendor, Architecture, Device, Description, Count };
enum class Number : uint32_t {
  Software,
  Halves,
  Subgroup,
  StorageBuffers,
  StorageBytes,
  UniformAlignment,
  StorageAlignment,
  BufferBytes,
  WorkgroupBytes,
  WorkgroupLanes,
  WorkgroupSize
};
enum class Brought : uint32_t { NotYet, There, Failed };

struct LayoutSlot {
  uint32_t binding, type;
};
struct GroupSlot {
  uint32_t binding, buffer;
  double offset, bytes;
};

}  // namespace hologram::backends::webgpu

#define HOLOGRAM_PAGE(name) __attribute__((import_module("webgpu"), import_name(#name))) name

extern "C" {

// Of what the adapter says about itself, and why there is none; its length, and, where there is
// room for it, the text.
uint32_t HOLOGRAM_PAGE(gpu_text)(uint32_t about, char* to);
double HOLOGRAM_PAGE(gpu_number)(uint32_t number);
uint32_t HOLOGRAM_PAGE(gpu_open)();  // 0: the device is gone
void HOLOGRAM_PAGE(gpu_close)();

uint32_t HOLOGRAM_PAGE(gpu_buffer)(double bytes, uint32_t uses);
uint32_t HOLOGRAM_PAGE(gpu_shader)(const char* code, uint32_t length, const char* label,
                                   uint32_t label_length);
uint32_t HOLOGRAM_PAGE(gpu_layout)(const void* slots, uint32_t count);
uint32_t HOLOGRAM_PAGE(gpu_pipeline_layout)(uint32_t layout);
uint32_t HOLOGRAM_PAGE(gpu_pipeline)(uint32_t layout, uint32_t shader, const char* entry,
                                     uint32_t entry_length);
uint32_t HOLOGRAM_PAGE(gpu_group)(uint32_t layout, const void* slots, uint32_t count);
void HOLOGRAM_PAGE(gpu_release)(uint32_t object);
// Whatever is made between these two: what is wrong with it comes as an error of `what`.
void HOLOGRAM_PAGE(gpu_watch)();
void HOLOGRAM_PAGE(gpu_watched)(const char* what, uint32_t length);

uint32_t HOLOGRAM_PAGE(gpu_encoder)();
uint32_t HOLOGRAM_PAGE(gpu_pass)(uint32_t encoder);
void HOLOGRAM_PAGE(gpu_set_pipeline)(uint32_t pass, uint32_t pipeline);
void HOLOGRAM_PAGE(gpu_set_group)(uint32_t pass, uint32_t group, uint32_t offset);
void HOLOGRAM_PAGE(gpu_dispatch)(uint32_t pass, uint32_t blocks);
void HOLOGRAM_PAGE(gpu_end)(uint32_t pass);
void HOLOGRAM_PAGE(gpu_copy)(uint32_t encoder, uint32_t from, double from_offset, uint32_t to,
                             double to_offset, double bytes);
void HOLOGRAM_PAGE(gpu_clear)(uint32_t encoder, uint32_t buffer, double offset, double bytes);
uint32_t HOLOGRAM_PAGE(gpu_finish)(uint32_t encoder);
void HOLOGRAM_PAGE(gpu_submit)(uint32_t commands);
void HOLOGRAM_PAGE(gpu_write)(uint32_t buffer, double offset, const void* from, uint32_t bytes);

// A copy of device memory on its way to the page: put into commands, under a number; started when
// those are; looked after; taken, or dropped.
uint32_t HOLOGRAM_PAGE(gpu_bring)(uint32_t encoder, uint32_t buffer, double offset, double bytes);
void HOLOGRAM_PAGE(gpu_start)(uint32_t number);
uint32_t HOLOGRAM_PAGE(gpu_brought)(uint32_t number);
void HOLOGRAM_PAGE(gpu_take)(uint32_t number, void* to, uint32_t bytes);
void HOLOGRAM_PAGE(gpu_drop)(uint32_t number);

}  // extern "C"

#undef HOLOGRAM_PAGE
