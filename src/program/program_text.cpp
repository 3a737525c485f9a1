// The text form of a Program.
#include "program/ir.hpp"
#include "program/program_state.hpp"
#include "program/text/excerpt.hpp"
#include "program/verify.hpp"

namespace hologram::program {

Program Program::parse(std::string_view text, std::string_view file) {
  Module module = assemble(text, file);
  if (const auto fault = find_fault(module, Mention::NoLines))
    throw at_line(fault->error, text, file, fault->line);
  return from(std::move(module));
}

std::string Program::text() const { return to_text(state_->source); }
std::string Program::optimized_text() const { return to_text(state_->optimized); }

}  // namespace hologram::program
