// How a test steers the cuBLASLt or hipBLASLt of fake_blaslt.cpp. Opened by path, as hologram opens
// it.
#pragma once

#include <cstdint>

namespace hologram {

struct FakeBlasLt {
  // Calls of the function of that name fail with the status: `count` of them, after `skip` more.
  // Null ends all failures.
  void (*fail)(const char* name, int skip, int count, int status);
  int (*calls)(const char* name);  // so far
  int (*alive)();                  // operations, layouts and preferences
  int (*handles)();
  int (*compute)();          // cublasComputeType_t of the last product
  int (*tensor_cores)();     // whether it might use them
  const char* (*wrong)();    // what a call did that the real library does not take; empty: nothing
  void (*refuse)(bool all);  // it has no algorithm for anything
  // What its algorithms take and whether they are right, best first by its own judgement; one that
  // is right and takes no time unless set.
  struct Algorithm {
    int milliseconds;
    bool right;
  };
  void (*algorithms)(const Algorithm* list, int count);
  int (*ran)(int algorithm);  // how often that one did
  // Which epilogues algorithms have, as numbers of cublasLtEpilogue_t, and what they make of NaN
  // and of -0: what the formula does, or what other orders of operands of a maximum would do.
  enum Relu { Exact, LosesNan, KeepsSign };
  void (*epilogues)(uint32_t most, Relu relu);
  int (*ended)();               // how many products had an epilogue
  void (*version)(int number);  // that hipBLASLt says it is
};

}  // namespace hologram
