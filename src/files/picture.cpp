#include "files/picture.hpp"

#include <cstring>

#include "core/half.hpp"
#include "core/messages.hpp"
#include "files/srgb.hpp"

namespace hologram::files {
namespace {

uint16_t half_at(const std::byte* row, size_t i) {
  uint16_t bits;
  std::memcpy(&bits, row + i * sizeof bits, sizeof bits);
  return bits;
}

std::vector<float> sample_values(int bits, bool linear) {
  const size_t count = size_t{1} << bits;
  std::vector<float> values(count);
  for (size_t i = 0; i < count; i++) {
    const float v = static_cast<float>(i) / static_cast<float>(count - 1);
    values[i] = linear ? srgb::decode(v) : v;
  }
  return values;
}

}  // namespace

void check_picture_size(const Source& source, Format format, uint64_t height, uint64_t width,
                        uint64_t channels, uint64_t possible) {
  const uint64_t elements = height * width * channels;
  if (elements > kMaxPictureElements)
    throw core::error(core::Text::FileTooLarge, source.name, elements, kMaxPictureElements);
  if (elements > possible)
    damaged(source, format,
            "it cannot hold the " + std::to_string(width) + " x " + std::to_string(height) +
                " pixels that it describes");
}

SampleReader::SampleReader(int bits, size_t channels, bool linear)
    : bits_(bits), channels_(channels), color_(sample_values(bits, linear)) {
  if (has_alpha(channels)) alpha_ = sample_values(bits, false);
}

template <class T>
void SampleReader::read_as(const T* samples, size_t pixels, float* to, ptrdiff_t step) const {
  const size_t colors = has_alpha(channels_) ? channels_ - 1 : channels_;
  for (size_t i = 0; i < pixels; i++, samples += channels_) {
    float* const pixel = to + static_cast<ptrdiff_t>(i) * step;
    for (size_t c = 0; c < colors; c++) pixel[c] = color_[samples[c]];
    if (colors < channels_) pixel[colors] = alpha_[samples[colors]];
  }
}

void SampleReader::read(const void* samples, size_t pixels, float* to, ptrdiff_t step) const {
  if (bits_ == 8) read_as(static_cast<const uint8_t*>(samples), pixels, to, step);
  else read_as(static_cast<const uint16_t*>(samples), pixels, to, step);
}

SampleWriter::SampleWriter(const std::string& path, Format format, const Part& part,
                           const WriteOptions& options, std::string_view allowed, int64_t longest)
    : dtype_(part.dtype), linear_(options.linear) {
  if (options.bits != 8 && !(options.bits == 16 && format == Format::Png))
    throw core::error(core::Text::FileOption, path, "bits", options.bits,
                      format == Format::Png ? "8 or 16" : "8");
  const bool stored = dtype_ == DType::U8 || (dtype_ == DType::U16 && format == Format::Png);
  if (!stored && !is_float(dtype_) && dtype_ != DType::Bool)
    throw core::error(core::Text::FileDType, path, name_of(dtype_), name_of(format),
                      format == Format::Png ? "f32, u8, u16" : "f32, u8");
  bits_ = dtype_ == DType::U16 ? 16 : dtype_ == DType::U8 ? 8 : options.bits;

  const Shape& shape = part.shape;
  const bool picture = shape.size() == 2 || shape.size() == 3;
  const int64_t channels = shape.size() == 3 ? shape[2] : 1;
  if (!picture || channels < 1 || channels > 4 ||
      allowed.find(static_cast<char>('0' + channels)) == std::string_view::npos || shape[0] < 1 ||
      shape[1] < 1 || shape[0] > longest || shape[1] > longest)
    throw core::error(core::Text::FilePictureShape, path, to_string(shape),
                      "C one of " + std::string(allowed), longest);
  height_ = static_cast<uint32_t>(shape[0]);
  width_ = static_cast<uint32_t>(shape[1]);
  channels_ = static_cast<size_t>(channels);
  const size_t samples = width_ * channels_;
  row_bytes_ = samples * size_of(dtype_);
  samples_.resize(samples);
  if (!stored) values_.resize(samples);
}

uint8_t* SampleWriter::convert(const std::byte* row) {
  auto* const bytes = reinterpret_cast<uint8_t*>(samples_.data());
  const size_t count = samples_.size();
  switch (dtype_) {
    case DType::Bool:
      for (size_t i = 0; i < count; i++) values_[i] = row[i] == std::byte{0} ? 0.0f : 1.0f;
      break;
    case DType::F16:
      for (size_t i = 0; i < count; i++) values_[i] = core::f16_to_f32(half_at(row, i));
      break;
    case DType::BF16:
      for (size_t i = 0; i < count; i++) values_[i] = core::bf16_to_f32(half_at(row, i));
      break;
    case DType::F32: std::memcpy(values_.data(), row, row_bytes_); break;
    case DType::F64:
      for (size_t i = 0; i < count; i++) {
        double value;
        std::memcpy(&value, row + i * sizeof value, sizeof value);
        values_[i] = static_cast<float>(value);
      }
      break;
    default: std::memcpy(bytes, row, row_bytes_); return bytes;
  }
  if (bits_ == 8) quantize(bytes);
  else quantize(samples_.data());
  return bytes;
}

template <class T>
void SampleWriter::quantize(T* samples) {
  constexpr auto kLargest = static_cast<float>(static_cast<T>(~T{0}));
  const size_t count = values_.size();
  // NaN fails the comparison and becomes 0.
  for (float& v : values_) v = v > 0 ? (v < 1 ? v : 1.0f) : 0.0f;
  if (linear_) {
    for (size_t i = 0; i < count; i++)
      if (!has_alpha(channels_) || i % channels_ != channels_ - 1)
        values_[i] = srgb::encode(values_[i]);
  }
  for (size_t i = 0; i < count; i++)
    samples[i] = static_cast<T>(static_cast<int32_t>(values_[i] * kLargest + 0.5f));
}

}  // namespace hologram::files
