#include "dialects/instruction_programs.hpp"

#include <array>
#include <cstdio>
#include <cstring>
#include <map>

#include "hologram/builder.hpp"
#include "oracle/choices.hpp"
#include "oracle/random_values.hpp"
#include "oracle/scalar_model.hpp"
#include "program/ir.hpp"
#include "program/typing.hpp"

namespace hologram::dialects {
namespace {

using oracle::Memory;
using program::Access;
using program::Builder;
using program::Category;
using program::Op;
using program::OpInfo;
using program::Typing;
using program::Value;

constexpr uint32_t kLanes = 64;
constexpr size_t kElements = kLanes * 128;
constexpr DType kTypes[] = {DType::Bool, DType::I32, DType::U32, DType::I64,
                            DType::U64,  DType::F32, DType::F64};

uint64_t read(const Memory& memory, size_t element, size_t size) {
  uint64_t bits = 0;
  std::memcpy(&bits, &memory[element * size], size);
  return bits;
}
void write(Memory& memory, size_t element, size_t size, uint64_t bits) {
  std::memcpy(&memory[element * size], &bits, size);
}

// All pairs of special values first, then anything.
uint64_t operand(DType type, size_t which, size_t element, oracle::Choices& choices) {
  if (type == DType::Bool) return element >> which & 1;
  const auto special = oracle::special_values(type);
  const size_t of = which == 0   ? element % special.size()
                    : which == 1 ? element / special.size() % special.size()
                                 : element * 7 % special.size();
  return element < special.size() * special.size() && element < kElements / 2
             ? special[of]
             : oracle::random_value(type, choices);
}

// What one instruction is computed with: the buffers of its operands.
struct Computed {
  Op op;
  DType type;
  std::vector<size_t> operands;
};

class Writer {
 public:
  Writer(std::string name, DType from)
      : name_(std::move(name)), from_(from), builder_("p", {kLanes}) {
    oracle::Choices choices(static_cast<uint64_t>(from) + 77);
    for (const DType type : {from, from, from, DType::U32, DType::I32, DType::Bool}) {
      const size_t number = memory_.size(), size = size_of(type);
      buffers_.push_back(builder_.buffer("in" + std::to_string(number), type, Access::In));
      Memory memory(kElements * size);
      for (size_t i = 0; i < kElements; i++)
        write(memory, i, size, operand(type, number % 3, i, choices));
      memory_.push_back(std::move(memory));
      types_.push_back(type);
    }
    index_ = builder_.global_id(0);
    for (const program::Buf& buffer : buffers_) loaded_.push_back(builder_.load(buffer, index_));
  }

  void add(Op op, DType to, const std::vector<size_t>& operands) {
    std::array<Value, 3> v;
    for (size_t k = 0; k < operands.size(); k++) v[k] = loaded_[operands[k]];
    const DType wanted = op == Op::Cast || op == Op::Bitcast ? to : DType::None;
    const Value result = operands.size() == 1   ? builder_.emit(op, {v[0]}, wanted)
                         : operands.size() == 2 ? builder_.emit(op, {v[0], v[1]}, wanted)
                                                : builder_.emit(op, {v[0], v[1], v[2]}, wanted);
    results_.push_back({{op, to, operands}, result});
  }

  void add_all(const OpInfo& row, bool f64) {
    switch (row.typing) {
      case Typing::Compare:
        if (from_ == DType::Bool && row.op != Op::Eq && row.op != Op::Ne) return;
        return add(row.op, DType::Bool, {0, 1});
      case Typing::FloatTest: return add(row.op, DType::Bool, {0});
      case Typing::Select: return add(row.op, from_, {5, 0, 1});
      case Typing::Bytes: return add(row.op, DType::I32, {0, 4, 4});
      case Typing::Shift: add(row.op, from_, {0, 3}); return add(row.op, from_, {0, 4});
      case Typing::Cast:
      case Typing::Bitcast:
        for (const DType to : kTypes)
          if (to != from_ && (f64 || to != DType::F64) &&
              (row.typing == Typing::Cast || (size_of(to) == size_of(from_) && to != DType::Bool)))
            add(row.op, to, {0});
        return;
      default: break;
    }
    std::vector<size_t> operands = {0, 1, 2};
    operands.resize(row.arity);
    add(row.op, from_, operands);
  }

  // One output a type of results, one part of it an instruction. `only`: just those of this type.
  InstructionProgram finish(DType only = DType::None) {
    std::map<DType, std::vector<size_t>> by_type;
    for (size_t r = 0; r < results_.size(); r++) {
      const DType type = results_[r].first.type;
      if (only == DType::None || type == only) by_type[type].push_back(r);
    }
    std::vector<Memory> expected = memory_;
    std::vector<std::string> rows(memory_.size());
    for (const auto& [type, list] : by_type) {
      const auto out = builder_.buffer("out_" + std::string(name_of(type)), type, Access::Out);
      Memory want(list.size() * kElements * size_of(type));
      memory_.emplace_back(want.size(), uint8_t{0xa5});
      for (size_t part = 0; part < list.size(); part++) {
        const auto& [computed, value] = results_[list[part]];
        builder_.store(out, index_ + static_cast<int>(part * kElements), value);
        for (size_t i = 0; i < kElements; i++)
          write(want, part * kElements + i, size_of(type), expected_of(computed, i));
        rows.push_back(std::string(program::info(computed.op).name) + "." +
                       std::string(name_of(from_)));
      }
      expected.push_back(std::move(want));
    }
    return {name_,   builder_.finish(),   kElements / kLanes,
            memory_, std::move(expected), std::move(rows)};
  }

