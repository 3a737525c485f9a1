#include "core/messages.hpp"

#include <array>

namespace hologram {

std::string_view name_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::BackendUnavailable: return "BackendUnavailable";
    case ErrorKind::OutOfMemory: return "OutOfMemory";
    case ErrorKind::Timeout: return "Timeout";
    case ErrorKind::ShapeMismatch: return "ShapeMismatch";
    case ErrorKind::DTypeMismatch: return "DTypeMismatch";
    case ErrorKind::UnsupportedOperation: return "UnsupportedOperation";
    case ErrorKind::InvalidProgram: return "InvalidProgram";
    case ErrorKind::InvalidArgument: return "InvalidArgument";
    case ErrorKind::InvalidConfig: return "InvalidConfig";
    case ErrorKind::Cancelled: return "Cancelled";
    case ErrorKind::DeviceLost: return "DeviceLost";
    case ErrorKind::IoError: return "IoError";
    case ErrorKind::Internal: return "Internal";
  }
  return "Unknown";
}

Error::Error(ErrorKind kind, std::string what, std::string remedy)
    : kind_(kind), what_(std::move(what)), remedy_(std::move(remedy)) {}

namespace core {
namespace {

constexpr auto kMessages = std::to_array<Message>({
#define MESSAGE(id, kind, what, remedy) {#id, ErrorKind::kind, what, remedy},
#include "core/messages.inc"
#undef MESSAGE
});

}  // namespace

const Message& message(Text text) { return kMessages[static_cast<size_t>(text)]; }
std::size_t message_count() { return kMessages.size(); }

Error format_error(Text text, fmt::format_args args) {
  const Message& m = message(text);
  return Error(m.kind, fmt::vformat(m.what, args), fmt::vformat(m.remedy, args));
}

}  // namespace core
}  // namespace hologram
