// What `hologram eval` prints.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "hologram/executor.hpp"
#include "outputs.hpp"
#include "summary.hpp"

namespace hologram::tool {

// An output, as its rows come in: what it is, a summary, and, of few elements, all of them.
class Result {
 public:
  explicit Result(OutputInfo info) : info_(std::move(info)) {}
  // Every row that is not written to a file.
  void add(const Array& rows);

  const OutputInfo& info() const { return info_; }
  std::string text() const;                           // "f32[2, 2]\n[[1, 2],\n [3, 4]]"
  void describe(nlohmann::ordered_json& json) const;  // adds to it

 private:
  bool short_enough() const { return static_cast<uint64_t>(count_of(info_.shape)) <= kShort; }
  static constexpr size_t kShort = 64;  // elements that are printed one by one
  OutputInfo info_;
  Summary summary_;
  std::vector<nlohmann::ordered_json> values_;  // of a short one
};

struct EvalReport {
  uint64_t launches = 0;
  uint64_t pieces = 0;  // 0: all at once
  uint32_t passes = 0;
  double seconds = 0;
};

// The outputs by name; "" is the value of the last statement. Those in `files` were written.
void print_results(const std::map<std::string, Result>& results,
                   const std::map<std::string, std::string>& files);
nlohmann::ordered_json results_as_json(const std::map<std::string, Result>& results,
                                       const std::map<std::string, std::string>& files,
                                       const EvalReport& report, const Executor& executor);

}  // namespace hologram::tool
