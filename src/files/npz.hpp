// NumPy's .npz: a ZIP file of .npy files.
#pragma once

#include "files/formats.hpp"

namespace hologram::files {

bool is_npz(std::span<const std::byte> bytes);
FileInfo inspect_npz(const Source& source);
Array read_npz(const Source& source, const ReadOptions& options);
std::unique_ptr<Encoder> npz_encoder(core::OutputFile& file, const std::vector<Part>& parts,
                                     const WriteOptions& options);

}  // namespace hologram::files
