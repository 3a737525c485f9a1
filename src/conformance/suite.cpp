#include "conformance/suite.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <regex>

#include "core/messages.hpp"
#include "hologram/error.hpp"

namespace hologram::conformance {
namespace {

constexpr DType kDTypes[] = {DType::Bool, DType::I8,  DType::U8,  DType::I16, DType::U16,
                             DType::I32,  DType::U32, DType::I64, DType::U64, DType::F16,
                             DType::BF16, DType::F32, DType::F64};

constexpr void (*kParts[])(Suite&) = {
    elementwise_cases, reduction_cases, product_cases,     convolution_cases, movement_cases,
    cumulative_cases,  ordering_cases,  arrangement_cases, function_cases,    random_cases,
    creation_cases,    nn_cases,        bit_cases};

Executor with(const Executor& executor, core::FunctionRef<void(BackendConfig&)> change) {
  BackendConfig config = executor.config();
  config.backend_type = executor.device().backend;
  config.device_id = executor.device().index;
  change(config);
  return Executor::from_config(config);
}

}  // namespace

struct Suite::Filter {
  std::regex pattern;
  bool matches(const std::string& name) const { return std::regex_search(name, pattern); }
};

Suite::Suite(const Executor& executor, const ConformanceOptions& options)
    : options_(options),
      ways_{executor,
            with(executor, [](BackendConfig& c) { c.fusion = false; }),
            with(executor, [](BackendConfig& c) { c.num_threads = 1; }),
            with(executor, [](BackendConfig& c) { c.num_threads = 2; }),
            {}} {
  const DeviceInfo& device = executor.device();
  if (device.backend != BackendType::Cpu && device.numerics == Numerics::Exact)
    ways_.cpu = Executor::builder().backend(BackendType::Cpu).build();
  if (!options.filter.empty()) try {
      filter_ = std::make_shared<const Filter>(Filter{std::regex(options.filter)});
    } catch (const std::regex_error& error) {
      throw core::error(core::Text::BadFilter, options.filter, error.what());
    }
  report_.device = executor.device();
  arithmetic_ = arithmetic_of(executor);
  report_.arithmetic = arithmetic_.text();
}

ConformanceReport Suite::run() {
  for (const auto part : kParts) part(*this);
  return std::move(report_);
}

void Suite::attempt(std::string_view operation, DType dtype, std::string_view property,
                    core::FunctionRef<Finding()> body) {
  ConformanceResult result;
  result.name = fmt::format("{}/{}/{}", operation, hologram::name_of(dtype), property);
  result.operation = operation;
  result.dtype = dtype;
  if (filter_ != nullptr && !filter_->matches(result.name)) return;
  if (options_.choose && !options_.choose(result.name)) return;
  try {
    Finding found;
    const auto find = [&] { found = body(); };
    if (!around) find();
    else if (!around(find)) return;
    result.elements = found.elements;
    result.observed = found.observed;
    result.error = found.error;
    result.bound = found.bound;
    if (!found.skipped.empty()) {
      result.verdict = Verdict::Skipped;
      result.reason = found.skipped;
    } else if (!found.wrong.empty()) {
      result.verdict = Verdict::Failed;
      result.reason = found.wrong;
    }
  } catch (const Error& error) {
    const bool lacks =
        error.kind() == ErrorKind::UnsupportedOperation && !must_support(report_.device, dtype);
    result.verdict = lacks ? Verdict::Unsupported : Verdict::Failed;
    result.reason = error.what();
  }
  if (options_.on_result) options_.on_result(result);
  report_.results.push_back(std::move(result));
}

void Finding::measure(double units, size_t i, Wide result, Wide exact) {
  if (!(units <= bound) && wrong.empty())
    wrong = fmt::format("element {} is {}, not {}: {:.4g} units off, at most {:.4g} may be", i,
                        static_cast<double>(result), static_cast<double>(exact), units, bound);
  error = std::max(error, units);
}

uint64_t seed_of(std::string_view a, DType dtype, std::string_view b) {
  uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a
  const auto take = [&](char c) { hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3u; };
  for (const char c : a) take(c);
  take(static_cast<char>(dtype));
  for (const char c : b) take(c);
  return hash;
}

std::span<const DType> all_dtypes() { return kDTypes; }

std::string difference(const Array& a, const Array& b) {
  if (a.dtype() != b.dtype() || a.shape() != b.shape()) return "dtype or shape differ";
  const size_t size = size_of(a.dtype());
  for (size_t i = 0; i < a.size(); i++) {
    if (std::memcmp(a.data() + i * size, b.data() + i * size, size) == 0) continue;
    const Wide x = real_at(a.dtype(), a.data(), i), y = real_at(b.dtype(), b.data(), i);
    if (is_nan(x) && is_nan(y)) continue;
    return fmt::format("element {} is {} or {}", i, static_cast<double>(x), static_cast<double>(y));
  }
  return {};
}

}  // namespace hologram::conformance

namespace hologram {

std::string_view name_of(Verdict verdict) {
  constexpr std::string_view kNames[] = {"passed", "failed", "unsupported", "skipped"};
  return kNames[static_cast<size_t>(verdict)];
}

uint64_t ConformanceReport::count(Verdict verdict) const {
  return static_cast<uint64_t>(
      std::count_if(results.begin(), results.end(),
                    [&](const ConformanceResult& r) { return r.verdict == verdict; }));
}

ConformanceReport check_conformance(const Executor& executor, const ConformanceOptions& options) {
  return conformance::Suite(executor, options).run();
}

}  // namespace hologram
