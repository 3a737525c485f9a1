#include "graph/candidates.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "graph/context.hpp"

namespace hologram::graph {
namespace {

using hal::Candidate;

auto chosen_of(const Candidates& candidates) {
  return std::find_if(candidates.begin(), candidates.end(),
                      [](const Candidate& c) { return c.refusal.empty(); });
}

// Of one who has no name there is only what it says: the device without a library.
std::string reason_of(const Candidate& c) {
  return c.name.empty() ? c.refusal : fmt::format("{}: {}", c.name, c.refusal);
}

}  // namespace

Candidates only(std::string name) { return {{std::move(name), {}, {}}}; }

std::string doer(const Candidates& candidates) {
  const auto chosen = chosen_of(candidates);
  if (chosen == candidates.end()) return "by nobody";
  const bool last = chosen + 1 == candidates.end();
  std::string text = "by " + chosen->name;
  // Who could do as well needs no excuse: only the program at the end is there for want of others.
  for (auto c = candidates.begin(); last && c != chosen; ++c)
    text += (c == candidates.begin() ? ": " : "; ") + reason_of(*c);
  return text;
}

std::string in_lines(const Candidates& candidates) {
  const auto chosen = chosen_of(candidates);
  std::string text;
  size_t number = 0;
  for (auto c = candidates.begin(); c != candidates.end(); ++c) {
    std::string note = c->refusal.empty() ? c->note : c->refusal;
    if (note.empty() && c > chosen) note = "is not asked";
    text += fmt::format("   {} {}. {}{}{}\n", c == chosen ? '*' : ' ', ++number,
                        c->name.empty() ? "a library" : c->name, note.empty() ? "" : ": ", note);
  }
  return text;
}

// --- what a context asks the library of its device

hal::LibraryOps* Context::library() const { return state_.device->library(); }

hal::Refusal Context::no_library() const {
  return {config().reproducible ? "reproducible forbids libraries" : "the device has no library"};
}

std::shared_ptr<const hal::LibraryPlan> Context::library_of(const hal::OpDesc& desc) {
  if (library() == nullptr || has_programs_alone()) return nullptr;
  auto planned = library()->plan(desc);
  auto* const plan = std::get_if<std::shared_ptr<hal::LibraryPlan>>(&planned);
  return plan == nullptr ? nullptr : std::move(*plan);
}

bool Context::by_library(const hal::OpDesc& desc, std::initializer_list<hal::Binding> operands) {
  const auto plan = library_of(desc);
  if (plan == nullptr) return false;
  const Storage workspace = allocate(plan->workspace());
  runtime::Work work;
  for (const hal::Binding& operand : operands) work.bytes += static_cast<double>(operand.size);
  call(plan, {operands.begin(), operands.size()}, workspace.where, work);
  return true;
}

Candidates Context::candidates(const hal::OpDesc& desc, std::string program) {
  Candidates all;
  if (library() == nullptr) all.push_back({{}, no_library().reason, {}});
  else all = library()->candidates(desc);
  all.push_back({std::move(program), {}, {}});
  return all;
}

Candidates Context::candidates_of_bits(const hal::OpDesc& desc, std::string program) {
  if (library() != nullptr && has_programs_alone())
    return {{{}, "a library knows no checks and no limit of time", {}},
            {std::move(program), {}, {}}};
  return candidates(desc, std::move(program));
}

}  // namespace hologram::graph
