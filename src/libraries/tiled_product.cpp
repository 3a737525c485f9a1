// The product of matrices for devices with many threads: a workgroup computes a square of d, for
// which strips of a and b go through workgroup memory, and a lane 8 by 8 elements of it.
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
        each_(tile_.side / tile_.across),
        b_("tiled_product",
           {static_cast<uint32_t>(tile_.across), static_cast<uint32_t>(tile_.across)}, DType::I32) {
  }

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
    const Value first_row = b_.group_id(1) * tile_.side, first_column = b_.group_id(0) * tile_.side;
    const Value x = b_.lane_id(0) * kQuad, y = b_.lane_id(1) * kQuad;
    const int64_t strip_length = tile_.deep * tile_.pitch();
    const Shared of_a = b_.shared("of_a", DType::F32, strip_length),
                 of_b = b_.shared("of_b", DType::F32, strip_length);
    const Value a_at = a.start + z * a.batch, b_at = b.start + z * b.batch;

    Vars total = zeros();
    b_.for_(whole(0), k, kTermsOfBlock, [&](Value block) {
      const Vars part = zeros();
      b_.for_(block, min(k, block + kTermsOfBlock), tile_.deep, [&](Value strip) {
        fetch(of_a, a.buffer, a_at, strip, k, a.column, first_row, m, a.row, key_.a_terms);
        fetch(of_b, b.buffer, b_at, strip, k, b.row, first_column, n, b.column, !key_.b_columns);
        b_.barrier();
        b_.for_(whole(0), whole(tile_.deep), 1, [&](Value p) {
          std::vector<Value> u, v;
          for (int64_t i = 0; i < each_; i++)
            u.push_back(b_.load(of_a, p * tile_.pitch() + (y + offset_of(i))));
          for (int64_t i = 0; i < each_; i++)
            v.push_back(b_.load(of_b, p * tile_.pitch() + (x + offset_of(i))));
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
    for (int64_t i = 0; i < each_; i++) {
      const Value row = first_row + (y + offset_of(i));
      b_.if_(row < m, [&] {
        const Value of_row = d_at + row * d.row;
        for (int64_t j = 0; j < each_; j++) {
          const Value column = first_column + (x + offset_of(j));
          b_.if_(column < n, [&] {
            b_.store(d.buffer, of_row + column * d.column,
                     b_.get(total[static_cast<size_t>(i * each_ + j)]));
          });
        }
      });
    }
    // The strips are as large as what goes through them.
    program::Module module = b_.finish_unverified();
    for (program::Inst& inst : module.body.insts)
      inst.trusted = inst.op == Op::SharedLoad || inst.op == Op::SharedStore;
    return program::Program::from(std::move(module));
  }

 private:
  using Vars = std::vector<Var>;

  Value whole(int64_t value) { return b_.constant(DType::I32, value); }
  Value scalar(const std::string& name) { return b_.scalar(name, DType::I32); }
  Vars zeros() {
    Vars all;
    for (int64_t i = 0; i < each_ * each_; i++)
      all.push_back(b_.var(b_.constant(DType::F32, int64_t{0})));
    return all;
  }
  // The rows (columns) of a lane: 4 neighbours, and if there are 8, 4 more in the other half.
  int64_t offset_of(int64_t i) const { return i % kQuad + i / kQuad * (tile_.across * kQuad); }

  // The terms of a strip from `strip` on, of a square's rows (columns) from `first` on; what lies
  // outside is 0. Neighbouring lanes read neighbouring terms if `deep_first`, neighbouring rows
  // otherwise.
  void fetch(Shared to, Buf from, Value at, Value strip, Value terms, Value term_stride,
             Value first, Value sides, Value side_stride, bool deep_first) {
    const Value lane = b_.lane_id(1) * tile_.across + b_.lane_id(0);
    const int64_t along = deep_first ? tile_.deep : tile_.side;
    const Value low = lane % along, high = lane / along;
    const int64_t step = tile_.lanes() / along;
    for (int64_t j = 0; j < tile_.side * tile_.deep / tile_.lanes(); j++) {
      const Value other = high + j * step;
      const Value term = deep_first ? low : other, side = deep_first ? other : low;
      const Value p = strip + term, s = first + side;
      // Outside of the buffer an access gives 0, and so does one that is sent there.
      const Value inside = (p < terms) & (s < sides);
      const Value index = select(inside, at + p * term_stride + s * side_stride, whole(-1));
      b_.store(to, term * tile_.pitch() + side, b_.load(from, index));
    }
  }

  const ProductKey key_;
  const ProductTile tile_;
  const int64_t each_;  // rows (columns) of a lane
  Builder b_;
};

}  // namespace

program::Program tiled_product_program(const ProductKey& key) { return Writer(key).write(); }

}  // namespace hologram::libraries
