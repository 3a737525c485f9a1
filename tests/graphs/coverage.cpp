#include "graphs/coverage.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "graphs/field.hpp"

namespace hologram::graphs {
namespace {

using graph::Accepts;

Cell cell_of(const Description& description, const Step& step) {
  Cell cell{step.operation, DType::None, step.dtype, size_of(step.shape)};
  DType common = DType::None;
  bool first = true;
  for (size_t k = 0; k < step.arguments.size(); k++) {
    if (step.arguments[k].is_number()) continue;
    const Step& operand = description.steps[step.arguments[k].step];
    if (first) cell.size = size_of(operand.shape);
    if (first) cell.dtype = operand.dtype;
    first = false;
    const bool is_condition = step.operation->name == "where" && k == 0;
    if (!is_condition)
      common = common == DType::None ? operand.dtype : promoted(common, operand.dtype);
  }
  const graph::ElementwiseOp* row = step.operation->row;
  if (row != nullptr && row->rule != graph::Rule::Shift && common != DType::None)
    cell.dtype = common;
  if (step.operation->name == "cast") cell.to = step.dtype;
  return cell;
}

// Cells that cannot be, and why: operations, a dtype and size if not all, and a way if not all.
struct Impossible {
  std::string_view operations, middle, way, reason;
};
constexpr Impossible kImpossible[] = {
    {" arange ", "/i8/large/", "", "there are no so many numbers"},
    {" arange ", "/u8/large/", "", "there are no so many numbers"},
    {" arange ", "/bf16/large/", "", "they are not exact"},
    {" put copy contiguous ", "", "as text", "expressions have none"},
    {" put copy contiguous ", "", "by rows", "expressions have none"},
    {" full arange eye linspace ", "", "by rows", "takes no rows"},
    {" scatter scatter_add ", "", "by rows", "the rows of three operands are not taken together"},
    {" reshape permute broadcast_to concat stack pad tile ", "", "by rows",
     "needs all rows at once"},
    {" topk topk_positions searchsorted gemm gemv ", "", "by rows", "needs all rows at once"},
};

}  // namespace

Size size_of(const Shape& shape) {
  const size_t n = elements_in(shape);
  return n == 0 ? Size::Empty : n == 1 ? Size::One : n > kLarge ? Size::Large : Size::Odd;
}

std::string Cell::name() const {
  const std::string what =
      to == DType::None ? std::string(operation->name) : fmt::format("cast to {}", name_of(to));
  return fmt::format("{}/{}/{}", what, name_of(dtype), kSizeNames[static_cast<size_t>(size)]);
}

std::span<const DType> all_dtypes() {
  static constexpr DType kAll[] = {DType::Bool, DType::I8,  DType::U8,  DType::I16, DType::U16,
                                   DType::I32,  DType::U32, DType::I64, DType::U64, DType::F16,
                                   DType::BF16, DType::F32, DType::F64};
  return kAll;
}

bool takes(const Operation& operation, DType dtype) {
  if (operation.build == nullptr) return false;
  if (operation.name == "linspace") return is_float(dtype);
  for (const std::string_view name : {"scatter_add", "arange", "gemm", "gemv"})
    if (operation.name == name) return dtype != DType::Bool;
  if (operation.row == nullptr) return true;
  switch (operation.row->accepts) {
    case Accepts::Any: return true;
    case Accepts::Number: return dtype != DType::Bool || operation.row->rule == graph::Rule::Float;
    case Accepts::Integer: return is_integer(dtype);
    case Accepts::IntegerOrBool: return !is_float(dtype);
    case Accepts::Bool: return dtype == DType::Bool;
  }
  return false;
}

const std::vector<Cell>& cells(Size size) {
  static const auto all = [] {
    std::array<std::vector<Cell>, kSizes> lists;
    for (size_t s = 0; s < kSizes; s++)
      for (const Operation& o : operations())
        for (const DType dtype : all_dtypes()) {
          if (!takes(o, dtype)) continue;
          const auto here = static_cast<Size>(s);
          if (o.name != "cast") lists[s].push_back({&o, DType::None, dtype, here});
          else
            for (const DType to : all_dtypes())
              if (to != dtype) lists[s].push_back({&o, to, dtype, here});
        }
    return lists;
  }();
  return all[static_cast<size_t>(size)];
}

void Coverage::count(const Description& description, std::string_view way) {
  Counts& counts = ways_[std::string(way)];
  const std::vector<bool> live = live_steps(description);
  for (size_t i = 0; i < live.size(); i++)
    if (live[i] && !is_input(description.steps[i]))
      counts[cell_of(description, description.steps[i]).name()]++;
}

uint64_t Coverage::of(const Cell& cell, std::string_view way) const {
  const auto counts = ways_.find(way);
  if (counts == ways_.end()) return 0;
  const auto found = counts->second.find(cell.name());
  return found == counts->second.end() ? 0 : found->second;
}

std::vector<std::string> Coverage::ways() const {
  std::vector<std::string> names;
  for (const auto& [way, counts] : ways_) names.push_back(way);
  return names;
}

std::vector<Hole> Coverage::holes() const {
  std::vector<Hole> all;
  for (const auto& [way, counts] : ways_)
    for (size_t s = 0; s < kSizes; s++)
      for (const Cell& cell : cells(static_cast<Size>(s)))
        if (!counts.contains(cell.name())) all.push_back({cell, way});
  return all;
}

std::string_view Hole::reason() const {
  const std::string word = " " + std::string(cell.operation->name) + " ";
  for (const Impossible& one : kImpossible)
    if (one.operations.find(word) != std::string_view::npos && way.ends_with(one.way) &&
        name().find(one.middle) != std::string::npos)
      return one.reason;
  return "";
}

std::string Coverage::table() const {
  std::string text = fmt::format("{:16}", "least a dtype");
  for (const auto& [way, counts] : ways_) text += fmt::format(" | {:^27}", way.substr(0, 27));
  text += fmt::format("\n{:16}", "");
  for (size_t w = 0; w < ways_.size(); w++)
    text += fmt::format(" | {:>6}{:>6}{:>7}{:>8}", kSizeNames[0], kSizeNames[1], kSizeNames[2],
                        kSizeNames[3]);
  for (const Operation& o : operations()) {
    if (o.build == nullptr) continue;
    text += fmt::format("\n{:16}", o.name);
    for (const auto& [way, counts] : ways_) {
      text += " |";
      for (size_t s = 0; s < kSizes; s++) {
        uint64_t least = UINT64_MAX;
        for (const Cell& cell : cells(static_cast<Size>(s)))
          if (cell.operation == &o) least = std::min(least, of(cell, way));
        text += fmt::format("{:>{}}", least, s == 3 ? 8 : s == 2 ? 7 : s == 1 ? 6 : 7);
      }
    }
  }
  return text + "\n";
}

}  // namespace hologram::graphs
