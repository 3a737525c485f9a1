// Libraries that are opened when first needed: drivers, run-time compilers, vendors' mathematics.
#pragma once

#include <initializer_list>
#include <memory>
#include <string>

namespace hologram::core {

// An open library. It stays open for the life of the process: drivers keep threads and handlers of
// their own, and few survive being unloaded.
class DynamicLibrary {
 public:
  // Opens the first of `names` that is there, without showing its symbols to anyone else. If none
  // is, `loaded` is false and `reason` says for each name why.
  explicit DynamicLibrary(std::initializer_list<const char*> names);

  bool loaded() const { return handle_ != nullptr; }
  const std::string& name() const { return name_; }      // the one that was opened
  std::string path() const;                              // its file; empty if that is not known
  const std::string& reason() const { return reason_; }  // why none was

  // The function of that name, null if there is none: get<int(int)>("cuInit").
  template <class Function>
  Function* get(const char* symbol) const {
    return reinterpret_cast<Function*>(find(symbol));
  }
  // The same for a table of functions: `missing` keeps the name of the first that there is not.
  template <class Function>
  void get(const char* symbol, Function*& function, std::string& missing) const {
    function = get<Function>(symbol);
    if (function == nullptr && missing.empty()) missing = symbol;
  }

 private:
  void* find(const char* symbol) const;

  void* handle_ = nullptr;
  std::string name_, reason_;
};

}  // namespace hologram::core
