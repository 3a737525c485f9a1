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
  Program program = this->program();
  if (!tensor::is_recording()) return as_given(node(program, operands, Wanted::Result, results()));
  // Gradients of f16 and bf16 are as exact as they can be only with the result as it was before it
  // was rounded, which libraries do not keep.
  std::vector<graph::View> views;
  for (size_t i = 0; i < 3; i++) views.push_back(tensor::Access::view(operands[i]));
  DType mask_dtype = DType::None;
  if (mask_.defined()) {
    const Tensor mask = whole_mask(operands[3]);
    views.push_back(tensor::Access::view(mask));
    mask_dtype = mask.dtype();
  }
  program.keeps_wide = !graph::attention::has_library(tensor::context_of(operands[0]), program,
                                                      views, to_, mask_dtype);
  Tensor both;
  {
    const tensor::Pause pause;
    both = result_and_logs(program, operands);
  }
  return as_given(recorded(
      operands, [&] { return section(both, 0, results()); },
      [program, operands, both](const Attention& self, const Tensor& change,
                                const tensor::Wanted& wanted) {
        return self.program_changes(program, operands, both, change, wanted);
      }));
}

Tensor Attention::result_and_logs(const Program& program, const Tensors& operands) const {
  const graph::attention::Sections parts =
      graph::attention::with_logs(to_, count_of(results()), rows(), program.keeps_wide);
  return node(program, operands, Wanted::ResultAndLogs, {parts.size});
}

// What is kept has one size for each shape, whoever computes it: no result that is wider than the
// operands.
KeptAttention Attention::with_kept() const {
  const tensor::Pause pause;
  if (is_empty()) {
    const auto size = graph::attention::with_logs(to_, count_of(results()), rows(), false).size;
    return {composed(), ops::zeros({size}, to_, query_.executor())};
  }
  const Tensor both = result_and_logs(program(), operands());
  return {as_given(section(both, 0, results())), both};
}

Attention::Tensors Attention::changes(const Tensor& result, const Tensor& kept,
                                      const Tensor& change) const {
  const tensor::Pause pause;
  const Tensor changed = change.reshape(results()).to(to_);
  if (is_empty()) {
    Tensors nothing;
    for (const Tensor* x : {&query_, &key_, &value_})
      nothing.push_back(ops::zeros(x->shape(), to_, x->executor()));
    return nothing;
  }
  if (kept.size() == 0) return product_changes(result.reshape(results()).to(wide_), changed);
  return program_changes(program(), operands(), kept, changed, {true, true, true, false, false});
}

Attention::Program Attention::program() const {
  const auto [before, after] = reach();
  Program program{.scale = scale_, .softcap = options_.softcap, .first = options_.query_offset};
  program.before = before;
  program.after = after;
  program.has_mask = mask_.defined();
  program.has_sinks = sinks_.defined();
  program.has_place = position_.defined();
  return program;
}

Tensor Attention::whole_mask(const Tensor& mask) const {
  return (mask.dtype() == DType::F64 ? mask.to(wide_) : mask)
      .broadcast_to({batch_, heads_, queries(), keys()});
}

Tensor Attention::node(const Program& program, Tensors operands, Wanted wanted,
                       const Shape& shape) const {
  const bool forward = wanted != Wanted::Changes;
  const size_t mask_at = forward ? 3 : 5;
  if (mask_.defined()) {
    Tensor& mask = operands[mask_at];
    mask = whole_mask(mask);
  }
  // What is no matrix is read from its beginning.
  const size_t vectors = mask_at + (mask_.defined() ? 1 : 0);
  for (size_t i = vectors; i < operands.size(); i++) operands[i] = tensor::dense(operands[i]);
  return tensor::make_opaque(graph::attention::attention_op(program, wanted), to_, shape,
                             std::span<Tensor>(operands));
}

Attention::Tensors Attention::program_changes(Program program, const Tensors& operands,
                                              const Tensor& both, const Tensor& change,
                                              const tensor::Wanted& wanted) const {
  program.has_sinks = false;  // the logs know of them
  program.of_queries = wanted[0];
  program.of_keys = wanted[1] || wanted[2];
  Tensors inputs = {operands[0], operands[1], operands[2], change, both};
  if (mask_.defined()) inputs.push_back(operands[3]);
  if (position_.defined()) inputs.push_back(operands.back());
  Tensors all(operands.size());
  if (wanted[0] || wanted[1] || wanted[2]) {
    const graph::attention::Sections parts(to_, {query_.size(), key_.size(), value_.size()});
    const Tensor changes = node(program, std::move(inputs), Wanted::Changes, {parts.size});
    const std::array<const Tensor*, 3> given = {&query_, &key_, &value_};
    for (size_t i = 0; i < given.size(); i++)
      if (wanted[i]) all[i] = section(changes, parts.begins[i], given[i]->shape());
  }
  // A sink has a share, too, but no value.
  const size_t sinks = mask_.defined() ? 4 : 3;
  if (sinks_.defined() && wanted[sinks]) {
    const graph::attention::Sections parts =
        graph::attention::with_logs(to_, count_of(results()), rows(), program.keeps_wide);
    const auto part = [&](size_t nth, DType dtype, const Shape& shape) {
      return tensor::make_opaque(graph::attention::section_op(parts.begins[nth]), dtype, shape,
                                 both);
    };
    const Tensor logs = part(1, wide_, {batch_, heads_, queries()});
    const Tensor result = part(2, program.keeps_wide ? wide_ : to_, results());
    const Tensor deltas = ops::sum(change.to(wide_) * result.to(wide_), -1);
    const Tensor share = ops::exp(operands[sinks].reshape({heads_, 1}) - logs);
    all[sinks] = -ops::sum(share * deltas, {0, 2});
  }
  return all;
}

}  // namespace hologram::nn
