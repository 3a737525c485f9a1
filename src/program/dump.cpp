#include "program/dump.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <set>
#include <string>

#include "core/log.hpp"

namespace hologram::program {
namespace {

// One for the process: programs of all executors go there.
class Dump {
 public:
  static Dump& instance() {
    static Dump dump;
    return dump;
  }
  bool is_on() const { return !folder_.empty(); }

  void file(const Program& program, std::string_view suffix, std::string_view contents) {
    const std::string name = name_of(program) + "." + std::string(suffix);
    const std::lock_guard lock(mutex_);
    if (written_.insert(name).second) write(name, "wb", contents);
  }
  void launch(const Program& program, std::string_view device, const std::array<uint64_t, 3>& grid,
              std::span<const uint64_t> scalars) {
    std::string line = name_of(program) + fmt::format(" ({}, {}, {})", grid[0], grid[1], grid[2]);
    const auto params = program.scalars();
    for (size_t i = 0; i < scalars.size() && i < params.size(); i++)
      line += fmt::format(" {}={:#x}", params[i].name, scalars[i]);
    const std::lock_guard lock(mutex_);
    write("launches.txt", count_ == 0 ? "wb" : "ab",
          fmt::format("{} {} {}\n", count_, device, line));
    count_++;
  }

 private:
  Dump() {
    const char* const given = std::getenv("HOLOGRAM_DUMP");
    if (given == nullptr || *given == '\0') return;
    std::error_code error;
    std::filesystem::create_directories(given, error);
    folder_ = given;
  }
  // The name, which may be anybody's, as far as it is one of a file, and what the program does.
  static std::string name_of(const Program& program) {
    std::string name = program.name().substr(0, 60);
    for (char& c : name)
      if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_' && c != '-') c = '_';
    return fmt::format("{}-{:016x}", name, program.hash().high);
  }
  void write(const std::string& name, const char* mode, std::string_view contents) {
    const std::string path = (std::filesystem::path(folder_) / name).string();
    std::FILE* const file = std::fopen(path.c_str(), mode);
    bool done = file != nullptr;
    if (done) done = std::fwrite(contents.data(), 1, contents.size(), file) == contents.size();
    const int error = errno;
    if (file != nullptr) done = std::fclose(file) == 0 && done;
    if (done || warned_) return;
    warned_ = true;
    core::log(LogLevel::Warning,
              fmt::format("HOLOGRAM_DUMP: cannot write '{}': {}", path, std::strerror(error)));
  }

  std::string folder_;
  std::mutex mutex_;
  std::set<std::string> written_;
  uint64_t count_ = 0;
  bool warned_ = false;
};

}  // namespace

bool is_dumped() { return Dump::instance().is_on(); }

void dump(const Program& program, std::string_view suffix, std::string_view contents) {
  if (is_dumped()) Dump::instance().file(program, suffix, contents);
}
void dump(const Program& program, std::string_view suffix, std::span<const std::byte> contents) {
  dump(program, suffix,
       std::string_view(reinterpret_cast<const char*>(contents.data()), contents.size()));
}
void dump_launch(const Program& program, std::string_view device,
                 const std::array<uint64_t, 3>& grid, std::span<const uint64_t> scalars) {
  if (is_dumped()) Dump::instance().launch(program, device, grid, scalars);
}

}  // namespace hologram::program
