#include "files/gguf_writer.hpp"

namespace hologram::files {
namespace {

constexpr uint64_t kAlignment = 32;  // what it is unless metadata say otherwise

uint64_t aligned(uint64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

}  // namespace

template <class T>
void GgufWriter::append(std::string& to, T value) {
  to.append(reinterpret_cast<const char*>(&value), sizeof value);  // little-endian, as the host is
}

void GgufWriter::append_text(std::string& to, std::string_view value) {
  append(to, uint64_t{value.size()});
  to += value;
}

void GgufWriter::entry(std::string_view name, GgufType type) {
  entries_++;
  append_text(metadata_, name);
  append(metadata_, static_cast<uint32_t>(type));
}

void GgufWriter::array(std::string_view name, GgufType type, uint64_t count) {
  entry(name, GgufType::Array);
  append(metadata_, static_cast<uint32_t>(type));
  append(metadata_, count);
}

void GgufWriter::text(std::string_view name, std::string_view value) {
  entry(name, GgufType::String);
  append_text(metadata_, value);
}
void GgufWriter::integer(std::string_view name, uint32_t value) {
  entry(name, GgufType::U32);
  append(metadata_, value);
}
void GgufWriter::real(std::string_view name, float value) {
  entry(name, GgufType::F32);
  append(metadata_, value);
}
void GgufWriter::boolean(std::string_view name, bool value) {
  entry(name, GgufType::Bool);
  append(metadata_, static_cast<uint8_t>(value));
}
void GgufWriter::texts(std::string_view name, const std::vector<std::string>& values) {
  array(name, GgufType::String, values.size());
  for (const std::string& value : values) append_text(metadata_, value);
}
void GgufWriter::reals(std::string_view name, const std::vector<float>& values) {
  array(name, GgufType::F32, values.size());
  for (const float value : values) append(metadata_, value);
}
void GgufWriter::integers(std::string_view name, const std::vector<int32_t>& values) {
  array(name, GgufType::I32, values.size());
  for (const int32_t value : values) append(metadata_, value);
}

void GgufWriter::copy(std::string_view name, const GgufValue& value) {
  if (value.is_array) array(name, value.type, value.count);
  else entry(name, value.type);
  metadata_.append(reinterpret_cast<const char*>(value.data.data()), value.data.size());
}

void GgufWriter::tensor(std::string_view name, const GgufEncoding& encoding,
                        const std::vector<uint64_t>& shape) {
  count_++;
  append_text(tensors_, name);
  append(tensors_, static_cast<uint32_t>(shape.size()));
  uint64_t elements = 1;
  for (const uint64_t length : shape) {
    append(tensors_, length);
    elements *= length;
  }
  append(tensors_, encoding.id);
  append(tensors_, data_);
  data_ += aligned(elements / encoding.elements * encoding.bytes);
}

void GgufWriter::begin(core::OutputFile& file) const {
  std::string head = "GGUF";
  append(head, uint32_t{3});
  append(head, count_);
  append(head, entries_);
  for (const std::string& part : {head, metadata_, tensors_}) file.write(part.data(), part.size());
  end_tensor(file);
}

void GgufWriter::end_tensor(core::OutputFile& file) {
  const std::string zeros(aligned(file.size()) - file.size(), '\0');
  file.write(zeros.data(), zeros.size());
}

const GgufEncoding* gguf_encoding(std::string_view name) {
  for (const GgufEncoding& encoding : gguf_encodings())
    if (encoding.name == name) return &encoding;
  return nullptr;
}

}  // namespace hologram::files
