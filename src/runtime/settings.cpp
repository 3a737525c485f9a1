#include "runtime/settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <utility>

#include "core/messages.hpp"
#include "core/nearest.hpp"
#include "interp/targets.hpp"
#include "runtime/selection.hpp"

namespace hologram::runtime {
namespace {

using Names = std::vector<std::string_view>;
using Texts = std::vector<std::string>;

constexpr auto kLevels = std::to_array<std::pair<LogLevel, std::string_view>>({
    {LogLevel::Off, "off"},
    {LogLevel::Error, "error"},
    {LogLevel::Warning, "warning"},
    {LogLevel::Info, "info"},
    {LogLevel::Debug, "debug"},
});

// As the environment has it: HOLOGRAM_JIT=0.
constexpr auto kJit = std::to_array<std::pair<Jit, std::string_view>>({
    {Jit::Off, "0"},
    {Jit::On, "1"},
    {Jit::Always, "always"},
});

Names target_names() {
  Names names;
  for (const interp::Target& t : interp::supported_targets()) names.push_back(t.name);
  return names;
}

constexpr uint64_t kMost = uint64_t{1} << 40;

constexpr auto kSettings = std::to_array<Setting>({
    {"backend_type", "HOLOGRAM_BACKEND", &BackendConfig::backend_type,
     "The backend to run on; auto takes the first that is there. A name forces it."},
    {"preference", "HOLOGRAM_BACKEND", &BackendConfig::preference,
     "Where backend_type is auto: the first of these that is there, instead of the first of all."},
    {"device_id", "HOLOGRAM_DEVICE_ID", &BackendConfig::device_id,
     "Which device of the backend, counted from 0.", 1023},
    {"num_threads", "HOLOGRAM_NUM_THREADS", &BackendConfig::num_threads,
     "Threads of the CPU backend; 0: as many as affinity and cgroup allow.", 1024},
    {"cache_size_mb", "HOLOGRAM_CACHE_SIZE_MB", &BackendConfig::cache_size_mb,
     "Memory for arrays in MiB; 0: no limit. What does not fit runs by strips of rows where the "
     "program allows it.",
     kMost},
    {"timeout_ms", "HOLOGRAM_TIMEOUT_MS", &BackendConfig::timeout_ms,
     "How long one launch may take, in milliseconds; 0: no limit.", kMost},
    {"strict", "HOLOGRAM_STRICT", &BackendConfig::strict,
     "Makes every fallback an error: a backend that is not the first of the preference, a general "
     "kernel where a tuned one was expected."},
    {"allow_transfers", "HOLOGRAM_ALLOW_TRANSFERS", &BackendConfig::allow_transfers,
     "Brings operands of several devices to one, unless strict is set: counted, and a warning "
     "once."},
    {"fusion", "HOLOGRAM_FUSION", &BackendConfig::fusion,
     "Fuses tensor operations into fewer kernels. Off, every operation is a kernel of its own."},
    {"check", "HOLOGRAM_CHECK", &BackendConfig::check,
     "Finds races and workgroup memory that is read before it is written; slow."},
    {"enable_backend_profiling", "HOLOGRAM_ENABLE_PROFILING",
     &BackendConfig::enable_backend_profiling, "Lets the backend measure its launches."},
    {"log_level", "HOLOGRAM_LOG_LEVEL", &BackendConfig::log_level,
     "Which messages reach the log callback of the process, if set_log_callback was not told; "
     "warning if nothing is set."},
    {"cpu_target", "HOLOGRAM_CPU_TARGET", &BackendConfig::cpu_target,
     "The instruction set of the CPU backend: avx512, avx2, sse4, neon, wasm or scalar, of those "
     "that the machine has; empty: the best of them.",
     0, target_names},
    {"enable_simd", "HOLOGRAM_ENABLE_SIMD", &BackendConfig::enable_simd,
     "Off, the CPU backend uses the least instruction set it has, unless cpu_target names one."},
    {"jit", "HOLOGRAM_JIT", &BackendConfig::jit,
     "Whether the CPU backend compiles programs to machine code: 0 interprets them all, 1 compiles "
     "those that have run for a while, always every one before its first launch. The results are "
     "the same."},
    {"enable_tensor_cores", "HOLOGRAM_ENABLE_TENSOR_CORES", &BackendConfig::enable_tensor_cores,
     "Lets matrix products use tensor cores where the result keeps its bounds."},
    {"allow_tf32", "HOLOGRAM_ALLOW_TF32", &BackendConfig::allow_tf32,
     "Lets tensor cores round the operands of f32 products to 11 bits (TF32); else they are true "
     "f32."},
    {"allow_winograd", "HOLOGRAM_ALLOW_WINOGRAD", &BackendConfig::allow_winograd,
     "Lets a library convolve by Winograd's way, in tiles of up to 6 by 6: f32 results are as near "
     "as the sums of their tile, not their own, allow, and an element that is infinite or NaN "
     "spoils its tile."},
    {"deterministic", "HOLOGRAM_DETERMINISTIC", &BackendConfig::deterministic,
     "Forbids what may give other bits from run to run on the same device: algorithms of libraries "
     "that are chosen by time, and hipBLASLt, which does not say in which order it adds."},
    {"reproducible", "HOLOGRAM_REPRODUCIBLE", &BackendConfig::reproducible,
     "Shapes alone give the order of all additions, and no vendor library computes anything: f32 "
     "results have the same bits on all exact devices. Products and convolutions take longer; "
     "implies deterministic."},
    {"enable_cudnn", "HOLOGRAM_ENABLE_CUDNN", &BackendConfig::enable_cudnn,
     "Lets the CUDA backend use cuDNN where it is there."},
    {"cblas", "HOLOGRAM_CBLAS", &BackendConfig::cblas,
     "A CBLAS of the machine for products of f32 and f64 on the CPU, before hologram's own "
     "kernels: auto takes the first of OpenBLAS, MKL, BLIS and Accelerate. Never under "
     "reproducible.",
     0, nullptr, "none, auto or "},
    {"autotuning_ms", "HOLOGRAM_AUTOTUNING_MS", &BackendConfig::autotuning_ms,
     "How long one search for the fastest way to compute a product of matrices may take, in "
     "milliseconds; 0: nothing is searched for.",
     kMost},
    {"autotuning_cache_file", "HOLOGRAM_AUTOTUNING_CACHE_FILE",
     &BackendConfig::autotuning_cache_file,
     "Where what tuning has found is kept; empty: in the folder for caches. A file that is named "
     "is "
     "used even if nothing is searched for."},
});

// How the values of a type are read, checked and shown. `value` makes of a variable's text what a
// file would say; `from` makes the field's value of that.
template <class T>
struct Kind;

template <>
struct Kind<bool> {
  static Value value(std::string_view text) {
    std::string word(text);
    for (char& c : word) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    for (const std::string_view no : {"0", "false", "off", "no"})
      if (word == no) return false;
    for (const std::string_view yes : {"1", "true", "on", "yes"})
      if (word == yes) return true;
    return {};
  }
  static std::optional<bool> from(const Value& value) {
    const bool* flag = std::get_if<bool>(&value);
    return flag == nullptr ? std::nullopt : std::optional(*flag);
  }
  static bool valid(const Setting&, bool) { return true; }
  static std::string text(bool flag) { return flag ? "true" : "false"; }
  static std::string good(const Setting&, Source source) {
    return source == Source::Environment ? "0 or 1" : "true or false";
  }
  static Names names(const Setting&) { return {}; }
};

template <class T>
requires std::is_integral_v<T>
struct Kind<T> {
  static Value value(std::string_view text) {
    int64_t number = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
    return code == std::errc() && end == text.data() + text.size() ? Value(number) : Value();
  }
  static std::optional<T> from(const Value& value) {
    const int64_t* number = std::get_if<int64_t>(&value);
    if (number == nullptr || !std::in_range<T>(*number)) return std::nullopt;
    return static_cast<T>(*number);
  }
  static bool valid(const Setting& setting, T number) {
    return std::cmp_greater_equal(number, 0) && std::cmp_less_equal(number, setting.most);
  }
  static std::string text(T number) { return std::to_string(number); }
  static std::string good(const Setting& setting, Source) {
    return fmt::format("a number from 0 to {}", setting.most);
  }
  static Names names(const Setting&) { return {}; }
};

template <>
struct Kind<std::string> {
  static Value value(std::string_view text) { return std::string(text); }
  static std::optional<std::string> from(const Value& value) {
    const auto* text = std::get_if<std::string>(&value);
    return text == nullptr ? std::nullopt : std::optional(*text);
  }
  static bool valid(const Setting& setting, const std::string& text) {
    if (setting.names == nullptr) return text.find('\0') == std::string::npos;
    const Names known = setting.names();
    return text.empty() || std::find(known.begin(), known.end(), text) != known.end();
  }
  static std::string text(const std::string& text) { return '"' + text + '"'; }
  static std::string good(const Setting& setting, Source) {
    return setting.names == nullptr ? fmt::format("{}the path of a file", setting.also)
                                    : fmt::format("{}", fmt::join(setting.names(), ", "));
  }
  static Names names(const Setting& setting) {
    return setting.names == nullptr ? Names() : setting.names();
  }
};

Names backend_name_list(bool with_auto) {
  Names names;
  for (const BackendType type : backend_types())
    if (with_auto || type != BackendType::Auto) names.push_back(name_of(type));
  return names;
}

// Any GPU: the first that is there.
std::string_view expanded(std::string_view text) {
  return text == "gpu" || text == "GPU" ? "cuda,rocm,metal,opencl,webgpu" : text;
}

template <>
struct Kind<BackendType> {
  // A list is the business of the setting `preference`.
  static Value value(std::string_view given) {
    const std::string_view text = expanded(given);
    return std::string(text.find(',') == std::string_view::npos ? text : "auto");
  }
  static std::optional<BackendType> from(const Value& value) {
    const auto* text = std::get_if<std::string>(&value);
    return text == nullptr ? std::nullopt : parse_backend(*text);
  }
  static bool valid(const Setting&, BackendType type) {
    const std::vector<BackendType> known = backend_types();
    return std::find(known.begin(), known.end(), type) != known.end();
  }
  static std::string text(BackendType type) { return fmt::format("\"{}\"", name_of(type)); }
  static std::string good(const Setting&, Source source) {
    return fmt::format(
        "{}{}", fmt::join(backend_name_list(true), ", "),
        source == Source::Environment ? ", or a list of them without auto, as in cuda,cpu" : "");
  }
  static Names names(const Setting&) { return backend_name_list(true); }
};

template <>
struct Kind<std::vector<BackendType>> {
  static Value value(std::string_view given) {
    const std::string_view text = expanded(given);
    Texts list;
    if (text.find(',') == std::string_view::npos) return list;
    for (size_t at = 0; at <= text.size();) {
      const size_t comma = std::min(text.find(',', at), text.size());
      list.emplace_back(text.substr(at, comma - at));
      at = comma + 1;
    }
    return list;
  }
  static std::optional<std::vector<BackendType>> from(const Value& value) {
    const auto* list = std::get_if<Texts>(&value);
    if (list == nullptr) return std::nullopt;
    std::vector<BackendType> types;
    for (const std::string& name : *list) {
      const auto type = parse_backend(name);
      if (!type) return std::nullopt;
      types.push_back(*type);
    }
    return types;
  }
  static bool valid(const Setting& setting, const std::vector<BackendType>& types) {
    return std::all_of(types.begin(), types.end(), [&](BackendType type) {
      return type != BackendType::Auto && Kind<BackendType>::valid(setting, type);
    });
  }
  static std::string text(const std::vector<BackendType>& types) {
    Texts quoted;
    for (const BackendType type : types) quoted.push_back(Kind<BackendType>::text(type));
    return fmt::format("[{}]", fmt::join(quoted, ", "));
  }
  static std::string good(const Setting& setting, Source source) {
    if (source == Source::Environment) return Kind<BackendType>::good(setting, source);
    return fmt::format("a list of {}, as in [\"cuda\", \"cpu\"]",
                       fmt::join(backend_name_list(false), ", "));
  }
  static Names names(const Setting&) { return backend_name_list(false); }
};

template <>
struct Kind<std::optional<LogLevel>> {
  static Value value(std::string_view text) { return std::string(text); }
  static std::optional<std::optional<LogLevel>> from(const Value& value) {
    const auto* text = std::get_if<std::string>(&value);
    for (const auto& [level, name] : kLevels)
      if (text != nullptr && *text == name) return std::optional(level);
    return std::nullopt;
  }
  static bool valid(const Setting&, const std::optional<LogLevel>& level) {
    return !level || static_cast<size_t>(*level) < kLevels.size();
  }
  static std::string text(const std::optional<LogLevel>& level) {
    for (const auto& [known, name] : kLevels)
      if (level == known) return fmt::format("\"{}\"", name);
    return level ? std::to_string(static_cast<int>(*level)) : "";
  }
  static std::string good(const Setting& setting, Source) {
    return fmt::format("{}", fmt::join(names(setting), ", "));
  }
  static Names names(const Setting&) {
    Names names;
    for (const auto& [level, name] : kLevels) names.push_back(name);
    return names;
  }
};

template <>
struct Kind<Jit> {
  static Value value(std::string_view text) { return std::string(text); }
  static std::optional<Jit> from(const Value& value) {
    const auto* text = std::get_if<std::string>(&value);
    for (const auto& [when, name] : kJit)
      if (text != nullptr && *text == name) return when;
    return std::nullopt;
  }
  static bool valid(const Setting&, Jit when) { return static_cast<size_t>(when) < kJit.size(); }
  static std::string text(Jit when) {
    for (const auto& [known, name] : kJit)
      if (when == known) return fmt::format("\"{}\"", name);
    return std::to_string(static_cast<int>(when));
  }
  static std::string good(const Setting& setting, Source) {
    return fmt::format("{}", fmt::join(names(setting), ", "));
  }
  static Names names(const Setting&) {
    Names names;
    for (const auto& [when, name] : kJit) names.push_back(name);
    return names;
  }
};

// Calls f with the Kind of the setting and its field.
template <class F>
auto with_kind(const Setting& setting, F f) {
  return std::visit([&]<class T>(T BackendConfig::*field) { return f(Kind<T>(), field); },
                    setting.field);
}

// " Did you mean …?" for the first of the names in `shown` that is none.
std::string suggestion(const Names& known, std::string_view shown) {
  constexpr std::string_view kBetween = "[]\"', ";
  for (size_t at = 0; (at = shown.find_first_not_of(kBetween, at)) != std::string_view::npos;) {
    const std::string_view name = shown.substr(at, shown.find_first_of(kBetween, at) - at);
    at += name.size();
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    const std::string_view near = core::nearest(name, known);
    return near.empty() ? "" : fmt::format(" Did you mean {}?", near);
  }
  return {};
}

}  // namespace

std::span<const Setting> all_settings() { return kSettings; }

bool Setting::read_value(BackendConfig& config, const Value& value) const {
  return with_kind(*this, [&](auto kind, auto field_of) {
    auto read = kind.from(value);
    if (!read || !kind.valid(*this, *read)) return false;
    config.*field_of = std::move(*read);
    return true;
  });
}

bool Setting::read_variable(BackendConfig& config, std::string_view text) const {
  return read_value(config, with_kind(*this, [&](auto kind, auto) { return kind.value(text); }));
}

bool Setting::valid(const BackendConfig& config) const {
  return with_kind(*this,
                   [&](auto kind, auto field_of) { return kind.valid(*this, config.*field_of); });
}

std::string Setting::text(const BackendConfig& config) const {
  return with_kind(*this, [&](auto kind, auto field_of) { return kind.text(config.*field_of); });
}

std::string Setting::good(Source source) const {
  return with_kind(*this, [&](auto kind, auto) { return kind.good(*this, source); });
}

Error Setting::refusal(Source source, std::string_view place, std::string_view shown) const {
  const Names known = with_kind(*this, [&](auto kind, auto) { return kind.names(*this); });
  return core::error(core::Text::BadConfigValue, place, shown, good(source),
                     suggestion(known, shown));
}

BackendType backend_named(std::string_view name) {
  if (const auto type = parse_backend(name)) return *type;
  const Names known = backend_name_list(true);
  throw core::error(core::Text::BadConfigValue, "backend_type", name,
                    fmt::format("{}", fmt::join(known, ", ")), suggestion(known, name));
}

void check(const BackendConfig& config) {
  for (const Setting& setting : kSettings)
    if (!setting.valid(config))
      throw setting.refusal(Source::Code, setting.name, setting.text(config));
}

}  // namespace hologram::runtime
