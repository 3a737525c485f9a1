#include "llm/block_works.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include "engine/context.hpp"
#include "fusion/iteration_space.hpp"
#include "fusion/layout.hpp"
#include "hologram/builder.hpp"
#include "llm/byte_codes.hpp"
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
using program::Var;

// Rows of x that a lane multiplies the weights by once they are decoded.
constexpr uint32_t kMostColumns = 4;

struct Key {
  const BlockType* type;
  DType index;
  DType to;          // of a matrix that is decoded
  uint32_t lanes;    // of a workgroup, along the rows
  uint32_t parts;    // of a row, each by lanes of its own
  uint32_t columns;  // rows of x at a time
  uint32_t chosen;   // whether there is a choice of matrices
  uint32_t bytes;    // whether x was rounded to bytes
  uint32_t adds;     // whether the product is added to something
};

// What the programs share: a workgroup takes a tile of rows, whose words lie side by side.
class Maker {
 public:
  Maker(const char* name, const Key& key)
      : key_(key), b_(name, {key.lanes, key.parts}, key.index) {}

  Program product() {
    const Buf x = b_.buffer("x", key_.bytes ? DType::I32 : DType::F32, Access::In);
    words_ = b_.buffer("words", DType::U32, Access::In);
    const Buf which = key_.chosen ? b_.buffer("which", DType::I32, Access::In) : Buf{};
    if (key_.adds) onto_ = b_.buffer("onto", DType::F32, Access::In);
    const Buf y = b_.buffer("y", DType::F32, Access::Out);
    scalars();
    const Value m = b_.scalar("m", key_.index);
    // Rows of x beyond the last are the last again, and not stored.
    std::vector<Value> x_rows;
    const Value row = b_.global_id(0), first = b_.group_id(1) * int64_t{key_.columns};
    const Value tile = b_.group_id(0), tiles = b_.group_count(0);
    const Value start =
        key_.chosen ? b_.cast(b_.load(which, first), key_.index) * tiles + tile : tile;
    for (uint32_t c = 0; c < key_.columns; c++) {
      x_rows.push_back(min(first + int64_t{c}, m - 1) * (blocks_ * of_x()));
      sums_.push_back(b_.var(number(0)));
    }
    const Value part = key_.parts == 1 ? zero() : b_.lane_id(1);
    const Value begin = blocks_ * part / int64_t{key_.parts},
                end = blocks_ * (part + 1) / int64_t{key_.parts};
    b_.for_(begin, end, 1, [&](Value block) {
      if (key_.bytes) add_bytes(x, x_rows, start * blocks_, block);
      else add_block(x, x_rows, start * blocks_, block);
    });
    store(y, row, first, m);
    return finish_trusted(b_);
  }

  Program decode() {
    words_ = b_.buffer("words", DType::U32, Access::In);
    const Buf y = b_.buffer("y", key_.to, Access::Out);
    scalars();
    const Value row = b_.global_id(0), block = b_.group_id(1);
    b_.if_(row < rows_, [&] {
      Value scale;
      std::optional<Value> offset;
      const auto group = [&](Value s, std::optional<Value> o) {
        scale = s;
        offset = o;
      };
      emit(b_.group_id(0) * blocks_ + block, group, [&](uint32_t element, Value code) {
        const Value number = offset ? mad(code, scale, *offset) : code * scale;
        b_.store(y, (block * elements() + int64_t{element}) * rows_ + row, number);
      });
    });
    return finish_trusted(b_);
  }

 private:
  Value zero() { return b_.constant(key_.index, int64_t{0}); }
  int64_t elements() const { return key_.type->elements; }
  int64_t of_x() const {  // what a block meets of a row of x
    return key_.bytes ? elements() / BytesDesc::kBlock * BytesDesc::kWords : elements();
  }
  void scalars() {
    rows_ = b_.scalar("rows", key_.index);
    blocks_ = b_.scalar("blocks", key_.index);
  }
  Value number(double n) { return b_.constant(DType::F32, n); }
  auto words_of(Value block) {
    const Value base = block * int64_t{key_.type->words() * kTileRows} + b_.lane_id(0);
    return [this, base](uint32_t k) { return b_.load(words_, base + int64_t{k * kTileRows}); };
  }
  template <class Group, class Put>
  void emit(Value block, const Group& group, const Put& put) {
    key_.type->emit({b_, words_of(block), group, put});
  }

