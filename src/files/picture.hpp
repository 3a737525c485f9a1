// What PNG and JPEG have in common: rows of samples on one side, f32 [H, W, C] on the other.
#pragma once

#include <csetjmp>
#include <cstdint>
#include <span>
#include <vector>

#include "files/formats.hpp"

namespace hologram::files {

// 16 GiB of f32: larger than any picture that people exchange.
inline constexpr uint64_t kMaxPictureElements = uint64_t{1} << 32;

// Refuses pictures whose size the file cannot justify: `possible` is an upper bound of the elements
// that its bytes can encode.
void check_picture_size(const Source& source, Format format, uint64_t height, uint64_t width,
                        uint64_t channels, uint64_t possible);

// An even number of channels means that the last one is alpha.
inline bool has_alpha(size_t channels) { return channels % 2 == 0; }

// Samples of 8 or 16 bits to f32.
class SampleReader {
 public:
  SampleReader(int bits, size_t channels, bool linear);
  // One row of `pixels`; pixel i goes to to[i * step], channels side by side.
  void read(const void* samples, size_t pixels, float* to, ptrdiff_t step) const;

 private:
  template <class T>
  void read_as(const T* samples, size_t pixels, float* to, ptrdiff_t step) const;

  int bits_;
  size_t channels_;
  std::vector<float> color_;  // the value of each sample
  std::vector<float> alpha_;
};

// Rows of an array to samples of 8 or 16 bits.
class SampleWriter {
 public:
  // The shape must be a picture's with a number of channels in `allowed` (as in "1,3"), the element
  // type one that can be stored; otherwise errors that name the path.
  SampleWriter(const std::string& path, Format format, const Part& part,
               const WriteOptions& options, std::string_view allowed, int64_t longest);

  int bits() const { return bits_; }
  uint32_t height() const { return height_; }
  uint32_t width() const { return width_; }
  int channels() const { return static_cast<int>(channels_); }
  size_t row_bytes() const { return row_bytes_; }  // of the array
  // The samples of one row, valid until the next call.
  uint8_t* convert(const std::byte* row);

 private:
  template <class T>
  void quantize(T* samples);

  DType dtype_;
  int bits_ = 8;
  bool linear_;
  uint32_t height_ = 0, width_ = 0;
  size_t channels_ = 1;
  size_t row_bytes_ = 0;
  std::vector<float> values_;
  std::vector<uint16_t> samples_;
};

// Calls `body`, which calls a C library that reports errors by a longjmp to `jump`; false if it
// did. Nothing with a destructor may live in frames between here and the library.
template <class Body>
[[gnu::noinline]] bool returns(std::jmp_buf& jump, const Body& body) {
  if (setjmp(jump) != 0) return false;
  body();
  return true;
}

}  // namespace hologram::files
