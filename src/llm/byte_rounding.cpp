// Rounding to bytes in blocks, as hal::BytesDesc says, by programs.
#include <algorithm>
#include <vector>

#include "engine/context.hpp"
#include "fusion/iteration_space.hpp"
#include "hologram/builder.hpp"
#include "llm/block_works.hpp"
#include "llm/programs.hpp"

namespace hologram::llm {
namespace {

using graph::Context;
using graph::Node;
using graph::Storage;
using hal::BytesDesc;
using program::Access;
using program::Buf;
using program::Builder;
using program::Shared;
using program::Value;

// A lane has a word of four numbers.
constexpr int64_t kLanesOfBlock = BytesDesc::kBlock / 4, kBlocksOfGroup = 32;
constexpr auto kLanes = static_cast<uint32_t>(kLanesOfBlock * kBlocksOfGroup);

class Maker {
 public:
  Maker(const char* name, DType index) : b_(name, {kLanes}, index) {}

  Program round() {
    const Buf x = b_.buffer("x", DType::F32, Access::In),
              y = b_.buffer("y", DType::U32, Access::Out);
    const Value blocks = b_.scalar("blocks", b_.index_type());
    round_block(y, blocks, [&](Value block) {
      return [&, first = block * BytesDesc::kBlock](Value at) { return b_.load(x, first + at); };
    });
    return finish_trusted(b_);
  }

  Program round_gated() {
    const Buf gate = b_.buffer("gate", DType::F32, Access::In),
              up = b_.buffer("up", DType::F32, Access::In),
              y = b_.buffer("y", DType::U32, Access::Out);
    const Value blocks = b_.scalar("blocks", b_.index_type()),
                of_row = b_.scalar("blocks_of_row", b_.index_type());
    const Value gate_offset = b_.scalar("gate_offset", b_.index_type()),
                gate_step = b_.scalar("gate_step", b_.index_type()),
                up_offset = b_.scalar("up_offset", b_.index_type()),
                up_step = b_.scalar("up_step", b_.index_type());
    round_block(y, blocks, [&](Value block) {
      const Value row = block / of_row, first = block % of_row * BytesDesc::kBlock;
      const Value of_gate = gate_offset + row * gate_step + first,
                  of_up = up_offset + row * up_step + first;
      return [&, of_gate, of_up](Value at) {
        const Value g = b_.load(gate, of_gate + at);
        return g * b_.emit(program::Op::Sigmoid, {g}) * b_.load(up, of_up + at);
      };
    });
    return finish_trusted(b_);
  }

 private:
  // `numbers_of` gives what loads the numbers of a block, the last one's for lanes behind it.
  template <class NumbersOf>
  void round_block(Buf y, Value blocks, const NumbersOf& numbers_of) {
    const Value lane = b_.lane_id(0), first = lane / kLanesOfBlock * kLanesOfBlock;
    const Value block = b_.group_id(0) * kBlocksOfGroup + lane / kLanesOfBlock;
    const Value word = lane - first, at = word * 4;
    const auto load = numbers_of(min(block, blocks - 1));
    // What the lanes of a block have, for all of them.
    const auto gathered = [&](const char* name, Value own) {
      const Shared all = b_.shared(name, own.type(), kLanes);
      b_.store(all, lane, own);
      b_.barrier();
      std::vector<Value> of_block;
      for (int64_t k = 0; k < kLanesOfBlock; k++) of_block.push_back(b_.load(all, first + k));
      return of_block;
    };
    std::vector<Value> numbers;
    Value own;
    for (int64_t i = 0; i < 4; i++) {
      numbers.push_back(load(at + i));
      const Value size = b_.bitcast(numbers.back(), DType::U32) & 0x7fffffff;
      own = i == 0 ? size : max(own, size);
    }
    Value most = own;
    for (const Value& each : gathered("most", own)) most = max(most, each);
    // Of numbers that are not finite all bytes are 0: the scale is NaN.
    const Value finite = most < 0x7f800000, amax = b_.bitcast(most, DType::F32);
    const Value none = b_.constant(DType::F32, 0.0), large = finite & (amax >= 0x1p-100f);
    const Value inverse =
        select(large, 127.0f / select(large, amax, b_.constant(DType::F32, 1.0)), none);
    Value bytes, sum;
    for (size_t k = 0; k < 4; k++) {
      const Value scaled = select(finite, numbers[k], none) * inverse;
      const Value q = b_.cast(program::apply(program::Op::Round, {scaled}), DType::I32);
      const Value placed = (b_.bitcast(q, DType::U32) & 255) << static_cast<uint32_t>(8 * k);
      bytes = k == 0 ? placed : bytes | placed;
      sum = k == 0 ? q : sum + q;
    }
    const std::vector<Value> sums = gathered("sums", sum);
    const auto half = [&](size_t begin) {
      return (sums[begin] + sums[begin + 1]) + (sums[begin + 2] + sums[begin + 3]);
    };
    const Value one = half(0), other = half(4), to = block * BytesDesc::kWords;
    const Value nan = b_.bitcast(b_.constant(DType::U32, int64_t{0x7fc00000}), DType::F32);
    const Value scale = select(finite, select(large, amax * (1.0f / 127.0f), none), nan);
    b_.if_(block < blocks, [&] {
      b_.store(y, to + word, bytes);
      b_.if_(word == 0, [&] {
        const Value whole = b_.cast(one + other, DType::F32);
        b_.store(y, to + BytesDesc::kScale, b_.bitcast(scale, DType::U32));
        b_.store(y, to + BytesDesc::kScaledSum, b_.bitcast(scale * whole, DType::U32));
        b_.store(y, to + BytesDesc::kFirstSum, b_.bitcast(one, DType::U32));
        b_.store(y, to + BytesDesc::kSecondSum, b_.bitcast(other, DType::U32));
      });
    });
  }

