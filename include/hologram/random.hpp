// Sequences of random numbers that a program has in its own hands.
//
//   Generator generator(7);
//   const Tensor noise = generator.randn({64, 64});
//   std::vector<Generator> workers = generator.split(4);
//
// The numbers are those of ops::rand and its kin: Philox4x32-10, keyed, and numbered by the
// operation and the element. So they are the same bits on every device and for any number of
// threads, whatever else is drawn meanwhile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "hologram/creation.hpp"

namespace hologram {

// Where a sequence is: all of its state, to be saved and put back. The next operation draws what
// the key and the counter say, and the counter goes on by one.
struct RandomState {
  uint64_t key = 0, counter = 0;
  bool operator==(const RandomState&) const = default;
};

// Of an executor's own sequence, which ops::rand, randn and randint draw from; ops::seed(key) sets
// it to {key, 0}.
HOLOGRAM_API RandomState random_state(const Executor& executor = default_executor());
HOLOGRAM_API void set_random_state(const RandomState& state,
                                   const Executor& executor = default_executor());

// A value: a copy draws the same numbers again. Of one thread at a time. What it draws within a
// captured calculation is constant there, as the generator is the host's; that of the executor is
// drawn anew by each launch.
class HOLOGRAM_API Generator {
 public:
  explicit Generator(uint64_t seed = 0) : state_{seed, 0} {}
  explicit Generator(const RandomState& state) : state_(state) {}

  // Uniform in [0, 1), and normal, of mean 0 and variance 1. DTypeMismatch unless the dtype is a
  // float's.
  Tensor rand(Shape shape, DType dtype = DType::F32, const Executor& executor = default_executor());
  Tensor randn(Shape shape, DType dtype = DType::F32,
               const Executor& executor = default_executor());
  // Uniform in [low, high), two integers that the dtype, an integer's, holds: else InvalidArgument,
  // and DTypeMismatch.
  Tensor randint(const Operand& low, const Operand& high, Shape shape, DType dtype = DType::I64,
                 const Executor& executor = default_executor());

  // So many generators with keys of their own, which are drawn from this sequence: for threads,
  // devices or layers that must not draw the same numbers.
  std::vector<Generator> split(size_t count);

  RandomState state() const { return state_; }
  void set_state(const RandomState& state) { state_ = state; }

 private:
  RandomState next();
  RandomState state_;
};

}  // namespace hologram
