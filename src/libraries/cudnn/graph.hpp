// A graph of small operations on tensors of four axes, from which an engine takes the whole.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "libraries/cudnn/session.hpp"

namespace hologram::libraries::cudnn {

using Axes = std::array<int64_t, 4>;

Axes dense_strides(const Axes& lengths);
// With its last two axes exchanged.
Axes transposed(const Axes& axes);

class Graph {
 public:
  struct Tensor {
    Axes lengths, strides;  // in elements
    int type;
    const Object* object;
  };

  explicit Graph(const Session& session) : session_(session) {}
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  // In memory: run() is given addresses in the order of these calls.
  Tensor memory(const Axes& lengths, const Axes& strides, int type);
  Tensor memory(const Axes& lengths, int type) {
    return memory(lengths, dense_strides(lengths), type);
  }
  // In no memory.
  Tensor between(const Axes& lengths, int type = kF32) {
    return virtual_of(lengths, dense_strides(lengths), type);
  }
  // A number of the host's.
  Tensor value(float x);
  Tensor value(int32_t x);

  // y = mode(x, b), each computed as `math`; select: x where t holds, else b.
  void pointwise(int mode, const Tensor& x, const Tensor* b, const Tensor* t, const Tensor& y,
                 int math = kF32);
  Tensor unary(int mode, const Tensor& x);
  Tensor binary(int mode, const Tensor& x, const Tensor& b, int type = kF32, int math = kF32);
  Tensor compare(int mode, const Tensor& x, const Tensor& b) {
    return binary(mode, x, b, kBool, kBool);
  }
  // Where each element of x stands along an axis.
  Tensor places(const Tensor& x, int64_t axis);
  Tensor select(const Tensor& condition, const Tensor& x, const Tensor& otherwise);
  void matmul(const Tensor& a, const Tensor& b, const Tensor& c);
  void reduce(int operation, const Tensor& x, const Tensor& y);
  Tensor reduced(int operation, const Tensor& x, const Axes& lengths);
  // The same elements with other strides; virtual.
  Tensor reshape(const Tensor& x, const Axes& lengths, const Axes& strides, int type);

  // After all operations: finds an engine.
  Status plan(uint64_t most_workspace);
  uint64_t workspace() const { return engine_->workspace; }
  std::optional<GpuPlan::Failure> run(std::span<void* const> addresses, void* workspace,
                                      void* stream) const;

 private:
  Tensor virtual_of(const Axes& lengths, const Axes& strides, int type);
  Tensor by_value(uint32_t bits, int type);
  enum class Place : uint8_t { Memory, Virtual, Value };
  Tensor tensor(const Axes& lengths, const Axes& strides, int type, Place place);
  Object& kept(int kind) { return objects_.emplace_back(session_.library, kind); }
  Object& operation(int kind) { return operations_.emplace_back(session_.library, kind); }
  void note(Status status) {
    if (status_ == kSuccess) status_ = status;
  }

  const Session& session_;
  std::deque<Object> objects_, operations_;
  std::vector<int64_t> of_memory_, of_values_;  // numbers of tensors
  std::deque<uint32_t> values_;
  int64_t tensors_ = 0;
  Status status_ = kSuccess;
  std::optional<Object> graph_;
  std::optional<Engine> engine_;
};

}  // namespace hologram::libraries::cudnn
