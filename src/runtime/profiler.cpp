#include "runtime/profiler.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/output_file.hpp"

namespace hologram {
namespace runtime {

void Profiler::record(std::string_view kernel, hal::Clock::time_point start,
                      hal::Clock::time_point end, const Work& work) {
  const std::lock_guard lock(mutex_);
  add(kernel, std::this_thread::get_id(), std::chrono::duration<double>(start - began_).count(),
      std::chrono::duration<double>(end - start).count(), work);
}

void Profiler::expect(uint64_t number, std::string_view kernel, hal::Clock::time_point asked,
                      const Work& work) {
  const std::lock_guard lock(mutex_);
  expected_[number] = {std::string(kernel), std::this_thread::get_id(), asked, work};
}

void Profiler::known(uint64_t number, double seconds) {
  const std::lock_guard lock(mutex_);
  const auto found = expected_.find(number);
  if (found == expected_.end()) return;
  const Expected& e = found->second;
  const double asked = std::chrono::duration<double>(e.asked - began_).count();
  const double start = std::max(asked, last_end_);
  last_end_ = start + seconds;
  add(e.kernel, e.thread, start, seconds, e.work);
  expected_.erase(found);
}

void Profiler::add(std::string_view kernel, std::thread::id thread_id, double start, double seconds,
                   const Work& work) {
  const uint32_t index = index_of(kernel);
  KernelProfile& k = kernels_[index];
  k.shortest = k.launches == 0 ? seconds : std::min(k.shortest, seconds);
  k.longest = std::max(k.longest, seconds);
  k.launches++;
  k.seconds += seconds;
  k.bytes += work.bytes;
  k.flops += work.flops;
  k.least |= work.least;

  const auto thread = threads_.emplace(thread_id, static_cast<uint32_t>(threads_.size()));
  const Event event{index, thread.first->second, start, seconds, work};
  if (ring_.size() < kMostLaunches) ring_.push_back(event);
  else ring_[recorded_ % kMostLaunches] = event;
  recorded_++;
}

uint32_t Profiler::index_of(std::string_view kernel) {
  std::string name(kernel);
  auto found = indices_.find(name);
  if (found != indices_.end()) return found->second;
  if (kernels_.size() >= kMostKernels) name = kOthers;
  found = indices_.try_emplace(name, static_cast<uint32_t>(kernels_.size())).first;
  if (found->second == kernels_.size()) kernels_.push_back({.kernel = name});
  return found->second;
}

Profile Profiler::snapshot() const {
  Profile profile{.device = device_, .kernels = {}, .launches = {}, .dropped = 0};
  const std::lock_guard lock(mutex_);
  profile.kernels = kernels_;
  profile.dropped = recorded_ - ring_.size();
  profile.launches.reserve(ring_.size());
  for (uint64_t i = profile.dropped; i < recorded_; i++) {
    const Event& e = ring_[i % kMostLaunches];
    profile.launches.push_back({.kernel = kernels_[e.kernel].kernel,
                                .start = e.start,
                                .seconds = e.seconds,
                                .bytes = e.work.bytes,
                                .flops = e.work.flops,
                                .least = e.work.least,
                                .thread = e.thread});
  }
  std::stable_sort(
      profile.kernels.begin(), profile.kernels.end(),
      [](const KernelProfile& a, const KernelProfile& b) { return a.seconds > b.seconds; });
  return profile;
}

}  // namespace runtime

std::string Profile::table() const {
  size_t width = 6;
  double total = 0;
  bool least = false;
  for (const KernelProfile& k : kernels) {
    width = std::max(width, k.kernel.size());
    total += k.seconds;
    least |= k.least;
  }
  std::string text =
      fmt::format("{:<{}}  {:>8}  {:>10}  {:>6}  {:>10}  {:>10}  {:>10}\n", "kernel", width,
                  "launches", "time ms", "share", "mean ms", "GB/s", "GFLOP/s");
  const auto rate = [](double per_second, bool at_least) {
    return fmt::format("{}{:.2f}", at_least ? ">=" : "", per_second * 1e-9);
  };
  for (const KernelProfile& k : kernels)
    text += fmt::format(
        "{:<{}}  {:>8}  {:>10.3f}  {:>5.1f}%  {:>10.4f}  {:>10}  {:>10}{}{}\n", k.kernel, width,
        k.launches, k.seconds * 1e3, total > 0 ? k.seconds / total * 100 : 0.0,
        k.seconds / static_cast<double>(k.launches) * 1e3, rate(k.bytes_per_second(), k.least),
        rate(k.flops_per_second(), k.least), k.note.empty() ? "" : "  ", k.note);
  if (least) text += ">= : a loop counts as one round where its length is not in the program\n";
  return text;
}

std::string Profile::trace() const {
  using Json = nlohmann::ordered_json;
  Json events = Json::array();
  events.push_back(
      {{"name", "process_name"}, {"ph", "M"}, {"pid", 1}, {"args", {{"name", device}}}});
  for (const LaunchRecord& launch : launches) {
    const double per_second = launch.seconds > 0 ? 1e-9 / launch.seconds : 0;
    events.push_back({{"name", launch.kernel},
                      {"cat", "kernel"},
                      {"ph", "X"},
                      {"ts", launch.start * 1e6},
                      {"dur", launch.seconds * 1e6},
                      {"pid", 1},
                      {"tid", launch.thread},
                      {"args",
                       {{"bytes", launch.bytes},
                        {"flops", launch.flops},
                        {"gigabytes_per_second", launch.bytes * per_second},
                        {"gigaflops_per_second", launch.flops * per_second},
                        {"loops_counted_once", launch.least}}}});
  }
  const Json object = {{"displayTimeUnit", "ns"},
                       {"otherData", {{"dropped_launches", dropped}}},
                       {"traceEvents", std::move(events)}};
  return object.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n';
}

void Profile::save_trace(const std::string& path) const {
  const std::string text = trace();
  core::OutputFile file(path);
  file.write(text.data(), text.size());
  file.commit();
}

}  // namespace hologram
