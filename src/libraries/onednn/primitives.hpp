// Convolutions and reorders of one oneDNN, made and run on the calling thread alone.
#pragma once

#include <array>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/dynamic_library.hpp"
#include "hologram/hal/operations.hpp"
#include "libraries/onednn/one_thread.hpp"
#include "libraries/onednn/primitives_api.hpp"

namespace hologram::libraries::onednn {

class Library;

// How a tensor of f32 lies in memory.
class Layout {
 public:
  Layout(const Library& library, std::span<const int64_t> lengths,
         std::span<const int64_t> strides);
  Layout(const Library& library, std::span<const int64_t> lengths);  // whichever suits
  ~Layout();
  Layout(const Layout&) = delete;
  Layout& operator=(const Layout&) = delete;
  const LayoutObject* get() const { return object_; }

 private:
  const Library& library_;
  LayoutObject* object_ = nullptr;
  alignas(16) std::array<std::byte, kLayoutBytes> room_ = {};  // of version 2
};

// A convolution of dense images, channels last.
struct ConvolutionShape {
  int64_t batch, groups, channels, outputs;  // channels and outputs of a group
  hal::ConvAxis rows, columns;
  int64_t row_end = 0, column_end = 0;  // zeros behind the input
};

struct Operand {
  int which;
  const LayoutObject* layout;
  const void* data;
};

// Objects of the library for what one thread runs a primitive on.
class Arguments {
 public:
  Arguments(const Library& library, std::span<const Operand> operands);
  ~Arguments();
  Arguments(const Arguments&) = delete;
  Arguments& operator=(const Arguments&) = delete;
  void run(const PrimitiveObject* primitive, std::span<const Operand> operands);  // others, as many

 private:
  void destroy();

  static constexpr size_t kMost = 4;
  const Library& library_;
  StreamObject* stream_ = nullptr;
  size_t count_ = 0;
  std::array<Argument, kMost> arguments_ = {};
  std::array<const void*, kMost> data_ = {};
};

// Thread-safe.
class Primitive {
 public:
  Primitive(const Library& library, DescriptionObject* description);  // takes the description
  ~Primitive();
  Primitive(const Primitive&) = delete;
  Primitive& operator=(const Primitive&) = delete;

  std::string name() const;
  const LayoutObject* source() const { return source_; }
  const LayoutObject* weights() const { return weights_; }
  const LayoutObject* result() const { return result_; }
  const LayoutObject* scratchpad_layout() const { return scratchpad_; }
  uint64_t scratchpad() const;  // bytes
  // On the calling thread, which is `Library::alone`. Always operands of the same layouts.
  void run(std::span<const Operand> operands) const;

 private:
  const LayoutObject* layout(int which) const;

  const Library& library_;
  DescriptionObject* description_;
  const LayoutObject *const source_, *const weights_, *const result_, *const scratchpad_;
  PrimitiveObject* primitive_ = nullptr;
  // What to make takes as long as a small convolution: of runs that have ended.
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<Arguments>> spare_;
};

// What was opened, as far as primitives go. Lives as long as the process.
class Library {
 public:
  // Empty if it cannot do this.
  static std::unique_ptr<Library> open(const core::DynamicLibrary& library, int version,
                                       OmpGetMaxThreads* max_threads,
                                       OmpSetNumThreads* set_threads);

  std::unique_ptr<Primitive> convolution(const ConvolutionShape& shape) const;
  std::unique_ptr<Primitive> reorder(const Layout& from, const LayoutObject* to) const;

  // One thread for what the calling thread asks of the library, as long as this lives.
  OneThread alone() const { return {max_threads_, set_threads_}; }

  const Functions& call() const { return functions_; }
  bool keeps_layouts() const { return version_ > 2; }
  // How a layout is made of blocks; null if it is not, or the library keeps that to itself.
  const BlockedLayout* blocks(const LayoutObject* layout) const;
  uint64_t bytes(const LayoutObject* layout) const { return functions_.layout_bytes(layout); }
  EngineObject* engine() const { return engine_; }
  // Throws a LibraryFailed that names what failed.
  static void check(Status status, const char* what);

 private:
  Functions functions_;
  int version_ = 0;
  OmpGetMaxThreads* max_threads_ = nullptr;
  OmpSetNumThreads* set_threads_ = nullptr;
  EngineObject* engine_ = nullptr;
  AttributesObject* attributes_ = nullptr;  // scratchpads are ours
};

}  // namespace hologram::libraries::onednn
