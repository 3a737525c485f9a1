// The verifier with its finding as data, for callers that show the line of the text themselves.
#pragma once

#include <optional>
#include <string>

#include "hologram/error.hpp"
#include "program/ir.hpp"

namespace hologram::program {

struct Fault {
  Error error;
  uint32_t line = 0;  // of the text; 0 where there is none
};

// Whether messages name the line of the culprit.
enum class Mention : uint8_t { Lines, NoLines };

// The first fault of the module, if it has one. Safe on any data.
std::optional<Fault> find_fault(const Module& module, Mention mention);

// The parts of the above; each throws a Fault and may rely on those before it.
void verify_declarations(const Module& module, Mention mention);
void verify_host(const Module& module, Mention mention);
void verify_body(const Module& module, Mention mention);

// The subject of a message: "program 'blur'" or "program 'blur', line 7".
std::string subject(const Module& module, Mention mention, uint32_t line);

// Whether the instruction makes a value, so that it has an id.
bool defines_value(Op op);

// Whether a reduction, scan or atomic may combine values of the type so.
bool suits(Combine combine, DType type);

}  // namespace hologram::program
