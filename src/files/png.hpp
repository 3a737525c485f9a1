// PNG, through libpng.
#pragma once

#include "files/formats.hpp"

namespace hologram::files {

bool is_png(std::span<const std::byte> bytes);
FileInfo inspect_png(const Source& source);
Array read_png(const Source& source, const ReadOptions& options);
std::unique_ptr<Encoder> png_encoder(core::OutputFile& file, const std::vector<Part>& parts,
                                     const WriteOptions& options);

}  // namespace hologram::files
