// Where a model comes from: a GGUF file, or a folder with safetensors. Both look the same from here
// on: tensors by the names that GGUF has for them, and a configuration.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hologram/array.hpp"
#include "llm/block_types.hpp"
#include "llm/config.hpp"

namespace hologram::files {
class Gguf;
struct GgufTensor;
}  // namespace hologram::files

namespace hologram::llm {

// A tensor as it lies in a file: rows of blocks, or of numbers.
struct Stored {
  const BlockType* type = nullptr;
  DType dtype = DType::None;  // without a type of blocks
  int64_t rows = 1, columns = 1, count = 1;
  std::span<const std::byte> data;

  uint64_t row_bytes() const;
  uint64_t device_bytes() const;
  // Row `row` of all, decoded.
  void row(int64_t row, float* to) const;
};

class Tensors {
 public:
  virtual ~Tensors() = default;
  virtual const std::string& path() const = 0;
  virtual std::vector<std::string> names() const = 0;
  virtual std::optional<Stored> find(const std::string& name) const = 0;
  // The file that the tokenizer is in, if it is a GGUF file.
  virtual const files::Gguf* gguf() const { return nullptr; }

  // ModelDamaged unless it is there, and of this shape.
  Stored need(const std::string& name, int64_t rows, int64_t columns, int64_t count = 1) const;
  std::vector<float> vector(const std::string& name, int64_t length) const;
};

// Those of a decoder.
class Source : public Tensors {
 public:
  virtual const Config& config() const = 0;
  virtual uint64_t weight_bytes() const = 0;  // as the device will have them
};

// How the tensor of a GGUF file is stored. UnsupportedOperation for types that are not known.
Stored stored_in(const files::Gguf& file, const files::GgufTensor& tensor);
Stored stored_as(const Array& array);
std::vector<std::string> names_in(const files::Gguf& file);

// What GGUF calls a tensor of a folder; empty for what is not looked at.
std::string gguf_name(const std::string& given, const Architecture& architecture);

// A file, or a folder. IoError, UnsupportedOperation.
std::unique_ptr<const Source> open_source(const std::string& path);
std::unique_ptr<const Source> open_gguf(const std::string& path);
std::unique_ptr<const Source> gguf_source(files::Gguf file);
std::unique_ptr<const Source> open_folder(const std::string& path);

}  // namespace hologram::llm
