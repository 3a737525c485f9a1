// GGUF: the files of llama.cpp. Metadata by name, then tensors whose elements stand in blocks.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/mapped_file.hpp"

namespace hologram::files {

enum class GgufType : uint32_t {
  U8,
  I8,
  U16,
  I16,
  U32,
  I32,
  F32,
  Bool,
  String,
  Array,
  U64,
  I64,
  F64
};

// A value of the metadata, as it lies in the file.
struct GgufValue {
  GgufType type = GgufType::U8;  // of an array, that of its elements
  bool is_array = false;
  uint64_t count = 1;               // elements of an array
  std::span<const std::byte> data;  // of strings with the lengths before them
};

// How the elements of a tensor are stored: blocks of so many elements in so many bytes.
struct GgufEncoding {
  uint32_t id;
  std::string_view name;
  uint32_t elements, bytes;
};
std::span<const GgufEncoding> gguf_encodings();

struct GgufTensor {
  std::string_view name;
  const GgufEncoding* encoding = nullptr;
  std::vector<uint64_t> shape;  // innermost axis first, as the file has it
  std::span<const std::byte> data;
  uint64_t rows() const;  // of the innermost axis
};

// A file, mapped: what is looked at is read. IoError if it is damaged: the reader takes any bytes,
// and allocates for each tensor and each entry of the metadata what its name's length justifies.
class Gguf {
 public:
  static Gguf open(const std::string& path);
  static Gguf parse(const std::string& path, std::span<const std::byte> bytes,
                    std::shared_ptr<const void> owner);

  const std::string& path() const { return path_; }
  uint32_t version() const { return version_; }
  const std::map<std::string_view, GgufValue>& metadata() const { return metadata_; }
  const std::vector<GgufTensor>& tensors() const { return tensors_; }
  const GgufTensor* tensor(std::string_view name) const;  // or null

  // Entries of the metadata. Nothing if there is none of that name; IoError if it is of another
  // kind. Numbers of any type are taken where they fit.
  std::optional<int64_t> integer(std::string_view name) const;
  std::optional<double> number(std::string_view name) const;
  std::optional<bool> boolean(std::string_view name) const;
  std::optional<std::string_view> text(std::string_view name) const;
  // Arrays; empty if there is none of that name. A single number is an array of one.
  std::vector<std::string_view> texts(std::string_view name) const;
  std::vector<double> numbers(std::string_view name) const;
  std::vector<int64_t> integers(std::string_view name) const;

 private:
  const GgufValue* find(std::string_view name) const;
  [[noreturn]] void wrong_kind(std::string_view name, std::string_view wanted) const;

  std::string path_;
  std::shared_ptr<const void> owner_;
  uint32_t version_ = 0;
  std::map<std::string_view, GgufValue> metadata_;
  std::vector<GgufTensor> tensors_;
  std::map<std::string_view, size_t> by_name_;
};

}  // namespace hologram::files
