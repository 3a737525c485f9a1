#include "metal_text.hpp"

#include <sstream>
#include <string_view>
#include <utility>

namespace hologram::emulated::metal {
namespace {

constexpr std::string_view kKernel = "\nkernel void ", kPointer = "[[buffer(";
constexpr std::string_view kArray = "  threadgroup ";  // a line that begins so declares one
constexpr size_t kAlignment = 16;

size_t count(const std::string& text, std::string_view part) {
  size_t found = 0;
  for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) found++;
  return found;
}

size_t size_of(std::string_view type) {
  return type == "u64" || type == "i64" ? sizeof(uint64_t) : sizeof(uint32_t);
}

// The text with its arrays of threadgroup memory in memory that the executor fills before each
// block, which a compiler's own would not be in. `bytes`: how much that is.
std::string with_shared_memory(const std::string& text, const std::string& key, size_t& bytes) {
  std::istringstream lines(text);
  std::string result;
  for (std::string line; std::getline(lines, line);) {
    const size_t name = line.find(' ', kArray.size()), open = line.find('[');
    if (line.rfind(kArray, 0) == 0 && line.back() == ';' && open != std::string::npos) {
      const std::string type = line.substr(kArray.size(), name - kArray.size());
      const size_t elements = std::stoul(line.substr(open + 1));
      std::string declared = "  threadgroup ";
      declared.append(type).append("* const ").append(line, name + 1, open - name - 1);
      declared.append(" = (threadgroup ").append(type).append("*)(shared_memory_").append(key);
      declared.append("() + ").append(std::to_string(bytes)).append(");");
      line = std::move(declared);
      bytes += (elements * size_of(type) + kAlignment - 1) / kAlignment * kAlignment;
    }
    result += line + '\n';
  }
  return result;
}

}  // namespace

const char* const kPrelude =
    "extern \"C\" {\nhologram::emulated::Runtime emulated_runtime;\n"
    "void metal_barrier(unsigned line) { emulated_runtime.wait_for_block(line); }\n}\n";

std::string name_of_kernel(const std::string& text) {
  const size_t kernel = text.find(kKernel);
  if (kernel == std::string::npos) return {};
  const size_t name = kernel + kKernel.size();
  return text.substr(name, text.find('(', name) - name);
}

bool waits(const std::string& text) {
  return text.find("threadgroup_barrier(") != std::string::npos;
}

Units units_of(const std::string& text, const std::string& key) {
  const std::string name = name_of_kernel(text), function = "function_" + key;
  size_t bytes = 0;
  const std::string body = with_shared_memory(text, key, bytes);
  std::string types, values, sizes;
  for (size_t i = 0; i < count(text, kPointer); i++) {
    types += "void*, ";
    values += "*(void**)a[" + std::to_string(i) + "], ";
    sizes += "sizeof(void*), ";
  }
  const std::string number = std::to_string(count(text, kPointer)), memory = "memory_" + key;
  const std::string array = "alignas(16) static char " + memory + "[" +
                            std::to_string(bytes + (bytes == 0 ? 1 : 0)) + "];\n";
  const std::string ends = bytes == 0 ? "0, 0" : memory + ", " + memory + " + sizeof " + memory;
  return {"extern \"C\" threadgroup char* shared_memory_" + key + "();\n#define " + name + " " +
              function + "\nnamespace of_" + key + " {\n#line 1 \"" + name + ".metal\"\n" + body +
              "}\n#undef " + name + "\n",
          array + "extern \"C\" {\nchar* shared_memory_" + key + "() { return " + memory +
              "; }\nvoid " + function + "(" + types +
              "unsigned, unsigned, unsigned);\n"
              "static void call_" +
              key + "(void** a) {\n  const auto& r = emulated_runtime;\n  " + function + "(" +
              values + "r.thread.x, r.block.x, r.blocks.x);\n}\nstatic const unsigned sizes_" +
              key + "[] = {" + sizes + "};\nextern const hologram::emulated::KernelEntry kernel_" +
              key + ";\nconst hologram::emulated::KernelEntry kernel_" + key + " = {\"" + name +
              "\", call_" + key + ", " + number + ", sizes_" + key + ", " + ends + ", " +
              (waits(text) ? "true" : "false") + "};\n}\n"};
}

}  // namespace hologram::emulated::metal
