// safetensors: a JSON header with types, shapes and offsets, then the elements.
#pragma once

#include "files/formats.hpp"

namespace hologram::files {

bool is_safetensors(std::span<const std::byte> bytes);
FileInfo inspect_safetensors(const Source& source);
Array read_safetensors(const Source& source, const ReadOptions& options);
std::unique_ptr<Encoder> safetensors_encoder(core::OutputFile& file, const std::vector<Part>& parts,
                                             const WriteOptions& options);

}  // namespace hologram::files
