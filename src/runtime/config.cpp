#include "hologram/config.hpp"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <sstream>
#include <string_view>

#include "core/log.hpp"
#include "core/mapped_file.hpp"
#include "core/messages.hpp"
#include "core/nearest.hpp"
#include "core/system/system.hpp"
#include "runtime/settings.hpp"

namespace hologram {
namespace {

using core::Text;
using runtime::Setting;
using runtime::Source;
using runtime::Value;

constexpr size_t kLongestFile = 1 << 20;  // bytes; settings are a page at most
constexpr size_t kLongestExcerpt = 60;    // of a bad value in a message

std::string_view variable(std::string_view name) {
  const char* value = std::getenv(std::string(name).c_str());
  return value == nullptr ? std::string_view() : std::string_view(value);
}

Value value_of(const toml::node& node) {
  if (const auto* flag = node.as_boolean()) return flag->get();
  if (const auto* number = node.as_integer()) return number->get();
  if (const auto* text = node.as_string()) return text->get();
  const toml::array* array = node.as_array();
  if (array == nullptr) return {};
  std::vector<std::string> list;
  for (const toml::node& element : *array) {
    const auto* text = element.as_string();
    if (text == nullptr) return {};
    list.push_back(text->get());
  }
  return list;
}

// As it stands in the file, on one line.
std::string excerpt(const toml::node& node) {
  if (node.is_table()) return "{…}";
  std::ostringstream stream;
  if (const auto* string = node.as_string()) stream << '"' << string->get() << '"';
  else node.visit([&](const auto& value) { stream << value; });
  std::string text = stream.str();
  for (char& c : text)
    if (c == '\n') c = ' ';
  if (text.size() > kLongestExcerpt) text = text.substr(0, kLongestExcerpt) + "…";
  return text;
}

std::string where(const std::string& path, const toml::source_region& source) {
  return fmt::format("'{}', line {}", path, source.begin.line);
}

[[noreturn]] void refuse_key(const std::string& place, std::string_view key, bool table) {
  std::vector<std::string_view> known;
  for (const Setting& setting : runtime::all_settings()) known.push_back(setting.name);
  const std::string_view near = core::nearest(key, known);
  throw core::error(table ? Text::ConfigUnknownTable : Text::ConfigUnknownKey, place, key,
                    fmt::format("{}", fmt::join(known, ", ")),
                    near.empty() ? "" : fmt::format(" Did you mean {}?", near));
}

toml::table parse(const std::string& path) {
  const auto file = core::MappedFile::open(path);
  const auto bytes = file->bytes();
  if (bytes.size() > kLongestFile)
    throw core::error(Text::FileNotReadable, path, "it is too long for a file of settings");
  try {
    return toml::parse(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  } catch (const toml::parse_error& e) {
    throw core::error(Text::ConfigSyntax, where(path, e.source()), e.description());
  }
}

void read_file(BackendConfig& config, const std::string& path) {
  for (const auto& [key, node] : parse(path)) {
    const Setting* found = nullptr;
    for (const Setting& setting : runtime::all_settings())
      if (setting.name == key.str()) found = &setting;
    if (found == nullptr) refuse_key(where(path, key.source()), key.str(), node.is_table());
    if (!found->read_value(config, value_of(node)))
      throw found->refusal(Source::File,
                           fmt::format("{}: {}", where(path, key.source()), found->name),
                           excerpt(node));
  }
}

// Variables of the process that are no settings of an executor.
constexpr std::string_view kOthers[] = {"HOLOGRAM_CONFIG",          "HOLOGRAM_DUMP",
                                        "HOLOGRAM_ONEDNN_LIBRARY",  "HOLOGRAM_OPENBLAS_LIBRARY",
                                        "HOLOGRAM_LAPACK_LIBRARY",  "HOLOGRAM_CUDA_LIBRARY",
                                        "HOLOGRAM_NVRTC_LIBRARY",   "HOLOGRAM_CUBLASLT_LIBRARY",
                                        "HOLOGRAM_CUDNN_LIBRARY",   "HOLOGRAM_HIP_LIBRARY",
                                        "HOLOGRAM_HIPRTC_LIBRARY",  "HOLOGRAM_HIPBLASLT_LIBRARY",
                                        "HOLOGRAM_ROCBLAS_LIBRARY", "HOLOGRAM_METAL_LIBRARY",
                                        "HOLOGRAM_OBJC_LIBRARY",    "HOLOGRAM_WEBGPU_LIBRARY",
                                        "HOLOGRAM_MODELS"};

// A variable of our name that nobody reads is most likely misspelt. HOLOGRAM_TEST_ are the tests'.
void warn_of_unknown_variables() {
  std::vector<std::string_view> known(std::begin(kOthers), std::end(kOthers));
  for (const Setting& setting : runtime::all_settings()) known.push_back(setting.variable);
  for (const char* const* each = core::system::environment(); *each != nullptr; each++) {
    const std::string_view text = *each, name = text.substr(0, text.find('='));
    if (!name.starts_with("HOLOGRAM_") || name.starts_with("HOLOGRAM_TEST_") ||
        std::find(known.begin(), known.end(), name) != known.end())
      continue;
    const std::string_view near = core::nearest(name, known);
    core::log(LogLevel::Warning,
              fmt::format("the environment sets {}, which hologram does not know{}", name,
                          near.empty() ? "" : fmt::format("; did you mean {}?", near)));
  }
}

}  // namespace

BackendConfig BackendConfig::from_file(const std::string& path) {
  BackendConfig config;
  read_file(config, path);
  return config;
}

BackendConfig BackendConfig::from_environment() {
  static std::once_flag warned;
  std::call_once(warned, warn_of_unknown_variables);
  BackendConfig config;
  if (const std::string_view path = variable("HOLOGRAM_CONFIG"); !path.empty())
    read_file(config, std::string(path));
  for (const Setting& setting : runtime::all_settings()) {
    const std::string_view text = variable(setting.variable);
    if (!text.empty() && !setting.read_variable(config, text))
      throw setting.refusal(Source::Environment, setting.variable, text);
  }
  return config;
}

std::vector<SettingInfo> BackendConfig::settings() {
  std::vector<SettingInfo> all;
  for (const Setting& setting : runtime::all_settings())
    all.push_back({std::string(setting.name), std::string(setting.variable),
                   setting.good(Source::Environment), setting.text(BackendConfig()),
                   std::string(setting.meaning)});
  return all;
}

}  // namespace hologram
