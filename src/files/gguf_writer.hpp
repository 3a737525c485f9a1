// GGUF files in the making.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/output_file.hpp"
#include "files/gguf.hpp"

namespace hologram::files {

// Metadata and the names of tensors first; then their data, in this order. The file appears with
// commit().
class GgufWriter {
 public:
  void text(std::string_view name, std::string_view value);
  void integer(std::string_view name, uint32_t value);
  void real(std::string_view name, float value);
  void boolean(std::string_view name, bool value);
  void texts(std::string_view name, const std::vector<std::string>& values);
  void reals(std::string_view name, const std::vector<float>& values);
  void integers(std::string_view name, const std::vector<int32_t>& values);
  void copy(std::string_view name, const GgufValue& value);
  // `shape`: the innermost axis first.
  void tensor(std::string_view name, const GgufEncoding& encoding,
              const std::vector<uint64_t>& shape);

  // All that stands before the data of the tensors.
  void begin(core::OutputFile& file) const;
  // The data of the next tensor are there: up to where those of another may begin.
  static void end_tensor(core::OutputFile& file);

 private:
  void entry(std::string_view name, GgufType type);
  void array(std::string_view name, GgufType type, uint64_t count);
  template <class T>
  static void append(std::string& to, T value);
  static void append_text(std::string& to, std::string_view value);

  std::string metadata_, tensors_;
  uint64_t entries_ = 0, count_ = 0, data_ = 0;
};

// The encoding of that name, or null.
const GgufEncoding* gguf_encoding(std::string_view name);

}  // namespace hologram::files
