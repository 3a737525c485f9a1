#include "dialects/nvrtc.hpp"

#include <dlfcn.h>

#include <cstdlib>
#include <vector>

namespace hologram::dialects {

struct Nvrtc::Api {
  int (*create)(void**, const char*, const char*, int, const char* const*, const char* const*);
  int (*compile)(void*, int, const char* const*);
  int (*log_size)(void*, size_t*);
  int (*log)(void*, char*);
  int (*cubin_size)(void*, size_t*);
  int (*destroy)(void**);
};

Nvrtc* Nvrtc::get(std::string& reason) {
  static std::string why;
  static Nvrtc* const found = []() -> Nvrtc* {
    const char* named = std::getenv("HOLOGRAM_NVRTC");
    void* library = nullptr;
    for (const std::string& path : {std::string(named == nullptr ? "" : named),
                                    std::string(HOLOGRAM_COMPILERS "/nvrtc/libnvrtc.so.12"),
                                    std::string(HOLOGRAM_COMPILERS "/nvrtc/libnvrtc.so.13"),
                                    std::string("libnvrtc.so.12"), std::string("libnvrtc.so.13")})
      if (library == nullptr && !path.empty())
        library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      why = "libnvrtc is not there; scripts/offline-compilers fetches it";
      return nullptr;
    }
    auto made = std::make_unique<Nvrtc>();
    made->api_ = std::make_unique<Api>();
    const auto load = [&](auto& function, const char* name) {
      function =
          reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    };
    load(made->api_->create, "nvrtcCreateProgram");
    load(made->api_->compile, "nvrtcCompileProgram");
    load(made->api_->log_size, "nvrtcGetProgramLogSize");
    load(made->api_->log, "nvrtcGetProgramLog");
    load(made->api_->cubin_size, "nvrtcGetCUBINSize");
    load(made->api_->destroy, "nvrtcDestroyProgram");
    return made.release();
  }();
  reason = why;
  return found;
}

std::string Nvrtc::compile(const Printed& printed, std::string_view architecture,
                           std::string& report) {
  void* program = nullptr;
  if (api_->create(&program, printed.text.c_str(), "printed.cu", 0, nullptr, nullptr) != 0)
    return "no program is made";
  std::vector<std::string> flags = compiler_flags(Language::Cuda);
  flags.push_back("--gpu-architecture=" + std::string(architecture));
  flags.emplace_back("--ptxas-options=-v");
  flags.emplace_back("--disable-warnings");
  std::vector<const char*> options(flags.size());
  for (size_t i = 0; i < flags.size(); i++) options[i] = flags[i].c_str();
  const int error = api_->compile(program, static_cast<int>(options.size()), options.data());
  size_t size = 0;
  api_->log_size(program, &size);
  std::string log(size, '\0');
  api_->log(program, log.data());
  size_t bytes = 0;
  api_->cubin_size(program, &bytes);
  api_->destroy(&program);
  report = log;
  if (error != 0) return log + "\n" + printed.text;
  return bytes == 0 ? "no code comes of it" : std::string();
}

}  // namespace hologram::dialects
