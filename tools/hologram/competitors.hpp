// Who races in `hologram bench`: tensors, the functions of libhologram_peers.so where it lies
// beside this program, and what a worker process offers.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "hologram/executor.hpp"
#include "peers.hpp"
#include "runner.hpp"
#include "worker.hpp"
#include "workloads.hpp"

namespace hologram::tool {

// The library of peers, where it lies beside this program.
class Peers {
 public:
  Peers();
  explicit operator bool() const { return there_; }
  const char* target() const { return target_(); }
  std::string versions() const { return versions_(); }
  // Those of a work, and its yardstick, if it has one.
  std::vector<HologramPeer> of(const Workload& work) const;
  void run(const HologramPeer& peer, const Workload& work, Array& out, int threads) const;

 private:
  bool there_ = false;
  decltype(&hologram_peers_of) of_ = nullptr;
  decltype(&hologram_peers_target) target_ = nullptr;
  decltype(&hologram_peers_versions) versions_ = nullptr;
  decltype(&hologram_peers_run) run_ = nullptr;
};

// What they work on and with, as long as they run.
struct Field {
  Workload work;
  std::vector<Tensor> inputs;
  std::vector<Array> results;           // of the library's peers
  std::vector<Competitor> competitors;  // tensors first
};

// Every result has been found right. DeviceLost, if one is not. `worker` may be null.
std::unique_ptr<Field> make_field(const std::string& name, int64_t size, const Executor& executor,
                                  const Peers& peers, Worker* worker);

}  // namespace hologram::tool
