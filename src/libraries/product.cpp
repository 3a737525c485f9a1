#include "libraries/product.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <string>

#include "hologram/builder.hpp"
#include "libraries/accumulation.hpp"

namespace hologram::libraries {

using program::Access;
using program::Builder;
using program::Value;
using program::Var;

namespace {

constexpr uint32_t kLanes = 256;

class Writer {
 public:
  explicit Writer(const ProductKey& key)
      : key_(key),
        b_(name(key), {kLanes}, key.wide ? DType::I64 : DType::I32),
        index_(b_.index_type()),
        sums_(b_, key.accumulate) {}

  program::Program write() {
    // Declared in this order, whichever way lanes lie: product_launch counts on it.
    MatrixOperand a, b, d;
    a.buffer = b_.buffer("a", key_.a, Access::In);
    b.buffer = b_.buffer("b", key_.b, Access::In);
    d.buffer = b_.buffer("d", key_.d, Access::Out);
    Value m = b_.scalar("m", index_), n = b_.scalar("n", index_);
    k_ = b_.scalar("k", index_);
    b_.scalar("batch", index_);
    declare_layout(b_, "a", a);
    declare_layout(b_, "b", b);
    declare_layout(b_, "d", d);
    // With the lanes along rows, d is computed as the transpose of b' a'.
    if (key_.along_rows) {
      std::swap(a, b);
      std::swap(m, n);
      for (MatrixOperand* o : {&a, &b, &d}) std::swap(o->row, o->column);
    }
    const int64_t rows = key_.rows;
    b_.begin_host();
    b_.lanes(0, b_.dimension(key_.along_rows ? "m" : "n"));
    b_.lanes(1, (b_.dimension(key_.along_rows ? "n" : "m") + (rows - 1)) / rows);
    b_.lanes(2, b_.dimension("batch"));
    b_.end_host();

    const Value column = b_.global_id(0), z = b_.global_id(2);
    const Value first = b_.global_id(1) * rows;
    std::vector<Value> row_of(static_cast<size_t>(rows)), a_of(row_of.size());
    for (int64_t r = 0; r < rows; r++) {
      const auto i = static_cast<size_t>(r);
      row_of[i] = first + r;
      // Rows beyond the last compute the last again and are not stored.
      a_of[i] = a.start + z * a.batch + min(row_of[i], m - 1) * a.row;
    }
    const Value b_of = b.start + z * b.batch + column * b.column;
    b_.if_(column < n, [&] {
      std::vector<Var> total;
      for (int64_t r = 0; r < rows; r++) total.push_back(b_.var(sums_.zero()));
      b_.for_(b_.constant(index_, int64_t{0}), k_, kTermsOfBlock, [&](Value block) {
        std::vector<Var> part;
        for (int64_t r = 0; r < rows; r++) part.push_back(b_.var(sums_.zero()));
        b_.for_(block, min(k_, block + kTermsOfBlock), 1, [&](Value p) {
          const Value y = sums_.load(b.buffer, b_of + p * b.row);
          const Value step = p * a.column;
          for (size_t r = 0; r < part.size(); r++)
            b_.set(part[r],
                   sums_.multiply_add(sums_.load(a.buffer, a_of[r] + step), y, b_.get(part[r])));
        });
        for (size_t r = 0; r < part.size(); r++)
          b_.set(total[r], sums_.add(b_.get(total[r]), b_.get(part[r])));
      });
      const Value d_of = d.start + z * d.batch + column * d.column;
      for (size_t r = 0; r < total.size(); r++)
        b_.if_(row_of[r] < m, [&] {
          b_.store(d.buffer, d_of + row_of[r] * d.row,
                   sums_.cast(b_.get(total[r]), compute_type(key_.d)));
        });
    });
    return b_.finish();
  }

 private:
  static std::string name(const ProductKey& key) {
    return "product_" + std::string(name_of(key.a)) + "_" + std::string(name_of(key.b)) + "_" +
           std::string(name_of(key.d));
  }

