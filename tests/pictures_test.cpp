// PNG and JPEG: known pixels of hand-made files, what is written is read again, rounding.
#include <zlib.h>

#include <cmath>
#include <limits>

#include "files/srgb.hpp"
#include "files_helpers.hpp"

namespace hologram::files {
namespace {

std::string big(uint32_t value) {
  return {static_cast<char>(value >> 24), static_cast<char>(value >> 16),
          static_cast<char>(value >> 8), static_cast<char>(value)};
}
std::string chunk(const std::string& type, const std::string& data) {
  const std::string body = type + data;
  const uLong crc =
      crc32(0, reinterpret_cast<const Bytef*>(body.data()), static_cast<uInt>(body.size()));
  return big(static_cast<uint32_t>(data.size())) + body + big(static_cast<uint32_t>(crc));
}
// `rows` with their filter bytes; `before` are chunks before the data.
std::string png(uint32_t w, uint32_t h, int bits, int color, const std::string& rows,
                const std::string& before = "", bool interlaced = false) {
  std::string packed(compressBound(rows.size()), '\0');
  uLongf size = packed.size();
  compress(reinterpret_cast<Bytef*>(packed.data()), &size,
           reinterpret_cast<const Bytef*>(rows.data()), rows.size());
  packed.resize(size);
  const std::string header = big(w) + big(h) + static_cast<char>(bits) + static_cast<char>(color) +
                             std::string(2, '\0') + static_cast<char>(interlaced);
  return "\x89PNG\r\n\x1a\n" + chunk("IHDR", header) + before + chunk("IDAT", packed) +
         chunk("IEND", "");
}

// A grey baseline JPEG of two blocks: 168 on the left, 88 on the right. The quantiser is 8, so that
// a DC coefficient d makes the value 128 + d; the AC table only has "end of block".
std::string jpeg(int orientation = 0, const std::string& scan = "\xa8\x65\xef") {
  std::string file = "\xff\xd8";
  if (orientation > 0) {
    file += std::string("\xff\xe1\0\x22", 4) + std::string("Exif\0\0MM\0\x2a\0\0\0\x08\0\x01", 16);
    file += std::string("\x01\x12\0\x03\0\0\0\x01\0", 9) + static_cast<char>(orientation) +
            std::string(6, '\0');
  }
  file += std::string("\xff\xdb\0\x43\0", 5) + std::string(64, '\x08');
  file += std::string("\xff\xc0\0\x0b\x08\0\x08\0\x10\x01\x01\x11\0", 13);
  file +=
      std::string("\xff\xc4\0\x16\0\1\1\1", 8) + std::string(13, '\0') + std::string("\0\6\7", 3);
  file += std::string("\xff\xc4\0\x14\x10\1", 6) + std::string(15, '\0') + std::string("\0", 1);
  file += std::string("\xff\xda\0\x08\x01\x01\0\0\x3f\0", 10);
  return file + scan + "\xff\xd9";
}

std::vector<float> values(const Array& array, float scale) {
  std::vector<float> result;
  for (const float v : array.as<float>()) result.push_back(v * scale);
  return result;
}

Array noise(const Shape& shape, uint32_t seed = 1) {
  Array array(DType::F32, shape);
  for (float& v : array.mutable_as<float>())
    v = static_cast<float>((seed = seed * 1664525 + 1013904223) >> 8) * 0x1p-24f;
  return array;
}

using Pictures = FilesTest;

TEST_F(Pictures, HandMadePngs) {
  const auto load = [&](const std::string& bytes) { return read(put("a.png", bytes)); };
  const Array rgb = load(png(2, 1, 8, 2, std::string("\0\0\x33\xff\x66\x99\xcc", 7)));
  EXPECT_EQ(rgb.shape(), (Shape{1, 2, 3}));
  EXPECT_EQ(values(rgb, 255), (std::vector<float>{0, 51, 255, 102, 153, 204}));
  EXPECT_EQ(rgb.as<float>()[1], 51.0f / 255.0f);
  EXPECT_EQ(inspect(path("a.png")).members[0].stored, "8 bit RGB");
  // Filter 1 adds the pixel on the left, filter 2 the one above.
  EXPECT_EQ(values(load(png(2, 2, 8, 0, std::string("\1\x0a\x05\2\x01\x02", 6))), 255),
            (std::vector<float>{10, 15, 11, 17}));
  EXPECT_EQ(values(load(png(3, 1, 1, 0, std::string("\0\xa0", 2))), 1),
            (std::vector<float>{1, 0, 1}));
  EXPECT_EQ(values(load(png(2, 1, 4, 0, std::string("\0\x1f", 2))), 15),
            (std::vector<float>{1, 15}));
  EXPECT_EQ(values(load(png(1, 2, 16, 0, std::string("\0\x01\x02\0\xff\xff", 6))), 65535),
            (std::vector<float>{258, 65535}));
  const Array grey_alpha = load(png(1, 1, 16, 4, std::string("\0\0\x01\x80\0", 5)));
  EXPECT_EQ(grey_alpha.shape(), (Shape{1, 1, 2}));
  EXPECT_EQ(values(grey_alpha, 65535), (std::vector<float>{1, 32768}));
  const std::string palette = chunk("PLTE", std::string("\x01\x02\x03\xff\xfe\xfd", 6));
  EXPECT_EQ(values(load(png(2, 1, 2, 3, std::string("\0\x10", 2), palette)), 255),
            (std::vector<float>{1, 2, 3, 255, 254, 253}));
  EXPECT_EQ(inspect(path("a.png")).members[0].stored, "2 bit palette");
  const Array transparent =
      load(png(2, 1, 8, 3, std::string("\0\0\1", 3), palette + chunk("tRNS", "\x33")));
  EXPECT_EQ(transparent.shape(), (Shape{1, 2, 4}));
  EXPECT_EQ(values(transparent, 255), (std::vector<float>{1, 2, 3, 51, 255, 254, 253, 255}));
  // Adam7 of 3 x 2: the passes 1, 4, 6 (two rows of which this picture has one) and 7.
  EXPECT_EQ(values(load(png(3, 2, 8, 0, std::string("\0\1\0\3\0\2\0\4\5\6", 10), "", true)), 255),
            (std::vector<float>{1, 2, 3, 4, 5, 6}));
}

TEST_F(Pictures, HandMadeJpegInEveryOrientation) {
  // The stored picture is 168 on the left and 88 on the right.
  const struct {
    int orientation;
    Shape shape;
    int first, last_of_first_row, first_of_last_row;
  } rows[] = {{0, {8, 16, 1}, 168, 88, 168}, {1, {8, 16, 1}, 168, 88, 168},
              {2, {8, 16, 1}, 88, 168, 88},  {3, {8, 16, 1}, 88, 168, 88},
              {4, {8, 16, 1}, 168, 88, 168}, {5, {16, 8, 1}, 168, 168, 88},
              {6, {16, 8, 1}, 168, 168, 88}, {7, {16, 8, 1}, 88, 88, 168},
              {8, {16, 8, 1}, 88, 88, 168},  {9, {8, 16, 1}, 168, 88, 168}};
  for (const auto& row : rows) {
    const std::string file = put("a.jpg", jpeg(row.orientation));
    const Array array = read(file);
    ASSERT_EQ(array.shape(), row.shape) << row.orientation;
    EXPECT_EQ(inspect(file).members[0].shape, row.shape);
    const auto w = static_cast<size_t>(row.shape[1]);
    const auto pixels = array.as<float>();
    EXPECT_EQ(pixels[0] * 255, static_cast<float>(row.first)) << row.orientation;
    EXPECT_EQ(pixels[w - 1] * 255, static_cast<float>(row.last_of_first_row)) << row.orientation;
    EXPECT_EQ(pixels[pixels.size() - w] * 255, static_cast<float>(row.first_of_last_row));
  }
}

// Orientations that differ only in the direction of the stored rows, which the flat blocks above
// cannot tell apart: a written gradient with an orientation put in behind its first marker.
TEST_F(Pictures, OrientationTurnsRowsToo) {
  Array ramp(DType::F32, {16, 8});
  for (size_t y = 0; y < 16; y++)
    for (size_t x = 0; x < 8; x++)
      ramp.mutable_as<float>()[y * 8 + x] = static_cast<float>(4 * y + x) / 128;
  write(path("a.jpg"), ramp, {.quality = 100});
  const std::string plain = get("a.jpg"), exif = jpeg(1).substr(2, 36);
  // (y, x) of the stored pixel that is shown at the top left and at the top right.
  const int corners[9][4] = {{},
                             {0, 0, 0, 7},
                             {0, 7, 0, 0},
                             {15, 7, 15, 0},
                             {15, 0, 15, 7},
                             {0, 0, 15, 0},
                             {15, 0, 0, 0},
                             {15, 7, 0, 7},
                             {0, 7, 15, 7}};
  for (int o = 1; o <= 8; o++) {
    std::string turned = "\xff\xd8" + exif + plain.substr(2);
    turned[2 + 29] = static_cast<char>(o);
    const Array shown = read(put("b.jpg", turned));
    const auto* c = corners[o];
    const auto w = static_cast<size_t>(shown.shape()[1]);
    EXPECT_NEAR(shown.as<float>()[0] * 128, 4 * c[0] + c[1], 1) << o;
    EXPECT_NEAR(shown.as<float>()[w - 1] * 128, 4 * c[2] + c[3], 1) << o;
  }
}

TEST_F(Pictures, LittleEndianExif) {
  std::string file = jpeg(6);
  const std::string exif("II\x2a\0\x08\0\0\0\1\0\x12\1\3\0\1\0\0\0\6\0", 20);
  file.replace(file.find("MM"), exif.size(), exif);
  EXPECT_EQ(read(put("a.jpg", file)).shape(), (Shape{16, 8, 1}));
}

TEST_F(Pictures, CutShortOrCorruptJpegIsAnError) {
  EXPECT_TRUE(
      contains(message_of([&] { read(put("a.jpg", jpeg(0, "\xa8"))); }), "not a valid JPEG"));
  EXPECT_TRUE(contains(message_of([&] { read(put("a.jpg", jpeg(0, "\xff\xff\xff\xff"))); }),
                       "not a valid JPEG"));
  const std::string whole = jpeg();
  EXPECT_TRUE(contains(message_of([&] { read(put("a.jpg", whole.substr(0, whole.size() - 2))); }),
                       "not a valid JPEG"));
}

TEST_F(Pictures, PngRoundTripsAllShapesAndWidths) {
  for (const Shape& shape : {Shape{5, 7}, {5, 7, 1}, {5, 7, 2}, {5, 7, 3}, {5, 7, 4}, {1, 1}})
    for (const int bits : {8, 16})
      for (const bool linear : {false, true}) {
        const Array array = noise(shape);
        write(path("a.png"), array, {.bits = bits, .linear = linear});
        const Array again = read(path("a.png"), {.linear = linear});
        EXPECT_EQ(again.shape(), (Shape{shape[0], shape[1], shape.size() == 3 ? shape[2] : 1}));
        const float step = (linear ? 3.0f : 0.51f) / (bits == 8 ? 255.0f : 65535.0f);
        for (size_t i = 0; i < array.size(); i++)
          ASSERT_NEAR(again.as<float>()[i], array.as<float>()[i], step);
        // Once stored, a value stays what it is.
        const std::string first = get("a.png");
        write(path("b.png"), again, {.bits = bits, .linear = linear});
        EXPECT_EQ(get("b.png"), first);
      }
}

TEST_F(Pictures, EveryStoredValueSurvivesLinearLight) {
  Array all(DType::U16, {256, 256});
  for (size_t i = 0; i < 65536; i++) all.mutable_as<uint16_t>()[i] = static_cast<uint16_t>(i);
  write(path("a.png"), all);
  write(path("b.png"), read(path("a.png"), {.linear = true}), {.bits = 16, .linear = true});
  EXPECT_EQ(get("a.png"), get("b.png"));
  EXPECT_NEAR(srgb::decode(0.5f), 0.21404114f, 1e-6f);
  EXPECT_NEAR(srgb::encode(0.21404114f), 0.5f, 1e-6f);
  EXPECT_EQ(srgb::decode(1), 1.0f);
}

TEST_F(Pictures, ValuesAreClampedAndRounded) {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::nanf("");
  const std::vector<float> given = {-1, 0, 0.49f / 255, 0.51f / 255, 254.51f / 255,
                                    1,  2, inf,         -inf,        nan};
  const std::vector<float> stored = {0, 0, 0, 1, 255, 255, 255, 255, 0, 0};
  write(path("a.png"), Array::from(given, {1, 10}));
  EXPECT_EQ(values(read(path("a.png")), 255), stored);
  write(path("a.png"), Array::from(std::vector<double>(given.begin(), given.end()), {1, 10}));
  EXPECT_EQ(values(read(path("a.png")), 255), stored);
  const uint16_t half[] = {0x3c00, 0x3800, 0xbc00, 0x7e00},
                 brain[] = {0x3f80, 0x3f00, 0xbf80, 0x7fc0};
  for (const auto& [dtype, data] : {std::pair{DType::F16, half}, {DType::BF16, brain}}) {
    write(path("a.png"), Array::borrow(dtype, {2, 2}, data));
    EXPECT_EQ(values(read(path("a.png")), 255), (std::vector<float>{255, 128, 0, 0}));
  }
  const uint8_t mask[] = {0, 1, 1, 0};
  write(path("a.png"), Array::borrow(DType::Bool, {2, 2}, mask));
  EXPECT_EQ(values(read(path("a.png")), 255), (std::vector<float>{0, 255, 255, 0}));
}

TEST_F(Pictures, IntegersAreStoredAsTheyAre) {
  const Array bytes = Array::from(std::vector<uint8_t>{0, 1, 128, 255}, {2, 2});
  write(path("a.png"), bytes, {.bits = 16});
  EXPECT_EQ(inspect(path("a.png")).members[0].stored, "8 bit grey");
  EXPECT_EQ(values(read(path("a.png")), 255), (std::vector<float>{0, 1, 128, 255}));
  write(path("a.png"), Array::from(std::vector<uint16_t>{0, 258, 65535}, {1, 3}));
  EXPECT_EQ(values(read(path("a.png")), 65535), (std::vector<float>{0, 258, 65535}));
}

TEST_F(Pictures, JpegIsCloseAndTheSameEachTime) {
  Array smooth(DType::F32, {33, 47, 3});
  for (size_t i = 0; i < smooth.size(); i++) {
    const size_t channel = i % 3, x = i / 3 % 47, y = i / 141;
    smooth.mutable_as<float>()[i] =
        0.5f + 0.4f * std::sin(static_cast<float>(x + y) * 0.05f + static_cast<float>(channel));
  }
  for (const char* name : {"a.jpg", "b.JPEG"})
    for (const int quality : {80, 92, 100}) {
      write(path(name), smooth, {.quality = quality});
      const std::string first = get(name);
      const Array again = read(path(name));
      ASSERT_EQ(again.shape(), smooth.shape());
      double error = 0;
      for (size_t i = 0; i < smooth.size(); i++)
        error += std::abs(again.as<float>()[i] - smooth.as<float>()[i]);
      EXPECT_LT(error / static_cast<double>(smooth.size()), 0.02) << quality;
      write(path(name), smooth, {.quality = quality});
      EXPECT_EQ(get(name), first);
    }
  write(path("a.jpg"), Array::from(std::vector<uint8_t>(64, 77), {8, 8}));
  EXPECT_EQ(values(read(path("a.jpg")), 255), std::vector<float>(64, 77));
}

TEST_F(Pictures, WhatCannotBeStored) {
  const auto message = [&](const char* name, DType dtype, const Shape& shape, WriteOptions o = {}) {
    return message_of([&] { write(path(name), Array(dtype, shape), o); });
  };
  EXPECT_TRUE(contains(message("a.png", DType::F32, {4}), "[4]"));
  EXPECT_TRUE(
      contains(message("a.png", DType::F32, {4, 4, 5}), "[H, W, C] with C one of 1, 2, 3, 4"));
  EXPECT_TRUE(contains(message("a.png", DType::F32, {0, 4}), "[0, 4]"));
  EXPECT_TRUE(contains(message("a.jpg", DType::F32, {4, 4, 4}), "C one of 1, 3"));
  EXPECT_TRUE(contains(message("a.jpg", DType::F32, {1, 65501}), "65500"));
  EXPECT_TRUE(contains(message("a.png", DType::I32, {4, 4}), "i32 cannot be written"));
  EXPECT_TRUE(contains(message("a.jpg", DType::U16, {4, 4}), "u16 cannot be written"));
  EXPECT_TRUE(contains(message("a.png", DType::F32, {4, 4}, {.bits = 12}), "bits=12"));
  EXPECT_TRUE(contains(message("a.jpg", DType::F32, {4, 4}, {.bits = 16}), "bits=16"));
  EXPECT_TRUE(contains(message("a.jpg", DType::F32, {4, 4}, {.quality = 0}), "quality=0"));
  EXPECT_TRUE(listing().empty());
}

TEST_F(Pictures, HugeDimensionsAreRefused) {
  const std::string rows(8, '\0');
  EXPECT_TRUE(contains(message_of([&] { read(put("a.png", png(900000, 900000, 8, 2, rows))); }),
                       "2430000000000 elements"));
  EXPECT_TRUE(contains(message_of([&] { read(put("a.png", png(30000, 30000, 8, 2, rows))); }),
                       "30000 x 30000"));
  std::string large = jpeg();
  const size_t frame = large.find("\xff\xc0");
  large.replace(frame + 5, 4, "\xf0\xf0\xf0\xf0");
  EXPECT_TRUE(contains(message_of([&] { read(put("a.jpg", large)); }), "pixels that it describes"));
}

}  // namespace
}  // namespace hologram::files
