#include "core/mapped_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <system_error>

#include "core/messages.hpp"

namespace hologram::core {
namespace {

// What comes out of a pipe, or of a file that states no size, has to fit into memory.
constexpr size_t kMaxUnmapped = size_t{4} << 30;

[[noreturn]] void fail(const std::string& path, int code) {
  throw error(Text::FileNotReadable, path, std::generic_category().message(code));
}

struct Descriptor {
  int number;
  ~Descriptor() { ::close(number); }
};

}  // namespace

std::shared_ptr<const MappedFile> MappedFile::open(const std::string& path) {
  int number;
  do number = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  while (number < 0 && errno == EINTR);
  if (number < 0) fail(path, errno);
  const Descriptor file{number};

  struct stat status;
  if (fstat(file.number, &status) != 0) fail(path, errno);
  if (S_ISDIR(status.st_mode)) fail(path, EISDIR);
  if (S_ISCHR(status.st_mode) || S_ISBLK(status.st_mode))
    throw error(Text::FileNotReadable, path, "it is a device");

  std::shared_ptr<MappedFile> result(new MappedFile);
  if (S_ISREG(status.st_mode) && status.st_size > 0)
    result->map(path, file.number, static_cast<size_t>(status.st_size));
  else result->read_all(path, file.number);
  return result;
}

void MappedFile::map(const std::string& path, int file, size_t size) {
  // Without a reservation, files larger than the memory can be mapped copy-on-write; a system that
  // reserves regardless still gives read-only pages.
  writable_ = true;
  void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, file, 0);
  if (memory == MAP_FAILED) {
    writable_ = false;
    memory = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
  }
  if (memory == MAP_FAILED) fail(path, errno);
  mapped_ = true;
  bytes_ = {static_cast<const std::byte*>(memory), size};
}

void MappedFile::read_all(const std::string& path, int file) {
  size_t size = 0;
  for (;;) {
    if (size == kMaxUnmapped) fail(path, EFBIG);
    if (size == copy_.size()) copy_.resize(size < 65536 ? 65536 : size * 2);
    const ssize_t got = ::read(file, copy_.data() + size, copy_.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(path, errno);
    if (got == 0) break;
    size += static_cast<size_t>(got);
  }
  copy_.resize(size);
  writable_ = true;
  bytes_ = copy_;
}

void MappedFile::forget(std::span<const std::byte> bytes) const {
  if (!mapped_ || bytes.empty()) return;
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const uintptr_t before = reinterpret_cast<uintptr_t>(bytes.data()) % page;
  auto* begin = const_cast<std::byte*>(bytes.data()) - before;
  // Of use, never of need: that it fails is no error.
  (void)madvise(begin, before + bytes.size(), MADV_DONTNEED);
}

MappedFile::~MappedFile() {
  if (mapped_) munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

}  // namespace hologram::core
