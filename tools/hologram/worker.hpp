// Competitors in another process: a program that prepares works, runs them when it is their turn,
// and says how long it took. bench/python_peers.py is one; what is said is described there.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "runner.hpp"
#include "workloads.hpp"

namespace hologram::tool {

// Whatever goes wrong with it is an IoError with its own words.
class Worker {
 public:
  // Starts a command line of the shell, with --threads appended, and waits until it is ready.
  Worker(const std::string& command, int threads);
  ~Worker();  // ends the program
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // What it has to say of itself: versions, by name.
  const nlohmann::ordered_json& versions() const { return versions_; }

  // Forgets the work before, and names its ways of doing this one.
  std::vector<std::string> prepare(const Workload& work);
  // What the way of that number makes of the work.
  Array result(size_t way);
  double seconds(size_t way, int times, Clock clock);

 private:
  void start();
  void stop();
  void ask(const nlohmann::ordered_json& request);
  nlohmann::ordered_json answer();
  nlohmann::ordered_json answer(const char* key);
  [[noreturn]] void fail(const std::string& what) const;

  std::string command_, folder_;  // where arrays are handed over
  int process_ = -1;
  int to_ = -1, from_ = -1;
  std::string unread_;
  nlohmann::ordered_json versions_;
};

}  // namespace hologram::tool
