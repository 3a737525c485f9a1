// Attention of operands that have been looked at, in its two ways.
#pragma once

#include "algorithms/attention/attention.hpp"
#include "hologram/nn/attention.hpp"
#include "nn/common.hpp"
#include "tensor/tape.hpp"

namespace hologram::nn {

class Attention {
 public:
  // ShapeMismatch, DTypeMismatch, InvalidArgument. Without a value only `weights` has a meaning.
  Attention(const char* name, const Tensor& query, const Tensor& key, const Tensor* value,
            const AttentionOptions& options);

  // By one program that keeps no scores, on any device (graph/attention); its gradients, too.
  Tensor by_program() const;
  // By products of matrices, a piece after the other, whose scores fit a cache.
  Tensor by_products() const;
  // By products, but recorded as what they are made of: with dropout, and for gradients of
  // gradients.
  Tensor composed() const;
  // For gradients that are computed apart.
  KeptAttention with_kept() const;
  tensor::Tensors changes(const Tensor& result, const Tensor& kept, const Tensor& change) const;
  // The weights of all, [batch, heads, queries, keys].
  Tensor weights() const;

  bool is_empty() const;
  bool drops() const { return options_.dropout_p > 0; }
  // Whether the processor multiplies matrices faster than a program can.
  bool has_fast_products() const;

 private:
  using Tensors = tensor::Tensors;
  using Program = graph::attention::Attention;
  using Wanted = Program::Wanted;
  struct Range {
    int64_t begin, end;
    int64_t size() const { return end - begin; }
  };
  // The heads of some batches, or some heads of one.
  struct Piece {
    Range batches, key_heads;
  };

  void arrange(const Tensor& query, const Tensor& key, const Tensor* value);
  void check_mask();
  int64_t queries() const { return query_.size(-2); }
  int64_t keys() const { return key_.size(-2); }
  int64_t of_key_head() const { return heads_ / key_heads_; }
  int64_t rows() const { return batch_ * heads_ * queries(); }
  Shape results() const { return {batch_, heads_, queries(), value_.size(-1)}; }
  // [batch, heads, queries, x] with the axes before the heads that the operands have.
  Tensor as_given(const Tensor& x) const;
  AttentionWindow reach() const;
  // The keys that some of the queries may see.
  Range keys_of(const Range& rows) const;
  Range all_keys() const { return {0, keys()}; }

  // Query, key, value; then the mask, the sinks, the position.
  Tensors operands() const;
  // The result of these operands, recorded with a rule of its own.
  template <class Make, class Changes>
  Tensor recorded(const Tensors& operands, const Make& make, const Changes& changes) const;
  Tensors composed_changes(const Tensors& operands, const Tensor& change) const;

  // --- by a program
  Program program() const;
  Tensor whole_mask(const Tensor& mask) const;
  Tensor node(const Program& program, Tensors operands, Wanted wanted, const Shape& shape) const;
  // `both`: the result and its logs.
  // The node of the result and its logs.
  Tensor result_and_logs(const Program& program, const Tensors& operands) const;
  Tensors program_changes(Program program, const Tensors& operands, const Tensor& both,
                          const Tensor& change, const tensor::Wanted& wanted) const;

  // --- by products
  struct Scores {
    Tensor shares, slopes;  // slopes: of a soft cap
  };
  Scores scores(const Range& rows, const Range& keys) const;
  Tensor masked(Tensor scores, const Range& rows, const Range& keys) const;
  Tensor softmax_of(Tensor scores) const;
  bool may_see_nothing() const;
  Tensor weights(const Range& rows, const Range& keys) const;
  Tensor sums(const Range& rows, const Range& keys) const;
  Tensor nothing(const Range& rows) const;
  // [batch, key heads, queries of all their heads, x]: no key is repeated.
  Tensor by_key_heads(const Tensor& x) const;
  int64_t rows_at_a_time() const;
  template <class Each>
  void each_rows(const Each& each) const;
  Attention part(const Piece& piece) const;
  template <class Each>
  void each_piece(const Each& each) const;
  // Of parts by pieces, all of it.
  Tensor joined(const std::vector<Tensor>& parts) const;
  Tensor products() const;
  Tensors product_changes(const Tensor& result, const Tensor& change) const;

  const char* name_;
  AttentionOptions options_;
  DType to_, wide_;
  Tensor query_, key_, value_, mask_, sinks_, position_;
  int64_t batch_ = 1, heads_ = 1, key_heads_ = 1;
  Shape lead_, whole_;  // of the result; of batch and heads
  double scale_ = 1;
};

// What `make` gives, which is not recorded; `changes` gives the operands' gradients.
template <class Make, class Changes>
Tensor Attention::recorded(const Tensors& operands, const Make& make,
                           const Changes& changes) const {
  Tensor result;
  {
    const tensor::Pause pause;
    result = make();
  }
  const bool has_mask = mask_.defined();
  tensor::record(
      operands, {result},
      [self = *this, operands, has_mask, changes](const Tensors& g, const tensor::Wanted& wanted) {
        // Gradients of gradients, and of a mask, which has as many elements as there are scores.
        if (tensor::is_recording() || (has_mask && wanted[3]))
          return self.composed_changes(operands, g.front());
        return changes(self, g.front(), wanted);
      });
  return result;
}

}  // namespace hologram::nn
