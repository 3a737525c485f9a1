// The product of matrices for devices with many threads: a workgroup computes a rectangle of d, for
// which strips of a and b go through workgroup memory, and a lane some rows and columns of it.
// While the lanes compute with one strip, the next is already on its way from memory.
//
// Seen on an H200, 4096 x 4096 of f32, TFLOP/s by CUDA, OpenCL and WebGPU: 38.4, 38.0 and 29.2 with
// 128 x 128 elements a workgroup, 36.4, 35.3 and 28.6 with 128 x 64, which fills the device sooner.
// What that took: the next strip under way (31.4 without, by CUDA), no test for elements of strips
// that lie inside, and quads that workgroup memory takes at once, without which WebGPU had 17.9.
#include <vector>

#include "hologram/builder.hpp"
#include "libraries/accumulation.hpp"
#include "libraries/product.hpp"
#include "program/ir.hpp"

namespace hologram::libraries {

using program::Access;
using program::Buf;
using program::Builder;
using program::Op;
using program::Shared;
using program::Value;
using program::Var;

namespace {

constexpr int64_t kQuad = 4;  // neighbours that a lane has, so that it reads them at once

class Writer {
 public:
  explicit Writer(const ProductKey& key)
      : key_(key),
        tile_(kProductTiles[key.tile]),
        rows_(tile_.rows / tile_.down),
        columns_(tile_.columns / tile_.across),
        b_("tiled_product",
           {static_cast<uint32_t>(tile_.across), static_cast<uint32_t>(tile_.down)}, DType::I32) {}

  program::Program write() {
    MatrixOperand a, b, d;
    a.buffer = b_.buffer("a", key_.a, Access::In);
    b.buffer = b_.buffer("b", key_.b, Access::In);
    d.buffer = b_.buffer("d", key_.d, Access::Out);
    const Value m = scalar("m"), n = scalar("n"), k = scalar("k");
    scalar("batch");
    declare_layout(b_, "a", a);
    declare_layout(b_, "b", b);
    declare_layout(b_, "d", d);
    const Value z = b_.group_id(2);
    const Value first_row = b_.group_id(1) * tile_.rows,
                first_column = b_.group_id(0) * tile_.columns;
    const Value x = b_.lane_id(0) * kQuad, y = b_.lane_id(1) * kQuad;
    const int64_t of_rows = tile_.pitch_of_rows(), of_columns = tile_.pitch_of_columns();
    Strip a_strip{b_.shared("of_a", DType::F32, tile_.deep * of_rows),
                  of_rows,
                  a.buffer,
                  a.start + z * a.batch,
                  a.column,
                  k,
                  first_row,
                  a.row,
                  m,
                  tile_.rows,
                  key_.a_terms};
    Strip b_strip{b_.shared("of_b", DType::F32, tile_.deep * of_columns),
                  of_columns,
                  b.buffer,
                  b.start + z * b.batch,
                  b.row,
                  k,
                  first_column,
                  b.column,
                  n,
                  tile_.columns,
                  !key_.b_columns};
    find_elements(a_strip);
    find_elements(b_strip);
    const Vars a_next = zeros(elements_a_lane(a_strip)), b_next = zeros(elements_a_lane(b_strip));

    const Vars total = zeros(rows_ * columns_);
    fetch(a_strip, whole(0), a_next);
    fetch(b_strip, whole(0), b_next);
    b_.for_(whole(0), k, kTermsOfBlock, [&](Value block) {
      const Vars part = zeros(rows_ * columns_);
      b_.for_(block, min(k, block + kTermsOfBlock), tile_.deep, [&](Value first) {
        put(a_strip, a_next);
        put(b_strip, b_next);
        b_.barrier();
        fetch(a_strip, first + tile_.deep, a_next);
        fetch(b_strip, first + tile_.deep, b_next);
        b_.for_(whole(0), whole(tile_.deep), 1, [&](Value p) {
          std::vector<Value> u, v;
          for (int64_t i = 0; i < rows_; i++)
            u.push_back(b_.load(a_strip.shared, p * of_rows + (y + offset_of(i, tile_.down))));
          for (int64_t j = 0; j < columns_; j++)
            v.push_back(b_.load(b_strip.shared, p * of_columns + (x + offset_of(j, tile_.across))));
          for (size_t i = 0; i < u.size(); i++)
            for (size_t j = 0; j < v.size(); j++) {
              const Var& sum = part[i * v.size() + j];
              b_.set(sum, fma(u[i], v[j], b_.get(sum)));
            }
        });
        b_.barrier();
      });
      for (size_t i = 0; i < part.size(); i++) b_.set(total[i], b_.get(total[i]) + b_.get(part[i]));
    });

    const Value d_at = d.start + z * d.batch;
    for (int64_t i = 0; i < rows_; i++) {
      const Value row = first_row + (y + offset_of(i, tile_.down));
      b_.if_(row < m, [&] {
        const Value of_row = d_at + row * d.row;
        for (int64_t j = 0; j < columns_; j++) {
          const Value column = first_column + (x + offset_of(j, tile_.across));
          b_.if_(column < n, [&] {
            b_.store(d.buffer, of_row + column * d.column,
                     b_.get(total[static_cast<size_t>(i * columns_ + j)]));
          });
        }
      });
    }
    // The strips are as large as what goes through them, and matrices lie inside their buffers:
    // only elements outside of them have an index that is selected.
    program::Module module = b_.finish_unverified();
    std::vector<Op> definition(module.body.values.size());
    for (program::Inst& inst : module.body.insts) {
      if (inst.id != program::kNone) definition[inst.id] = inst.op;
      inst.trusted = inst.op == Op::SharedLoad || inst.op == Op::SharedStore ||
                     (inst.op == Op::Load && definition[inst.args[0]] != Op::Select);
    }
    return program::Program::from(std::move(module));
  }

