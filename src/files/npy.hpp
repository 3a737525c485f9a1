// NumPy's .npy, formats 1 to 3: a header in the form of a Python dictionary, then the elements.
#pragma once

#include "files/layout.hpp"

namespace hologram::files {

// Plenty for the plain element types; only records have longer headers.
inline constexpr size_t kMaxNpyHeader = 65536;
// Enough bytes of a file for npy_header_size.
inline constexpr size_t kNpyPreamble = 12;

struct NpyHeader {
  std::string stored;  // the descr
  DType dtype = DType::None;
  std::string refusal;       // without a dtype: what the array is instead
  std::string_view instead;  // and what it should be
  Layout layout;
  Shape shape;
  size_t size = 0;        // of the header: the elements come after it
  size_t data_bytes = 0;  // of the elements; 0 without a dtype
};

// The size of the whole header, from the first kNpyPreamble bytes of an .npy.
size_t npy_header_size(const Source& source, std::span<const std::byte> bytes);
// `bytes` holds at least the whole header.
NpyHeader parse_npy_header(const Source& source, std::span<const std::byte> bytes);
// UnsupportedOperation if the elements have no dtype.
void require_supported(const Source& source, const NpyHeader& header);
// Format 1.0, a multiple of 64 bytes long. DTypeMismatch, with the path, for bf16.
std::string make_npy_header(const std::string& path, Format format, DType dtype,
                            const Shape& shape);

bool is_npy(std::span<const std::byte> bytes);
FileInfo inspect_npy(const Source& source);
Array read_npy(const Source& source, const ReadOptions& options);
std::unique_ptr<Encoder> npy_encoder(core::OutputFile& file, const std::vector<Part>& parts,
                                     const WriteOptions& options);

}  // namespace hologram::files
