// What the text of a kernel depends on, and the numbers that it is given at a launch.
#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "fusion/layout.hpp"

namespace hologram::graph {
namespace {

// 0 and 1 are so common that the code knows them; and -1, of which it reads vectors.
char stride_class(int64_t stride) {
  return stride == 0 ? '0' : stride == 1 ? '1' : stride == -1 ? '-' : 's';
}

template <class T>
void append(std::string& key, T value) {
  key.append(reinterpret_cast<const char*>(&value), sizeof value);
}

}  // namespace

std::vector<ScalarArgument> scalar_arguments(const Kernel& kernel, const Layout& l) {
  std::vector<ScalarArgument> list;
  const auto add = [&](std::string name, int64_t value) {
    const auto bits = static_cast<uint64_t>(value);
    list.push_back({std::move(name), l.index, l.index == DType::I32 ? bits & 0xffffffffu : bits});
  };
  for (size_t k = 0; k < l.outer.size(); k++) add(fmt::format("n{}", k), l.outer[k]);
  for (size_t k = 0; k < l.row.size(); k++) add(fmt::format("row{}", k), l.row[k]);
  if (kernel.row_axes > 0) add("length", kernel.row_length());
  if (l.traversal == Traversal::Blocks) add("elements", element_count(kernel.domain));
  if (l.chunk != 0) add("piece", l.chunk);
  // Odd: lanes that walk a row each are in banks of their own.
  if (l.room != 0) add("pitch", l.row[0] | 1);
  for (size_t v = 0; v < l.views.size(); v++) {
    const Lanes& view = l.views[v];
    for (size_t k = 0; k < view.outer.size(); k++)
      if (stride_class(view.outer[k]) == 's') add(fmt::format("v{}_{}", v, k), view.outer[k]);
    for (size_t k = 0; k < view.row.size(); k++)
      if (stride_class(view.row[k]) == 's') add(fmt::format("v{}_row{}", v, k), view.row[k]);
    if (view.offset != 0) add(fmt::format("v{}_at", v), view.offset);
  }
  for (size_t i = 0; i < kernel.attributes.size(); i++)
    list.push_back({fmt::format("a{}", i), kernel.attributes[i].type, kernel.attributes[i].bits});
  return list;
}

std::string key_of(const Kernel& kernel, const Layout& l) {
  std::string key;
  append(key, l.traversal);
  append(key, l.trusted);
  append(key, l.lanes);
  append(key, l.one_run);
  append(key, l.side_by_side);
  append(key, l.held);
  append(key, l.full);
  append(key, l.several);
  append(key, l.ahead);
  append(key, l.linear);
  append(key, l.tile);
  append(key, l.across);
  append(key, l.room);
  append(key, l.in_place);
  for (const bool staged : l.staged) key += staged ? 's' : '-';
  append(key, l.index);
  append(key, l.pieces_axis);
  append(key, l.rest);
  append(key, kernel.combines_partials);
  append(key, l.outer.size());
  append(key, l.row.size());
  for (const Lanes& view : l.views) {
    for (const int64_t s : view.outer) key += stride_class(s);
    for (const int64_t s : view.row) key += stride_class(s);
    key += view.offset != 0 ? '+' : '.';
  }
  append(key, kernel.loads.size());
  for (const Term& t : kernel.terms) {
    append(key, t.kind);
    append(key, t.dtype);
    append(key, t.per_row);
    append(key, t.combine);
    append(key, reinterpret_cast<uintptr_t>(t.op));
    append(key, t.view);
    append(key, t.buffer);
    append(key, t.operands.size());
    for (const uint32_t operand : t.operands) append(key, operand);
  }
  for (const Attribute& a : kernel.attributes) append(key, a.type);
  for (const Output& output : kernel.outputs) {
    append(key, output.term);
    append(key, output.view);
    append(key, output.target->dtype);
    append(key, output.in_place);
  }
  return key;
}

}  // namespace hologram::graph
