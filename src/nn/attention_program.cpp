// Attention by one program, and the gradients that programs compute.
#include "nn/attention_operands.hpp"

namespace hologram::nn {

Tensor Attention::by_program() const {
  const Tensors operands = this->operands();
  if (!tensor::is_recording()) return as_given(node(operands, Wanted::Result, to_, results()));
  Tensor wide_result, logs;
  {
    const tensor::Pause pause;
    const int64_t rows = batch_ * heads_ * queries(), count = rows * value_.size(-1);
    const Tensor both = node(operands, Wanted::ResultAndLogs, wide_, {count + rows});
    wide_result = both.slice(0, {0, count}).reshape(results());
    logs = both.slice(0, {count, count + rows}).reshape({batch_, heads_, queries()});
  }
  return as_given(recorded(
      operands, [&] { return wide_result.to(to_); },
      [operands, wide_result, logs](const Attention& self, const Tensor& change,
                                    const tensor::Wanted& wanted) {
        return self.program_changes(operands, wide_result, logs, change, wanted);
      }));
}

Tensor Attention::node(Tensors operands, Wanted wanted, DType dtype, const Shape& shape) const {
  const auto [before, after] = reach();
  Program program{.scale = scale_, .softcap = options_.softcap, .first = options_.query_offset};
  program.before = before;
  program.after = after;
  program.has_mask = mask_.defined();
  const bool forward = wanted == Wanted::Result || wanted == Wanted::ResultAndLogs;
  program.has_sinks = sinks_.defined() && forward;
  program.has_place = position_.defined();
  if (mask_.defined()) {
    Tensor& mask = operands[forward ? 3 : 6];
    if (mask.dtype() == DType::F64) mask = mask.to(wide_);
    mask = mask.broadcast_to({batch_, heads_, queries(), keys()});
  }
  // What is no matrix is read from its beginning.
  const size_t vectors = (forward ? 3 : 6) + (mask_.defined() ? 1 : 0);
  for (size_t i = vectors; i < operands.size(); i++) operands[i] = tensor::dense(operands[i]);
  return tensor::make_opaque(graph::attention::attention_work(program, wanted), dtype, shape,
                             std::span<Tensor>(operands));
}

Attention::Tensors Attention::program_changes(const Tensors& operands, const Tensor& result,
                                              const Tensor& logs, const Tensor& change,
                                              const tensor::Wanted& wanted) const {
  const Tensor deltas = ops::sum(change.to(wide_) * result, -1);
  Tensors inputs = {operands[0], operands[1], operands[2], change, logs, deltas};
  if (mask_.defined()) inputs.push_back(operands[3]);
  if (position_.defined()) inputs.push_back(operands.back());
  Tensors all(operands.size());
  if (wanted[0]) all[0] = node(inputs, Wanted::QueryChange, wide_, query_.shape()).to(to_);
  if (wanted[1] || wanted[2]) {
    const int64_t of_keys = key_.size(), of_values = value_.size();
    const Tensor both = node(inputs, Wanted::KeyChange, wide_, {of_keys + of_values});
    all[1] = both.slice(0, {0, of_keys}).reshape(key_.shape()).to(to_);
    all[2] = both.slice(0, {of_keys, of_keys + of_values}).reshape(value_.shape()).to(to_);
  }
  // A sink has a share, too, but no value.
  const size_t sinks = mask_.defined() ? 4 : 3;
  if (sinks_.defined() && wanted[sinks]) {
    const Tensor share = ops::exp(operands[sinks].reshape({heads_, 1}) - logs);
    all[sinks] = -ops::sum(share * deltas, {0, 2});
  }
  return all;
}

}  // namespace hologram::nn