  // Adds a block's products. Codes are multiplied as they are; what comes of a group is scaled, and
  // an offset counts as often as the sum of its x says.
  void add_block(Buf x, const std::vector<Value>& x_rows, Value start, Value block) {
    std::vector<Value> at;
    at.reserve(x_rows.size());
    for (const Value& x_row : x_rows) at.push_back(x_row + block * elements());
    struct Group {
      Value scale;
      std::optional<Value> offset;
      std::vector<Value> products, sums;  // of each column
      size_t count = 0;
    } group;
    // Sums that do not wait for each other, where there are few.
    const size_t chains = at.size() >= 4 ? 1 : 4 / at.size();
    const auto add_group = [&] {
      for (size_t c = 0; c < at.size() && group.count > 0; c++) {
        Value product = group.products[c];
        for (size_t i = c + at.size(); i < group.products.size(); i += at.size())
          product = product + group.products[i];
        Value sum = mad(group.scale, product, b_.get(sums_[c]));
        if (group.offset) sum = mad(*group.offset, group.sums[c], sum);
        b_.set(sums_[c], sum);
      }
      group = {};
    };
    const auto begin = [&](Value scale, std::optional<Value> offset) {
      add_group();
      group.scale = scale;
      group.offset = offset;
    };
    emit(start + block, begin, [&](uint32_t element, Value code) {
      for (size_t c = 0; c < at.size(); c++) {
        const Value number = b_.load(x, at[c] + int64_t{element});
        const size_t i = c + group.count % chains * at.size();
        if (i >= group.products.size()) group.products.push_back(code * number);
        else group.products[i] = mad(code, number, group.products[i]);
        if (!group.offset) continue;
        if (c >= group.sums.size()) group.sums.push_back(number);
        else group.sums[c] = group.sums[c] + number;
      }
      group.count++;
    });
    add_group();
  }

  // The same by rounded x: sums of products of bytes are whole numbers, and each group's is scaled
  // and added by one fma, so that every device has the same bits.
  void add_bytes(Buf x, const std::vector<Value>& x_rows, Value start, Value block) {
    std::vector<Value> at, sums, products;
    for (size_t c = 0; c < x_rows.size(); c++) {
      at.push_back(x_rows[c] + block * of_x());
      sums.push_back(b_.get(sums_[c]));
    }
    const Value none = b_.constant(DType::I32, int64_t{0});
    products.assign(at.size(), none);
    const auto number = [&](size_t c, uint32_t n, int64_t place) {
      return b_.load(x, at[c] + (n * BytesDesc::kWords + place));
    };
    const auto real = [&](size_t c, uint32_t n, int64_t place) {
      return b_.bitcast(number(c, n, place), DType::F32);
    };
    using Part = ByteCode::Part;
    const auto put = [&](uint32_t k, Value codes) {
      for (size_t c = 0; c < at.size(); c++)
        products[c] = program::apply(program::Op::Dot4,
                                     {codes, number(c, k / 8, int64_t{k % 8}), products[c]});
    };
    const auto add = [&](uint32_t n, Part part, Value scale, uint32_t more) {
      for (size_t c = 0; c < at.size(); c++) {
        Value product = products[c];
        if (more != 0) {
          Value off =
              number(c, n, part == Part::Second ? BytesDesc::kSecondSum : BytesDesc::kFirstSum);
          if (part == Part::Whole) off = off + number(c, n, BytesDesc::kSecondSum);
          product = product - off * static_cast<int32_t>(more);
        }
        sums[c] = fma(scale * real(c, n, BytesDesc::kScale), b_.cast(product, DType::F32), sums[c]);
        products[c] = none;
      }
    };
    const auto add_with = [&](uint32_t n, Part part, Value scale, Value offset) {
      for (size_t c = 0; c < at.size(); c++) {
        const auto half = [&](int64_t place) {
          return real(c, n, BytesDesc::kScale) * b_.cast(number(c, n, place), DType::F32);
        };
        const Value sum = part == Part::Whole   ? real(c, n, BytesDesc::kScaledSum)
                          : part == Part::First ? half(BytesDesc::kFirstSum)
                                                : half(BytesDesc::kSecondSum);
        sums[c] = fma(offset, sum, sums[c]);
      }
      add(n, part, scale, 0);
    };
    emit_codes(key_.type->name, {b_, words_of(start + block), put, add, add_with});
    for (size_t c = 0; c < at.size(); c++) b_.set(sums_[c], sums[c]);
  }

