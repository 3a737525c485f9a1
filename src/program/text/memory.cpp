// Elements of buffers and workgroup arrays.
#include <fmt/format.h>

#include "program/text/assembler.hpp"

namespace hologram::program {

using core::Text;

// x[i], x[i, j]: where an element is.
Assembler::Place Assembler::place() {
  const uint32_t name = at_++;
  const Symbol* symbol = find(spelled(name));
  if (!symbol) unknown_name(name);
  if (symbol->kind != Symbol::Kind::Memory) fail(name, Text::AtlasNotMemory, spelled(name));
  const size_t memory = symbol->id;
  expect(Tok::LBracket, "`[`", "Write x[i].");
  std::vector<Expr> indices;
  do indices.push_back(expression(index_));
  while (accept(Tok::Comma));
  expect(Tok::RBracket, "`]`", "Close the index, or put an operator here.");
  const Memory& m = memories_[memory];
  const size_t given = indices.size(), rank = m.dims.size();
  if (given != 1 && given != rank)
    throw located(rank == 0 ? core::error(Text::AtlasFlatOnly, m.name, given)
                            : core::error(Text::AtlasIndexCount, m.name, rank, given),
                  name, at_ - 1);
  return {&m, flat_index(m, indices), name};
}

// One index is the offset. Several are each held against their dimension, and an element outside
// gets the index -1, which no memory has. Numbers that lie inside need no test.
Value Assembler::flat_index(const Memory& memory, const std::vector<Expr>& indices) {
  if (indices.size() == 1) return as(indices[0], index_);
  std::vector<Value> values;
  values.reserve(indices.size());
  for (const Expr& e : indices) values.push_back(as(e, index_));
  const auto dimension = [&](size_t k) {
    const Dim& dim = memory.dims[k];
    return dim.name.empty() ? builder_->constant(index_, dim.length)
                            : builder_->dimension(dim.name);
  };
  Value flat = values[0];
  for (size_t k = 1; k < values.size(); k++) {
    flat = flat * dimension(k);
    if (!indices[k].weak() || indices[k].number->integer != 0) flat = flat + values[k];
  }
  std::optional<Value> inside;
  const auto also = [&](Value test) { inside = inside ? *inside & test : test; };
  for (size_t k = 0; k < values.size(); k++) {
    const bool not_negative = indices[k].weak() && indices[k].number->integer >= 0;
    const Dim& dim = memory.dims[k];
    if (!not_negative) also(values[k] >= 0);
    if (!not_negative || !dim.name.empty() || indices[k].number->integer >= dim.length)
      also(values[k] < dimension(k));
  }
  return inside ? select(*inside, flat, -1) : flat;
}

Value Assembler::load(const Place& place) {
  const Memory& m = *place.memory;
  return m.shared ? builder_->load(Shared{m.id}, place.index)
                  : builder_->load(Buf{m.id}, place.index);
}

void Assembler::store(const Place& place, const Expr& e) {
  const Memory& m = *place.memory;
  const Value value = as(e, compute_type(m.type));
  if (m.shared) builder_->store(Shared{m.id}, place.index, value);
  else builder_->store(Buf{m.id}, place.index, value);
}

void Assembler::may_read(const Place& place) const {
  const Memory& m = *place.memory;
  if (m.atomic) fail(place.first, Text::AtlasAtomicAccess, m.name);
  if (!m.shared && m.access == Access::Out)
    fail(place.first, Text::AtlasReadsOut, m.name, name_of(m.type));
}

void Assembler::may_write(const Place& place) const {
  const Memory& m = *place.memory;
  if (m.atomic) fail(place.first, Text::AtlasAtomicAccess, m.name);
  if (!m.shared && m.access == Access::In)
    fail(place.first, Text::AtlasWritesIn, m.name, name_of(m.type));
}

}  // namespace hologram::program
