// Tensors as parts of a few that lie in one piece each: what is done to all is one kernel then.
//
//   const nn::Flat flat(parameters);
//   std::vector<Tensor> joined = flat.join(parameters);  // one for each dtype and executor
//   parameters = flat.split(joined);                     // views, which join finds again
#pragma once

#include <vector>

#include "hologram/tensor.hpp"

namespace hologram::nn {

class HOLOGRAM_API Flat {
 public:
  // For tensors of these shapes; those of one dtype and executor lie together, but for large ones,
  // of 4,194,304 elements or more, which stay by themselves. Parts of many factors of 2 come first,
  // so that each begins at a multiple of what its length is a multiple of, up to 256 elements.
  explicit Flat(const std::vector<Tensor>& like);

  size_t size() const { return groups_.size(); }  // tensors that all are joined in
  // One tensor of one axis for each group. Lazy; views that split() made are
  // not copied. An empty list gives an empty one. The tensors of a group are promoted to one dtype.
  std::vector<Tensor> join(const std::vector<Tensor>& tensors) const;
  // Each tensor as a view of what it was joined in.
  std::vector<Tensor> split(const std::vector<Tensor>& joined) const;

 private:
  struct Part {
    size_t tensor = 0;
    int64_t start = 0;
  };
  struct Group {
    std::vector<Part> parts;  // as they lie
    int64_t count = 0;
  };
  std::vector<Shape> shapes_;
  std::vector<Group> groups_;
};

}  // namespace hologram::nn
