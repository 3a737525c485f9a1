// Damaged files of every format: an Error or an array, never a crash.
#include <random>

#include "files_helpers.hpp"

namespace hologram::files {
namespace {

struct Case {
  std::string name;  // the extension says the format
  DType dtype;
  Shape shape;
  WriteOptions options;
};

class Hostile : public FilesTest, public testing::WithParamInterface<Case> {
 protected:
  Hostile() {
    const Case& c = GetParam();
    write(path(c.name), pattern(c.dtype, c.shape), c.options);
    bytes_ = get(c.name);
    format_ = &format_info(inspect(path(c.name)).format);
    array_ = format_->read(source_of(bytes_), {});
  }

  // Reads from memory that ends where the file ends, so that a sanitizer sees one byte more.
  Array read_copy(const std::string& bytes) const {
    const std::vector<std::byte> exact(
        reinterpret_cast<const std::byte*>(bytes.data()),
        reinterpret_cast<const std::byte*>(bytes.data()) + bytes.size());
    return format_->read({"memory", exact, {}, false}, {});
  }

  std::string bytes_;
  const FormatInfo* format_;
  Array array_;
};

TEST_P(Hostile, EveryTruncationIsAnError) {
  EXPECT_TRUE(same(read_copy(bytes_), array_));
  for (size_t length = 0; length < bytes_.size(); length++) {
    bool failed = false;
    try {
      read_copy(bytes_.substr(0, length));
    } catch (const Error& error) {
      failed = error.kind() == ErrorKind::IoError;
    }
    EXPECT_TRUE(failed) << length;
  }
}

TEST_P(Hostile, RandomDamageNeverCrashes) {
  std::mt19937 random(7);
  int failures = 0;
  for (int i = 0; i < 2000; i++) {
    std::string damaged = bytes_;
    // Half of the damage goes to the headers, which stand at either end.
    const size_t range = i % 2 == 0 ? damaged.size() : std::min<size_t>(damaged.size(), 160);
    for (unsigned n = 1 + random() % 4; n > 0; n--) {
      size_t at = random() % range;
      if (i % 4 == 1) at = damaged.size() - 1 - at;
      damaged[at] = static_cast<char>(i % 3 == 0 ? random() : damaged[at] ^ (1 << random() % 8));
    }
    const Source source = source_of(damaged);
    try {
      const FileInfo info = format_->inspect(source);
      EXPECT_EQ(info.format, format_->format);
    } catch (const Error&) {
    }
    try {
      const Array array = read_copy(damaged);
      EXPECT_LE(array.bytes(), damaged.size() * 4096 * 4);
    } catch (const Error& error) {
      EXPECT_NE(error.kind(), ErrorKind::Internal);
      failures++;
    }
  }
  // Damage to headers shows; elements without a checksum may change unnoticed.
  EXPECT_GT(failures, 100);
}

const Case kCases[] = {
    {"a.npy", DType::F32, {3, 5}, {}},
    {"a.npz", DType::I16, {4, 6}, {}},
    {"a.safetensors", DType::BF16, {4, 6}, {}},
    {"a.png", DType::U8, {9, 7, 3}, {}},
    {"b.png", DType::U16, {5, 6, 2}, {}},
    {"a.jpg", DType::U8, {17, 18, 3}, {}},
    {"b.jpg", DType::U8, {17, 18, 3}, {.quality = 60}},
    {"c.jpg", DType::U8, {9, 9}, {}},
};
INSTANTIATE_TEST_SUITE_P(All, Hostile, testing::ValuesIn(kCases), [](const auto& info) {
  std::string name = info.param.name;
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
});

TEST(HostileNoise, NoiseIsRefused) {
  std::mt19937 random(3);
  for (int i = 0; i < 2000; i++) {
    std::string noise(random() % 300, '\0');
    for (char& c : noise) c = static_cast<char>(random());
    for (const FormatInfo& format : all_formats())
      EXPECT_THROW(format.read(source_of(noise), {}), Error) << format.name;
  }
}

}  // namespace
}  // namespace hologram::files
