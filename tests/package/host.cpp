// plugin_host PLUGIN reopen|recreate: uses the plugin again and again and watches that the process
// does not grow, that nothing is printed, and that the plugin really goes when it is closed.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>

namespace {

// Catches what anybody writes to standard output or standard error.
class Silence {
 public:
  Silence() : caught_(memfd_create("caught", 0)), out_(dup(1)), error_(dup(2)) {
    dup2(caught_, 1);
    dup2(caught_, 2);
  }
  // Ends it and returns what was written.
  std::string end() {
    std::fflush(nullptr);
    dup2(out_, 1);
    dup2(error_, 2);
    struct stat info {};
    fstat(caught_, &info);
    std::string text(static_cast<size_t>(info.st_size), '\0');
    if (pread(caught_, text.data(), text.size(), 0) < 0) text = "unreadable";
    return text;
  }

 private:
  int caught_, out_, error_;
};

long resident_pages() {
  std::ifstream file("/proc/self/statm");
  long all = 0, resident = 0;
  file >> all >> resident;
  return resident;
}

bool mapped(const std::string& path) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);)
    if (line.find(path) != std::string::npos) return true;
  return false;
}

// Worker threads keep arriving on a machine of many cores, each with an arena of its own; after a
// few series they are all there.
constexpr int kSeries = 10;

using Run = int (*)(int);

struct Plugin {
  void* handle;
  Run run;
};

Plugin open_plugin(const char* path) {
  void* handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  return {handle, handle ? reinterpret_cast<Run>(dlsym(handle, "plugin_run")) : nullptr};
}

// One round each: an empty string, or what went wrong. Enough numbers for several threads.
std::string reopen(const char* path) {
  const Plugin plugin = open_plugin(path);
  if (!plugin.run) return "cannot be opened";
  if (const int status = plugin.run(1 << 17)) return "status " + std::to_string(status);
  if (dlclose(plugin.handle) != 0) return "cannot be closed";
  return mapped(path) ? "is still there after it was closed" : "";
}

std::string recreate(const char* path) {
  static const Plugin plugin = open_plugin(path);
  if (!plugin.run) return "cannot be opened";
  if (const int status = plugin.run(1 << 16)) return "status " + std::to_string(status);
  return "";
}

}  // namespace

int main(int count, char** words) {
  if (count != 3) return 2;
  const bool again = std::strcmp(words[2], "reopen") == 0;
  const int rounds = again ? 100 : 1000, warm = rounds / 10;
  std::string wrong, pages;
  bool grew = true;
  Silence silence;
  const auto run = [&](int n) {
    for (int i = 0; i < n && wrong.empty(); i++) {
      wrong = again ? reopen(words[1]) : recreate(words[1]);
      if (!wrong.empty()) wrong.insert(0, "round " + std::to_string(i) + ": ");
    }
  };
  run(warm);
  // What leaks grows in every series of rounds. What a busy machine puts off, such as the first
  // steps of a worker thread, grows in one of them.
  for (int series = 0; series < kSeries && grew && wrong.empty(); series++) {
    const long before = resident_pages();
    run(rounds);
    const long after = resident_pages();
    pages += " " + std::to_string(before) + " -> " + std::to_string(after);
    grew = static_cast<double>(after) > 1.02 * static_cast<double>(before);
  }
  const std::string printed = silence.end();
  std::printf("%d rounds, resident pages%s\n", rounds, pages.c_str());
  if (!wrong.empty()) return std::printf("%s\n", wrong.c_str()), 1;
  if (!printed.empty()) return std::printf("printed: %s\n", printed.c_str()), 1;
  if (grew) return std::printf("grew by more than 2 %% in every one of %d series\n", kSeries), 1;
  return 0;
}