 private:
  uint64_t expected_of(const Computed& c, size_t element) const {
    std::array<uint64_t, 3> args = {};
    for (size_t k = 0; k < c.operands.size(); k++)
      args[k] = read(memory_[c.operands[k]], element, size_of(types_[c.operands[k]]));
    return program::evaluate(c.op, c.type, from_, args).value();
  }

  std::string name_;
  DType from_;
  Builder builder_;
  Value index_;
  std::vector<program::Buf> buffers_;
  std::vector<DType> types_;
  std::vector<Value> loaded_;
  std::vector<Memory> memory_;
  std::vector<std::pair<Computed, Value>> results_;
};

InstructionProgram pure_instructions(DType from, bool f64, DType only) {
  Writer writer("instructions of " + std::string(name_of(from)), from);
  for (const OpInfo& row : program::all_ops())
    if (is_pure(row.op) && row.category != Category::Function && program::accepts(row.typing, from))
      writer.add_all(row, f64);
  return writer.finish(only);
}

std::vector<DType> stored_as(DType compute) {
  std::vector<DType> storage;
  for (size_t t = 1; t < kDTypeCount; t++)
    if (compute_type(static_cast<DType>(t)) == compute) storage.push_back(static_cast<DType>(t));
  return storage;
}

InstructionProgram conversions(const std::vector<DType>& loaded, DType compute) {
  constexpr size_t kAll = 65536;
  const std::vector<DType> storage = stored_as(compute);
  Builder b("p", {kLanes});
  const auto i = b.global_id(0);
  std::vector<Memory> buffers, expected;
  std::vector<std::string> rows;
  for (const DType from : loaded) {
    const std::string name(name_of(from));
    const auto value = b.load(b.buffer("x_" + name, from, Access::In), i);
    Memory memory(kAll * size_of(from));
    oracle::Choices choices(static_cast<uint64_t>(from));
    for (size_t e = 0; e < kAll; e++)
      write(memory, e, size_of(from),
            size_of(from) <= 2 ? e : oracle::random_value(compute, choices));
    buffers.push_back(memory);
    expected.push_back(memory);
    rows.emplace_back();
    for (const DType to : storage) {
      const std::string what = name + "_as_" + std::string(name_of(to));
      b.store(b.buffer(what, to, Access::Out), i, value);
      Memory want(kAll * size_of(to));
      for (size_t e = 0; e < kAll; e++)
        oracle::store_element(to, &want[e * size_of(to)],
                              oracle::load_element(from, &memory[e * size_of(from)]));
      buffers.emplace_back(want.size(), uint8_t{0xa5});
      expected.push_back(std::move(want));
      rows.push_back(what);
    }
  }
  return {"elements of " + std::string(name_of(compute)),
          b.finish(),
          kAll / kLanes,
          std::move(buffers),
          std::move(expected),
          std::move(rows)};
}

}  // namespace

InstructionProgram pure_instructions(DType from, bool f64) {
  return pure_instructions(from, f64, DType::None);
}

std::vector<InstructionProgram> pure_instructions_by_result(DType from, bool f64) {
  std::vector<InstructionProgram> list;
  for (const DType only : kTypes) {
    InstructionProgram c = pure_instructions(from, f64, only);
    if (c.buffers.size() > 6) list.push_back(std::move(c));
  }
  return list;
}

std::vector<InstructionProgram> functions(DType from) {
  std::vector<InstructionProgram> list;
  for (const OpInfo& row : program::all_ops()) {
    if (row.category != Category::Function) continue;
    Writer writer(std::string(row.name) + " of " + std::string(name_of(from)), from);
    writer.add_all(row, true);
    list.push_back(writer.finish());
  }
  return list;
}

InstructionProgram conversions_of_storage(DType compute) {
  return conversions(stored_as(compute), compute);
}

InstructionProgram conversions_from_storage(DType storage) {
  return conversions({storage}, compute_type(storage));
}

std::string difference(const InstructionProgram& c, const std::vector<Memory>& got,
                       const Comparison& same) {
  size_t row = 0;
  for (size_t b = 0; b < got.size(); b++) {
    const program::BufferParam& buffer = c.program.buffers()[b];
    const size_t size = size_of(buffer.type), elements = c.groups * kLanes;
    for (size_t first = 0; first < got[b].size(); first += elements * size, row++) {
      for (size_t i = 0; i < elements && first + (i + 1) * size <= got[b].size(); i++) {
        const uint64_t x = read(got[b], first / size + i, size);
        const uint64_t y = read(c.expected[b], first / size + i, size);
        if (same(buffer.type, x, y)) continue;
        char text[200];
        std::snprintf(text, sizeof text, "%s, %s, element %zu (%#llx): %#llx, not %#llx",
                      c.name.c_str(), c.rows[row].c_str(), i,
                      static_cast<unsigned long long>(
                          read(c.buffers[0], i, size_of(c.program.buffers()[0].type))),
                      static_cast<unsigned long long>(x), static_cast<unsigned long long>(y));
        return text;
      }
    }
  }
  return {};
}

}  // namespace hologram::dialects
