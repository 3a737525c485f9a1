// In place of the compiler, for processors that it knows no instructions of.
#include "jit/jit.hpp"

namespace hologram::jit {

class Code {};

Isa isa_of(std::string_view /*target*/) { return Isa::None; }
std::string_view name_of(Isa /*isa*/) { return "none"; }

Compiled::~Compiled() = default;

interp::Outcome Compiled::run(const interp::Launch& /*launch*/, core::Threads& /*threads*/) const {
  return {};
}

size_t Compiled::bytes() const { return 0; }
std::span<const std::byte> Compiled::code() const { return {}; }

std::variant<std::shared_ptr<const Compiled>, std::string> compile(
    const program::Module& /*module*/, const interp::KernelTable& /*kernels*/, Isa /*isa*/,
    std::string* /*listing*/) {
  return "its instruction set has no compiler";
}

}  // namespace hologram::jit
