#include "libraries/cblas/one_thread.hpp"

#include <map>
#include <mutex>

namespace hologram::libraries::cblas {
namespace {

struct Held {
  int users = 0;
  int before = 1;  // threads when the first of them began
};

// Several names of one library have one function, and so one entry.
struct Libraries {
  std::mutex mutex;
  std::map<SetNumThreads*, Held> held;
};
Libraries& libraries() {
  static auto* const all = new Libraries;
  return *all;
}

}  // namespace

void hold(GetNumThreads* get, SetNumThreads* set) {
  if (get == nullptr || set == nullptr) return;
  const std::lock_guard lock(libraries().mutex);
  Held& held = libraries().held[set];
  if (held.users++ > 0) return;
  held.before = get();
  if (held.before != 1) set(1);
}

void release(SetNumThreads* set) {
  const std::lock_guard lock(libraries().mutex);
  const auto found = libraries().held.find(set);
  if (found == libraries().held.end()) return;
  Held& held = found->second;
  if (--held.users == 0 && held.before != 1) set(held.before);
}

}  // namespace hologram::libraries::cblas
