// JPEG, through libjpeg-turbo.
#pragma once

#include "files/formats.hpp"

namespace hologram::files {

bool is_jpeg(std::span<const std::byte> bytes);
FileInfo inspect_jpeg(const Source& source);
Array read_jpeg(const Source& source, const ReadOptions& options);
std::unique_ptr<Encoder> jpeg_encoder(core::OutputFile& file, const std::vector<Part>& parts,
                                      const WriteOptions& options);

}  // namespace hologram::files
