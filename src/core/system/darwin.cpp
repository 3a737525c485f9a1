// macOS and iOS: sysctl and Mach. There is no affinity, and threads of others have no names to
// give.
#include <crt_externs.h>
#include <mach/mach.h>
#include <sys/sysctl.h>

#include "core/system/system.hpp"
#include "core/workers.hpp"

namespace hologram::core::system {

const char* const* environment() { return *_NSGetEnviron(); }

int allowed_processors() { return 0; }
double processor_quota() { return 0; }

HostMemory memory() {
  HostMemory found;
  size_t size = sizeof found.total;
  if (sysctlbyname("hw.memsize", &found.total, &size, nullptr, 0) != 0) return {};
  vm_statistics64_data_t pages = {};
  mach_msg_type_number_t count = HOST_VM_INFO64_COUNT;
  const mach_port_t host = mach_host_self();
  // What is inactive gives way to whoever asks.
  if (host_statistics64(host, HOST_VM_INFO64, reinterpret_cast<host_info64_t>(&pages), &count) ==
      KERN_SUCCESS)
    found.free = (uint64_t{pages.free_count} + pages.inactive_count) * vm_kernel_page_size;
  mach_port_deallocate(mach_task_self(), host);
  return found;
}

std::string processor_name() {
  char name[256] = {};
  size_t size = sizeof name - 1;
  return sysctlbyname("machdep.cpu.brand_string", name, &size, nullptr, 0) == 0 ? name : "";
}

void name_thread(pthread_t, const char*) {}
int this_thread() { return kNoThread; }
int processor() { return kNoProcessor; }
void send_off(int, int) {}

}  // namespace hologram::core::system
