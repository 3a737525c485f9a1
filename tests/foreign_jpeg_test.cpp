// JPEGs of kinds that hologram does not write: progressive, CMYK, and one that never ends.
#include <cstdio>
// jpeglib.h needs the types of <cstdio>.
#include <jpeglib.h>

#include <cstdlib>

#include "files_helpers.hpp"

namespace hologram::files {
namespace {

// A ramp of 32 x 16 pixels with the given number of channels.
std::string encode(int channels, J_COLOR_SPACE space, std::span<const jpeg_scan_info> scans) {
  jpeg_compress_struct jpeg;
  jpeg_error_mgr errors;
  jpeg.err = jpeg_std_error(&errors);
  jpeg_create_compress(&jpeg);
  unsigned char* memory = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&jpeg, &memory, &size);
  jpeg.image_width = 32;
  jpeg.image_height = 16;
  jpeg.input_components = channels;
  jpeg.in_color_space = space;
  jpeg_set_defaults(&jpeg);
  jpeg_set_quality(&jpeg, 100, TRUE);
  jpeg.scan_info = scans.data();
  jpeg.num_scans = static_cast<int>(scans.size());
  jpeg_start_compress(&jpeg, TRUE);
  for (int y = 0; y < 16; y++) {
    std::vector<JSAMPLE> samples(static_cast<size_t>(32 * channels));
    for (int i = 0; i < 32 * channels; i++)
      samples[static_cast<size_t>(i)] = static_cast<JSAMPLE>(8 * y + 3 * (i / channels));
    JSAMPROW row = samples.data();
    jpeg_write_scanlines(&jpeg, &row, 1);
  }
  jpeg_finish_compress(&jpeg);
  std::string bytes(reinterpret_cast<const char*>(memory), size);
  jpeg_destroy_compress(&jpeg);
  free(memory);  // NOLINT(cppcoreguidelines-no-malloc): libjpeg took it from malloc
  return bytes;
}

Array read_jpeg_of(const std::string& bytes) {
  return format_info(Format::Jpeg).read(source_of(bytes), {});
}

constexpr jpeg_scan_info kGreyScans[] = {{1, {0}, 0, 0, 0, 0}, {1, {0}, 1, 63, 0, 0}};

TEST(ForeignJpeg, ProgressiveOnesAreRead) {
  const jpeg_scan_info color[] = {{3, {0, 1, 2}, 0, 0, 0, 1},
                                  {1, {0}, 1, 63, 0, 0},
                                  {1, {1}, 1, 63, 0, 0},
                                  {1, {2}, 1, 63, 0, 0},
                                  {3, {0, 1, 2}, 0, 0, 1, 0}};
  for (const std::string& bytes :
       {encode(1, JCS_GRAYSCALE, kGreyScans), encode(3, JCS_RGB, color)}) {
    ASSERT_TRUE(contains(bytes, "\xff\xc2"));
    const Array array = read_jpeg_of(bytes);
    const auto channels = static_cast<size_t>(array.shape()[2]);
    for (size_t y = 0; y < 16; y++)
      for (size_t x = 0; x < 32; x++)
        EXPECT_NEAR(array.as<float>()[(y * 32 + x) * channels] * 255,
                    static_cast<float>(8 * y + 3 * x), 3);
    for (size_t length = 0; length < bytes.size(); length++)
      EXPECT_THROW(read_jpeg_of(bytes.substr(0, length)), Error) << length;
  }
}

TEST(ForeignJpeg, CmykIsRefusedByName) {
  const std::string bytes = encode(4, JCS_CMYK, {});
  EXPECT_TRUE(contains(message_of([&] { read_jpeg_of(bytes); }), "CMYK"));
}

TEST(ForeignJpeg, EndlessScansAreRefused) {
  std::string bytes = encode(1, JCS_GRAYSCALE, kGreyScans);
  // The second scan with its table, again and again: each time the file is valid.
  const size_t first = bytes.find("\xff\xda");
  const size_t second = bytes.find("\xff\xc4", first);
  const std::string scan = bytes.substr(second, bytes.size() - 2 - second);
  const auto repeated = [&](int times) {
    std::string all = bytes.substr(0, bytes.size() - 2);
    for (int i = 0; i < times; i++) all += scan;
    return all + "\xff\xd9";
  };
  EXPECT_EQ(message_of([&] { read_jpeg_of(repeated(400)); }), "");
  EXPECT_TRUE(contains(message_of([&] { read_jpeg_of(repeated(600)); }), "not a valid JPEG"));
}

}  // namespace
}  // namespace hologram::files
