#include "crossover.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdio>

#include "errors.hpp"

namespace hologram::tool {

std::optional<double> pays_from(const std::vector<Crossing>& sizes) {
  size_t first = sizes.size();
  while (first > 0 && sizes[first - 1].device < sizes[first - 1].cpu) first--;
  if (first == sizes.size()) return std::nullopt;
  if (first == 0) return sizes.front().elements;
  const Crossing &below = sizes[first - 1], &above = sizes[first];
  const double behind = std::log(below.device / below.cpu),
               ahead = std::log(above.cpu / above.device);
  const double part = behind + ahead > 0 ? behind / (behind + ahead) : 1;
  return below.elements * std::pow(above.elements / below.elements, part);
}

Crossing cross(const std::string& name, int64_t size, const Executor& device, const Executor& cpu,
               int rounds, Clock clock) {
  const Workload work = make_workload(name, size);
  const auto whole = [&work](const Executor& on) {
    std::vector<Tensor> inputs;
    for (const Array& array : work.inputs) inputs.push_back(Tensor::from(array, on));
    return work.compute(inputs).array();
  };
  for (const Executor* on : {&device, &cpu})
    refuse_mistake("tensors on " + on->device().name, work, whole(*on));
  std::vector<Competitor> both = {{.name = "device", .run = [&] { whole(device); }},
                                  {.name = "cpu", .run = [&] { whole(cpu); }}};
  run_rounds(both, {.rounds = rounds, .clock = clock});
  return {name, static_cast<double>(work.inputs.front().size()), both[0].best(), both[1].best()};
}

void print(const std::vector<Crossing>& sizes) {
  for (const Crossing& c : sizes)
    fmt::print("{:10}{:>12.0f}{:>11.1f} us{:>11.1f} us{:>9.2f}\n", c.work, c.elements,
               c.device * 1e6, c.cpu * 1e6, c.cpu / c.device);
  const auto from = pays_from(sizes);
  if (from) fmt::print("{:10}pays from about {:.2g} elements\n", sizes.front().work, *from);
  else
    fmt::print("{:10}does not pay up to {:.0f} elements\n", sizes.front().work,
               sizes.back().elements);
  std::fflush(stdout);
}

nlohmann::ordered_json json_of(const std::vector<Crossing>& sizes) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Crossing& c : sizes)
    list.push_back(
        {{"elements", c.elements}, {"device_seconds", c.device}, {"cpu_seconds", c.cpu}});
  nlohmann::ordered_json row = {{"work", sizes.front().work}, {"sizes", std::move(list)}};
  const auto from = pays_from(sizes);
  row["pays_from"] = from ? nlohmann::ordered_json(*from) : nlohmann::ordered_json();
  return row;
}

std::vector<BarGroup> bars_of(const std::vector<Crossing>& sizes, const std::string& device) {
  std::vector<BarGroup> groups;
  groups.reserve(sizes.size());
  for (const Crossing& c : sizes)
    groups.push_back({fmt::format("{}, {:.0f} elements", c.work, c.elements),
                      "us",
                      {{device + " with transfers", c.device * 1e6}, {"cpu", c.cpu * 1e6}}});
  return groups;
}

}  // namespace hologram::tool
