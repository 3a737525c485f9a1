// Files appear whole or not at all.
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "core/output_file.hpp"
#include "files_helpers.hpp"

namespace hologram::files {
namespace {

using Writing = FilesTest;

const char* const kNames[] = {"a.npy", "a.npz", "a.safetensors", "a.png", "a.jpg"};

Array rows_of(const Array& whole, int64_t from, int64_t count) {
  Shape shape = whole.shape();
  const size_t row = whole.bytes() / static_cast<size_t>(shape[0]);
  shape[0] = count;
  return Array::borrow(whole.dtype(), shape, whole.data() + static_cast<size_t>(from) * row);
}

TEST_F(Writing, StripsGiveTheSameFileAsTheWhole) {
  const Array whole = pattern(DType::U8, {40, 30, 3});
  for (const std::string name : kNames) {
    write(path(name), whole);
    const std::string expected = get(name);
    Writer writer = Writer::create(path(name), DType::U8, whole.shape());
    for (int64_t at = 0; at < 40; at += 8) writer.write(rows_of(whole, at, 8));
    EXPECT_EQ(get(name), expected);
    writer.commit();
    EXPECT_EQ(get(name), expected);
    EXPECT_THROW(writer.commit(), Error);
  }
}

TEST_F(Writing, AFinishedFileWaitsForItsCommit) {
  const Array whole = pattern(DType::U8, {4, 3, 3});
  for (const char* name : kNames) {
    Writer writer = Writer::create(path(name), DType::U8, whole.shape());
    writer.write(rows_of(whole, 0, 3));
    writer.write(rows_of(whole, 3, 1));
    writer.finish();
    EXPECT_FALSE(std::filesystem::exists(path(name)));
    EXPECT_THROW(writer.finish(), Error);
    EXPECT_TRUE(contains(message_of([&] { writer.write(rows_of(whole, 0, 1)); }), "was committed"));
    write(path("expected-" + std::string(name)), whole);
  }
  for (const char* name : kNames) {
    Writer writer = Writer::create(path(name), DType::U8, whole.shape());
    writer.write(whole);
    writer.finish();
    writer.commit();
    EXPECT_EQ(get(name), get("expected-" + std::string(name)));
  }
}

TEST_F(Writing, NothingAppearsWithoutCommit) {
  const Array whole = pattern(DType::U8, {4, 3, 3});
  for (const char* name : kNames) {
    { Writer::create(path(name), DType::U8, whole.shape()).write(whole); }
    {
      Writer writer = Writer::create(path(name), DType::U8, whole.shape());
      writer.write(rows_of(whole, 0, 3));
      EXPECT_TRUE(contains(message_of([&] { writer.commit(); }), "only 3 of the 4 rows"));
      EXPECT_TRUE(contains(message_of([&] { writer.commit(); }), "has failed"));
    }
    {
      Writer writer = Writer::create(path(name), DType::U8, whole.shape());
      writer.write(whole);
      EXPECT_TRUE(contains(message_of([&] { writer.write(rows_of(whole, 0, 1)); }), "4 rows, 5"));
    }
    {
      Writer writer = Writer::create(path(name), DType::U8, whole.shape());
      EXPECT_TRUE(contains(message_of([&] { writer.write(pattern(DType::I8, {4, 3, 3})); }), "i8"));
      EXPECT_TRUE(contains(message_of([&] {
                             writer.write(pattern(DType::U8, {4, 3}));
                           }),
                           "[4, 3]"));
      // Refused before anything was written: the writer is still good.
      Writer moved = std::move(writer);
      moved.write(whole);
    }
  }
  EXPECT_TRUE(listing().empty());
}

TEST_F(Writing, ReplacesFilesAndLinksAtOnce) {
  const Array old = pattern(DType::F32, {2}), fresh = pattern(DType::F32, {3});
  write(path("target.npy"), old);
  std::filesystem::create_symlink(path("target.npy"), path("link.npy"));
  const Array held = read(path("target.npy"));
  write(path("link.npy"), fresh);
  write(path("target.npy"), fresh);
  EXPECT_FALSE(std::filesystem::is_symlink(path("link.npy")));
  EXPECT_TRUE(same(read(path("link.npy")), fresh));
  // An array that is mapped keeps the file that it came from.
  EXPECT_TRUE(same(held, old));
  struct stat status;
  ASSERT_EQ(stat(path("target.npy").c_str(), &status), 0);
  const mode_t mask = umask(0);
  umask(mask);
  EXPECT_EQ(status.st_mode & 0777, 0666 & ~mask);
  EXPECT_EQ(listing(), (std::vector<std::string>{"link.npy", "target.npy"}));
}

TEST_F(Writing, PlacesThatCannotBeWritten) {
  const Array array = pattern(DType::F32, {2});
  const auto message = [&](const std::string& name) {
    return message_of([&] { write(path(name), array); });
  };
  EXPECT_TRUE(contains(message("no/such.npy"), "No such file or directory"));
  EXPECT_TRUE(contains(message("no/such.npy"), path("no/such.npy")));
  std::filesystem::create_directory(path("folder.npy"));
  EXPECT_TRUE(contains(message("folder.npy"), "directory"));
  ASSERT_EQ(mkfifo(path("pipe.npy").c_str(), 0600), 0);
  EXPECT_TRUE(contains(message("pipe.npy"), "pipe"));
  if (geteuid() != 0) {  // root may write anywhere
    std::filesystem::create_directory(path("closed"));
    chmod(path("closed").c_str(), 0500);
    EXPECT_TRUE(contains(message("closed/a.npy"), "Permission denied"));
  }
  EXPECT_TRUE(contains(message_of([&] { write("/proc/a.npy", array); }), "cannot write"));
}

// A limit on the size of files stands in for a full disk.
TEST_F(Writing, AFullDiskLeavesNothing) {
  rlimit before;
  getrlimit(RLIMIT_FSIZE, &before);
  const auto handler = signal(SIGXFSZ, SIG_IGN);
  const rlimit small{100000, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  Array noise(DType::U8, {1000, 1000});
  uint32_t seed = 1;
  for (uint8_t& v : noise.mutable_as<uint8_t>())
    v = static_cast<uint8_t>((seed = seed * 1664525 + 1013904223) >> 24);
  for (const char* name : kNames) {
    const std::string message = message_of([&] { write(path(name), noise); });
    EXPECT_TRUE(contains(message, "too large") && contains(message, path(name))) << message;
  }
  // So little that the failure comes with the last flush.
  const rlimit tiny{10, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &tiny);
  for (const char* name : kNames)
    EXPECT_TRUE(contains(message_of([&] {
                           write(path(name), pattern(DType::U8, {4, 4}));
                         }),
                         "large"));
  setrlimit(RLIMIT_FSIZE, &before);
  signal(SIGXFSZ, handler);
  EXPECT_TRUE(listing().empty());
}

TEST_F(Writing, WriteAllIsAllOrNothing) {
  const Array good = pattern(DType::F32, {4, 4}), bad = pattern(DType::I32, {4, 4});
  write(path("a.npy"), bad);
  EXPECT_THROW(write_all({{path("a.npy"), good}, {path("b.png"), bad}, {path("c.npy"), good}}),
               Error);
  EXPECT_EQ(listing(), std::vector<std::string>{"a.npy"});
  EXPECT_TRUE(same(read(path("a.npy")), bad));
  write_all({{path("a.npy"), good},
             {path("b.png"), good},
             {path("c.npz:x"), good},
             {path("c.npz:y"), bad}});
  EXPECT_EQ(listing(), (std::vector<std::string>{"a.npy", "b.png", "c.npz"}));
  EXPECT_TRUE(same(read(path("c.npz:y")), bad));
  EXPECT_TRUE(contains(message_of([&] {
                         write_all({{path("d.npz"), good}, {path("d.npz:arr_0"), good}});
                       }),
                       "written twice"));
  EXPECT_TRUE(contains(message_of([&] { write(path("e.npy"), good, {.member = "x"}); }), "'x'"));
  EXPECT_EQ(listing().size(), 3u);
}

TEST_F(Writing, EmptyMembersAmongOthers) {
  const Array none = pattern(DType::F32, {0, 3}), some = pattern(DType::F32, {2});
  for (const std::string name : {"a.npz", "a.safetensors"}) {
    write_all({{path(name + ":a"), none}, {path(name + ":b"), some}, {path(name + ":c"), none}});
    EXPECT_TRUE(same(read(path(name + ":a")), none));
    EXPECT_TRUE(same(read(path(name + ":b")), some));
    EXPECT_TRUE(same(read(path(name + ":c")), none));
  }
}

TEST_F(Writing, PatchedBytesAndManySmallWrites) {
  {
    core::OutputFile file(path("x"));
    for (int i = 0; i < 300000; i++) file.write("abc", 3);
    file.patch(1, "XY", 2);
    file.write("end", 3);
    EXPECT_EQ(file.size(), 900003u);
    file.commit();
  }
  const std::string bytes = get("x");
  EXPECT_EQ(bytes.size(), 900003u);
  EXPECT_EQ(bytes.substr(0, 6), "aXYabc");
  EXPECT_EQ(bytes.substr(900000), "end");
}

}  // namespace
}  // namespace hologram::files
