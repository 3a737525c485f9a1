#include "competitors.hpp"

#include <dlfcn.h>

#include <filesystem>
#include <string_view>
#include <type_traits>

namespace hologram::tool {
namespace {

// What the yardsticks move: they do other work than what they are held against.
struct Yardstick {
  std::string_view name;
  double bytes;  // an element of the first input
};
constexpr Yardstick kTriad = {"triad", 12}, kRead = {"read", 4};

const Yardstick* yardstick_of(const Workload& work) {
  if (work.by_flops || work.inputs.size() < 2) return nullptr;
  return work.columns > 1 || work.result.empty() ? &kRead : &kTriad;
}

}  // namespace

Peers::Peers() {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return;
  void* const library =
      dlopen((self.parent_path() / "libhologram_peers.so").c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return;
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    return function != nullptr;
  };
  there_ = find(of_, "hologram_peers_of") && find(target_, "hologram_peers_target") &&
           find(versions_, "hologram_peers_versions") && find(run_, "hologram_peers_run");
}

std::vector<HologramPeer> Peers::of(const Workload& work) const {
  std::vector<HologramPeer> list(kHologramMostPeers);
  list.resize(of_(std::string(work.name).c_str(), list.data()));
  if (const Yardstick* yardstick = yardstick_of(work); yardstick != nullptr) {
    HologramPeer peer;
    of_(yardstick->name.data(), &peer);
    list.push_back(peer);
  }
  return list;
}

void Peers::run(const HologramPeer& peer, const Workload& work, Array& out, int threads) const {
  std::vector<const float*> in;
  for (const Array& array : work.inputs) in.push_back(reinterpret_cast<const float*>(array.data()));
  auto* const to = reinterpret_cast<float*>(out.mutable_data());
  const auto columns = static_cast<size_t>(work.columns);
  if (peer.name == kRead.name) {
    float sum = 0;
    return run_(peer, in.data(), &sum, work.inputs[0].size(), 1, 1, threads);
  }
  run_(peer, in.data(), to, work.inputs[0].size() / columns, columns, work.result.empty() ? 1 : 0,
       threads);
}

std::unique_ptr<Field> make_field(const std::string& name, int64_t size, const Executor& executor,
                                  const Peers& peers, Worker* worker) {
  auto field = std::make_unique<Field>();
  Field& f = *field;
  f.work = make_workload(name, size);
  const Workload& work = f.work;
  for (const Array& array : work.inputs) f.inputs.push_back(Tensor::from(array, executor));
  const Array right = work.compute(f.inputs).array();
  refuse_mistake("tensors", work, right);
  f.competitors.push_back({.name = "tensors", .run = [&f, executor] {
                             f.work.compute(f.inputs).eval();
                             executor.synchronize();
                           }});
  if (executor.device().backend != BackendType::Cpu) return field;

  const auto threads = static_cast<int>(executor.device().compute_units);
  const std::vector<HologramPeer> list = peers ? peers.of(work) : std::vector<HologramPeer>();
  const Yardstick* const yardstick = yardstick_of(work);
  f.results.reserve(list.size());
  for (const HologramPeer& peer : list) {
    const bool measures = yardstick != nullptr && peer.name == yardstick->name;
    Array& out = f.results.emplace_back(work.dtype(), work.result);
    peers.run(peer, work, out, threads);
    if (!measures) refuse_mistake(peer.name, work, out, right);
    f.competitors.push_back(
        {.name = peer.name,
         .run = [&f, &peers, &out, peer, threads] { peers.run(peer, f.work, out, threads); },
         .bytes = measures ? yardstick->bytes * static_cast<double>(work.inputs[0].size()) : 0});
  }
  if (worker == nullptr) return field;
  const std::vector<std::string> ways = worker->prepare(work);
  for (size_t way = 0; way < ways.size(); way++) {
    refuse_mistake(ways[way], work, worker->result(way), right);
    f.competitors.push_back(
        {.name = ways[way], .run = {}, .timed = [worker, way](int times, Clock clock) {
           return worker->seconds(way, times, clock);
         }});
  }
  return field;
}

}  // namespace hologram::tool
