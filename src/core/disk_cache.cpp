#include "core/disk_cache.hpp"

#define XXH_INLINE_ALL
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "core/output_file.hpp"
#include "hologram/error.hpp"

namespace hologram::core {
namespace {

namespace fs = std::filesystem;

struct Header {
  char magic[8];
  uint64_t size;  // bytes that follow
  uint64_t key[2], sum[2];
};
constexpr char kMagic[8] = {'h', 'o', 'l', 'o', 'c', 'a', '0', '1'};

void hash(uint64_t (&result)[2], const void* data, size_t size) {
  const XXH128_hash_t h = XXH3_128bits(data, size);
  result[0] = h.high64;
  result[1] = h.low64;
}

Header header_of(std::string_view key, std::span<const std::byte> bytes) {
  Header header = {};
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  header.size = bytes.size();
  hash(header.key, key.data(), key.size());
  hash(header.sum, bytes.data(), bytes.size());
  return header;
}

std::atomic<uint64_t> g_useless{0};

struct Descriptor {
  int number;
  ~Descriptor() {
    if (number >= 0) ::close(number);
  }
};

bool read_all(int file, void* to, size_t bytes) {
  auto* at = static_cast<std::byte*>(to);
  while (bytes > 0) {
    const ssize_t got = ::read(file, at, bytes);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += got;
    bytes -= static_cast<size_t>(got);
  }
  return true;
}

std::string users_folder(std::string_view kind) {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  // A relative path is to be ignored, as the specification of these variables says.
  fs::path base;
  if (cache != nullptr && cache[0] == '/') base = cache;
  else if (home != nullptr && home[0] == '/') base = fs::path(home) / ".cache";
  else return {};
  return (base / "hologram" / kind).string();
}

}  // namespace

DiskCache::DiskCache(std::string_view kind, uint64_t limit)
    : DiskCache(Folder{users_folder(kind)}, limit) {}

DiskCache::DiskCache(Folder folder, uint64_t limit)
    : folder_(std::move(folder.path)), limit_(limit), unchecked_(limit) {}

std::string DiskCache::key(std::initializer_list<std::string_view> parts) {
  std::string key;
  for (const std::string_view part : parts) {
    key += std::to_string(part.size());
    key += ':';
    key += part;
  }
  return key;
}

std::string DiskCache::path_of(std::string_view key) const {
  constexpr char kDigits[] = "0123456789abcdef";
  uint64_t words[2];
  hash(words, key.data(), key.size());
  std::string name;
  for (const uint64_t word : words)
    for (int shift = 60; shift >= 0; shift -= 4) name += kDigits[word >> shift & 15];
  return folder_ + "/" + name;
}

std::optional<std::vector<std::byte>> DiskCache::load(std::string_view key) const {
  if (folder_.empty()) return std::nullopt;
  const std::string path = path_of(key);
  // Read into memory of our own before it is looked at: whoever changes or cuts the file meanwhile
  // changes nothing that has been found right. A pipe in its place keeps nobody waiting.
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  struct stat opened = {};
  if (file.number < 0 || fstat(file.number, &opened) != 0) return std::nullopt;
  const auto size = static_cast<uint64_t>(opened.st_size);
  Header header;
  if (S_ISREG(opened.st_mode) && size >= sizeof header && size - sizeof header <= limit_ &&
      read_all(file.number, &header, sizeof header)) {
    std::vector<std::byte> bytes(size - sizeof header);
    if (read_all(file.number, bytes.data(), bytes.size())) {
      const Header right = header_of(key, bytes);
      if (std::memcmp(&header, &right, sizeof right) == 0) {
        futimens(file.number, nullptr);  // what is used stays for longest
        return bytes;
      }
    }
  }
  // Another process may have put a good one in its place.
  struct stat now = {};
  if (::stat(path.c_str(), &now) == 0 && now.st_ino == opened.st_ino && now.st_dev == opened.st_dev)
    remove(key);
  return std::nullopt;
}

void DiskCache::store(std::string_view key, std::span<const std::byte> bytes) const {
  if (folder_.empty() || bytes.size() > limit_ / 4) return;
  try {
    if (!fs::exists(folder_)) {
      fs::create_directories(folder_);
      fs::permissions(folder_, fs::perms::owner_all);
    }
    OutputFile file(path_of(key));
    const Header header = header_of(key, bytes);
    file.write(&header, sizeof header);
    file.write(bytes.data(), bytes.size());
    file.commit();
    // Looking at every entry takes time: the first time, and whenever a part of the limit has come.
    const uint64_t written = bytes.size() + sizeof header;
    if (unchecked_.fetch_add(written) + written < limit_ / 32) return;
    unchecked_ = 0;
    make_room();
  } catch (const Error&) {
    return;  // the disk is full, or not ours to write to
  } catch (const fs::filesystem_error&) {
    return;
  }
}

void DiskCache::remove(std::string_view key) const {
  if (folder_.empty()) return;
  std::error_code failed;
  if (fs::remove(path_of(key), failed)) g_useless++;
}

uint64_t DiskCache::useless_entries() { return g_useless; }

void DiskCache::make_room() const {
  struct Entry {
    fs::file_time_type used;
    fs::path path;
    uint64_t size;
  };
  std::vector<Entry> entries;
  uint64_t total = 0;
  std::error_code failed;
  // Others may remove what is being listed.
  for (fs::directory_iterator at(folder_, failed), end; !failed && at != end;
       at.increment(failed)) {
    std::error_code gone;
    const uint64_t size = at->file_size(gone);
    if (gone) continue;
    const auto used = at->last_write_time(gone);
    if (gone) continue;
    total += size;
    entries.push_back({used, at->path(), size});
  }
  if (total <= limit_) return;
  std::sort(entries.begin(), entries.end(),
            [](const Entry& a, const Entry& b) { return a.used < b.used; });
  // By more than is needed, so that it is not done each time.
  for (const Entry& entry : entries) {
    if (total <= limit_ / 4 * 3) break;
    fs::remove(entry.path, failed);
    total -= entry.size;
  }
}

}  // namespace hologram::core
