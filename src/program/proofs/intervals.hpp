// Between which numbers each integer of a program lies, wherever it is computed.
#pragma once

#include <vector>

#include "program/ir.hpp"

namespace hologram::program {

using Wide = __int128;  // holds every value of every integer type, and sums and products of two

struct Interval {
  Wide low = 0, high = 0;
};

// All values of an integer type or bool.
Interval range_of(DType type);

// By value; for values that are no integers, meaningless.
std::vector<Interval> find_intervals(const Module& module, const Code& code);

// Of the exact result of add, sub or mul; too wide a product counts as unbounded.
Interval exact_interval(Op op, const Interval& a, const Interval& b);

inline bool contains(const Interval& outer, const Interval& inner) {
  return outer.low <= inner.low && inner.high <= outer.high;
}

}  // namespace hologram::program
