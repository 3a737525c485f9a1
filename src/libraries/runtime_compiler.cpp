#include "libraries/runtime_compiler.hpp"

#include <fmt/format.h>

#include <sstream>

namespace hologram::libraries {
namespace {

constexpr int kLogLines = 4;

}  // namespace

hal::Expected<std::vector<std::byte>> RuntimeCompiler::compile(
    const CompilerFunctions& functions, const std::string& text, const std::string& target,
    const std::vector<std::string>& flags) const {
  std::vector<const char*> options = {target.c_str()};
  for (const std::string& flag : flags) options.push_back(flag.c_str());

  struct Job {
    const CompilerFunctions& functions;
    Compilation handle = nullptr;
    ~Job() { functions.destroy(&handle); }
  } job{functions};
  const auto fetch = [&](auto get_size, auto get) {
    size_t bytes = 0;
    get_size(job.handle, &bytes);
    std::vector<std::byte> result(bytes);
    const bool good = bytes > 0 && get(job.handle, reinterpret_cast<char*>(result.data())) == 0;
    return good ? result : std::vector<std::byte>();
  };
  int status = functions.create(&job.handle, text.c_str(), "program.cu", 0, nullptr, nullptr);
  if (status == 0)
    status = functions.compile(job.handle, static_cast<int>(options.size()), options.data());
  if (status == 0) {
    std::vector<std::byte> code = fetch(functions.code_size, functions.code);
    if (!code.empty()) return code;
  }
  const std::vector<std::byte> log = fetch(functions.log_size, functions.log);
  std::istringstream lines(
      std::string(reinterpret_cast<const char*>(log.data()), log.empty() ? 0 : log.size() - 1));
  std::string first = fmt::format("{} {}, status {}", name_, version_, status);
  std::string line;
  for (int i = 0; i < kLogLines && std::getline(lines, line); i++) first += '\n' + line;
  return hal::Refusal{first};
}

}  // namespace hologram::libraries
