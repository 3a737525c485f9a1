#include "core/dynamic_library.hpp"

#include <dlfcn.h>

namespace hologram::core {

DynamicLibrary::DynamicLibrary(std::initializer_list<const char*> names) {
  for (const char* name : names) {
    handle_ = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (handle_ != nullptr) {
      name_ = name;
      reason_.clear();
      return;
    }
    const char* why = dlerror();
    if (!reason_.empty()) reason_ += "; ";
    reason_ += why != nullptr ? why : name;
  }
}

void* DynamicLibrary::find(const char* symbol) const {
  return handle_ == nullptr ? nullptr : dlsym(handle_, symbol);
}

}  // namespace hologram::core