  Builder b_;
};

class BytesOp : public graph::OpaqueOp {
 public:
  BytesOp(int64_t rows, int64_t length) : desc_{rows, length} {}
  std::string_view name() const override { return "rounding to bytes"; }
  graph::Candidates candidates(Context& context, const Node& /*node*/) const override {
    return context.candidates_of_bits(desc_);
  }
  void run(Context& context, const Node& node, const Storage& result) const override {
    const hal::Binding x = node.inputs[0].node->result.where;
    if (context.by_library(desc_, {x, result.where})) return;
    const int64_t blocks = desc_.rows * desc_.length / BytesDesc::kBlock;
    const DType index = graph::Box::index_type(blocks * BytesDesc::kWords);
    const Program& program = context.kept("rounding to bytes", index,
                                          [&] { return Maker("round_to_bytes", index).round(); });
    const hal::Binding bindings[] = {x, result.where};
    const uint64_t bits[] = {graph::index_bits(index, blocks)};
    context.launch(program,
                   {static_cast<uint64_t>((blocks + kBlocksOfGroup - 1) / kBlocksOfGroup), 1, 1},
                   bindings, bits);
  }

 private:
  const BytesDesc desc_;
};

class GatedBytesOp : public graph::OpaqueOp {
 public:
  GatedBytesOp(int64_t rows, int64_t length) : rows_(rows), length_(length) {}
  std::string_view name() const override { return "rounding to bytes"; }
  graph::Candidates candidates(Context& /*context*/, const Node& /*node*/) const override {
    return graph::only("a program");
  }
  void run(Context& context, const Node& node, const Storage& result) const override {
    const graph::View gate = node.inputs[0].view(), up = node.inputs[1].view();
    const int64_t of_row = length_ / BytesDesc::kBlock, blocks = rows_ * of_row;
    const DType index = graph::Box::index_type(
        std::max({blocks * BytesDesc::kWords, graph::element_count(node.inputs[0].node->shape),
                  graph::element_count(node.inputs[1].node->shape)}));
    const Program& program = context.kept("rounding of gated to bytes", index, [&] {
      return Maker("round_gated_to_bytes", index).round_gated();
    });
    const hal::Binding bindings[] = {node.inputs[0].node->result.where,
                                     node.inputs[1].node->result.where, result.where};
    std::vector<uint64_t> bits;
    for (const int64_t n : {blocks, of_row, gate.offset, gate.strides[0], up.offset, up.strides[0]})
      bits.push_back(graph::index_bits(index, n));
    context.launch(program,
                   {static_cast<uint64_t>((blocks + kBlocksOfGroup - 1) / kBlocksOfGroup), 1, 1},
                   bindings, bits);
  }

 private:
  const int64_t rows_, length_;
};

}  // namespace

std::unique_ptr<const graph::OpaqueOp> bytes_op(int64_t rows, int64_t length) {
  return std::make_unique<BytesOp>(rows, length);
}
std::unique_ptr<const graph::OpaqueOp> gated_bytes_op(int64_t rows, int64_t length) {
  return std::make_unique<GatedBytesOp>(rows, length);
}

}  // namespace hologram::llm
