// emulated_kernels TEXTS FOLDER: compiles all kernels in the folder TEXTS (*.cu, *.metal) that
// FOLDER has not yet, many at a time, for the emulated drivers to find. Exit code 1 if some do not
// compile.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "kernel_library.hpp"

namespace {

namespace fs = std::filesystem;
using hologram::emulated::KernelLibrary;

constexpr size_t kBatch = 60;

std::vector<std::string> new_texts(const char* folder, const char* extension,
                                   const KernelLibrary& library) {
  std::vector<std::string> texts;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() != extension) continue;
    std::ifstream file(entry.path(), std::ios::binary);
    std::string text{std::istreambuf_iterator<char>(file), {}};
    if (!library.has(text)) texts.push_back(std::move(text));
  }
  return texts;
}

// Those that do not compile. One of them must not take the others with it.
int compile(const KernelLibrary& library, const std::vector<std::string>& batch) {
  if (library.compile(batch).empty()) return 0;
  int failed = 0;
  for (const std::string& text : batch) {
    const std::string log = library.compile({text});
    if (log.empty()) continue;
    static std::mutex mutex;
    const std::lock_guard lock(mutex);
    std::printf("%s\n", log.c_str());
    failed++;
  }
  return failed;
}

// How many there were, and how many of them do not compile.
std::pair<size_t, int> compile_all(const KernelLibrary& library,
                                   const std::vector<std::string>& texts) {
  std::atomic<size_t> next = 0;
  std::atomic<int> failed = 0;
  const auto work = [&] {
    for (size_t at; (at = next.fetch_add(kBatch)) < texts.size();) {
      const size_t end = std::min(at + kBatch, texts.size());
      failed += compile(library, {texts.begin() + static_cast<ptrdiff_t>(at),
                                  texts.begin() + static_cast<ptrdiff_t>(end)});
    }
  };
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < std::max(1U, std::thread::hardware_concurrency()); i++)
    threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
  return {texts.size(), failed};
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 3) {
    std::fprintf(stderr, "usage: emulated_kernels TEXTS FOLDER\n");
    return 2;
  }
  const auto start = std::chrono::steady_clock::now();
  constexpr std::pair<const char*, KernelLibrary::Text> kKinds[] = {
      {".cu", KernelLibrary::Text::Cpp}, {".metal", KernelLibrary::Text::Metal}};
  size_t compiled = 0;
  int failed = 0;
  for (const auto& [extension, text] : kKinds) {
    const KernelLibrary library(arguments[2], {}, text);
    const std::vector<std::string> texts = new_texts(arguments[1], extension, library);
    if (texts.empty()) continue;
    if (!library.reason().empty()) {
      std::printf("%s\n", library.reason().c_str());
      return 1;
    }
    const auto [tried, wrong] = compile_all(library, texts);
    compiled += tried;
    failed += wrong;
  }
  std::printf("%zu kernels compiled in %.0f s, %d failed\n", compiled,
              std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(),
              failed);
  return failed == 0 ? 0 : 1;
}
