// What every operating system says in its own way: one file of this folder is one of them, and
// cmake/sources.cmake takes that.
#pragma once

#include <pthread.h>

#include <string>

#include "core/host_memory.hpp"

namespace hologram::core::system {

int allowed_processors();      // by the process's affinity; 0 where the system does not say
double processor_quota();      // of what the process belongs to, in processors; 0: there is none
HostMemory memory();           // zeros where the system does not say
std::string processor_name();  // of the machine; empty where the system does not say
const char* const* environment();  // NAME=value, up to a null

void name_thread(pthread_t thread, const char* name);
int this_thread();  // a number that send_off takes; kNoThread of workers.hpp where there is none
int processor();    // that this thread runs on; kNoProcessor where the system does not say
// The thread, 0 being this one, off the processor and allowed on it again: it stays where it went
// until there is cause. Whoever calls holds a lock that keeps two from doing so at a time.
void send_off(int thread, int processor);

}  // namespace hologram::core::system