  // The sums, of which each part of a row has its own, added in their order.
  void store(Buf y, Value row, Value first, Value m) {
    const auto put = [&](uint32_t c, Value sum) {
      const Value column = first + int64_t{c};
      b_.if_((row < rows_) & (column < m), [&] {
        const Value at = column * rows_ + row;
        b_.store(y, at, key_.adds ? b_.load(onto_, at) + sum : sum);
      });
    };
    if (key_.parts == 1) {
      for (uint32_t c = 0; c < key_.columns; c++) put(c, b_.get(sums_[c]));
      return;
    }
    const uint32_t all = key_.lanes * key_.parts;
    const Shared kept = b_.shared("kept", DType::F32, all * key_.columns);
    const Value lane = b_.lane_id(0);
    for (uint32_t c = 0; c < key_.columns; c++)
      b_.store(kept, b_.lane_id(1) * int64_t{key_.lanes} + lane + int64_t{all * c},
               b_.get(sums_[c]));
    b_.barrier();
    b_.if_(b_.lane_id(1) == 0, [&] {
      for (uint32_t c = 0; c < key_.columns; c++) {
        Value sum = b_.load(kept, lane + int64_t{all * c});
        for (uint32_t p = 1; p < key_.parts; p++)
          sum = sum + b_.load(kept, lane + int64_t{all * c + p * key_.lanes});
        put(c, sum);
      }
    });
  }

  Key key_;
  Builder b_;
  Buf words_{}, onto_{};
  Value rows_, blocks_;
  std::vector<Var> sums_;
};

class BlockOp : public graph::OpaqueOp {
 public:
  explicit BlockOp(const BlockMatrix& matrix) : matrix_(matrix) {}
  graph::Candidates candidates(Context& /*context*/, const Node& /*node*/) const override {
    return graph::only("a program that decodes " + std::string(matrix_.type->name));
  }

 protected:
  int64_t blocks() const { return matrix_.columns / matrix_.type->elements; }
  Key key(int64_t most) const {
    Key key{};
    const int64_t words = matrix_.count * blocks() * matrix_.type->words() *
                          static_cast<int64_t>(groups()) * kTileRows;
    key.type = matrix_.type;
    key.index = graph::Box::index_type(std::max(most, words));
    key.lanes = kTileRows;
    key.parts = 1;
    key.columns = 1;
    return key;
  }
  uint64_t groups() const {
    return (static_cast<uint64_t>(matrix_.rows) + kTileRows - 1) / kTileRows;
  }
  static std::vector<uint64_t> bits(const Key& key, std::initializer_list<int64_t> scalars) {
    std::vector<uint64_t> all;
    for (const int64_t n : scalars) all.push_back(graph::index_bits(key.index, n));
    return all;
  }

  const BlockMatrix matrix_;
};

