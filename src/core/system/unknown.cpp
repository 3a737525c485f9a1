// A system of which nothing is known but the standard library.
#include <unistd.h>

#include "core/system/system.hpp"
#include "core/workers.hpp"

namespace hologram::core::system {

const char* const* environment() { return environ; }

int allowed_processors() { return 0; }
double processor_quota() { return 0; }
HostMemory memory() { return {}; }
std::string processor_name() { return {}; }
void name_thread(pthread_t, const char*) {}
int this_thread() { return kNoThread; }
int processor() { return kNoProcessor; }
void send_off(int, int) {}

}  // namespace hologram::core::system
