#include "errors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <new>
#include <nlohmann/json.hpp>

#include "hologram/log.hpp"
#include "interrupt.hpp"

namespace hologram::tool {
namespace {

struct Row {
  int code;
  const char* meaning;
};

constexpr auto kCodes = std::to_array<Row>({
    {0, "everything worked"},
    {1, "the program or its data are wrong"},
    {kExitUsage, "the command line or a HOLOGRAM_ variable is wrong"},
    {kExitFile, "a file cannot be read or written"},
    {4, "there is no such device, or it stopped answering"},
    {5, "the time of HOLOGRAM_TIMEOUT_MS ran out"},
    {kExitMemory, "there is not enough memory"},
    {kExitInternal, "a defect of hologram"},
    {130, "interrupted with Ctrl-C"},
});

// The length of the UTF-8 character at `at`; 0 if there is none.
size_t character_length(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) { return i < text.size() ? static_cast<uint8_t>(text[i]) : 0u; };
  const unsigned lead = byte(at);
  const size_t length = lead < 0x80                    ? 1
                        : lead >= 0xC2 && lead < 0xE0  ? 2
                        : lead >= 0xE0 && lead < 0xF0  ? 3
                        : lead >= 0xF0 && lead <= 0xF4 ? 4
                                                       : 0;
  for (size_t i = 1; i < length; i++)
    if ((byte(at + i) & 0xC0) != 0x80) return 0;
  return length;
}

// Names and excerpts may hold anything; a terminal gets text.
std::string printable(std::string_view text) {
  std::string shown;
  for (size_t at = 0; at < text.size();) {
    const size_t length = character_length(text, at);
    const auto byte = static_cast<uint8_t>(text[at]);
    const bool control = (byte < 0x20 && byte != '\n' && byte != '\t') || byte == 0x7f;
    if (length == 0 || control) shown += '?';
    else shown += text.substr(at, length);
    at += std::max<size_t>(1, length);
  }
  return shown;
}

void print(bool json, std::string_view kind, int code, const std::string& what,
           const std::string& remedy) {
  if (json) {
    const nlohmann::ordered_json object = {
        {"error", {{"kind", kind}, {"what", what}, {"remedy", remedy}, {"exit_code", code}}}};
    fmt::print(stderr, "{}\n",
               object.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
  } else {
    fmt::print(stderr, "hologram: {}\n  {}\n", printable(what), printable(remedy));
  }
}

}  // namespace

void print_messages() {
  set_log_callback([](LogLevel level, std::string_view message) {
    const bool bad = level == LogLevel::Error || level == LogLevel::Warning;
    fmt::print(stderr, "hologram: {}{}\n", bad ? "warning: " : "", printable(message));
  });
}

int exit_code(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::ShapeMismatch:
    case ErrorKind::DTypeMismatch:
    case ErrorKind::UnsupportedOperation:
    case ErrorKind::InvalidProgram:
    case ErrorKind::InvalidArgument: return 1;
    case ErrorKind::InvalidConfig: return kExitUsage;
    case ErrorKind::IoError: return kExitFile;
    case ErrorKind::BackendUnavailable:
    case ErrorKind::DeviceLost: return 4;
    case ErrorKind::Timeout: return 5;
    case ErrorKind::OutOfMemory: return kExitMemory;
    case ErrorKind::Cancelled: return 130;
    case ErrorKind::Internal: break;
  }
  return kExitInternal;
}

std::string exit_code_table() {
  std::string text;
  for (const Row& row : kCodes) text += fmt::format("  {:>3}  {}\n", row.code, row.meaning);
  return text;
}

int report_exception(bool json) noexcept {
  try {
    try {
      throw;
    } catch (const UsageError& e) {
      print(json, "WrongUsage", kExitUsage, e.what(), e.remedy());
      return kExitUsage;
    } catch (const Error& e) {
      const int code = e.kind() == ErrorKind::Cancelled && Interrupt::signal() != 0
                           ? 128 + Interrupt::signal()
                           : exit_code(e.kind());
      print(json, name_of(e.kind()), code, e.what(), e.remedy());
      return code;
    } catch (const std::bad_alloc&) {
      print(json, name_of(ErrorKind::OutOfMemory), kExitMemory, "there is not enough memory",
            "Use smaller arrays, or set HOLOGRAM_CACHE_SIZE_MB to work by strips.");
      return kExitMemory;
    } catch (const std::exception& e) {
      print(json, name_of(ErrorKind::Internal), kExitInternal,
            fmt::format("internal error: {}", e.what()),
            "This is a defect of hologram; please report it with the command that showed it.");
      return kExitInternal;
    }
  } catch (...) {
    std::fputs("hologram: internal error\n  This is a defect of hologram; please report it.\n",
               stderr);
    return kExitInternal;
  }
}

}  // namespace hologram::tool
