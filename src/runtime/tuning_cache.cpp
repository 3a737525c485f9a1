#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <thread>

#include "core/disk_cache.hpp"
#include "core/messages.hpp"
#include "core/output_file.hpp"
#include "hologram/error.hpp"
#include "runtime/tuning.hpp"

namespace hologram::runtime {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char* kFormat = "hologram tuning 1";
constexpr uintmax_t kMostBytes = uintmax_t{64} << 20;
constexpr size_t kMostEntries = 20'000;
constexpr auto kPatience = std::chrono::seconds(10);

std::string in_folder_for_caches() {
  const core::DiskCache folder("tuning");
  return folder.folder().empty() ? std::string() : folder.folder() + "/tuning.json";
}

// Held while the file is read, changed and written. Whoever cannot have it goes on without: then an
// entry may be lost, but never a file.
class FileLock {
 public:
  FileLock(const std::string& path, std::chrono::seconds patience)
      : file_(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)) {
    const auto end = std::chrono::steady_clock::now() + patience;
    while (file_ >= 0 && !(held_ = flock(file_, LOCK_EX | LOCK_NB) == 0) &&
           std::chrono::steady_clock::now() < end)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  ~FileLock() {
    if (file_ >= 0) ::close(file_);
  }
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

  bool held() const { return held_; }

 private:
  const int file_;
  bool held_ = false;
};

std::optional<std::string> text_of(const Json& entry, const char* name) {
  const auto found = entry.find(name);
  if (found == entry.end() || !found->is_string()) return std::nullopt;
  return found->get<std::string>();
}

double number_of(const Json& entry, const char* name) {
  const auto found = entry.find(name);
  return found != entry.end() && found->is_number() ? found->get<double>() : 0;
}

}  // namespace

TuningCache::TuningCache(std::string path, TuningPlace place, Say say)
    : path_(path.empty() ? in_folder_for_caches() : std::move(path)),
      place_(std::move(place)),
      say_(std::move(say)) {}

TuningCache::File TuningCache::read(Entries& entries) const {
  std::error_code failed;
  const fs::file_status status = fs::status(path_, failed);
  if (status.type() == fs::file_type::not_found) return File::Fine;
  if (status.type() != fs::file_type::regular) return File::Unreadable;
  if (fs::file_size(path_, failed) > kMostBytes) return File::Damaged;
  std::ifstream file(path_, std::ios::binary);
  if (!file) return File::Unreadable;
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const Json all = Json::parse(text, nullptr, false);
  if (!all.is_object() || text_of(all, "format") != kFormat) return File::Damaged;
  const auto list = all.find("entries");
  if (list == all.end() || !list->is_array()) return File::Damaged;
  for (const Json& entry : *list) {
    if (!entry.is_object()) continue;
    const auto device = text_of(entry, "device"), driver = text_of(entry, "driver"),
               version = text_of(entry, "hologram"), work = text_of(entry, "work"),
               way = text_of(entry, "way");
    if (!device || !driver || !version || !work || !way) continue;
    entries[{{*device, *driver, *version}, *work}] = {*way, number_of(entry, "seconds"),
                                                      number_of(entry, "untuned_seconds")};
  }
  return File::Fine;
}

std::string TuningCache::written(const Entries& entries) const {
  Json list = Json::array();
  const size_t too_many = entries.size() > kMostEntries ? entries.size() - kMostEntries : 0;
  size_t dropped = 0;
  for (const auto& [key, found] : entries) {
    const auto& [place, work] = key;
    // Of other drivers and versions first: nobody may ever ask for them again.
    if (dropped < too_many && place != place_) {
      dropped++;
      continue;
    }
    list.push_back({{"device", place.device},
                    {"driver", place.driver},
                    {"hologram", place.version},
                    {"work", work},
                    {"way", found.way},
                    {"seconds", found.seconds},
                    {"untuned_seconds", found.first_seconds}});
  }
  const Json all = {{"format", kFormat}, {"entries", std::move(list)}};
  return all.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::optional<std::string> TuningCache::find(const std::string& work) {
  if (!loaded_ && !path_.empty()) {
    loaded_ = true;
    if (const File file = read(entries_); file != File::Fine)
      say_(LogLevel::Warning, fmt::format("the tuning cache {} {}: it is not used", path_,
                                          file == File::Damaged ? "is damaged" : "cannot be read"));
  }
  const auto found = entries_.find({place_, work});
  return found == entries_.end() ? std::nullopt : std::optional(found->second.way);
}

void TuningCache::store(const std::string& work, const std::string& way, double seconds,
                        double first_seconds) {
  entries_[{place_, work}] = {way, seconds, first_seconds};
  if (path_.empty()) return;
  try {
    const fs::path folder = fs::path(path_).parent_path();
    if (!folder.empty()) fs::create_directories(folder);
    const FileLock lock(path_ + ".lock", waits_ ? kPatience : std::chrono::seconds(0));
    waits_ = lock.held();  // not twice for a process that stands still
    Entries all;
    const File file_was = read(all);
    // A folder or somebody else's file stays as it is.
    if (file_was == File::Unreadable)
      throw core::error(core::Text::FileNotReadable, path_, "it is not a file that one may read");
    // What this process has found or read is as good as what others have, and its latest is newer.
    Entries mine = entries_;
    mine.merge(all);
    if (file_was == File::Damaged) fs::rename(path_, path_ + ".damaged");
    const std::string text = written(mine);
    core::OutputFile file(path_);
    file.write(text.data(), text.size());
    file.commit();
    entries_ = std::move(mine);
    loaded_ = true;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {  // Error, or what the file system says
    if (!std::exchange(told_, true))
      say_(LogLevel::Warning, fmt::format("what tuning finds is not kept: {}", error.what()));
  }
}

}  // namespace hologram::runtime
