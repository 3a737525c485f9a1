// What can be made again, kept on disk between processes: compiled programs, what tuning has found.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hologram::core {

// A folder of entries, each found by everything that it depends on: the text that was compiled, the
// options, the device, its driver, their versions. Nothing here throws but std::bad_alloc: an entry
// that cannot be read is one that is not there, and what cannot be written is not kept. Any number
// of processes and threads may share a folder.
class DiskCache {
 public:
  // $XDG_CACHE_HOME/hologram/KIND, or ~/.cache/hologram/KIND. Nothing is kept where neither
  // variable names a place. A folder holds about `limit` bytes: the entries that were not asked for
  // in the longest time go.
  explicit DiskCache(std::string_view kind, uint64_t limit = kLimit);
  // The same in a folder of the caller's choice; empty: nothing is kept.
  struct Folder {
    std::string path;
  };
  explicit DiskCache(Folder folder, uint64_t limit = kLimit);

  // A key of several parts: no part runs into the next.
  static std::string key(std::initializer_list<std::string_view> parts);

  // What was stored under the key. An entry that is damaged, of another version of the format or of
  // another key is removed.
  std::optional<std::vector<std::byte>> load(std::string_view key) const;
  // Keeps a copy; it appears whole or not at all.
  void store(std::string_view key, std::span<const std::byte> bytes) const;
  // For entries that turn out not to be usable.
  void remove(std::string_view key) const;
  // Of all folders, how many entries this process has found damaged or not usable, and removed.
  static uint64_t useless_entries();

  const std::string& folder() const { return folder_; }  // empty: nothing is kept

 private:
  static constexpr uint64_t kLimit = uint64_t{512} << 20;

  std::string path_of(std::string_view key) const;
  void make_room() const;

  std::string folder_;
  uint64_t limit_;
  mutable std::atomic<uint64_t> unchecked_;  // bytes written since make_room
};

}  // namespace hologram::core
