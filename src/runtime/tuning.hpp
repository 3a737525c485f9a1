// Finding out which of several ways to do the same work is the fastest, and keeping what was found.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "hologram/log.hpp"

namespace hologram::runtime {

// Work that can be done in several ways. The first is what is done without tuning, and says what is
// right.
struct TuningTask {
  std::vector<std::string> ways;  // their names
  // Does the work so often, one after the other, and waits. An Error: that way cannot; of the first
  // way, or of a lost device, it ends the search.
  std::function<void(size_t way, int times)> run;
  // Whether what the last run of the way has left agrees with what the first way has left.
  std::function<bool(size_t way)> right;
};

struct TuningLimits {
  double seconds = 0;  // a search ends with the run during which so many have passed
  size_t ways = 32;    // the first so many are tried
};

struct TuningResult {
  size_t way = 0;
  double seconds = 0, first_seconds = 0;  // of one run: by that way, by the first
  size_t tried = 0;                       // ways that were timed, the first among them
  size_t wrong = 0, failed = 0;           // faster ones that were not right; ways that could not
  bool in_time = true;                    // all ways were looked at
};

// The fastest of the ways that are right. `clock` tells seconds.
TuningResult search(const TuningTask& task, const TuningLimits& limits,
                    const std::function<double()>& clock);
double steady_seconds();  // the clock of this machine

// What a tuning cache is valid for.
struct TuningPlace {
  std::string device, driver, version;  // the version is hologram's
  friend bool operator==(const TuningPlace&, const TuningPlace&) = default;
  friend bool operator<(const TuningPlace& a, const TuningPlace& b) {
    return std::tie(a.device, a.driver, a.version) < std::tie(b.device, b.driver, b.version);
  }
};

// A JSON file with the way that was found for each piece of work on each device, with its driver
// and this version of hologram. Several processes may share it: what is stored is added to what is
// there, and the file changes as a whole. A file that cannot be read or is damaged is told of and
// taken for empty; before another is written, it is put aside as PATH.damaged. Nothing here throws
// but std::bad_alloc.
class TuningCache {
 public:
  using Say = std::function<void(LogLevel, std::string)>;

  // An empty path: tuning.json in the folder for caches, if there is one.
  TuningCache(std::string path, TuningPlace place, Say say);

  // The name of the way, if one is known for the work here.
  std::optional<std::string> find(const std::string& work);
  void store(const std::string& work, const std::string& way, double seconds, double first_seconds);

  const std::string& path() const { return path_; }  // empty: nothing is kept

 private:
  struct Found {
    std::string way;
    double seconds = 0, first_seconds = 0;
  };
  using Key = std::pair<TuningPlace, std::string>;
  using Entries = std::map<Key, Found>;

  enum class File { Fine, Damaged, Unreadable };

  // Adds what the file says. One that is not there is fine.
  File read(Entries& entries) const;
  std::string written(const Entries& entries) const;

  const std::string path_;
  const TuningPlace place_;
  const Say say_;
  bool loaded_ = false, told_ = false, waits_ = true;
  Entries entries_;
};

}  // namespace hologram::runtime
