// What the parts of the emulated cuDNN share: descriptors with their attributes.
#pragma once

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "fake_library.hpp"
#include "libraries/cudnn/api.hpp"

namespace hologram::fake::cudnn {

using namespace libraries::cudnn;

inline constexpr Status kBadParameter = 2000;

struct Attribute {
  int type;
  int64_t count;
  std::vector<std::byte> bytes;
};
struct Program;
struct Thing {
  int kind = 0;
  bool finished = false;
  std::map<int, Attribute> attributes{};
  int engine = -1;                                             // of an engine or its configuration
  const Thing* graph = nullptr;                                // of a configuration
  std::shared_ptr<const Program> program{};                    // of a graph that is no convolution
  std::shared_ptr<const int> life = std::make_shared<int>(0);  // ends with it

  bool has(int attribute) const { return attributes.count(attribute) != 0; }
  // What it was told; 0 for what it was not.
  template <class T, size_t n = 1>
  std::array<T, n> read(int attribute) const {
    std::array<T, n> values{};
    if (const auto found = attributes.find(attribute); found != attributes.end())
      std::memcpy(values.data(), found->second.bytes.data(),
                  std::min(sizeof values, found->second.bytes.size()));
    return values;
  }
  template <class T>
  std::vector<T> all(int attribute) const {
    const auto found = attributes.find(attribute);
    if (found == attributes.end()) return {};
    std::vector<T> values(static_cast<size_t>(found->second.count));
    std::memcpy(values.data(), found->second.bytes.data(), values.size() * sizeof(T));
    return values;
  }
};

struct World : Calls {
  std::vector<Thing*> things;
  bool refuses = false;
  int major = 9, cuda = 12, engine = -1;
  std::string reason;  // why there is no engine for the graph that was asked about last
};
World& world();
inline int refuse(const std::string& what) { return world().refuse(what, kBadParameter); }

// Null: there is no such descriptor, or none any more.
inline Thing* thing(Descriptor descriptor) {
  const auto& all = world().things;
  const auto found = std::find(all.begin(), all.end(), static_cast<Thing*>(descriptor));
  return found == all.end() ? nullptr : *found;
}
inline Thing* child(const Thing& of, int attribute) {
  return thing(of.read<Descriptor>(attribute)[0]);
}

inline DType dtype(int type) {
  switch (type) {
    case kF32: return DType::F32;
    case kF64: return DType::F64;
    case kF16: return DType::F16;
    case kBF16: return DType::BF16;
    case kI32: return DType::I32;
    case kBool: return DType::Bool;
    default: return DType::None;
  }
}

using Axes = std::array<int64_t, 4>;

// A tensor: image, channel, row, column; or output, channel, row, column; or batch, head, row,
// feature.
struct Tensor {
  DType type;
  Axes lengths, strides;
  int64_t alignment, number;
  bool is_virtual, by_value;
  explicit Tensor(const Thing& t)
      : type(dtype(t.read<int>(kTensorType)[0])),
        lengths(t.read<int64_t, 4>(kTensorLengths)),
        strides(t.read<int64_t, 4>(kTensorStrides)),
        alignment(t.read<int64_t>(kTensorAlignment)[0]),
        number(t.read<int64_t>(kTensorNumber)[0]),
        is_virtual(t.read<uint8_t>(kTensorVirtual)[0] != 0),
        by_value(t.read<uint8_t>(kTensorByValue)[0] != 0) {}
  size_t at(int64_t n, int64_t c, int64_t y, int64_t x) const {
    return static_cast<size_t>(n * strides[0] + c * strides[1] + y * strides[2] + x * strides[3]) *
           element_size(type);
  }
  // From the first element to behind the last.
  size_t bytes() const {
    return at(lengths[0] - 1, lengths[1] - 1, lengths[2] - 1, lengths[3] - 1) + element_size(type);
  }
};

}  // namespace hologram::fake::cudnn
