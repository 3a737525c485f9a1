// Any bytes, read as a file of the format FUZZ_FORMAT: an Error or an array.
#include <zlib.h>

#include <algorithm>
#include <vector>

#include "files/formats.hpp"
#include "hologram/error.hpp"

using namespace hologram;

// A small file can describe a picture that takes a second; that is no finding, but too slow here.
constexpr int64_t kMaxElements = 1 << 20;

namespace {

// Every chunk of a PNG has a checksum that no mutation hits: puts the right ones in.
void mend_checksums(std::vector<uint8_t>& png) {
  for (size_t at = 8; at + 12 <= png.size();) {
    const size_t length =
        size_t{png[at]} << 24 | png[at + 1] << 16 | png[at + 2] << 8 | png[at + 3];
    if (length > png.size() - at - 12) return;
    const uLong crc = crc32(0, &png[at + 4], static_cast<uInt>(length + 4));
    at += length + 8;
    for (int shift = 24; shift >= 0; shift -= 8) png[at++] = static_cast<uint8_t>(crc >> shift);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const files::FormatInfo& format = files::format_info(files::Format::FUZZ_FORMAT);
  std::vector<uint8_t> bytes(data, data + size);
  if (format.format == files::Format::Png) mend_checksums(bytes);
  const files::Source source{"fuzz", std::as_bytes(std::span(bytes)), {}, false};
  try {
    const files::FileInfo info = format.inspect(source);
    for (const files::Member& member : info.members) {
      if (member.dtype != DType::None && count_of(member.shape) > kMaxElements) continue;
      try {
        const Array array =
            format.read(source, {format.has_members ? member.name : "", size % 2 == 0});
        // Every byte is there, and what was announced is what came.
        volatile std::byte sum{};
        for (size_t i = 0; i < array.bytes(); i++) sum = sum ^ array.data()[i];
        const bool announced =
            std::any_of(info.members.begin(), info.members.end(), [&](const files::Member& m) {
              return m.name == member.name && m.dtype == array.dtype() && m.shape == array.shape();
            });
        if (!announced) __builtin_trap();
      } catch (const Error&) {
      }
    }
  } catch (const Error&) {
  }
  return 0;
}
