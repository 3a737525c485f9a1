#include "libraries/cudnn/graph.hpp"

#include <bit>
#include <utility>

namespace hologram::libraries::cudnn {

namespace {

constexpr int64_t kAlignment = 16;  // of addresses, which the library takes for granted

}  // namespace

Axes dense_strides(const Axes& lengths) {
  const auto& [batch, heads, rows, columns] = lengths;
  return {heads * rows * columns, rows * columns, columns, 1};
}

Axes transposed(const Axes& axes) { return {axes[0], axes[1], axes[3], axes[2]}; }

Graph::Tensor Graph::tensor(const Axes& lengths, const Axes& strides, int type, Place place) {
  Object& object = kept(kTensor);
  const int64_t number = ++tensors_;
  object.set_one(kTensorType, kTypeData, type);
  object.set(kTensorLengths, kTypeInt64, lengths);
  object.set(kTensorStrides, kTypeInt64, strides);
  object.set_one(kTensorNumber, kTypeInt64, number);
  object.set_one(kTensorAlignment, kTypeInt64, kAlignment);
  if (place == Place::Virtual) object.set_one(kTensorVirtual, kTypeBool, true);
  if (place == Place::Value) object.set_one(kTensorByValue, kTypeBool, true);
  if (place == Place::Memory) of_memory_.push_back(number);
  if (place == Place::Value) of_values_.push_back(number);
  note(object.finish());
  return {lengths, strides, type, &object};
}

Graph::Tensor Graph::memory(const Axes& lengths, const Axes& strides, int type) {
  return tensor(lengths, strides, type, Place::Memory);
}

Graph::Tensor Graph::virtual_of(const Axes& lengths, const Axes& strides, int type) {
  return tensor(lengths, strides, type, Place::Virtual);
}

Graph::Tensor Graph::by_value(uint32_t bits, int type) {
  values_.push_back(bits);
  return tensor({1, 1, 1, 1}, {1, 1, 1, 1}, type, Place::Value);
}
Graph::Tensor Graph::value(float x) { return by_value(std::bit_cast<uint32_t>(x), kF32); }
Graph::Tensor Graph::value(int32_t x) { return by_value(std::bit_cast<uint32_t>(x), kI32); }

void Graph::pointwise(int mode, const Tensor& x, const Tensor* b, const Tensor* t, const Tensor& y,
                      int math) {
  Object& descriptor = kept(kPointwise);
  descriptor.set_one(kPointwiseMode, kTypePointwiseMode, mode);
  descriptor.set_one(kPointwiseComputeType, kTypeData, math);
  descriptor.finish();
  Object& its = operation(kOperationPointwise);
  its.set_one(kPointwiseDescriptor, descriptor);
  if (mode == kTanhBackward &&
      b != nullptr) {  // x is the derivative of tanh's result, b its argument
    its.set_one(kPointwiseDy, *x.object);
    its.set_one(kPointwiseX, *b->object);
    its.set_one(kPointwiseDx, *y.object);
  } else {
    its.set_one(kPointwiseX, *x.object);
    its.set_one(kPointwiseY, *y.object);
    if (b != nullptr) its.set_one(kPointwiseB, *b->object);
    if (t != nullptr) its.set_one(kPointwiseT, *t->object);
  }
  note(its.finish());
}

Graph::Tensor Graph::unary(int mode, const Tensor& x) {
  const Tensor y = between(x.lengths);
  pointwise(mode, x, nullptr, nullptr, y);
  return y;
}

Graph::Tensor Graph::binary(int mode, const Tensor& x, const Tensor& b, int type, int math) {
  const Tensor y = between(x.lengths, type);
  pointwise(mode, x, &b, nullptr, y, math);
  return y;
}

Graph::Tensor Graph::places(const Tensor& x, int64_t axis) {
  const Tensor y = between(x.lengths, kI32);
  Object& descriptor = kept(kPointwise);
  descriptor.set_one(kPointwiseMode, kTypePointwiseMode, kIndex);
  descriptor.set_one(kPointwiseComputeType, kTypeData, kF32);
  descriptor.set_one(kPointwiseAxis, kTypeInt64, axis);
  descriptor.finish();
  Object& its = operation(kOperationPointwise);
  its.set_one(kPointwiseDescriptor, descriptor);
  its.set_one(kPointwiseX, *x.object);
  its.set_one(kPointwiseY, *y.object);
  note(its.finish());
  return y;
}

Graph::Tensor Graph::select(const Tensor& condition, const Tensor& x, const Tensor& otherwise) {
  const Tensor y = between(x.lengths);
  pointwise(kSelect, x, &otherwise, &condition, y);
  return y;
}

void Graph::matmul(const Tensor& a, const Tensor& b, const Tensor& c) {
  Object& descriptor = kept(kMatmul);
  descriptor.set_one(kMatmulComputeType, kTypeData, kF32);
  descriptor.finish();
  Object& its = operation(kOperationMatmul);
  its.set_one(kMatmulA, *a.object);
  its.set_one(kMatmulB, *b.object);
  its.set_one(kMatmulC, *c.object);
  its.set_one(kMatmulDescriptor, descriptor);
  note(its.finish());
}

void Graph::reduce(int operation_of, const Tensor& x, const Tensor& y) {
  Object& descriptor = kept(kReduction);
  descriptor.set_one(kReductionComputeType, kTypeData, kF32);
  descriptor.set_one(kReductionOperator, kTypeReductionOperator, operation_of);
  descriptor.finish();
  Object& its = operation(kOperationReduction);
  its.set_one(kReductionDescriptor, descriptor);
  its.set_one(kReductionX, *x.object);
  its.set_one(kReductionY, *y.object);
  note(its.finish());
}

Graph::Tensor Graph::reduced(int operation_of, const Tensor& x, const Axes& lengths) {
  const Tensor y = between(lengths);
  reduce(operation_of, x, y);
  return y;
}

Graph::Tensor Graph::reshape(const Tensor& x, const Axes& lengths, const Axes& strides, int type) {
  const Tensor y = virtual_of(lengths, strides, type);
  Object& its = operation(kOperationReshape);
  its.set_one(kReshapeX, *x.object);
  its.set_one(kReshapeY, *y.object);
  note(its.finish());
  return y;
}

Status Graph::plan(uint64_t most_workspace) {
  if (status_ != kSuccess) return status_;
  std::vector<Descriptor> operations;
  operations.reserve(operations_.size());
  for (const Object& operation : operations_) operations.push_back(operation.descriptor());
  graph_.emplace(session_.library, kGraph);
  graph_->set<Descriptor>(kGraphOperations, kTypeDescriptor, operations);
  graph_->set_one(kGraphHandle, kTypeHandle, session_.handle);
  if (const Status status = graph_->finish(); status != kSuccess) return status;
  // No engine says of itself that it adds in no order: that is for who makes the graph to avoid.
  return choose_engine(
      session_, *graph_, most_workspace, [](const Object&) { return kSuccess; }, engine_);
}

std::optional<GpuPlan::Failure> Graph::run(std::span<void* const> addresses, void* workspace,
                                           void* stream) const {
  std::vector<int64_t> numbers = of_memory_;
  std::vector<void*> pointers(addresses.begin(), addresses.end());
  numbers.insert(numbers.end(), of_values_.begin(), of_values_.end());
  // The library takes addresses of what it only reads as those of anything.
  for (const uint32_t& value : values_) pointers.push_back(const_cast<uint32_t*>(&value));
  return execute(session_, engine_->plan, numbers, pointers, workspace, stream);
}

}  // namespace hologram::libraries::cudnn
