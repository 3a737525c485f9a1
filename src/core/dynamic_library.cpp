#include "core/dynamic_library.hpp"

#ifndef __EMSCRIPTEN__
#include <dlfcn.h>
#endif
#ifdef __GLIBC__
#include <link.h>
#endif

namespace hologram::core {

#ifdef __EMSCRIPTEN__

// WebAssembly is linked once and for all.
DynamicLibrary::DynamicLibrary(std::initializer_list<const char*> /*names*/)
    : reason_("WebAssembly cannot open libraries") {}
std::string DynamicLibrary::path() const { return {}; }
void* DynamicLibrary::find(const char* /*symbol*/) const { return nullptr; }

#else

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

std::string DynamicLibrary::path() const {
#ifdef __GLIBC__
  link_map* map = nullptr;
  if (handle_ != nullptr && dlinfo(handle_, RTLD_DI_LINKMAP, &map) == 0) return map->l_name;
#endif
  return {};
}

void* DynamicLibrary::find(const char* symbol) const {
  return handle_ == nullptr ? nullptr : dlsym(handle_, symbol);
}

#endif

}  // namespace hologram::core
