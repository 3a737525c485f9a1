#include "files/gguf.hpp"

#include <algorithm>
#include <cmath>

#include "core/messages.hpp"
#include "files/bytes.hpp"

namespace hologram::files {
namespace {

constexpr uint32_t kMagic = 0x46554747;  // "GGUF"
constexpr uint32_t kMostAxes = 4;
constexpr int kMostNesting = 4;  // of arrays in arrays
constexpr uint64_t kMostName = 65535;

constexpr GgufEncoding kEncodings[] = {
    {0, "F32", 1, 4},         {1, "F16", 1, 2},         {2, "Q4_0", 32, 18},
    {3, "Q4_1", 32, 20},      {6, "Q5_0", 32, 22},      {7, "Q5_1", 32, 24},
    {8, "Q8_0", 32, 34},      {9, "Q8_1", 32, 36},      {10, "Q2_K", 256, 84},
    {11, "Q3_K", 256, 110},   {12, "Q4_K", 256, 144},   {13, "Q5_K", 256, 176},
    {14, "Q6_K", 256, 210},   {15, "Q8_K", 256, 292},   {16, "IQ2_XXS", 256, 66},
    {17, "IQ2_XS", 256, 74},  {18, "IQ3_XXS", 256, 98}, {19, "IQ1_S", 256, 50},
    {20, "IQ4_NL", 32, 18},   {21, "IQ3_S", 256, 110},  {22, "IQ2_S", 256, 82},
    {23, "IQ4_XS", 256, 136}, {24, "I8", 1, 1},         {25, "I16", 1, 2},
    {26, "I32", 1, 4},        {27, "I64", 1, 8},        {28, "F64", 1, 8},
    {29, "IQ1_M", 256, 56},   {30, "BF16", 1, 2},       {34, "TQ1_0", 256, 54},
    {35, "TQ2_0", 256, 66},   {39, "MXFP4", 32, 17},
};

// Bytes of a scalar; 0 for strings and arrays.
uint64_t size_of(GgufType type) {
  constexpr uint8_t kSizes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
  return kSizes[static_cast<size_t>(type)];
}

// Goes through the bytes, and throws where they end too early.
class Cursor {
 public:
  Cursor(const std::string& path, std::span<const std::byte> bytes) : path_(path), bytes_(bytes) {}

  const std::string& path() const { return path_; }
  uint64_t at() const { return at_; }
  uint64_t left() const { return bytes_.size() - at_; }

