// .npy, .npz and .safetensors: what is written is read again, and files of other writers are read
// as they mean.
#include "hologram/files.hpp"

#include <zlib.h>

#include "files_helpers.hpp"

namespace hologram::files {
namespace {

std::string npy(const std::string& dictionary, const std::string& data, int version = 1) {
  std::string head("\x93NUMPY");
  head += {static_cast<char>(version), 0};
  const auto n = static_cast<uint32_t>(dictionary.size() + 1);
  for (int i = 0; i < (version == 1 ? 2 : 4); i++) head += static_cast<char>(n >> 8 * i & 255);
  return head + dictionary + "\n" + data;
}

std::string safetensors(const std::string& header, const std::string& data) {
  const uint64_t n = header.size();
  return std::string(reinterpret_cast<const char*>(&n), 8) + header + data;
}

template <class T>
std::vector<T> list(const Array& array) {
  const auto elements = array.as<T>();
  return {elements.begin(), elements.end()};
}

using Files = FilesTest;

TEST_F(Files, EveryDTypeRoundTrips) {
  const Shape shapes[] = {{}, {0, 3}, {5}, {2, 3, 4}, {1, 1, 1, 1, 2, 1, 1, 3}};
  for (const char* name : {"a.npy", "a.npz", "a.npz:x/y", "a.safetensors", "a.safetensors:m.w:0"})
    for (size_t i = 1; i < kDTypeCount; i++)
      for (const Shape& shape : shapes) {
        const auto dtype = static_cast<DType>(i);
        const Array array = pattern(dtype, shape);
        if (dtype == DType::BF16 && !contains(name, "safe")) {
          EXPECT_TRUE(contains(message_of([&] { write(path(name), array); }), "bf16"));
          continue;
        }
        write(path(name), array);
        EXPECT_TRUE(same(read(path(name)), array)) << name << name_of(dtype) << to_string(shape);
        const FileInfo info =
            inspect(path(std::string(name).substr(0, std::string(name).find(':'))));
        ASSERT_EQ(info.members.size(), 1u);
        EXPECT_EQ(info.members[0].dtype, dtype);
        EXPECT_EQ(info.members[0].shape, shape);
      }
}

TEST_F(Files, NpyOfOtherWriters) {
  const std::string order_c = "'fortran_order': False, ";
  EXPECT_EQ(list<float>(read(put("a", npy("{'descr': '<f4', " + order_c + "'shape': (2,), }",
                                          std::string("\0\0\x80\x3f\0\0\0\x40", 8))))),
            (std::vector<float>{1, 2}));
  // Big-endian, format 2, other order of keys, other quotes, Python 2's long numbers.
  const Array big = read(put("b", npy("{\"shape\": (1L, 2L), 'descr': '>i2', " + order_c + "}",
                                      std::string("\1\2\xff\xfe", 4), 2)));
  EXPECT_EQ(list<int16_t>(big), (std::vector<int16_t>{258, -2}));
  EXPECT_EQ(big.shape(), (Shape{1, 2}));
  // Fortran order, format 3: the element (i, j, k) of the shape (2, 3, 2) holds ijk.
  std::string data;
  for (int k = 0; k < 2; k++)
    for (int j = 0; j < 3; j++)
      for (int i = 0; i < 2; i++) data += static_cast<char>(100 * i + 10 * j + k);
  const Array fortran =
      read(put("c", npy("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3, 2), }", data, 3)));
  EXPECT_EQ(list<uint8_t>(fortran),
            (std::vector<uint8_t>{0, 1, 10, 11, 20, 21, 100, 101, 110, 111, 120, 121}));
  EXPECT_EQ(list<double>(read(put("d", npy("{'descr': '>f8', " + order_c + "'shape': ()}",
                                           std::string("\x3f\xf8\0\0\0\0\0\0", 8))))),
            std::vector<double>{1.5});
  EXPECT_EQ(list<bool>(read(put("e", npy("{'descr': '|b1', " + order_c + "'shape': (2,)}",
                                         std::string("\1\0", 2))))),
            (std::vector<bool>{true, false}));
}

// Whatever NumPy reads: a header is a literal of Python, with white space of every sort between its
// parts and around it, keys in any order, numbers and quotes of Python 2.
TEST_F(Files, NpyHeadersAsPythonReadsThem) {
  const char* const headers[] = {
      "{'descr':'<i2','fortran_order':False,'shape':(2,)}",
      "{\t'descr'\t:\t'<i2',\t'fortran_order' : False ,\t'shape' : (\t2\t,\t)\t,\t}\t",
      " \t {\n 'shape': (2,),\r\n 'fortran_order':\f False,\n 'descr': \"<i2\",\n}\n\n  \t\n",
      "{'fortran_order': False, 'shape': (2L,), 'descr': '<i2', }          ",
      "{u'descr': u'<i2', u'fortran_order': False, u'shape': (2L ,)}",
      "{'descr': 'int16', 'fortran_order': False, 'shape': (2,)}",
      "{'descr': '=i2', 'fortran_order': True, 'shape': (2,)}",
      "\n{'descr': 'h', # of two bytes\n 'fortran_order': False, 'shape': (0x2,)} # the end",
      "{'descr': '<h', 'fortran_order': False, 'shape': (+2,)}",
  };
  for (const int version : {1, 2, 3})
    for (const char* header : headers)
      EXPECT_EQ(list<int16_t>(read(put("a", npy(header, std::string("\1\0\xfe\xff", 4), version)))),
                (std::vector<int16_t>{1, -2}))
          << version << header;
  for (const char* header : {"{'descr': '<i2' 'fortran_order': False, 'shape': (2,)}",
                             "{'descr': '<i2', 'fortran_order': False, 'shape': (2,)",
                             "{'descr': '<i2', 'fortran_order': False, 'shape': (2,)} 1"})
    EXPECT_TRUE(
        contains(message_of([&] { read(put("a", npy(header, "abcd"))); }), "does not parse"))
        << header;
}

TEST_F(Files, FortranOrderInTiles) {
  for (const Shape& shape : {Shape{67, 3, 41}, {5, 3, 4, 2}, {40, 70}, {2, 3, 1, 4, 5}}) {
    // Walks the elements as the file stores them, the first axis fastest.
    std::string data, axes;
    std::vector<int64_t> index(shape.size(), 0);
    for (int64_t n = count_of(shape); n > 0; n--) {
      int64_t value = 0;
      for (size_t i = 0; i < shape.size(); i++) value = value * shape[i] + index[i];
      data += {static_cast<char>(value >> 8), static_cast<char>(value & 255)};
      for (size_t i = 0; i < shape.size() && ++index[i] == shape[i]; i++) index[i] = 0;
    }
    for (const int64_t n : shape) axes += std::to_string(n) + ",";
    const Array array = read(
        put("a", npy("{'descr': '>u2', 'fortran_order': True, 'shape': (" + axes + ")}", data)));
    ASSERT_EQ(array.shape(), shape);
    for (size_t i = 0; i < array.size(); i++) ASSERT_EQ(array.as<uint16_t>()[i], i);
  }
}

TEST_F(Files, NpyRefusals) {
  const auto message = [&](const std::string& descr, const std::string& shape = "(1,)") {
    const std::string file =
        put("a.npy", npy("{'descr': " + descr + ", 'fortran_order': False, 'shape': " + shape + "}",
                         std::string(64, 'x')));
    return message_of([&] { read(file); });
  };
  EXPECT_TRUE(contains(message("'|O'"), "Python objects"));
  EXPECT_TRUE(contains(message("'<c8'"), "complex numbers"));
  EXPECT_TRUE(contains(message("'<U3'"), "text"));
  EXPECT_TRUE(contains(message("'<f16'"), "<f16"));
  EXPECT_TRUE(contains(message("[('x', '<f4'), ('y', [('z', '<i2', (2, 2))])]"), "raw records"));
  EXPECT_TRUE(contains(message("'<f4'", "(1, 1, 1, 1, 1, 1, 1, 1, 1)"), "9 axes"));
  EXPECT_TRUE(contains(message("'<f4'", "(17,)"), "needs 68 bytes, there are 64"));
  EXPECT_TRUE(contains(message("'<f4'", "(4611686018427387904, 16)"), "not valid"));
  EXPECT_TRUE(contains(message("'<f4'", "(-1,)"), "does not parse"));
}

TEST_F(Files, LargeNpyIsMappedNotRead) {
  const int64_t count = int64_t{10} << 30;
  const std::string head = npy(
      "{'descr': '<f4', 'fortran_order': False, 'shape': (10737418240,)}" + std::string(56, ' '),
      "");
  ASSERT_EQ(head.size() % 4, 0u);
  const std::string file = put("a.npy", head);
  std::filesystem::resize_file(file, head.size() + static_cast<uint64_t>(count) * 4);
  Array array = read(file);
  EXPECT_EQ(array.shape(), Shape{count});
  EXPECT_EQ(array.as<float>()[static_cast<size_t>(count) - 1], 0.0f);
  // Writing changes the array, not the file.
  array.mutable_as<float>()[5] = 3;
  EXPECT_EQ(array.as<float>()[5], 3.0f);
  EXPECT_EQ(read(file).as<float>()[5], 0.0f);
}

TEST_F(Files, MembersAreNamed) {
  const Array a = pattern(DType::U8, {3}), b = pattern(DType::F32, {2});
  for (const std::string name : {"m.npz", "m.safetensors"}) {
    write_all({{path(name + ":a"), a}, {path(name + ":b"), b}});
    EXPECT_TRUE(same(read(path(name + ":a")), a));
    EXPECT_TRUE(same(read(path(name), {"b"}), b));
    const std::string unnamed = message_of([&] { read(path(name)); });
    EXPECT_TRUE(contains(unnamed, "holds 2 arrays") && contains(unnamed, "b, a")) << unnamed;
    EXPECT_TRUE(contains(message_of([&] { read(path(name + ":c")); }), "no array named 'c'"));
    EXPECT_EQ(inspect(path(name)).members.size(), 2u);
    const FileInfo one = inspect(path(name + ":a"));
    ASSERT_EQ(one.members.size(), 1u);
    EXPECT_EQ(one.members[0].dtype, DType::U8);
    EXPECT_THROW(inspect(path(name + ":c")), Error);
  }
  write(path("a.npy"), a);
  EXPECT_TRUE(contains(message_of([&] { read(path("a.npy"), {"x"}); }), "no array named 'x'"));
}

// Python's zipfile.ZipFile("x.npz", "w", ZIP_DEFLATED) with force_zip64, as numpy.savez_compressed
// uses it, around the file of npy(); made here with zlib's raw deflate.
std::string zip64_deflated(const std::string& content, const std::string& name) {
  std::string packed(compressBound(content.size()), '\0');
  z_stream z = {};
  deflateInit2(&z, 9, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  z.avail_in = static_cast<uInt>(content.size());
  z.next_out = reinterpret_cast<Bytef*>(packed.data());
  z.avail_out = static_cast<uInt>(packed.size());
  deflate(&z, Z_FINISH);
  packed.resize(z.total_out);
  deflateEnd(&z);
  const auto number = [](uint64_t value, int bytes) {
    return std::string(reinterpret_cast<const char*>(&value), static_cast<size_t>(bytes));
  };
  const uint64_t crc =
      crc32(0, reinterpret_cast<const Bytef*>(content.data()), static_cast<uInt>(content.size()));
  const std::string sizes = number(content.size(), 8) + number(packed.size(), 8);
  std::string file = "PK\3\4" + number(45, 2) + number(0, 2) + number(8, 2) +
                     number(0x21 << 16, 4) + number(crc, 4) + number(~0u, 4) + number(~0u, 4) +
                     number(name.size(), 2) + number(20, 2) + name + number(1, 2) + number(16, 2) +
                     sizes + packed;
  const uint64_t directory = file.size();
  file += "PK\1\2" + number(45, 4) + number(0, 2) + number(8, 2) + number(0x21 << 16, 4) +
          number(crc, 4) + number(~0u, 4) + number(~0u, 4) + number(name.size(), 2) +
          number(28, 2) + number(0, 12 - 4) + number(0, 2) + number(~0u, 4) + name + number(1, 2) +
          number(24, 2) + sizes + number(0, 8);
  const uint64_t end = file.size();
  file += "PK\6\6" + number(44, 8) + number(45, 2) + number(45, 2) + number(0, 8) + number(1, 8) +
          number(1, 8) + number(end - directory, 8) + number(directory, 8);
  file += "PK\6\7" + number(0, 4) + number(end, 8) + number(1, 4);
  return file + "PK\5\6" + number(0, 4) + number(0xffff, 2) + number(0xffff, 2) + number(~0u, 4) +
         number(~0u, 4) + number(0, 2);
}

TEST_F(Files, DeflatedZip64) {
  std::string data;
  for (int i = 0; i < 1000; i++) data += {static_cast<char>(i >> 8), static_cast<char>(i & 255)};
  const std::string content =
      npy("{'descr': '>i2', 'fortran_order': False, 'shape': (1000,)}", data);
  const std::string good = zip64_deflated(content, "x.npy");
  const Array array = read(put("a.npz", good));
  for (int i = 0; i < 1000; i++) ASSERT_EQ(array.as<int16_t>()[static_cast<size_t>(i)], i);
  // One bit of the last element of a stored member.
  write(path("c.npz"), array);
  std::string changed = get("c.npz");
  changed[changed.find("PK\1\2") - 1] ^= 1;
  EXPECT_TRUE(contains(message_of([&] { read(put("c.npz", changed)); }), "checksum"));
  // A bomb: the shape is not what the entry holds.
  const std::string bomb =
      npy("{'descr': '|u1', 'fortran_order': False, 'shape': (99000000000,)}", data);
  EXPECT_TRUE(contains(message_of([&] { read(put("b.npz", zip64_deflated(bomb, "x.npy"))); }),
                       "needs 99000000000 bytes, there are 2000"));
}

TEST_F(Files, Safetensors) {
  const std::string good = safetensors(
      R"({"__metadata__":{"format":"pt"},"b":{"dtype":"BF16","shape":[2],"data_offsets":[4,8]},)"
      R"("a":{"dtype":"F32","shape":[],"data_offsets":[0,4]}}  )",
      std::string("\0\0\xc0\x3f\x80\x3f\0\xc0", 8));
  put("a.safetensors", good);
  EXPECT_EQ(list<float>(read(path("a.safetensors:a"))), std::vector<float>{1.5f});
  const Array b = read(path("a.safetensors:b"));
  EXPECT_EQ(b.dtype(), DType::BF16);
  EXPECT_EQ(std::memcmp(b.data(), "\x80\x3f\0\xc0", 4), 0);

  const auto message = [&](const std::string& header, size_t bytes) {
    const std::string file = put("b.safetensors", safetensors(header, std::string(bytes, 'x')));
    return message_of([&] { read(file); });
  };
  const auto tensor = [](const std::string& dtype, const std::string& shape,
                         const std::string& at) {
    return R"({"a":{"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" + at +
           "}}";
  };
  EXPECT_TRUE(contains(message(tensor("F8_E4M3", "[4]", "[0,4]"), 4), "F8_E4M3"));
  EXPECT_EQ(inspect(path("b.safetensors")).members[0].stored, "F8_E4M3");
  EXPECT_TRUE(contains(message(tensor("F32", "[1]", "[0,4]"), 5), "there are 5"));
  EXPECT_TRUE(contains(message(tensor("F32", "[2]", "[0,4]"), 4), "size of 'a'"));
  EXPECT_TRUE(contains(message(tensor("F32", "[1]", "[4,0]"), 4), "data_offsets of 'a'"));
  EXPECT_TRUE(contains(message(tensor("F32", "[1]", "[4,8]"), 8), "does not follow"));
  EXPECT_TRUE(contains(message(tensor("F32", "[-1]", "[0,4]"), 4), "not valid"));
  EXPECT_TRUE(
      contains(message(tensor("F32", "[4611686018427387904,4611686018427387904]", "[0,0]"), 0),
               "not valid"));
  EXPECT_TRUE(contains(message("{\"a\":" + std::string(100000, '['), 0), "does not parse"));
}

TEST_F(Files, FormatByContentThenByExtension) {
  write(path("a.npy"), pattern(DType::F32, {2}));
  std::filesystem::rename(path("a.npy"), path("a.png"));
  EXPECT_EQ(inspect(path("a.png")).format, Format::Npy);
  EXPECT_TRUE(contains(message_of([&] { read(put("b.png", "x")); }), "not a valid PNG"));
  EXPECT_TRUE(contains(message_of([&] { read(put("b.txt", "x")); }), ".safetensors, .png, .jpg"));
  EXPECT_TRUE(
      contains(message_of([&] { write(path("b.txt"), Array(DType::F32, {1})); }), ".npy, "));
  EXPECT_TRUE(contains(message_of([&] { read(path("none.npy")); }), "No such file"));
  EXPECT_TRUE(contains(message_of([&] { read(path("")); }), "directory"));
}

}  // namespace
}  // namespace hologram::files
