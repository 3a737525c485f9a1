#include "llm/quantize_choice.hpp"

#include <algorithm>

#include "core/messages.hpp"

namespace hologram::llm {
namespace {

// `finer`: what the matrix of the logits gets, on which each token depends directly. `instead`:
// the type of shorter blocks for rows that do not come out even.
struct Row {
  std::string_view name, finer, instead;
  uint32_t file_type;
};
constexpr Row kTypes[] = {
    {"F32", "F32", "", 0},          {"F16", "F16", "", 1},         {"BF16", "BF16", "", 32},
    {"Q4_0", "Q6_K", "F16", 2},     {"Q4_1", "Q6_K", "F16", 3},    {"Q5_0", "Q6_K", "F16", 8},
    {"Q5_1", "Q6_K", "F16", 9},     {"Q8_0", "Q8_0", "F16", 7},    {"Q2_K", "Q6_K", "IQ4_NL", 10},
    {"Q3_K", "Q6_K", "IQ4_NL", 11}, {"Q4_K", "Q6_K", "Q5_0", 14},  {"Q5_K", "Q6_K", "Q5_1", 16},
    {"Q6_K", "Q6_K", "Q8_0", 18},   {"IQ4_NL", "Q6_K", "F16", 25}, {"IQ4_XS", "Q6_K", "IQ4_NL", 30},
    {"MXFP4", "Q8_0", "F16", 38},
};

const Row& row_of(std::string_view name) {
  std::string capitals(name);
  for (char& c : capitals)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  const auto* const found = std::find_if(std::begin(kTypes), std::end(kTypes),
                                         [&](const Row& row) { return row.name == capitals; });
  if (found != std::end(kTypes)) return *found;
  std::string known;
  for (const Row& row : kTypes) known += (known.empty() ? "" : ", ") + std::string(row.name);
  throw core::error(core::Text::ModelArgument, "the type of numbers", "'" + std::string(name) + "'",
                    "one of " + known);
}

bool contains(const std::string& name, std::string_view part) {
  return name.find(part) != std::string::npos;
}

// What is small, and what all else hangs on: norms, biases, places, the choice of experts.
bool stays_exact(const std::string& name, int64_t rows) {
  return rows == 1 || contains(name, "norm") || contains(name, "position_embd") ||
         contains(name, "token_types") || contains(name, "ffn_gate_inp") || contains(name, "rope_");
}

}  // namespace

std::string_view NumberType::name() const {
  if (block != nullptr) return block->name;
  return dtype == DType::F32 ? "F32" : dtype == DType::F16 ? "F16" : "BF16";
}

uint64_t NumberType::bytes(uint64_t numbers) const {
  return block != nullptr ? numbers / block->elements * block->bytes : numbers * size_of(dtype);
}

NumberType number_type(std::string_view name) {
  const Row& row = row_of(name);
  if (const BlockType* const block = block_type(row.name)) return {block, DType::None};
  return {nullptr, row.name == "F32" ? DType::F32 : row.name == "F16" ? DType::F16 : DType::BF16};
}

uint32_t file_type(const NumberType& type) { return row_of(type.name()).file_type; }

Choice choose_type(const QuantizeOptions& options, const std::string& name, int64_t rows,
                   int64_t columns, bool logits) {
  std::string_view wanted = logits ? row_of(options.to).finer : options.to;
  if (stays_exact(name, rows)) wanted = "F32";
  for (const auto& [part, type] : options.tensors)
    if (contains(name, part)) {
      wanted = type;
      break;
    }
  Choice choice{number_type(wanted)};
  while (choice.type.block != nullptr && columns % choice.type.block->elements != 0)
    choice = {number_type(row_of(choice.type.name()).instead), true};
  return choice;
}

}  // namespace hologram::llm
