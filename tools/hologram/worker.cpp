#include "worker.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "hologram/error.hpp"
#include "hologram/files.hpp"
#include "interrupt.hpp"

namespace hologram::tool {
namespace {

using Json = nlohmann::ordered_json;

// Where arrays are handed over: in memory, where there is such a folder.
std::string make_folder() {
  std::error_code none;
  const std::filesystem::path memory = "/dev/shm";
  const auto parent =
      std::filesystem::is_directory(memory, none) ? memory : std::filesystem::temp_directory_path();
  std::string path = (parent / "hologram-bench-XXXXXX").string();
  if (mkdtemp(path.data()) == nullptr)
    throw Error(ErrorKind::IoError,
                fmt::format("cannot make the folder {}: {}", path, std::strerror(errno)),
                "Make room there, or set TMPDIR to a folder that you may write to.");
  return path;
}

}  // namespace

Worker::Worker(const std::string& command, int threads)
    : command_(fmt::format("{} --threads {}", command, threads)), folder_(make_folder()) {
  try {
    start();
    versions_ = answer("versions");
  } catch (...) {
    stop();
    throw;
  }
}

Worker::~Worker() { stop(); }

void Worker::start() {
  int request[2], reply[2];
  if (pipe2(request, O_CLOEXEC) != 0) fail("there are no pipes");
  to_ = request[1];
  if (pipe2(reply, O_CLOEXEC) != 0) {
    close(request[0]);
    fail("there are no pipes");
  }
  from_ = reply[0];
  const std::string line = "exec " + command_;
  process_ = fork();
  if (process_ == 0) {
    dup2(request[0], STDIN_FILENO);
    dup2(reply[1], STDOUT_FILENO);
    execl("/bin/sh", "sh", "-c", line.c_str(), static_cast<char*>(nullptr));
    _exit(127);
  }
  close(request[0]);
  close(reply[1]);
  // A program that has ended is told by what it answers: nothing.
  std::signal(SIGPIPE, SIG_IGN);
  if (process_ < 0) fail("it could not be started");
}

void Worker::stop() {
  if (to_ >= 0) close(to_);  // the end of its input is its end
  if (from_ >= 0) close(from_);
  if (process_ > 0) waitpid(process_, nullptr, 0);
  std::error_code none;
  std::filesystem::remove_all(folder_, none);
}

std::vector<std::string> Worker::prepare(const Workload& work) {
  Json inputs = Json::array();
  for (size_t k = 0; k < work.inputs.size(); k++) {
    inputs.push_back(fmt::format("{}/{}.npy", folder_, k));
    files::write(inputs.back().get<std::string>(), work.inputs[k]);
  }
  ask({{"prepare", work.name}, {"inputs", inputs}});
  const Json ways = answer("ways");
  for (const Json& path : inputs) std::filesystem::remove(path.get<std::string>());
  std::vector<std::string> names;
  for (const Json& way : ways) {
    if (!way.is_string()) fail("a way without a name: " + way.dump());
    names.push_back(way);
  }
  return names;
}

Array Worker::result(size_t way) {
  const std::string path = fmt::format("{}/result{}.npy", folder_, way);
  ask({{"result", way}, {"file", path}});
  answer();
  Array result = files::read(path);
  std::filesystem::remove(path);  // what is mapped stays
  return result;
}

double Worker::seconds(size_t way, int times, Clock clock) {
  ask({{"run", way}, {"times", times}, {"processor", clock == Clock::Processor}});
  const Json seconds = answer("seconds");
  if (!seconds.is_number()) fail("no number of seconds: " + seconds.dump());
  return seconds;
}

void Worker::ask(const Json& request) {
  Interrupt::check();
  const std::string line = request.dump() + "\n";
  for (size_t sent = 0; sent < line.size();) {
    const ssize_t n = write(to_, line.data() + sent, line.size() - sent);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail("it does not listen any more");
    sent += static_cast<size_t>(n);
  }
}

Json Worker::answer() {
  size_t end;
  while ((end = unread_.find('\n')) == std::string::npos) {
    char part[4096];
    const ssize_t n = read(from_, part, sizeof part);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      Interrupt::check();  // Ctrl-C ends it, too
      fail("it ended without an answer");
    }
    unread_.append(part, static_cast<size_t>(n));
  }
  Json json = Json::parse(unread_.substr(0, end), nullptr, false);
  const std::string text = unread_.substr(0, end);
  unread_.erase(0, end + 1);
  if (!json.is_object()) fail("it answered what is no JSON object: " + text);
  if (json.contains("error")) fail(json["error"].dump());
  return json;
}

Json Worker::answer(const char* key) {
  Json json = answer();
  if (!json.contains(key)) fail(fmt::format("an answer without {}: {}", key, json.dump()));
  return json[key];
}

void Worker::fail(const std::string& what) const {
  throw Error(ErrorKind::IoError, fmt::format("the competitors of `{}`: {}", command_, what),
              "Run that command by itself: what it lacks it says on the standard error.");
}

}  // namespace hologram::tool
