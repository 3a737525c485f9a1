// Kernels of printed CUDA, HIP or Metal, compiled for the processor and kept in a folder.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "block.hpp"

namespace hologram::emulated {

// Thread-safe. Any number of processes may share a folder.
class KernelLibrary {
 public:
  enum class Text { Cpp, Metal };  // that kernels are: CUDA and HIP as C++, or Metal
  // By the first compiler that is installed of clang and g++, or by the command.
  explicit KernelLibrary(std::string folder, std::string command = {}, Text text = Text::Cpp);
  ~KernelLibrary();  // its kernels go, too
  KernelLibrary(const KernelLibrary&) = delete;
  KernelLibrary& operator=(const KernelLibrary&) = delete;

  // Why nothing can be compiled here; empty if it can.
  const std::string& reason() const { return reason_; }

  // Compiled if it has yet to be. `log`: what the compiler says where it fails.
  const Kernel* find(const std::string& text, std::string& log);

  // Those of the texts that are not in the folder, as one file of C++: a kernel takes a fifth of
  // the time then. What the compiler says where it fails; nothing is kept then.
  std::string compile(const std::vector<std::string>& texts) const;
  bool has(const std::string& text) const;

 private:
  std::string name_of(const std::string& text) const;
  // Writes what is compiled of these kernels to files of that name. The arguments of the compiler.
  std::string write(const std::map<std::string, std::string>& texts,
                    const std::string& scratch) const;
  std::string key_of(const std::string& text) const;
  std::string path_of(const std::string& key) const { return folder_ + '/' + key + ".so"; }

  std::string folder_, reason_;
  const Text text_;
  std::string command_;  // with its options
  size_t version_ = 0;   // of all that a kernel is compiled with
  std::mutex mutex_;
  std::map<std::string, Kernel> loaded_;  // by key
  std::vector<void*> libraries_;
};

}  // namespace hologram::emulated