 private:
  using Vars = std::vector<Var>;

  // Of a strip, one that a lane brings there.
  struct Element {
    Value term, side;  // the number of the term, and of the row (column)
    Value first;       // where term 0 of its row (column) is
    Value inside;      // whether there is such a row (column)
  };

  // Some terms of all the rows of a (columns of b) that the workgroup needs, on their way through
  // workgroup memory.
  struct Strip {
    Shared shared;
    int64_t pitch;  // between terms there
    Buf from;
    Value start, term_stride, terms;
    Value first, side_stride, sides;  // of the rows (columns)
    int64_t length;                   // how many of these
    bool deep_first;                  // neighbouring lanes read neighbouring terms
    Value all_inside = {};            // whether there are all these rows (columns)
    std::vector<Element> elements = {};
  };

  Value whole(int64_t value) { return b_.constant(DType::I32, value); }
  Value scalar(const std::string& name) { return b_.scalar(name, DType::I32); }
  Vars zeros(int64_t count) {
    Vars all;
    for (int64_t i = 0; i < count; i++) all.push_back(b_.var(b_.constant(DType::F32, int64_t{0})));
    return all;
  }
  // The rows (columns) of a lane: 4 neighbours, and 4 more beyond those of all other lanes.
  static int64_t offset_of(int64_t i, int64_t lanes) {
    return i % kQuad + i / kQuad * lanes * kQuad;
  }

  int64_t elements_a_lane(const Strip& strip) const {
    return strip.length * tile_.deep / tile_.lanes();
  }

  // Quads of rows (columns), which workgroup memory takes at once.
  void find_elements(Strip& strip) {
    const Value lane = b_.lane_id(1) * tile_.across + b_.lane_id(0);
    const int64_t along = strip.deep_first ? tile_.deep : strip.length / kQuad;
    const Value low = lane % along, high = lane / along;
    for (int64_t j = 0; j < elements_a_lane(strip); j++) {
      const Value other = high + j / kQuad * (tile_.lanes() / along);
      const Value term = strip.deep_first ? low : other, quad = strip.deep_first ? other : low;
      const Value side = quad * kQuad + j % kQuad, s = strip.first + side;
      strip.elements.push_back({term, side, strip.start + s * strip.side_stride, s < strip.sides});
    }
    strip.all_inside = strip.sides - strip.first >= strip.length;
  }

  // Of the strip that begins with term `begin`; what lies outside is 0. Most strips lie inside as a
  // whole, and nothing is asked of their elements.
  void fetch(const Strip& strip, Value begin, const Vars& into) {
    const auto load = [&](bool all_inside) {
      for (size_t j = 0; j < into.size(); j++) {
        const Element& element = strip.elements[j];
        const Value p = begin + element.term;
        Value index = element.first + p * strip.term_stride;
        // Outside of the buffer an access gives 0, and so does one that is sent there.
        if (!all_inside) index = select((p < strip.terms) & element.inside, index, whole(-1));
        b_.set(into[j], b_.load(strip.from, index));
      }
    };
    b_.if_((strip.terms - begin >= tile_.deep) & strip.all_inside, [&] { load(true); },
           [&] { load(false); });
  }

  void put(const Strip& strip, const Vars& from) {
    for (size_t j = 0; j < from.size(); j++) {
      const Element& element = strip.elements[j];
      b_.store(strip.shared, element.term * strip.pitch + element.side, b_.get(from[j]));
    }
  }

  const ProductKey key_;
  const ProductTile tile_;
  const int64_t rows_, columns_;  // of a lane
  Builder b_;
};

}  // namespace

program::Program tiled_product_program(const ProductKey& key) { return Writer(key).write(); }

}  // namespace hologram::libraries
