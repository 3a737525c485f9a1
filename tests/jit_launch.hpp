// One launch of a program in the interpreter and compiled, over the same made-up arguments.
#pragma once

#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "hologram/error.hpp"
#include "hologram/executor.hpp"
#include "interp/targets.hpp"
#include "jit/jit.hpp"
#include "oracle/random_values.hpp"
#include "oracle/scalar_model.hpp"

namespace hologram::jit {

// An instruction set of this machine that has a compiler.
struct Both {
  interp::Target target;
  Executor interpreted, compiled;
};

inline Executor executor_for(std::string_view target, Jit when, uint64_t timeout_ms = 0) {
  return Executor::builder()
      .backend(BackendType::Cpu)
      .threads(2)
      .cpu_target(std::string(target))
      .jit(when)
      .check(false)
      .timeout_ms(timeout_ms)
      .build();
}

inline const std::vector<Both>& instruction_sets() {
  static const std::vector<Both> sets = [] {
    std::vector<Both> made;
    for (const interp::Target& t : interp::supported_targets())
      if (isa_of(t.name) != Isa::None)
        made.push_back({t, executor_for(t.name, Jit::Off), executor_for(t.name, Jit::Always)});
    return made;
  }();
  return sets;
}

// Why the compiler does not take it; empty if it does.
inline std::string refusal(const Program& program, const interp::Target& target) {
  const auto result =
      compile(program.optimized(), interp::kernel_table(target), isa_of(target.name));
  const auto* reason = std::get_if<std::string>(&result);
  return reason != nullptr ? *reason : std::string();
}

// What the arguments are made of: lengths of dimensions, numbers for scalars.
struct Sizes {
  std::map<std::string, int64_t> dims;
  std::map<std::string, Number> scalars;
  int64_t flat = 100;  // elements of buffers without dimensions
  uint64_t seed = 1;
};

// Memory of one buffer, with something to recognise around it; no better aligned than it must be.
class GuardedArray {
 public:
  GuardedArray(const program::BufferParam& p, const Sizes& sizes, size_t number)
      : type_(p.type), offset_(kPad + number % 3 * size_of(p.type)) {
    for (const program::Dim& d : p.dims)
      shape_.push_back(d.name.empty() ? d.length : sizes.dims.at(d.name));
    if (p.dims.empty()) shape_ = {sizes.flat};
    for (const int64_t length : shape_) count_ *= static_cast<size_t>(length);
    bytes_.assign(count_ * size_of(type_) + 2 * kPad + 32, kSentinel);
    if (p.access != program::Access::Out) fill(p, sizes, number);
  }

  Array array() {
    return Array::borrow(type_, shape_, static_cast<void*>(bytes_.data() + offset_));
  }
  std::string difference(const GuardedArray& other) const {
    const size_t size = size_of(type_);
    for (size_t i = 0; i < bytes_.size(); i++) {
      if (bytes_[i] == other.bytes_[i]) continue;
      if (i < offset_ || i >= offset_ + count_ * size) return "outside";
      const size_t element = (i - offset_) / size;
      const uint64_t a = raw(element), b = other.raw(element);
      if (oracle::same(type_, a, b)) continue;
      char text[90];
      std::snprintf(text, sizeof text, "[%zu] is %#llx, not %#llx", element,
                    static_cast<unsigned long long>(b), static_cast<unsigned long long>(a));
      return text;
    }
    return {};
  }

 private:
  static constexpr size_t kPad = 4096;
  static constexpr uint8_t kSentinel = 0x5b;

  uint64_t raw(size_t element) const {
    uint64_t bits = 0;
    std::memcpy(&bits, &bytes_[offset_ + element * size_of(type_)], size_of(type_));
    return bits;
  }

  // Special values, moderate ones, any bits; a buffer named `index` has places in and around n
  // elements.
  void fill(const program::BufferParam& p, const Sizes& sizes, size_t number) {
    oracle::Choices choices(sizes.seed * 31 + number);
    const int64_t n = sizes.dims.contains("n") ? sizes.dims.at("n") : 10;
    for (size_t i = 0; i < count_; i++) {
      uint64_t bits = oracle::random_value(compute_type(type_), choices);
      if (compute_type(type_) == DType::F32 && type_ != DType::F32)
        bits = oracle::random_value(DType::U32, choices);  // any half
      if (p.name == "index")
        bits = oracle::random_value(DType::U32, choices) % static_cast<uint64_t>(n + 7) - 3;
      if (type_ == DType::Bool) bits = i * 7 % 5 % 3;  // 2 is true, too
      std::memcpy(&bytes_[offset_ + i * size_of(type_)], &bits, size_of(type_));
    }
  }

  DType type_;
  size_t offset_, count_ = 1;
  Shape shape_;
  std::vector<uint8_t> bytes_;
};

// What a launch leaves in every buffer; or the error it ends with.
inline std::vector<GuardedArray> launched(const Program& program, const Sizes& sizes,
                                          const Executor& executor, std::string& error) {
  std::vector<GuardedArray> memory;
  for (const program::BufferParam& p : program.buffers())
    memory.emplace_back(p, sizes, memory.size());
  std::vector<Argument> arguments;
  for (size_t b = 0; b < memory.size(); b++)
    arguments.push_back({program.buffers()[b].name, memory[b].array()});
  for (const auto& [name, number] : sizes.scalars)
    for (const program::ScalarParam& s : program.scalars())
      if (s.name == name) arguments.push_back({name, number});
  try {
    executor.run(program, arguments);
  } catch (const Error& e) {
    error = e.what();
  }
  return memory;
}

// What is not the same; empty if all is.
inline std::string difference(const Program& program, const Sizes& sizes, const Both& both) {
  std::string left_error, right_error;
  const auto left = launched(program, sizes, both.interpreted, left_error);
  const auto right = launched(program, sizes, both.compiled, right_error);
  std::string where(both.target.name);
  for (const auto& [name, length] : sizes.dims) where += " " + name + "=" + std::to_string(length);
  if (left_error != right_error) return where + ": " + left_error + " or " + right_error;
  for (size_t b = 0; b < left.size(); b++)
    if (const std::string text = left[b].difference(right[b]); !text.empty())
      return where + ": " + program.buffers()[b].name + text;
  return {};
}

}  // namespace hologram::jit
