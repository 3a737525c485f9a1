// Ways of running a description, and whether they agree with each other and with the oracle.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "graphs/coverage.hpp"
#include "graphs/field.hpp"

namespace hologram::graphs {

// What a description gives, step by step, each result read before the next is made.
struct Evaluated {
  std::vector<Array> arrays;  // of live steps
  // What the oracle says of fused kernels, where 16-bit floats may go on unrounded: of those steps
  // that have such a one among what they are made of; others are as they were evaluated.
  std::vector<std::optional<Field>> fields;
};

struct Difference {
  std::string way, what;
  Description smaller;  // that shows it
};

// One way of running on one executor.
struct Way {
  enum class Kind : uint8_t {
    Together,  // all roots at once
    Apart,     // one root after the other, the last one first
    Captured,  // as a graph with the inputs as operands
    Text,      // as an expression
    ByRows     // as an expression, the inputs read by rows where they can be
  };
  std::string name;
  Kind kind = Kind::Together;
  Executor executor;
  // Of the same kernels as another way, one of the list before it: the same bits, of a NaN
  // too where that follows from its operands.
  std::optional<size_t> like = {};
  // Below it anything may be 0.
  double smallest = 0;
};

// Compares every way with evaluation step by step on `reference`, and that with the oracle.
class Checker {
 public:
  explicit Checker(Executor reference);
  void add(Way way) { ways_.push_back(std::move(way)); }
  std::span<const Way> ways() const { return ways_; }

  // Empty if all agree, or the one way that is named does. A difference has been made smaller.
  std::optional<Difference> check(const Description& description, std::string_view only = "");

  Coverage coverage;
  Tally tally;

 private:
  std::optional<Difference> first_difference(const Description& description, std::string_view only,
                                             bool counts);
  std::optional<Difference> by_oracle(const Description& description, const Evaluated& evaluated,
                                      bool counts);
  Difference shrunk(Difference found, std::string_view only);

  Executor reference_;
  std::vector<Way> ways_;
};

// One CPU way each: without fusion, apart, captured, as text, by rows, and compiled for each
// instruction set that has a compiler.
void add_cpu_ways(Checker& checker);
Executor interpreting_cpu();

// For people: the difference, and the description that shows it.
std::string text_of(const Difference& difference);

// A number in the environment; 0 unless given.
unsigned long setting(const char* name);

}  // namespace hologram::graphs
