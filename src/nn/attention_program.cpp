// Attention by one program, and the gradients that programs compute.
#include "nn/attention_operands.hpp"

namespace hologram::nn {

namespace {

Tensor section(const Tensor& node, int64_t begin, const Shape& shape) {
  return node.slice(0, {begin, begin + count_of(shape)}).reshape(shape);
}

}  // namespace

Tensor Attention::by_program() const {
  const Tensors operands = this->operands();
  if (!tensor::is_recording()) return as_given(node(operands, Wanted::Result, results()));
  const int64_t rows = batch_ * heads_ * queries(), count = rows * value_.size(-1);
  Tensor both;
  {
    const tensor::Pause pause;
    both =
        node(operands, Wanted::ResultAndLogs, {graph::attention::with_logs(to_, count, rows).size});
  }
  return as_given(recorded(
      operands, [&] { return section(both, 0, results()); },
      [operands, both](const Attention& self, const Tensor& change, const tensor::Wanted& wanted) {
        return self.program_changes(operands, both, change, wanted);
      }));
}

Tensor Attention::node(Tensors operands, Wanted wanted, const Shape& shape,
                       const tensor::Wanted& changed) const {
  const auto [before, after] = reach();
  Program program{.scale = scale_, .softcap = options_.softcap, .first = options_.query_offset};
  program.before = before;
  program.after = after;
  program.has_mask = mask_.defined();
  const bool forward = wanted != Wanted::Changes;
  program.has_sinks = sinks_.defined() && forward;
  program.has_place = position_.defined();
  if (!forward) {
    program.of_queries = changed[0];
    program.of_keys = changed[1] || changed[2];
  }
  const size_t mask_at = forward ? 3 : 5;
  if (mask_.defined()) {
    Tensor& mask = operands[mask_at];
    if (mask.dtype() == DType::F64) mask = mask.to(wide_);
    mask = mask.broadcast_to({batch_, heads_, queries(), keys()});
  }
  // What is no matrix is read from its beginning.
  const size_t vectors = mask_at + (mask_.defined() ? 1 : 0);
  for (size_t i = vectors; i < operands.size(); i++) operands[i] = tensor::dense(operands[i]);
  return tensor::make_opaque(graph::attention::attention_work(program, wanted), to_, shape,
                             std::span<Tensor>(operands));
}

Attention::Tensors Attention::program_changes(const Tensors& operands, const Tensor& both,
                                              const Tensor& change,
                                              const tensor::Wanted& wanted) const {
  Tensors inputs = {operands[0], operands[1], operands[2], change, both};
  if (mask_.defined()) inputs.push_back(operands[3]);
  if (position_.defined()) inputs.push_back(operands.back());
  Tensors all(operands.size());
  if (wanted[0] || wanted[1] || wanted[2]) {
    const graph::attention::Sections parts(to_, {query_.size(), key_.size(), value_.size()});
    const Tensor changes = node(std::move(inputs), Wanted::Changes, {parts.size}, wanted);
    const std::array<const Tensor*, 3> given = {&query_, &key_, &value_};
    for (size_t i = 0; i < given.size(); i++)
      if (wanted[i]) all[i] = section(changes, parts.begins[i], given[i]->shape());
  }
  // A sink has a share, too, but no value.
  const size_t sinks = mask_.defined() ? 4 : 3;
  if (sinks_.defined() && wanted[sinks]) {
    const int64_t rows = batch_ * heads_ * queries();
    const Tensor result = section(both, 0, results());
    Tensor node = both;
    const Tensor logs =
        tensor::make_opaque(graph::attention::attention_logs_work(result.size(), rows), wide_,
                            {batch_, heads_, queries()}, std::span<Tensor>(&node, 1));
    const Tensor deltas = ops::sum(change.to(wide_) * result.to(wide_), -1);
    const Tensor share = ops::exp(operands[sinks].reshape({heads_, 1}) - logs);
    all[sinks] = -ops::sum(share * deltas, {0, 2});
  }
  return all;
}

}  // namespace hologram::nn
