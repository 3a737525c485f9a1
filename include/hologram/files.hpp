// Arrays as files: .npy, .npz, .safetensors, PNG and JPEG.
//
//   Array photo = files::read("photo.jpg");                 // f32 [H, W, 3], 0 to 1
//   Array weights = files::read("model.safetensors:layer1.weight");
//   files::write("result.png", photo);
//
// Reading takes any file, also a hostile one: it gives an array or an Error, and never allocates
// more than the size of the file can justify. Do not shorten a file while it is read or mapped: the
// system answers with SIGBUS.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hologram/array.hpp"

namespace hologram::files {

enum class Format : uint8_t { Npy, Npz, Safetensors, Png, Jpeg };

// "npy", "npz", "safetensors", "PNG", "JPEG".
HOLOGRAM_API std::string_view name_of(Format format);

struct ReadOptions {
  // Which array of an .npz or .safetensors file. When set, the path is taken as it is; otherwise a
  // path such as "file.npz:name" names it. Needed unless the file holds exactly one array.
  std::string member = {};
  // Pictures: convert the stored sRGB values to linear light (alpha is linear already).
  bool linear = false;
};

// One array of a file.
struct Member {
  std::string name;           // empty where the format has no names
  DType dtype = DType::None;  // what read() gives; None if it would refuse
  Shape shape;                // what read() gives
  std::string stored;  // the element type in the file's own words: "<f4", "BF16", "8 bit RGB"
};

struct FileInfo {
  Format format = Format::Npy;
  std::vector<Member> members;  // in the order of the file
};

// The array in a file. The format is told by the content; the extension only counts where the
// content says nothing.
//
// A picture becomes f32 [H, W, C]: value/255 or value/65535, rows from top to bottom, channels
// grey, grey+alpha, RGB or RGBA. Palettes and transparent colours are resolved. The EXIF
// orientation of a JPEG is applied. Colour profiles and gamma are ignored: what is stored is taken
// for sRGB. More than 2^32 elements are refused, as are CMYK pictures.
//
// .npy and .safetensors are mapped into memory where alignment and byte order allow, which takes
// milliseconds at any size; the pages are private, so that writing to the array leaves the file as
// it is. Arrays in Fortran order or the other byte order are converted to dense row-major ones.
//
// IoError if the file cannot be read or is damaged; UnsupportedOperation, with the name of what is
// in there, for element types without a DType (Python objects, complex numbers, 8-bit floats);
// InvalidArgument, with a list of names, if the member is missing.
HOLOGRAM_API Array read(const std::string& path, const ReadOptions& options = {});

// What a file holds, or the one array that "file.npz:name" names, without reading the data. Errors
// as for read(), but element types that read() refuses are listed with DType::None.
HOLOGRAM_API FileInfo inspect(const std::string& path);

// The rows of an array that lies in its file as it would in memory: some of them can be had without
// the others, however large the file is.
class HOLOGRAM_API Rows {
 public:
  // Errors as for read().
  static Rows open(const std::string& path, const ReadOptions& options = {});

  // Whether rows come into memory as they are looked at. Not where read() has to convert or
  // decompress the array, nor of a pipe: then all of it is in memory.
  bool on_demand() const { return file_ != nullptr; }
  // All of them; where they are mapped, what is looked at stays in memory.
  const Array& whole() const { return whole_; }
  // Rows [first, first + count); they leave memory with the last copy of the array.
  // InvalidArgument if there are not so many.
  Array read(int64_t first, int64_t count) const;

 private:
  Rows(Array whole, std::shared_ptr<const void> file)
      : whole_(std::move(whole)), file_(std::move(file)) {}
  Array whole_;
  std::shared_ptr<const void> file_;
};

struct WriteOptions {
  // PNG from a floating-point array: 8 or 16 bits per channel.
  int bits = 8;
  // JPEG: 1 to 100. From 90 on, colour is kept at full resolution.
  int quality = 92;
  // Pictures: the values are linear light and are converted to sRGB (alpha stays).
  bool linear = false;
  // The name of the array in an .npz ("arr_0" if empty) or .safetensors file ("data" if empty).
  // When set, the path is taken as it is; otherwise "file.npz:name" names it.
  std::string member = {};
};

// Writes one array as a file, by strips along axis 0, so that it never has to be in memory as a
// whole. The format is that of the extension: .npy, .npz, .safetensors, .png, .jpg or .jpeg.
//
// Nothing appears under `path` before commit(): the data goes to a temporary file in the same
// folder, which commit() renames, replacing an existing file or symbolic link at once. The
// temporary file vanishes with the writer. Equal arrays and options give equal bytes.
//
// Pictures take [H, W] or [H, W, C]; PNG with 1 to 4 channels, JPEG with 1 or 3. Floating-point
// values are clamped to 0..1, NaN counts as 0, and v is stored as floor(v*255 + 0.5) (or 65535);
// bool is stored as 0 and 1 would be. u8 is stored as it is, u16 as 16 bits in a PNG; other
// integers are refused with DTypeMismatch, other shapes with ShapeMismatch. .npy and .npz have no
// bf16.
//
// Failures of the system (no such folder, no permission, disk full) are IoErrors with the path and
// the reason. After any error the writer can only be destroyed.
class HOLOGRAM_API Writer {
 public:
  static Writer create(const std::string& path, DType dtype, const Shape& shape,
                       const WriteOptions& options = {});
  Writer(Writer&&) noexcept;
  Writer& operator=(Writer&&) noexcept;
  ~Writer();

  // Appends rows: an array of the same element type whose axes but the first are those of the
  // shape. For a shape without axes: the one number.
  void write(const Array& rows);
  // The same for `rows` rows, dense in memory.
  void write_rows(const std::byte* data, size_t rows);

  // Completes the file, which stays invisible: the last that can go wrong with its data. Only
  // needed where several files are to appear together. ShapeMismatch if rows are missing.
  void finish();

  // Makes the file visible, after finish() if that was not called.
  void commit();

 private:
  struct State;
  explicit Writer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// Writes a whole array.
HOLOGRAM_API void write(const std::string& path, const Array& array,
                        const WriteOptions& options = {});

// Writes several arrays; none of the files appears unless all could be written. Paths that name
// members of one .npz or .safetensors file ("out.npz:a", "out.npz:b") give one file with all of
// them. `options.member` must be empty.
HOLOGRAM_API void write_all(const std::map<std::string, Array>& arrays,
                            const WriteOptions& options = {});

}  // namespace hologram::files
