// Reductions over rows that come some at a time: of each piece by the functions that reduce tensors
// in memory, in f64 where these round; what comes of the pieces is put together here.
#pragma once

#include <vector>

#include "expression/functions.hpp"

namespace hologram::expression {

class RowReduction {
 public:
  // Of calls like this one, whose result has the dtype. On the host where the device has no f64.
  RowReduction(const Call& call, DType result);

  // Begins with the parts of one piece, which are to be computed before `add`.
  void reduce(const Call& call);
  const std::vector<Tensor>& parts() const { return pieces_; }
  // Puts what the latest piece gave to what was there.
  void add();
  // The value, of all pieces.
  Tensor finished() const;

 private:
  Tensor in_f64(const Tensor& x, const ops::Axes& axes);
  void add_spread(const Tensor& mean, const Tensor& spread, double n, double m);

  Merge merge_;
  DType result_;
  Executor executor_;
  bool moves_;  // to the host
  double correction_ = 0;
  Tensor first_;                    // of wide integers: the first along the axes
  std::vector<Tensor> pieces_;      // of the latest piece
  int64_t count_ = 0, latest_ = 0;  // elements that went into a result; of the latest piece
  std::vector<Tensor> state_;
};

}  // namespace hologram::expression
