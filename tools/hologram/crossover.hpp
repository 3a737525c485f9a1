// `hologram bench --crossover`: from which size on a device is worth its transfers.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bars.hpp"
#include "hologram/executor.hpp"
#include "runner.hpp"
#include "workloads.hpp"

namespace hologram::tool {

// One work at one size, in seconds: from arrays of the host to one on either.
struct Crossing {
  std::string work;
  double elements = 0;
  double device = 0, cpu = 0;
};

// Where the device is faster from there on, between two sizes as if times went along straight lines
// on logarithmic scales. Nothing if it is not faster at the largest size; the smallest if it always
// is. Sorted by size.
std::optional<double> pays_from(const std::vector<Crossing>& sizes);

// Times the work of that name on both, and checks what they compute.
Crossing cross(const std::string& name, int64_t size, const Executor& device, const Executor& cpu,
               int rounds, Clock clock);

void print(const std::vector<Crossing>& sizes);  // of one work
nlohmann::ordered_json json_of(const std::vector<Crossing>& sizes);
std::vector<BarGroup> bars_of(const std::vector<Crossing>& sizes, const std::string& device);

}  // namespace hologram::tool
