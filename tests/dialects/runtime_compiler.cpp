#include "dialects/runtime_compiler.hpp"

#include <dlfcn.h>

#include <cstdlib>
#include <vector>

namespace hologram::dialects {

struct RuntimeCompiler::Api {
  int (*create)(void**, const char*, const char*, int, const char* const*, const char* const*);
  int (*compile)(void*, int, const char* const*);
  int (*log_size)(void*, size_t*);
  int (*log)(void*, char*);
  int (*code_size)(void*, size_t*);
  int (*destroy)(void**);
};

RuntimeCompiler* RuntimeCompiler::get(Language language, std::string& reason) {
  struct Found {
    std::shared_ptr<RuntimeCompiler> compiler;
    std::string why;
  };
  const auto look = [](Language of, std::string_view prefix, const char* code_size,
                       std::initializer_list<const char*> paths, const char* why) -> Found {
    void* library = nullptr;
    for (const char* path : paths)
      if (library == nullptr && path != nullptr) library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return {nullptr, why};
    Found found{std::make_shared<RuntimeCompiler>(), {}};
    found.compiler->language_ = of;
    found.compiler->api_ = std::make_shared<Api>();
    Api& api = *found.compiler->api_;
    const auto load = [&](auto& function, const char* name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(
          dlsym(library, std::string(prefix).append(name).c_str()));
    };
    load(api.create, "CreateProgram");
    load(api.compile, "CompileProgram");
    load(api.log_size, "GetProgramLogSize");
    load(api.log, "GetProgramLog");
    load(api.code_size, code_size);
    load(api.destroy, "DestroyProgram");
    return found;
  };
  static const Found nvrtc =
      look(Language::Cuda, "nvrtc", "GetCUBINSize",
           {std::getenv("HOLOGRAM_NVRTC"), HOLOGRAM_COMPILERS "/nvrtc/libnvrtc.so.12",
            "libnvrtc.so.12", "libnvrtc.so.13"},
           "libnvrtc is not there; scripts/offline-compilers fetches it");
  static const Found hiprtc =
      look(Language::Hip, "hiprtc", "GetCodeSize", {"libhiprtc.so.6", "libamdhip64.so.5"},
           "hipRTC is not there; the packages libamdhip64-5 and libhiprtc-builtins5 bring it");
  const Found& found = language == Language::Cuda ? nvrtc : hiprtc;
  reason = found.why;
  return found.compiler.get();
}

std::string RuntimeCompiler::compile(const Printed& printed, std::string_view architecture,
                                     std::string& report) {
  void* program = nullptr;
  if (api_->create(&program, printed.text.c_str(), "printed", 0, nullptr, nullptr) != 0)
    return "no program is made";
  std::vector<std::string> flags = compiler_flags(language_);
  flags.push_back("--gpu-architecture=" + std::string(architecture));
  if (language_ == Language::Cuda) flags.emplace_back("--ptxas-options=-v");
  std::vector<const char*> options(flags.size());
  for (size_t i = 0; i < flags.size(); i++) options[i] = flags[i].c_str();
  const int error = api_->compile(program, static_cast<int>(options.size()), options.data());
  size_t size = 0;
  api_->log_size(program, &size);
  std::string log(size, '\0');
  api_->log(program, log.data());
  size_t bytes = 0;
  api_->code_size(program, &bytes);
  api_->destroy(&program);
  report = log;
  if (error != 0) return log + "\n" + printed.text;
  return bytes == 0 ? "no code comes of it" : std::string();
}

}  // namespace hologram::dialects
