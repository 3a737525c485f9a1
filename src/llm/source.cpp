#include "llm/source.hpp"

#include <filesystem>

#include "core/half.hpp"
#include "core/messages.hpp"
#include "files/bytes.hpp"

namespace hologram::llm {
namespace {

float number_at(DType dtype, const std::byte* from) {
  switch (dtype) {
    case DType::F16: return core::f16_to_f32(files::load_number<uint16_t>(from));
    case DType::BF16: return core::bf16_to_f32(files::load_number<uint16_t>(from));
    default: return files::load_number<float>(from);
  }
}

std::string shape_text(int64_t rows, int64_t columns, int64_t count) {
  std::string text = std::to_string(rows) + " x " + std::to_string(columns);
  return count == 1 ? text : std::to_string(count) + " x " + text;
}

}  // namespace

uint64_t Stored::row_bytes() const {
  const auto length = static_cast<uint64_t>(columns);
  return type != nullptr ? length / type->elements * type->bytes : length * size_of(dtype);
}

uint64_t Stored::device_bytes() const {
  return type != nullptr ? data.size() / type->bytes * type->words() * 4 : data.size();
}

void Stored::row(int64_t row, float* to) const {
  const auto bytes = data.subspan(static_cast<uint64_t>(row) * row_bytes(), row_bytes());
  if (type != nullptr) return decode_blocks(*type, bytes, to);
  for (int64_t i = 0; i < columns; i++)
    to[i] = number_at(dtype, bytes.data() + static_cast<uint64_t>(i) * size_of(dtype));
}

Stored Tensors::need(const std::string& name, int64_t rows, int64_t columns, int64_t count) const {
  const auto found = find(name);
  if (!found) throw core::error(core::Text::ModelDamaged, path(), "there is no '" + name + "'");
  if (found->rows != rows || found->columns != columns || found->count != count)
    throw core::error(core::Text::ModelDamaged, path(),
                      "'" + name + "' is " + shape_text(found->rows, found->columns, found->count) +
                          ", not " + shape_text(rows, columns, count));
  return *found;
}

std::vector<float> Tensors::vector(const std::string& name, int64_t length) const {
  std::vector<float> numbers(static_cast<size_t>(length));
  need(name, 1, length).row(0, numbers.data());
  return numbers;
}

Stored stored_as(const Array& array) {
  const Shape& shape = array.shape();
  Stored stored;
  stored.dtype = array.dtype();
  stored.columns = shape.empty() ? 1 : shape.back();
  stored.rows = shape.size() < 2 ? 1 : shape[shape.size() - 2];
  stored.count = shape.size() < 3 ? 1 : shape[0];
  stored.data = {array.data(), array.bytes()};
  return stored;
}

std::unique_ptr<const Source> open_source(const std::string& path) {
  return std::filesystem::is_directory(path) ? open_folder(path) : open_gguf(path);
}

}  // namespace hologram::llm
