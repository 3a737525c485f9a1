// Executors, devices, and what they tell of themselves.
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <map>
#include <mutex>

#include "binding.hpp"

namespace hologram::python {
namespace {

// The executors of `with hologram.use(…)`, innermost last, of this thread.
thread_local std::vector<Executor> in_use;

std::string device_name(const Executor& executor) {
  const DeviceInfo& info = executor.device();
  std::string name(name_of(info.backend));
  if (info.backend != BackendType::Cpu) name += ":" + std::to_string(info.index);
  return name;
}

BackendType backend_from(const std::string& name) {
  if (name == "auto") return BackendType::Auto;
  if (const auto found = parse_backend(name)) return *found;
  fail(ErrorKind::InvalidArgument, "there is no backend '" + name + "'",
       "Use auto, cpu, cuda, opencl, webgpu, rocm or metal.");
}

// The settings of `Executor(…)`: the environment's, but for those given by the names of
// BackendConfig's fields.
BackendConfig config_from(const std::string& backend, nb::kwargs settings) {
  BackendConfig config = BackendConfig::from_environment();
  if (backend != "auto") config.backend_type = backend_from(backend);
  for (auto [key, value] : settings) {
    const auto name = nb::cast<std::string>(key);
    const auto flag = [&] { return nb::cast<bool>(value); };
    const auto count = [&] { return nb::cast<uint64_t>(value); };
    if (name == "device_id") config.device_id = nb::cast<int>(value);
    else if (name == "num_threads") config.num_threads = nb::cast<int>(value);
    else if (name == "cache_size_mb") config.cache_size_mb = count();
    else if (name == "timeout_ms") config.timeout_ms = count();
    else if (name == "strict") config.strict = flag();
    else if (name == "allow_transfers") config.allow_transfers = flag();
    else if (name == "fusion") config.fusion = flag();
    else if (name == "check") config.check = flag();
    else if (name == "enable_backend_profiling") config.enable_backend_profiling = flag();
    else if (name == "cpu_target") config.cpu_target = nb::cast<std::string>(value);
    else if (name == "enable_simd") config.enable_simd = flag();
    else if (name == "enable_tensor_cores") config.enable_tensor_cores = flag();
    else if (name == "allow_tf32") config.allow_tf32 = flag();
    else if (name == "allow_winograd") config.allow_winograd = flag();
    else if (name == "deterministic") config.deterministic = flag();
    else if (name == "reproducible") config.reproducible = flag();
    else if (name == "enable_cudnn") config.enable_cudnn = flag();
    else if (name == "cblas") config.cblas = nb::cast<std::string>(value);
    else if (name == "autotuning_ms") config.autotuning_ms = count();
    else
      fail(ErrorKind::InvalidArgument, "an Executor has no setting '" + name + "'",
           "hologram.settings() lists them; the others are set by the environment.");
  }
  return config;
}

// One executor a device for the whole process, for those that are named and not made.
Executor executor_of_name(const std::string& name) {
  static std::mutex mutex;  // not executor_of: that has no device but the first
  static auto* made = new std::map<std::string, Executor>;
  if (device_name(default_executor()) == name) return default_executor();
  const std::lock_guard lock(mutex);
  if (const auto found = made->find(name); found != made->end()) return found->second;
  const size_t colon = name.find(':');
  BackendConfig config = BackendConfig::from_environment();
  config.backend_type = backend_from(name.substr(0, colon));
  config.device_id = 0;
  if (colon != std::string::npos) {
    const std::string number = name.substr(colon + 1);
    if (number.empty() || number.size() > 4 ||
        number.find_first_not_of("0123456789") != std::string::npos)
      fail(ErrorKind::InvalidArgument, "there is no device '" + name + "'",
           "Write a backend and a number, as in cuda:0; hologram.devices() lists them.");
    config.device_id = std::stoi(number);
  }
  const Executor executor = Executor::from_config(config);
  made->emplace(device_name(executor), executor);
  return executor;
}

nb::dict info_dict(const DeviceInfo& info) {
  nb::dict d;
  const std::string backend(name_of(info.backend));
  d["backend"] = backend;
  d["index"] = info.index;
  d["name"] = info.name;
  d["driver"] = info.driver;
  d["total_memory"] = info.total_memory;
  d["free_memory"] = info.free_memory;
  d["compute_units"] = info.compute_units;
  d["compute_capability"] =
      info.compute_capability.empty() ? nb::object(nb::none()) : nb::cast(info.compute_capability);
  d["unified_memory"] = info.unified_memory;
  d["software"] = info.software;
  d["exact"] = info.numerics == Numerics::Exact;
  nb::list dtypes;
  for (size_t i = 1; i < kDTypeCount; i++)
    if (info.compute.has(compute_type(static_cast<DType>(i))))
      dtypes.append(dtype_object(static_cast<DType>(i)));
  d["dtypes"] = nb::tuple(dtypes);
  return d;
}

nb::list discovered() {
  const std::vector<BackendReport> reports = without_gil([] { return discover_backends(); });
  nb::list list;
  for (const BackendReport& report : reports) {
    nb::list devices;
    for (const DeviceInfo& info : report.devices) devices.append(info_dict(info));
    const std::string name(name_of(report.type));
    list.append(nb::make_tuple(name, devices, report.reason));
  }
  return list;
}

nb::dict counters(const Executor& executor) {
  const Counters c = executor.counters();
  nb::dict d;
  d["launches"] = c.launches;
  d["library_calls"] = c.library_calls;
  d["programs"] = c.programs;
  d["fallbacks"] = c.fallbacks;
  d["tuning_runs"] = c.tuning_runs;
  d["rejected_candidates"] = c.rejected_candidates;
  return d;
}

nb::dict memory(const Executor& executor) {
  const PoolStatistics s = executor.pool_statistics();
  nb::dict d;
  d["live_bytes"] = s.live_bytes;
  d["live_blocks"] = s.live_blocks;
  d["cached_bytes"] = s.cached_bytes;
  d["slab_bytes"] = s.slab_bytes;
  d["peak_live_bytes"] = s.peak_live_bytes;
  d["allocations"] = s.allocations;
  d["reuses"] = s.reuses;
  d["failures"] = s.failures;
  return d;
}

void register_executor(nb::module_& m) {
  nb::class_<Executor>(m, "Executor",
                       "A device and all that is needed to compute on it. Any thread may use it.")
      .def(
          "__init__",
          [](Executor* self, const std::string& backend, nb::kwargs settings) {
            const BackendConfig config = config_from(backend, settings);
            new (self) Executor(without_gil([&] { return Executor::from_config(config); }));
          },
          "backend"_a = "auto", "settings"_a,
          nb::sig(
              "def __init__(self, backend: str = 'auto', **settings: int | bool | str) -> None"),
          "The best device there is, or one of the backend named: 'cpu', 'cuda', 'opencl',\n"
          "'webgpu'. Settings are those of docs/configuration.md, as device_id=1 or strict=True.\n"
          "BackendUnavailable says why there is none.")
      .def_prop_ro(
          "backend", [](const Executor& e) { return std::string(name_of(e.device().backend)); },
          "\"cpu\", \"cuda\", …")
      .def_prop_ro(
          "device", [](const Executor& e) { return PyDevice{e}; }, "Its device.")
      .def_prop_ro(
          "info", [](const Executor& e) { return info_dict(e.device()); },
          "What is known of the device, by name.")
      .def("why", &Executor::why, "How the device was chosen.")
      .def(
          "synchronize", [](const Executor& e) { without_gil([&] { e.synchronize(); }); },
          "Returns when the device has done all that was asked of it; raises what went wrong.")
      .def("memory", memory, "What its memory holds, by name, in bytes.")
      .def(
          "trim", [](const Executor& e) { return without_gil([&] { return e.trim(); }); },
          "Gives memory that is not in use back to the device; returns how many bytes.")
      .def("counters", counters,
           "What has been done since it was made: launches, library_calls, fallbacks, …")
      .def(
          "profile", [](const Executor& e) { return e.profile(); },
          "What launches took, if it was made with enable_backend_profiling=True.")
      .def(
          "__eq__",
          [](const Executor& a, nb::handle b) {
            return nb::isinstance<Executor>(b) && nb::inst_ptr<Executor>(b)->state() == a.state();
          },
          nb::is_operator())
      .def("__hash__",
           [](const Executor& e) { return reinterpret_cast<uintptr_t>(e.state().get()) >> 4; })
      .def("__repr__", [](const Executor& e) {
        return "hologram.Executor(" + device_name(e) + ": " + e.device().name + ")";
      });
  nb::class_<PyDevice>(m, "Device", "Where a tensor is: str(device) is 'cpu' or 'cuda:0'.")
      .def(
          "__init__",
          [](PyDevice* self, nb::handle name) { new (self) PyDevice{executor_from(name)}; },
          "name"_a)
      .def_prop_ro(
          "executor", [](const PyDevice& d) { return d.executor; }, "The executor on it.")
      .def_prop_ro(
          "info", [](const PyDevice& d) { return info_dict(d.executor.device()); },
          "What is known of it, by name.")
      .def("__str__", [](const PyDevice& d) { return device_name(d.executor); })
      .def("__repr__",
           [](const PyDevice& d) { return "hologram.Device('" + device_name(d.executor) + "')"; })
      .def("__hash__",
           [](const PyDevice& d) { return std::hash<std::string>()(device_name(d.executor)); })
      .def(
          "__eq__",
          [](const PyDevice& d, nb::handle other) {
            if (nb::isinstance<nb::str>(other))
              return nb::cast<std::string>(other) == device_name(d.executor);
            return nb::isinstance<PyDevice>(other) &&
                   device_name(nb::inst_ptr<PyDevice>(other)->executor) == device_name(d.executor);
          },
          nb::is_operator());
}

void register_profile(nb::module_& m) {
  nb::class_<KernelProfile>(m, "KernelProfile", "All launches of one kernel.")
      .def_ro("kernel", &KernelProfile::kernel)
      .def_ro("launches", &KernelProfile::launches)
      .def_ro("seconds", &KernelProfile::seconds, "Of all launches.")
      .def_ro("bytes", &KernelProfile::bytes, "Read and written, of all launches.")
      .def_ro("flops", &KernelProfile::flops, "Of all launches.");
  nb::class_<Profile>(m, "Profile", "What an executor has recorded of launches.")
      .def_ro("device", &Profile::device)
      .def_ro("kernels", &Profile::kernels, "The one that took longest first.")
      .def("table", &Profile::table, "A line for each kernel.")
      .def("trace", &Profile::trace, "JSON that chrome://tracing and Perfetto open.")
      .def("save_trace", &Profile::save_trace, "path"_a, "Writes that to a file. IoError.")
      .def("__repr__", &Profile::table);
}

}  // namespace

Executor executor_from(nb::handle device) {
  if (device.is_none()) return in_use.empty() ? default_executor() : in_use.back();
  if (nb::isinstance<Executor>(device)) return *nb::inst_ptr<Executor>(device);
  if (nb::isinstance<PyDevice>(device)) return nb::inst_ptr<PyDevice>(device)->executor;
  if (nb::isinstance<nb::str>(device)) return executor_of_name(nb::cast<std::string>(device));
  throw nb::type_error("a device is a hologram.Device, a hologram.Executor or a name as 'cuda:0'");
}

void register_runtime(nb::module_& m) {
  register_executor(m);
  register_profile(m);
  m.def(
      "_executor_on",
      [](const std::string& backend, int device_id, uint64_t stream) {
        BackendConfig config = BackendConfig::from_environment();
        config.backend_type = backend_from(backend);
        config.device_id = device_id;
        void* const handle = reinterpret_cast<void*>(stream);  // NOLINT(performance-no-int-to-ptr)
        return without_gil([&] { return Executor::on_stream(handle, config); });
      },
      "backend"_a, "device_id"_a, "stream"_a,
      "An executor whose work goes to a stream of another library, in the order of the calls.");
  m.def("_push_executor", [](const Executor& e) { in_use.push_back(e); });
  m.def("_pop_executor", [] { in_use.pop_back(); });
  m.def(
      "current_executor", [](nb::handle device) { return executor_from(device); },
      "device"_a = nb::none(),
      "The executor of tensors made now in this thread, or of the device named.");
  m.def("set_default_executor", &set_default_executor, "executor"_a,
        "Another executor for tensors made from now on, in all threads.");
  m.def("discover_backends", discovered,
        "(backend, devices, reason) for every backend, in the order of automatic choice.");
  m.def(
      "backend_summary", [] { return without_gil([] { return backend_summary(); }); },
      "A line for each device, and for each backend without one the reason.");
  m.def(
      "settings",
      [] {
        nb::list list;
        for (const SettingInfo& s : BackendConfig::settings())
          list.append(nb::make_tuple(s.name, s.variable, s.allowed, s.default_value, s.meaning));
        return list;
      },
      "(name, variable, good values, default, meaning) of every setting of an Executor.");
}

}  // namespace hologram::python
