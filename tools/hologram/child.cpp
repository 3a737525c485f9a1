#include "child.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#ifdef __APPLE__
#include <mach-o/dyld.h>
#endif

#include "hologram/error.hpp"

namespace hologram::tool {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kMostErr = 4000;  // bytes of messages that are kept

std::string own_path() {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (!error) return self.string();
#ifdef __APPLE__
  std::array<char, 4096> path;
  auto size = static_cast<uint32_t>(path.size());
  if (_NSGetExecutablePath(path.data(), &size) == 0) return path.data();
#endif
  return "hologram";
}

[[noreturn]] void refuse(const char* what) {
  throw Error(ErrorKind::IoError,
              fmt::format("cannot start a process: {}: {}", what, std::strerror(errno)),
              "Close other programs, or raise the limits on processes and open files (ulimit).");
}

// Two ends, which no other process gets.
std::array<int, 2> make_pipe() {
  std::array<int, 2> ends;
  if (pipe(ends.data()) != 0) refuse("there is no pipe");
  for (const int end : ends) fcntl(end, F_SETFD, FD_CLOEXEC);
  return ends;
}

[[noreturn]] void become(const std::string& path, const Child& child, int out, int err) {
  dup2(out, STDOUT_FILENO);
  dup2(err, STDERR_FILENO);
  for (const auto& [name, value] : child.environment) setenv(name.c_str(), value.c_str(), 1);
  std::vector<const char*> words = {path.c_str()};
  for (const std::string& word : child.arguments) words.push_back(word.c_str());
  words.push_back(nullptr);
  execvp(path.c_str(), const_cast<char* const*>(words.data()));
  _exit(127);
}

// One of the two streams of a child.
struct Stream {
  int end;
  std::string& text;
  size_t most;  // bytes that are kept, of the end; 0: all

  bool open() const { return end >= 0; }
  void read_some() {
    std::array<char, 1 << 16> part;
    const ssize_t n = read(end, part.data(), part.size());
    if (n < 0 && errno == EINTR) return;
    if (n <= 0) {
      close(end);
      end = -1;
      return;
    }
    text.append(part.data(), static_cast<size_t>(n));
    if (most > 0 && text.size() > most) text.erase(0, text.size() - most);
  }
};

// Milliseconds until the limit; -1 without one.
int left(const Child& child, Clock::time_point started) {
  if (child.limit_s == 0) return -1;
  const auto end = started + std::chrono::seconds(child.limit_s);
  const auto rest = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
  return static_cast<int>(std::max<int64_t>(rest.count(), 0));
}

}  // namespace

std::string ExitStatus::text() const {
  if (timed_out) return fmt::format("stopped after {:.0f} s", seconds);
  if (signal != 0) return fmt::format("ended by signal {} ({})", signal, strsignal(signal));
  return fmt::format("exit code {}", code);
}

ExitStatus run(const Child& child) {
  const std::string path = own_path();
  const std::array<int, 2> out = make_pipe(), err = make_pipe();
  const Clock::time_point started = Clock::now();
  const pid_t process = fork();
  if (process == 0) become(path, child, out[1], err[1]);
  close(out[1]);
  close(err[1]);
  if (process < 0) refuse("fork");
  ExitStatus ended;
  std::array<Stream, 2> streams = {{{out[0], ended.out, 0}, {err[0], ended.err, kMostErr}}};
  while (streams[0].open() || streams[1].open()) {
    std::array<pollfd, 2> ends;
    for (size_t i = 0; i < 2; i++) ends[i] = {streams[i].end, POLLIN, 0};  // -1 is passed over
    const int ready = poll(ends.data(), ends.size(), left(child, started));
    if (ready == 0) {
      ended.timed_out = true;
      kill(process, SIGKILL);
      break;  // what it started itself may hold the pipes open
    }
    for (size_t i = 0; ready > 0 && i < 2; i++)
      if (ends[i].revents != 0) streams[i].read_some();
  }
  for (const Stream& stream : streams)
    if (stream.open()) close(stream.end);
  int status = 0;
  while (waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFSIGNALED(status)) ended.signal = WTERMSIG(status);
  else ended.code = WEXITSTATUS(status);
  ended.seconds = std::chrono::duration<double>(Clock::now() - started).count();
  return ended;
}

}  // namespace hologram::tool