  [[noreturn]] void damaged(std::string_view what) const {
    throw core::error(core::Text::ModelDamaged, path_, what);
  }
  std::span<const std::byte> take(uint64_t count, std::string_view what) {
    if (count > left()) damaged("it ends within " + std::string(what));
    const auto taken = bytes_.subspan(at_, count);
    at_ += count;
    return taken;
  }
  template <class T>
  T number(std::string_view what) {
    return load_number<T>(take(sizeof(T), what).data());
  }
  uint64_t count(std::string_view what) { return number<uint64_t>(what); }
  std::string_view text(std::string_view what) {
    const uint64_t length = count(what);
    const auto bytes = take(length, what);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  GgufType type(std::string_view what) {
    const auto id = number<uint32_t>(what);
    if (id > static_cast<uint32_t>(GgufType::F64))
      damaged("'" + std::string(what) + "' is of the unknown type " + std::to_string(id));
    return static_cast<GgufType>(id);
  }

  GgufValue value(std::string_view name) {
    GgufValue value;
    value.type = type(name);
    if (value.type == GgufType::Array) {
      value.is_array = true;
      value.type = type(name);
      value.count = count(name);
    }
    const uint64_t begin = at_;
    skip(value.type, value.count, name, 0);
    value.data = bytes_.subspan(begin, at_ - begin);
    return value;
  }

 private:
  void skip(GgufType type, uint64_t count, std::string_view name, int depth) {
    if (const uint64_t size = size_of(type); size > 0) {
      if (count > left() / size) damaged("it ends within '" + std::string(name) + "'");
      at_ += count * size;
      return;
    }
    // Each string or array takes at least its length, so that the file's end bounds the loop.
    for (uint64_t i = 0; i < count; i++) {
      if (type == GgufType::String) {
        text(name);
        continue;
      }
      if (depth == kMostNesting) damaged("'" + std::string(name) + "' is nested too deeply");
      const GgufType inner = this->type(name);
      skip(inner, this->count(name), name, depth + 1);
    }
  }

  const std::string& path_;
  std::span<const std::byte> bytes_;
  uint64_t at_ = 0;
};

GgufTensor read_tensor(Cursor& from, std::vector<uint64_t>& offsets) {
  GgufTensor tensor;
  tensor.name = from.text("the name of a tensor");
  const std::string name = "'" + std::string(tensor.name.substr(0, 64)) + "'";
  if (tensor.name.size() > kMostName) from.damaged("the name of a tensor is too long");
  const auto axes = from.number<uint32_t>(name);
  if (axes > kMostAxes) from.damaged(name + " has " + std::to_string(axes) + " axes");
  for (uint32_t k = 0; k < axes; k++) tensor.shape.push_back(from.number<uint64_t>(name));
  const auto id = from.number<uint32_t>(name);
  for (const GgufEncoding& e : kEncodings)
    if (e.id == id) tensor.encoding = &e;
  if (tensor.encoding == nullptr)
    throw core::error(core::Text::ModelLacks, from.path(),
                      "tensors of the type " + std::to_string(id) + ", as is " + name,
                      "a type of numbers that is known, as Q4_K");
  offsets.push_back(from.number<uint64_t>(name));
  return tensor;
}

// The bytes of a tensor; nothing if they are more than 64 bits can count.
std::optional<uint64_t> bytes_of(const GgufTensor& tensor) {
  const uint64_t row = tensor.shape.empty() ? 1 : tensor.shape[0];
  if (row % tensor.encoding->elements != 0) return {};
  uint64_t bytes = 0;
  if (__builtin_mul_overflow(row / tensor.encoding->elements, tensor.encoding->bytes, &bytes))
    return {};
  for (size_t k = 1; k < tensor.shape.size(); k++)
    if (__builtin_mul_overflow(bytes, tensor.shape[k], &bytes)) return {};
  return bytes <= INT64_MAX ? std::optional(bytes) : std::nullopt;
}

template <class T>
double as_double(const std::byte* from) {
  return static_cast<double>(load_number<T>(from));
}

// A number of the metadata by its type.
double number_at(GgufType type, const std::byte* from) {
  switch (type) {
    case GgufType::U8: return as_double<uint8_t>(from);
    case GgufType::I8: return as_double<int8_t>(from);
    case GgufType::U16: return as_double<uint16_t>(from);
    case GgufType::I16: return as_double<int16_t>(from);
    case GgufType::U32: return as_double<uint32_t>(from);
    case GgufType::I32: return as_double<int32_t>(from);
    case GgufType::F32: return as_double<float>(from);
    case GgufType::Bool: return as_double<uint8_t>(from);
    case GgufType::U64: return as_double<uint64_t>(from);
    case GgufType::I64: return as_double<int64_t>(from);
    case GgufType::F64: return as_double<double>(from);
    default: return 0;
  }
}

}  // namespace

std::span<const GgufEncoding> gguf_encodings() { return kEncodings; }

uint64_t GgufTensor::rows() const {
  uint64_t rows = 1;
  for (size_t k = 1; k < shape.size(); k++) rows *= shape[k];
  return rows;
}

Gguf Gguf::open(const std::string& path) {
  auto file = core::MappedFile::open(path);
  const auto bytes = file->bytes();
  return parse(path, bytes, std::move(file));
}

Gguf Gguf::parse(const std::string& path, std::span<const std::byte> bytes,
                 std::shared_ptr<const void> owner) {
  Gguf file;
  file.path_ = path;
  file.owner_ = std::move(owner);
  Cursor from(file.path_, bytes);
  if (bytes.size() < 4 || load_number<uint32_t>(bytes.data()) != kMagic)
    from.damaged("it does not begin as a GGUF file");
  from.take(4, "its header");
  file.version_ = from.number<uint32_t>("its header");
  if (file.version_ != 2 && file.version_ != 3)
    throw core::error(core::Text::ModelLacks, path,
                      "version " + std::to_string(file.version_) + " of GGUF, in this byte order",
                      "version 2 or 3, little-endian");
  const uint64_t tensors = from.count("its header"), entries = from.count("its header");
  for (uint64_t i = 0; i < entries; i++) {
    const std::string_view name = from.text("the name of an entry");
    if (name.size() > kMostName) from.damaged("the name of an entry is too long");
    if (!file.metadata_.emplace(name, from.value(name)).second)
      from.damaged("'" + std::string(name) + "' is there twice");
  }
  std::vector<uint64_t> offsets;
  for (uint64_t i = 0; i < tensors; i++) {
    file.tensors_.push_back(read_tensor(from, offsets));
    if (!file.by_name_.emplace(file.tensors_.back().name, i).second)
      from.damaged("'" + std::string(file.tensors_.back().name) + "' is there twice");
  }
  const int64_t alignment = file.integer("general.alignment").value_or(32);
  if (alignment < 1 || alignment > (1 << 20)) from.damaged("its alignment is wrong");
  const auto step = static_cast<uint64_t>(alignment);
  const uint64_t data = std::min<uint64_t>((from.at() + step - 1) / step * step, bytes.size());
  for (size_t i = 0; i < file.tensors_.size(); i++) {
    GgufTensor& tensor = file.tensors_[i];
    const auto size = bytes_of(tensor);
    if (!size) from.damaged("the shape of '" + std::string(tensor.name) + "' is wrong");
    const uint64_t there = bytes.size() - data;
    if (offsets[i] > there || *size > there - offsets[i])
      from.damaged("it ends within the data of '" + std::string(tensor.name) + "'");
    tensor.data = bytes.subspan(data + offsets[i], *size);
  }
  return file;
}

const GgufTensor* Gguf::tensor(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : &tensors_[found->second];
}

const GgufValue* Gguf::find(std::string_view name) const {
  const auto found = metadata_.find(name);
  return found == metadata_.end() ? nullptr : &found->second;
}

void Gguf::wrong_kind(std::string_view name, std::string_view wanted) const {
  throw core::error(core::Text::ModelDamaged, path_,
                    "'" + std::string(name) + "' is not " + std::string(wanted));
}

std::vector<double> Gguf::numbers(std::string_view name) const {
  std::vector<double> values;
  const GgufValue* const value = find(name);
  if (value == nullptr) return values;
  const uint64_t size = size_of(value->type);
  if (size == 0) wrong_kind(name, "numbers");
  values.reserve(value->count);
  for (uint64_t i = 0; i < value->count; i++)
    values.push_back(number_at(value->type, value->data.data() + i * size));
  return values;
}

std::vector<int64_t> Gguf::integers(std::string_view name) const {
  std::vector<int64_t> whole;
  for (const double value : numbers(name)) {
    if (value != std::trunc(value) || std::fabs(value) > 0x1p53) wrong_kind(name, "whole numbers");
    whole.push_back(static_cast<int64_t>(value));
  }
  return whole;
}

std::optional<double> Gguf::number(std::string_view name) const {
  const GgufValue* const value = find(name);
  if (value == nullptr) return {};
  if (value->is_array || size_of(value->type) == 0) wrong_kind(name, "a number");
  return number_at(value->type, value->data.data());
}

std::optional<int64_t> Gguf::integer(std::string_view name) const {
  const auto value = number(name);
  if (!value) return {};
  if (*value != std::trunc(*value) || std::fabs(*value) > 0x1p53)
    wrong_kind(name, "a whole number");
  return static_cast<int64_t>(*value);
}

std::optional<bool> Gguf::boolean(std::string_view name) const {
  const auto value = number(name);
  return value ? std::optional(*value != 0) : std::nullopt;
}

std::vector<std::string_view> Gguf::texts(std::string_view name) const {
  std::vector<std::string_view> values;
  const GgufValue* const value = find(name);
  if (value == nullptr) return values;
  if (value->type != GgufType::String) wrong_kind(name, "text");
  values.reserve(value->count);
  const std::byte* at = value->data.data();
  for (uint64_t i = 0; i < value->count; i++) {
    const auto length = load_number<uint64_t>(at);
    at += sizeof length;
    values.emplace_back(reinterpret_cast<const char*>(at), length);
    at += length;
  }
  return values;
}

std::optional<std::string_view> Gguf::text(std::string_view name) const {
  const GgufValue* const value = find(name);
  if (value == nullptr) return {};
  if (value->is_array) wrong_kind(name, "a text");
  return texts(name).front();
}

}  // namespace hologram::files