  const ProductKey key_;
  Builder b_;
  const DType index_;
  const Accumulation sums_;
  Value k_;
};

// Nanoseconds of the interpreter: of a step, and of a lane whose element is a neighbour of the last
// lane's, or far from it.
constexpr double kStep = 60, kNear = 0.2, kFar = 1.5;

double cost(int64_t lanes, int64_t others, int64_t stride) {
  return static_cast<double>(others) *
         (kStep + static_cast<double>(lanes) * (stride == 1 ? kNear : kFar));
}

// Many rows share what a lane loads. Few leave room in the cache for longer rows of lanes.
uint8_t rows_of(int64_t lanes, int64_t others, int64_t stride) {
  uint8_t rows = 2;
  if (lanes <= 448) rows = 4;
  if (lanes <= 128 || stride != 1) rows = 8;
  while (rows / 2 >= others && rows > 1) rows /= 2;
  return rows;
}

bool fits_i32(const Product& p) {
  const auto reach = [&](const ProductMatrix& x, int64_t rows, int64_t columns) {
    const auto side = [](int64_t stride, int64_t length) {
      return static_cast<double>(std::abs(stride)) * static_cast<double>(length);
    };
    return static_cast<double>(std::abs(x.start)) + side(x.row, rows) + side(x.column, columns) +
           side(x.batch, p.batch);
  };
  // Sides are rounded up by a workgroup, rows and blocks of the sum.
  const int64_t m = p.m + kLanes, n = p.n + kLanes, k = p.k + kTermsOfBlock;
  return std::max({reach(p.a, m, k), reach(p.b, k, n), reach(p.d, m, n), static_cast<double>(k),
                   static_cast<double>(p.batch)}) < std::numeric_limits<int32_t>::max();
}

// Smaller ones leave most of a square, or of a strip of it, empty.
bool fills_tiles(const Product& p) {
  constexpr int64_t kLeastSide = 64, kLeastDeep = 32;
  return p.accumulate == DType::F32 && p.m >= kLeastSide && p.n >= kLeastSide &&
         p.k >= kLeastDeep && p.batch > 0;
}

Grid grid_of(const Product& p, const ProductTile& tile) {
  return {static_cast<uint64_t>((p.n - 1) / tile.columns + 1),
          static_cast<uint64_t>((p.m - 1) / tile.rows + 1), static_cast<uint64_t>(p.batch)};
}

}  // namespace

DType product_accumulator(DType d) { return compute_type(d); }

Product product_of(const hal::GemmDesc& desc) {
  const auto matrix = [](DType type, bool transposed, int64_t ld, int64_t stride) {
    return ProductMatrix{
        .type = type, .row = transposed ? 1 : ld, .column = transposed ? ld : 1, .batch = stride};
  };
  return {.a = matrix(desc.a, desc.transpose_a, desc.lda, desc.stride_a),
          .b = matrix(desc.b, desc.transpose_b, desc.ldb, desc.stride_b),
          .d = matrix(desc.d, false, desc.ldd, desc.stride_d),
          .accumulate = desc.accumulate,
          .m = desc.m,
          .n = desc.n,
          .k = desc.k,
          .batch = desc.batch};
}

ProductLaunch product_launch(const Product& product, bool is_gpu_like, uint8_t tile) {
  ProductLaunch launch;
  ProductKey& key = launch.key;
  key.a = product.a.type;
  key.b = product.b.type;
  key.d = product.d.type;
  key.accumulate = product.accumulate;
  key.along_rows =
      cost(product.m, product.n, product.a.row) < cost(product.n, product.m, product.b.column);
  const int64_t lanes = key.along_rows ? product.m : product.n,
                others = key.along_rows ? product.n : product.m;
  key.rows = rows_of(lanes, others, key.along_rows ? product.a.row : product.b.column);
  key.wide = !fits_i32(product);
  for (const int64_t size : {product.m, product.n, product.k, product.batch})
    launch.scalars.push_back(static_cast<uint64_t>(size));
  for (const ProductMatrix* x : {&product.a, &product.b, &product.d})
    for (const int64_t number : {x->start, x->row, x->column, x->batch})
      launch.scalars.push_back(static_cast<uint64_t>(number));
  if (is_gpu_like && !key.wide && fills_tiles(product)) {
    key = {.a = key.a,
           .b = key.b,
           .d = key.d,
           .accumulate = key.accumulate,
           .rows = 0,
           .tiled = true,
           .a_terms = product.a.column == 1,
           .b_columns = product.b.column == 1,
           .tile = tile};
    launch.grid = grid_of(product, kProductTiles[tile]);
  } else if (lanes > 0 && others > 0 && product.batch > 0)
    launch.grid = {static_cast<uint64_t>((lanes + kLanes - 1) / kLanes),
                   static_cast<uint64_t>((others + key.rows - 1) / key.rows),
                   static_cast<uint64_t>(product.batch)};
  return launch;
}

std::string name_of(const ProductTile& tile) {
  return fmt::format("{} x {} x {}, {} lanes", tile.rows, tile.columns, tile.deep, tile.lanes());
}

uint8_t usual_tile(const Product& product, uint32_t compute_units, uint32_t shared_bytes) {
  // From large to small. The largest is the fastest where it leaves few units idle at the end.
  struct Usual {
    uint8_t tile;
    uint64_t turns;  // of the whole device that it must fill
  };
  constexpr Usual kUsual[] = {{2, 4}, {0, 1}, {4, 1}, {6, 1}};
  const uint64_t groups = std::max(compute_units, 32u);  // not every GPU tells
  for (const Usual& usual : kUsual) {
    const ProductTile& tile = kProductTiles[usual.tile];
    if (tile.shared_bytes() > shared_bytes) continue;
    const Grid grid = grid_of(product, tile);
    if (grid[0] * grid[1] * grid[2] >= groups * usual.turns) return usual.tile;
  }
  return std::size(kProductTiles) - 1;
}

program::Program product_program(const ProductKey& key) {
  return key.tiled ? tiled_product_program(key) : Writer(key).write();
}

}  // namespace hologram::libraries
