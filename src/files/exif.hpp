// The orientation of a photograph.
#pragma once

#include <cstddef>
#include <span>

namespace hologram::files {

// The orientation, 1 to 8, in the payload of a JPEG's APP1 marker; 1 (upright) if there is none or
// the data makes no sense.
int exif_orientation(std::span<const unsigned char> app1);

}  // namespace hologram::files
