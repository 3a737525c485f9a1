// What libraries may be asked to do.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>

#include "hologram/dtype.hpp"
#include "hologram/inline_vector.hpp"
#include "hologram/shape.hpp"

namespace hologram::hal {

// A product of matrices for a library to compute: d = a b, `batch` times. Every matrix is
// row-major; strides count elements. Operands are a, b, d, and the bias of an epilogue.
struct GemmDesc {
  static constexpr std::string_view kName = "products";
  DType a = DType::None, b = DType::None, d = DType::None;
  DType accumulate = DType::None;                 // what products are summed in
  bool transpose_a = false, transpose_b = false;  // stored as k x m, as n x k
  int64_t m = 0, n = 0, k = 0, batch = 1;         // d is m x n; each may be 0
  int64_t lda = 0, ldb = 0, ldd = 0;              // from a row, as stored, to the next
  // From one of the batch to the next; 0 for an a or b that all of the batch share.
  int64_t stride_a = 0, stride_b = 0, stride_d = 0;
  // Bytes that the address of the first element is a multiple of, as far as is known.
  uint32_t alignment_a = 1, alignment_b = 1, alignment_d = 1;
  friend bool operator==(const GemmDesc&, const GemmDesc&) = default;
};

// What may be done with each element of a product before it is stored: a number of its column is
// added, then what is below 0 becomes 0.
struct Epilogue {
  bool bias = false, relu = false;
  friend bool operator==(const Epilogue&, const Epilogue&) = default;
};

// One axis of the images of a convolution.
struct ConvAxis {
  int64_t input = 0, kernel = 0, output = 0;  // lengths
  int64_t stride = 1, dilation = 1;
  int64_t before = 0;  // zeros before the input; behind it, as many as the output reaches
  friend bool operator==(const ConvAxis&, const ConvAxis&) = default;
};

// A convolution of images for a library to compute: of each group of channels
// d[n, y, x, o] = sum of x[n, y', x', c] w[i, j, c, o] over i, j and c, where y' is
// y * stride + i * dilation - before of the rows, and x' likewise of the columns. d is dense.
// Operands are x, w and d.
struct ConvDesc {
  static constexpr std::string_view kName = "convolutions";
  DType x = DType::None, w = DType::None, d = DType::None;
  DType accumulate = DType::None;  // what products are summed in
  int64_t batch = 0, groups = 1;
  int64_t channels = 0, outputs = 0;  // of one group
  ConvAxis rows, columns;
  std::array<int64_t, 4> x_strides = {};  // of image, row, column, channel; in elements, any number
  std::array<int64_t, 4> w_strides = {};  // of row, column, channel in its group, output of all
  bool planes = false;                    // d is dense as image, output, row, column
  // Bytes that the address of the first element is a multiple of, as far as is known.
  uint32_t alignment_x = 1, alignment_w = 1;
  friend bool operator==(const ConvDesc&, const ConvDesc&) = default;
};

// Attention for a library to compute: softmax(scale * q k^T) v of operands [batch, heads, rows,
// features]. Each head of k and v serves heads / key_heads heads of q in turn. A score s is first
// softcap * tanh(s / softcap), where that is not 0; then a mask is added, if there is one, an
// operand behind v; and key k is seen by query q if q + first - before <= k <= q + first + after. A
// query that sees nothing has the result 0, and -inf as its log. Results are dense.
struct AttentionDesc {
  static constexpr std::string_view kName = "attention";
  enum class Part : uint8_t {
    Result,         // operands: q, k, v, the result
    ResultAndLogs,  // and log(sum(exp(score))) of each query, f32
    Changes         // q, k, v, the change of the result, the result, logs; and those of q, k, v
  };
  Part part = Part::Result;
  DType dtype = DType::None;
  DType mask = DType::None;  // of its numbers; None: there is no mask
  int64_t batch = 0, heads = 0, key_heads = 0, queries = 0, keys = 0;
  int64_t features = 0, value_features = 0;
  std::array<int64_t, 4> q_strides = {}, k_strides = {}, v_strides = {}, change_strides = {};
  std::array<int64_t, 4> mask_strides = {};  // of batch, head, query, key; 0: all have the same
  uint32_t alignment = 1;  // bytes that all addresses are multiples of, as far as is known
  double scale = 1, softcap = 0;
  int64_t first = 0;
  std::optional<int64_t> before, after;
};

// Sums of the rows of a, or of their products with a vector x or with rows of x, in the order of a
// program whose groups share a row: lane i of `lanes` adds up, one after the other, the elements or
// products i, i + lanes and so on, each rounded; of rows that are longer, by runs of 16 elements a
// lane, and then the runs. Then the lanes of the lower half add those of the upper half, as often
// as there are any. Where they are pieces of one row, d is the sum of theirs, one after the other.
// Operands are a, x and d.
struct RowReduceDesc {
  static constexpr std::string_view kName = "sums of rows";
  static constexpr int64_t kMostPieces = 16;
  DType dtype = DType::None;
  bool products = true;  // or of the elements alone; then x is a
  int64_t batch = 1, rows = 0, length = 0;
  int64_t last = 0;                    // length of the last row of all, which may be shorter
  int64_t step = 0, step_x = 0;        // from a row of a, and of x, to the next
  int64_t stride_a = 0, stride_x = 0;  // from one of the batch to the next; d is dense
  uint32_t lanes = 0;
  bool pieces = false;
  friend bool operator==(const RowReduceDesc&, const RowReduceDesc&) = default;
};

// Sums of the columns of x, each piece of so many rows by itself, in the order of a program whose
// lanes have a column each: runs of 16 elements, one after the other, and then the runs. Columns
// lie side by side, d is dense. Operands are x, x once more, and d.
struct ColumnReduceDesc {
  static constexpr std::string_view kName = "sums of columns";
  static constexpr int64_t kRun = 16;
  DType dtype = DType::None;
  int64_t rows = 0, columns = 0;
  int64_t step = 0;   // from a row to the next
  int64_t piece = 0;  // rows; the last piece may have fewer
  friend bool operator==(const ColumnReduceDesc&, const ColumnReduceDesc&) = default;
};

// The order of each of so many dense rows: equal elements stay in order, -0 equals 0, NaN comes
// last; descending, all is the other way round. d is the sorted row, or the i64 positions that sort
// it, or those of the first `k` of them. Operands are x and d.
struct OrderDesc {
  static constexpr std::string_view kName = "sorts";
  enum class What : uint8_t { Elements, Positions, First };
  DType dtype = DType::None;
  What what = What::Elements;
  bool descending = false;
  int64_t rows = 0, length = 0, k = 0;
  friend bool operator==(const OrderDesc&, const OrderDesc&) = default;
};

// The i64 positions at which `count` dense values would be inserted into a sorted vector, in the
// order of OrderDesc: before their equals, or behind them. Operands are the vector, the values and
// d.
struct SearchDesc {
  static constexpr std::string_view kName = "searches";
  DType dtype = DType::None;
  bool right = false;
  int64_t count = 0, length = 0;
  friend bool operator==(const SearchDesc&, const SearchDesc&) = default;
};

// The i64 places of what is true of a dense array of bools of these lengths, in order: as many rows
// as there are, each with a position along every axis. The first bit of a byte need not be the one
// that is set. Operands are x and d.
struct NonzeroDesc {
  static constexpr std::string_view kName = "positions of what is true";
  InlineVector<int64_t, 8> lengths;
  friend bool operator==(const NonzeroDesc&, const NonzeroDesc&) = default;
};

// Running sums, or products, along the middle of three dense axes. The order depends on the length
// alone: a piece of kPiece elements is summed from its first element on, and so are the totals of
// kPiece pieces, which are a block, the totals of kPiece blocks, and so on. A result is the sum
// within its piece, to which is added what comes before the piece in its block, then what comes
// before the block, up to the outermost level. The total of a block is the last of its running
// sums, so that sums of numbers that are not negative never step back.
//
// Partial results of floats have the precision of the type, but exponents that do not end
// (program/extended_range.hpp): the result alone is rounded into the range of the type.
// Operands are x and d.
struct ScanDesc {
  static constexpr std::string_view kName = "running sums";
  static constexpr int64_t kPiece = 256;
  DType dtype = DType::None;
  bool products = false;
  std::array<int64_t, 3> lengths = {};
  friend bool operator==(const ScanDesc&, const ScanDesc&) = default;
};

// Elements at positions along the middle of three axes of dense x, whose length is `length`; or
// dense values put at them, or added, in order, to what d holds already. Position [o, j, i] is
// element start + o s0 + j s1 + i s2 of the positions; negative ones count from the end. The word
// `wrong` becomes 1 if there is one outside, which reads 0 and writes nothing. Operands are x or
// the values, the positions, `wrong` and d.
struct IndexDesc {
  static constexpr std::string_view kName = "elements by position";
  enum class What : uint8_t { Gather, Put, Add };
  What what = What::Gather;
  DType dtype = DType::None, position = DType::None;  // i32 or i64
  std::array<int64_t, 3> lengths = {};                // outer, positions, inner
  int64_t length = 0;
  std::array<int64_t, 3> strides = {};
  int64_t start = 0;
  friend bool operator==(const IndexDesc&, const IndexDesc&) = default;
};

// A copy of elements that lie otherwise: element [i, j, …] of axes of these lengths, at i, j, …
// times the strides of x and those of d, none of which is below 0. As programs copy: bools become 0
// or 1, and numbers of 16 bits that are none become quiet. Operands are x, x once more, and d.
struct CopyDesc {
  static constexpr std::string_view kName = "copies";
  DType dtype = DType::None;
  Shape lengths, of_x, of_d;  // of_d: from the longest to the shortest
  friend bool operator==(const CopyDesc&, const CopyDesc&) = default;
};

// Rows of f32 as bytes, by blocks of 32 elements: what docs/adr/0009-byte-activations.md says. d
// has kWords words for each block: its bytes, four to a word; its scale, and that times the sum of
// its bytes, f32; the sums of its first and of its last sixteen bytes, i32. Operands are x and d.
struct BytesDesc {
  static constexpr std::string_view kName = "rows rounded to bytes";
  static constexpr int64_t kBlock = 32, kWords = 12;
  static constexpr int64_t kScale = 8, kScaledSum = 9, kFirstSum = 10, kSecondSum = 11;
  int64_t rows = 0, length = 0;
  friend bool operator==(const BytesDesc&, const BytesDesc&) = default;
};

// Such rows times the transpose of a matrix in blocks, [rows, columns], which lies as
// libraries/blocks/layout.hpp says: d is f32 [m, rows]. With a choice, row i of x uses matrix
// which[i] of so many; a number that is none of them reads zeros. Operands are x, the matrix, the
// choice if there is one, and d.
struct BlocksDesc {
  static constexpr std::string_view kName = "matrices in blocks";
  std::string_view type;  // of the blocks, as GGUF calls it
  int64_t m = 0, rows = 0, columns = 0, count = 1;
  bool chosen = false;
  friend bool operator==(const BlocksDesc&, const BlocksDesc&) = default;
};

// Any of them. kName says what a refusal calls such work, as in "the library has no attention".
using OpDesc =
    std::variant<GemmDesc, ConvDesc, AttentionDesc, RowReduceDesc, ColumnReduceDesc, OrderDesc,
                 SearchDesc, NonzeroDesc, ScanDesc, IndexDesc, CopyDesc, BytesDesc, BlocksDesc>;

}  // namespace hologram::hal
