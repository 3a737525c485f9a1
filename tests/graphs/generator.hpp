// Random descriptions, the same for the same number. Those of successive numbers go through all
// cells of operation, dtype and size.
#pragma once

#include <optional>
#include <random>

#include "graphs/coverage.hpp"

namespace hologram::graphs {

// So many go through all cells of every size.
uint32_t descriptions_of_a_round();

class Generator {
 public:
  explicit Generator(uint32_t seed);
  Description make();

  // Of one cell only, if that can be; by rows if `rows`.
  static std::optional<Description> make_only(const Cell& cell, bool rows, uint32_t seed);

 private:
  using Try = bool (Generator::*)(Step step, DType dtype);
  struct Way {
    std::string_view name;
    Try attempt;
  };
  static std::span<const Way> ways();

  size_t below(size_t n) { return n == 0 ? 0 : random_() % n; }
  bool chance(unsigned percent) { return below(100) < percent; }
  template <class List>
  const auto& any_of(const List& list) {
    return list[below(std::size(list))];
  }

  uint32_t add(Step step);
  uint32_t cast(uint32_t from, DType dtype);
  uint32_t view(uint32_t of);
  uint32_t input(DType dtype, const Shape& shape);
  uint32_t input(DType dtype, const Shape& shape, Profile profile);
  // Of the size of this description.
  uint32_t operand(DType dtype);
  // That is repeated to this shape.
  uint32_t fitting(DType dtype, const Shape& shape);
  std::optional<uint32_t> found(DType dtype, const Shape* shape);
  uint32_t of_axes(DType dtype);                 // an operand with an axis
  uint32_t row_operand(DType dtype, bool axes);  // often of values that are hard to add up
  uint32_t positions(int64_t length, const Shape& shape);
  uint32_t vector_of(DType dtype);
  Shape main_shape();
  Number number_for(DType dtype);
  DType below_dtype(DType dtype);  // one that is promoted to it
  bool is_main(const Shape& shape) const;
  int64_t random_axis(const Shape& shape);
  size_t any_axis(const Shape& shape);
  const Shape& shape_of(uint32_t step) const { return made_.steps[step].shape; }
  Slice random_slice(int64_t n, int64_t& length);

  bool elementwise(Step step, DType dtype);
  bool to_dtype(Step step, DType dtype);
  bool reduction(Step step, DType dtype);
  bool position(Step step, DType dtype);
  bool along(Step step, DType dtype);
  bool search(Step step, DType dtype);
  bool matmul(Step step, DType dtype);
  void follow(uint32_t step);  // an operation on a result that has a shape of its own
  bool gemm(Step step, DType dtype);
  bool reshape(Step step, DType dtype);
  bool slice(Step step, DType dtype);
  bool permute(Step step, DType dtype);
  bool broadcast_to(Step step, DType dtype);
  bool concat(Step step, DType dtype);
  bool pad(Step step, DType dtype);
  bool put(Step step, DType dtype);
  bool moved(Step step, DType dtype);
  bool take(Step step, DType dtype);
  bool gather(Step step, DType dtype);
  bool scatter(Step step, DType dtype);
  bool same(Step step, DType dtype);
  bool source(Step step, DType dtype);

  Generator(uint32_t seed, Size size, bool rows);
  bool attempt(const Cell& cell);
  void beside();
  Description finished();

  std::mt19937 random_;
  uint32_t turn_;  // among those of its size and kind
  Size size_;
  bool rows_;    // can be evaluated by rows of its inputs, if the operations can
  Shape shape_;  // that most inputs have
  Description made_;
};

}  // namespace hologram::graphs