class ProductOp : public BlockOp {
 public:
  ProductOp(const BlockMatrix& matrix, int64_t m, bool chosen, bool bytes, bool adds)
      : BlockOp(matrix), m_(m), chosen_(chosen), bytes_(bytes), adds_(adds) {}
  std::string_view name() const override { return bytes_ ? "byte product" : "block product"; }
  graph::Candidates candidates(Context& context, const Node& node) const override {
    return bytes_ && !adds_ ? context.candidates_of_bits(desc())
                            : BlockOp::candidates(context, node);
  }

  void run(Context& context, const Node& node, const Storage& result) const override {
    if (bytes_ && !adds_ && by_library(context, node, result)) return;
    Key key = this->key(m_ * std::max(matrix_.rows, matrix_.columns));
    key.chosen = chosen_;
    key.adds = adds_;
    // Large blocks are long programs as it is.
    if (!chosen_ && (bytes_ || matrix_.type->elements <= 32))
      while (key.columns < kMostColumns && key.columns < m_) key.columns *= 2;
    key.bytes = bytes_;
    if (bytes_) key.parts = static_cast<uint32_t>(libraries::blocks::parts_of(blocks()));
    else if (!graph::hints_of(context.device()).sequential_lanes || context.config().reproducible)
      spread(key);
    const Program& program =
        context.kept("block product", key, [&] { return Maker("block_product", key).product(); });
    std::vector<hal::Binding> bindings;
    for (const graph::Input& input : node.inputs) bindings.push_back(input.node->result.where);
    bindings.push_back(result.where);
    const auto turns = (static_cast<uint64_t>(m_) + key.columns - 1) / key.columns;
    runtime::Work work;
    const double numbers = static_cast<double>(matrix_.rows * matrix_.columns);
    work.flops = 2 * static_cast<double>(m_) * numbers;
    work.bytes = numbers * matrix_.type->bytes / matrix_.type->elements;
    context.launch(program, {groups(), turns, 1}, bindings, bits(key, {matrix_.rows, blocks(), m_}),
                   work);
  }

 private:
  hal::BlocksDesc desc() const {
    return {matrix_.type->name, m_, matrix_.rows, matrix_.columns, matrix_.count, chosen_};
  }
  bool by_library(Context& context, const Node& node, const Storage& result) const {
    const auto where = [&](size_t i) { return node.inputs[i].node->result.where; };
    if (chosen_) return context.by_library(desc(), {where(0), where(1), where(2), result.where});
    return context.by_library(desc(), {where(0), where(1), result.where});
  }

  // Lanes that go at a time: a row is cut, as there are few rows for so many.
  void spread(Key& key) const {
    while (key.parts < 8 && key.parts * 2 <= static_cast<uint64_t>(blocks())) key.parts *= 2;
  }

  const int64_t m_;
  const bool chosen_, bytes_, adds_;
};

class DecodeOp : public BlockOp {
 public:
  using BlockOp::BlockOp;
  std::string_view name() const override { return "block decode"; }

  void run(Context& context, const Node& node, const Storage& result) const override {
    Key key = this->key(matrix_.rows * matrix_.columns);
    key.to = node.dtype;
    const Program& program =
        context.kept("block decode", key, [&] { return Maker("block_decode", key).decode(); });
    const hal::Binding bindings[] = {node.inputs[0].node->result.where, result.where};
    context.launch(program, {groups(), static_cast<uint64_t>(blocks()), 1}, bindings,
                   bits(key, {matrix_.rows, blocks()}));
  }
};

}  // namespace

std::unique_ptr<const graph::OpaqueOp> block_product_op(const BlockMatrix& matrix, int64_t m,
                                                        bool bytes, bool adds) {
  return std::make_unique<ProductOp>(matrix, m, false, bytes, adds);
}
std::unique_ptr<const graph::OpaqueOp> block_choice_op(const BlockMatrix& matrix, int64_t m,
                                                       bool bytes) {
  return std::make_unique<ProductOp>(matrix, m, true, bytes, false);
}
std::unique_ptr<const graph::OpaqueOp> block_decode_op(const BlockMatrix& matrix) {
  return std::make_unique<DecodeOp>(matrix);
}

}  // namespace hologram::llm
