// One random program, run in every way there is.
#pragma once

#include <optional>
#include <string>

#include "oracle/random_program.hpp"

namespace hologram::oracle {

struct DifferentialOptions {
  bool thorough =
      false;  // also check that neither the order of lanes nor a way through text matters
  bool one_target = false;  // the best instruction set only
};

// Runs the module as written by the naive interpreter, and its optimised form by the real one and
// compiled: on every instruction set, with one thread and with two. Says what differs in which
// buffer; empty if all is well.
std::string differences(const RandomCase& c, const DifferentialOptions& options);

// What changes with the order of the lanes; empty if nothing does.
std::string order_dependence(const RandomCase& c);

// A smaller module that still differs, made by leaving statements out.
RandomCase minimised(const RandomCase& original, const DifferentialOptions& options);

}  // namespace hologram::oracle
