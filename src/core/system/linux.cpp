// Linux: /proc, cgroups of version 2, affinity.
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

#include "core/system/system.hpp"

namespace hologram::core::system {

const char* const* environment() { return environ; }
namespace {

std::string contents(const char* path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

int allowed_processors() {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 0;
}

// As the process sees the root of its cgroup.
double processor_quota() {
  std::ifstream file("/sys/fs/cgroup/cpu.max");
  std::string quota;
  double period = 0;
  if (!(file >> quota >> period) || quota == "max" || period <= 0) return 0;
  return std::strtod(quota.c_str(), nullptr) / period;
}

HostMemory memory() {
  return host_memory({.meminfo = contents("/proc/meminfo"),
                      .limit = contents("/sys/fs/cgroup/memory.max"),
                      .used = contents("/sys/fs/cgroup/memory.current"),
                      .stat = contents("/sys/fs/cgroup/memory.stat")});
}

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.rfind("model name", 0) == 0)
      if (const size_t colon = line.find(": "); colon != std::string::npos)
        return line.substr(colon + 2);
  return {};
}

void name_thread(pthread_t thread, const char* name) { pthread_setname_np(thread, name); }
int this_thread() { return static_cast<int>(syscall(SYS_gettid)); }
int processor() { return sched_getcpu(); }

void send_off(int thread, int processor) {
  cpu_set_t all;
  if (processor < 0 || processor >= CPU_SETSIZE || sched_getaffinity(thread, sizeof all, &all) != 0)
    return;
  cpu_set_t others = all;
  CPU_CLR(static_cast<size_t>(processor), &others);
  if (CPU_COUNT(&others) == 0 || sched_setaffinity(thread, sizeof others, &others) != 0) return;
  sched_setaffinity(thread, sizeof all, &all);
}

}  // namespace hologram::core::system
