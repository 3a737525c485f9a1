// Reading and writing elements of memory: by runs at a constant distance, and one by one.
#pragma once

#include <cstddef>
#include <cstdint>

#include "hologram/dtype.hpp"
#include "interp/kernels.hpp"

namespace hologram::interp {

// The functions for one element type; registers hold its compute type, bools as bits.
struct Access {
  // out[l] = data[step * l] for l in [first, last); the caller has checked the bounds.
  void (*load_run)(std::byte* out, const std::byte* data, int64_t step, uint32_t first,
                   uint32_t last);
  void (*store_run)(std::byte* data, int64_t step, Operand value, uint32_t first, uint32_t last);
  // out[l] = index[l] < length ? data[index[l]] : 0. `mask` says which lanes may touch memory; null
  // for all.
  void (*gather32)(std::byte* out, const std::byte* data, uint64_t length, const int32_t* index,
                   const uint64_t* mask, uint32_t lanes);
  void (*gather64)(std::byte* out, const std::byte* data, uint64_t length, const int64_t* index,
                   const uint64_t* mask, uint32_t lanes);
  void (*scatter32)(std::byte* data, uint64_t length, const int32_t* index, Operand value,
                    const uint64_t* mask, uint32_t lanes);
  void (*scatter64)(std::byte* data, uint64_t length, const int64_t* index, Operand value,
                    const uint64_t* mask, uint32_t lanes);
  // One element as bits of its compute type.
  uint64_t (*load_one)(const std::byte* data, uint64_t index);
};

const Access& access_of(DType storage);

}  // namespace hologram::interp
