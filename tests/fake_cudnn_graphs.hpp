// Graphs of several operations in the emulated cuDNN: any that consist of products of matrices,
// elementwise calculations, reductions and reshapes are evaluated, one tensor after the other.
#pragma once

#include <functional>

#include "fake_cudnn_world.hpp"

namespace hologram::fake::cudnn {

struct Operation {
  int kind;  // of its descriptor
  int mode;  // of an elementwise one; the operator of a reduction
  int compute;
  int64_t axis;                // of kIndex
  std::vector<size_t> inputs;  // numbers of tensors: X B T, or DY X; A B; X
  size_t output;
};

// A graph as it was when it was finished. What is wrong with it is a text, empty where nothing is.
struct Program {
  std::vector<Tensor> tensors;
  std::vector<Operation> operations;            // each after those that make what it reads
  std::vector<std::weak_ptr<const int>> lives;  // of all descriptors that it was made of

  std::string make(const std::vector<const Thing*>& descriptors);
  const Operation* maker(size_t tensor) const;  // null: it is given
  std::vector<const Operation*> readers(size_t tensor) const;
  // What of a tensor of somebody else's is a row: 2 for K' and V', which are read down the columns.
  size_t features(size_t tensor) const;
  // By which strides it may not lie in memory: the library takes it, and a run of it ends the
  // context.
  std::string misaligned() const;

  // Of the tensors that are in memory, and no others: their addresses, by number.
  using Memory = std::map<int64_t, std::byte*>;
  struct Room {  // what the library works in
    std::byte* start;
    size_t bytes;
  };
  std::string refuses(const Memory& memory) const;
  // The same of where its memory lies when it runs; a call that is captured may be given stand-ins.
  std::string misplaced(const Memory& memory, const Room& room) const;

 private:
  std::string read(const Thing& operation, std::map<const Thing*, size_t>& known);
  std::string misuse() const;
  std::string sort();
};

// What evaluates it in that memory. What is passed by value is read now, all else when it is
// called.
std::function<void()> work_of(std::shared_ptr<const Program> program, const Program::Memory& memory,
                              const Program::Room& room);

// fake_cudnn_attention.cpp: what the library makes of a graph.
struct Offer {
  std::string reason;           // why it has no engine; empty: it has
  bool is_fatal = false;        // the real one would end the process, or a run of it the context
  bool by_the_general = false;  // the fastest does not take it
  int64_t workspace = 0;
};
Offer offer_for(const Program& program);

}  // namespace hologram::fake::cudnn
