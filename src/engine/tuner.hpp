// The fastest of the ways to do a piece of work on an executor's device: known from earlier
// processes, or searched for with the work at hand.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "hologram/dtype.hpp"
#include "hologram/hal/buffer.hpp"
#include "runtime/tuning.hpp"

namespace hologram::graph {

class Context;

// Work that can be done in several ways, and what it is done with just now.
struct Choices {
  std::vector<std::string>
      ways;  // their names, the same in every process; the first is the default
  // Puts the work on the stream, with its result in that memory.
  std::function<void(size_t way, const hal::Binding& result)> start;
  hal::Binding result;
  DType dtype = DType::None;
  double tolerance = 0;  // of an element, by the largest of all; 0: the same bits
};

// Used with its context locked.
class Tuner {
 public:
  explicit Tuner(Context& context);

  // Which of the ways to take. `work` is everything that the answer depends on, but the device.
  // Searches only where the configuration says so and nothing is being recorded; a search leaves
  // the result of the first way behind.
  size_t way(const std::string& work, const std::function<Choices()>& choices);

 private:
  // What the first way left, as far as it must be known to compare with it.
  struct Reference {
    bool useful = false;  // all finite, and not all 0: anything else hides mistakes
    double largest = 0;
  };

  size_t search(const std::string& work, const Choices& choices);
  Reference look_at(const Choices& choices) const;
  bool agrees(const Choices& choices, const hal::Binding& other, double largest) const;

  Context& context_;
  runtime::TuningCache cache_;
  std::unordered_map<std::string, size_t> known_;
  std::unordered_map<std::string, int> vain_;  // attempts with results that show nothing
  size_t searches_ = 0;
};

}  // namespace hologram::graph
