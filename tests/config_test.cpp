// The settings: every one by file, environment and code; which wins; what is refused, and how.
#include <gtest/gtest.h>

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <map>

#include "hologram/hologram.hpp"
#include "interp/targets.hpp"
#include "runtime/settings.hpp"

namespace hologram {
namespace {

class Config : public ::testing::Test {
 protected:
  // Each test starts without variables, and leaves none.
  void SetUp() override { clear(); }
  void TearDown() override {
    clear();
    std::filesystem::remove(path_);
  }

  static void clear() {
    unsetenv("HOLOGRAM_CONFIG");
    for (const SettingInfo& setting : BackendConfig::settings()) unsetenv(setting.variable.c_str());
  }

  // A file with this text, which the environment names.
  const std::string& file(const std::string& text) {
    std::ofstream(path_) << text;
    setenv("HOLOGRAM_CONFIG", path_.c_str(), 1);
    return path_;
  }

  void refused_file(const std::string& text, const std::string& what, const std::string& remedy) {
    const std::string path = file(text);
    refused([&] { BackendConfig::from_file(path); }, what, remedy);
    refused([&] { BackendConfig::from_environment(); }, path, remedy);
  }

  static void refused(const std::function<void()>& body, const std::string& what,
                      const std::string& remedy, ErrorKind kind = ErrorKind::InvalidConfig) {
    try {
      body();
      ADD_FAILURE() << "not refused: " << what;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), kind) << error.what();
      EXPECT_NE(std::string(error.what()).find(what), std::string::npos) << error.what();
      EXPECT_NE(error.remedy().find(remedy), std::string::npos) << error.remedy();
    }
  }

 private:
  const std::string path_ = (std::filesystem::temp_directory_path() /
                             ("hologram-config-" + std::to_string(getpid()) + ".toml"))
                                .string();
};

std::string shown(const BackendConfig& config, std::string_view name) {
  for (const auto& setting : runtime::all_settings())
    if (setting.name == name) return setting.text(config);
  return "there is no such setting";
}

// One value by the file, another by the environment, a third in code.
struct Row {
  std::string in_file;
  std::string variable;
  std::string by_variable;  // the same as a file spells it
  void (*code)(ExecutorBuilder&);
  std::string by_code;
};

const std::map<std::string, Row>& rows() {
  using B = ExecutorBuilder;
  const auto quoted = [](const std::string& text) { return '"' + text + '"'; };
  const std::string best(interp::supported_targets().front().name);
  const std::string least(interp::supported_targets().back().name);
  static const std::map<std::string, Row> all = {
      {"backend_type",
       {R"("null")", "cpu", R"("cpu")", [](B& b) { b.backend(BackendType::Cuda); }, R"("cuda")"}},
      {"preference",
       {R"(["null"])", "cuda,cpu", R"(["cuda", "cpu"])", [](B& b) { b.prefer({BackendType::Cpu}); },
        R"(["cpu"])"}},
      {"device_id", {"1", "2", "2", [](B& b) { b.device(3); }, "3"}},
      {"num_threads", {"1", "2", "2", [](B& b) { b.threads(3); }, "3"}},
      {"cache_size_mb", {"1", "2", "2", [](B& b) { b.cache_size_mb(3); }, "3"}},
      {"timeout_ms", {"1", "2", "2", [](B& b) { b.timeout_ms(3); }, "3"}},
      {"strict", {"true", "0", "false", [](B& b) { b.strict(); }, "true"}},
      {"allow_transfers", {"false", "1", "true", [](B& b) { b.allow_transfers(false); }, "false"}},
      {"fusion", {"false", "1", "true", [](B& b) { b.fusion(false); }, "false"}},
      {"check", {"true", "0", "false", [](B& b) { b.check(); }, "true"}},
      {"enable_backend_profiling", {"true", "0", "false", [](B& b) { b.profiling(); }, "true"}},
      {"log_level",
       {R"("off")", "error", R"("error")", [](B& b) { b.log_level(LogLevel::Debug); },
        R"("debug")"}},
      {"jit", {R"("0")", "always", R"("always")", [](B& b) { b.jit(Jit::Off); }, R"("0")"}},
      {"cpu_target", {quoted(best), least, quoted(least), [](B& b) { b.cpu_target(""); }, R"("")"}},
      {"enable_simd", {"false", "1", "true", [](B& b) { b.simd(false); }, "false"}},
      {"enable_tensor_cores", {"false", "1", "true", [](B& b) { b.tensor_cores(false); }, "false"}},
      {"allow_tf32", {"true", "0", "false", [](B& b) { b.tf32(); }, "true"}},
      {"allow_winograd", {"true", "0", "false", [](B& b) { b.winograd(); }, "true"}},
      {"deterministic", {"true", "0", "false", [](B& b) { b.deterministic(); }, "true"}},
      {"reproducible", {"true", "0", "false", [](B& b) { b.reproducible(); }, "true"}},
      {"enable_cudnn", {"false", "1", "true", [](B& b) { b.cudnn(false); }, "false"}},
      {"cblas", {R"("auto")", "none", R"("none")", [](B& b) { b.cblas("a.so"); }, R"("a.so")"}},
      {"autotuning_ms", {"1", "2", "2", [](B& b) { b.autotuning_ms(3); }, "3"}},
      {"autotuning_cache_file",
       {R"("a")", "b", R"("b")", [](B& b) { b.autotuning_cache_file("c"); }, R"("c")"}},
  };
  return all;
}

TEST_F(Config, BackendsHaveTheNamesThatOthersGiveThem) {
  const std::pair<const char*, BackendType> names[] = {{"CUDA", BackendType::Cuda},
                                                       {"wgpu", BackendType::WebGpu},
                                                       {"Hip", BackendType::Rocm},
                                                       {"mps", BackendType::Metal}};
  for (const auto& [name, type] : names) {
    setenv("HOLOGRAM_BACKEND", name, 1);
    EXPECT_EQ(BackendConfig::from_environment().backend_type, type) << name;
  }
  setenv("HOLOGRAM_BACKEND", "gpu", 1);
  const BackendConfig any = BackendConfig::from_environment();
  EXPECT_EQ(any.backend_type, BackendType::Auto);
  EXPECT_EQ(any.preference.size(), 5u);
  EXPECT_EQ(any.preference.front(), BackendType::Cuda);
}

TEST_F(Config, EverySettingComesFromEachPlaceAndTheNearestWins) {
  ASSERT_EQ(rows().size(), BackendConfig::settings().size());
  for (const SettingInfo& setting : BackendConfig::settings()) {
    SCOPED_TRACE(setting.name);
    ASSERT_TRUE(rows().contains(setting.name));
    const Row& row = rows().at(setting.name);
    clear();
    EXPECT_EQ(shown(BackendConfig::from_environment(), setting.name), setting.default_value);
    const std::string& path = file(setting.name + " = " + row.in_file + "\n");
    EXPECT_EQ(shown(BackendConfig::from_file(path), setting.name), row.in_file);
    EXPECT_EQ(shown(BackendConfig::from_environment(), setting.name), row.in_file);
    setenv(setting.variable.c_str(), row.variable.c_str(), 1);
    EXPECT_EQ(shown(BackendConfig::from_environment(), setting.name), row.by_variable);
    EXPECT_EQ(shown(BackendConfig::from_file(path), setting.name), row.in_file);
    ExecutorBuilder builder = Executor::builder();
    EXPECT_EQ(shown(builder.config(), setting.name), row.by_variable);
    row.code(builder);
    EXPECT_EQ(shown(builder.config(), setting.name), row.by_code);
    setenv(setting.variable.c_str(), "", 1);  // the same as unset
    EXPECT_EQ(shown(BackendConfig::from_environment(), setting.name), row.in_file);
  }
}

TEST_F(Config, ANameOverridesAListAndAListAName) {
  file("preference = [\"cuda\", \"cpu\"]\n");
  setenv("HOLOGRAM_BACKEND", "null", 1);
  BackendConfig config = BackendConfig::from_environment();
  EXPECT_EQ(config.backend_type, BackendType::Null);
  EXPECT_TRUE(config.preference.empty());
  setenv("HOLOGRAM_BACKEND", "auto", 1);
  config = BackendConfig::from_environment();
  EXPECT_EQ(config.backend_type, BackendType::Auto);
  EXPECT_TRUE(config.preference.empty());
  file("backend_type = \"null\"\n");
  setenv("HOLOGRAM_BACKEND", "cuda,cpu", 1);
  config = BackendConfig::from_environment();
  EXPECT_EQ(config.backend_type, BackendType::Auto);
  EXPECT_EQ(config.preference, (std::vector{BackendType::Cuda, BackendType::Cpu}));
}

TEST_F(Config, BadVariablesAreRefusedWithTheGoodValues) {
  const std::vector<std::tuple<std::string, std::vector<std::string>, std::string>> bad = {
      {"BACKEND", {"cudaa", "cuda,", ",cpu", "cuda,nope", "auto,cpu", "cuda cpu"}, "rocm"},
      {"DEVICE_ID", {"-1", "x", "1.5", "1024", "99999999999999999999", "0x1", " 1"}, "0 to 1023"},
      {"NUM_THREADS", {"-3", "two", "1025"}, "0 to 1024"},
      {"CACHE_SIZE_MB", {"-1", "1g", "1099511627777"}, "0 to 1099511627776"},
      {"TIMEOUT_MS", {"-1", "1s", "1099511627777"}, "0 to 1099511627776"},
      {"STRICT", {"2", "tru", "y"}, "0 or 1"},
      {"ALLOW_TRANSFERS", {"2", "onn"}, "0 or 1"},
      {"FUSION", {"-1", "of"}, "0 or 1"},
      {"CHECK", {"yess", "00"}, "0 or 1"},
      {"ENABLE_PROFILING", {"x"}, "0 or 1"},
      {"LOG_LEVEL", {"loud", "Debug", "3"}, "off, error, warning, info, debug"},
      {"CPU_TARGET", {"avx1024", "mmx"}, std::string(interp::supported_targets().front().name)},
      {"ENABLE_SIMD", {"x"}, "0 or 1"},
      {"JIT", {"2", "on", "Always"}, "0, 1, always"},
      {"ENABLE_TENSOR_CORES", {"x"}, "0 or 1"},
      {"ALLOW_TF32", {"maybe"}, "0 or 1"},
      {"ALLOW_WINOGRAD", {"maybe"}, "0 or 1"},
      {"DETERMINISTIC", {"x"}, "0 or 1"},
      {"REPRODUCIBLE", {"maybe"}, "0 or 1"},
      {"ENABLE_CUDNN", {"x"}, "0 or 1"},
      {"AUTOTUNING_MS", {"-1", "on", "1099511627777"}, "0 to 1099511627776"},
  };
  EXPECT_EQ(bad.size() + 3, BackendConfig::settings().size());  // a list; paths, which may be any
  for (const auto& [name, values, good] : bad)
    for (const std::string& value : values) {
      const std::string variable = "HOLOGRAM_" + name;
      setenv(variable.c_str(), value.c_str(), 1);
      refused([] { BackendConfig::from_environment(); },
              fmt::format("{}={} is not valid", variable, value), good);
      refused([] { Executor::builder(); }, variable, good);
      unsetenv(variable.c_str());
    }
}

TEST_F(Config, AMistypedNameIsSuggested) {
  setenv("HOLOGRAM_BACKEND", "cuda,metall", 1);
  refused([] { Executor(); }, "cuda,metall", "Did you mean metal?");
  setenv("HOLOGRAM_BACKEND", "cudaa", 1);
  refused([] { Executor(); }, "cudaa", "Did you mean cuda?");
  refused_file("log_level = \"debgu\"", "\"debgu\"", "Did you mean debug?");
  refused_file("num_thread = 2", "no setting 'num_thread'", "Did you mean num_threads?");
}

TEST_F(Config, BadFilesAreRefusedWithTheirLine) {
  refused_file("\n\nnum_threads = \"two\"\n", "line 3: num_threads=\"two\" is not", "0 to 1024");
  refused_file("num_threads = -3\n", "line 1: num_threads=-3 is not", "0 to 1024");
  refused_file("num_threads = 1.5\n", "num_threads=1.5", "0 to 1024");
  refused_file("num_threads = 9223372036854775807\n", "9223372036854775807", "0 to 1024");
  refused_file("timeout_ms = true\n", "timeout_ms=true", "a number from 0");
  refused_file("strict = 1\n", "strict=1 is not", "true or false");
  refused_file("backend_type = 3\n", "backend_type=3", "auto, cpu");
  refused_file("backend_type = \"cuda,cpu\"\n", "backend_type=", "auto, cpu");
  refused_file("preference = \"cuda\"\n", "preference=", "as in [\"cuda\", \"cpu\"]");
  refused_file("preference = [\"cuda\", 3]\n", "preference=", "a list of");
  refused_file("preference = [\"auto\"]\n", "preference=", "a list of");
  refused_file("cpu_target = \"mmx\"\n", "cpu_target=\"mmx\"", "Use ");
  refused_file("autotuning_cache_file = \"a\\u0000b\"\n", "autotuning_cache_file", "path");
  refused_file("autotuning_cache_file = 1979-05-27\n", "1979-05-27", "path");
  refused_file("[strict]\non = true\n", "line 1: strict={…}", "true or false");
  refused_file("check = true\n[cuda]\nenable_cudnn = true\n", "line 2: there is no table 'cuda'",
               "backend_type");
  refused_file("a.b = 1\n", "'a'", "backend_type");
  refused_file("x = 1\n", "line 1: there is no setting 'x'", "num_threads");
  refused_file("check = true\ncheck = true\n", "line 2", "TOML");
  refused_file("check = \n", "line 1", "TOML");
  refused_file("\xff\xfe", "line 1", "TOML");
  refused_file("preference = " + std::string(5000, '['), "line 1", "TOML");
}

TEST_F(Config, TheFileMustBeThereAndReadable) {
  setenv("HOLOGRAM_CONFIG", "/nowhere/hologram.toml", 1);
  refused([] { Executor(); }, "/nowhere/hologram.toml", "Check", ErrorKind::IoError);
  const std::string folder = std::filesystem::temp_directory_path().string();
  refused([&] { BackendConfig::from_file(folder); }, folder, "Check", ErrorKind::IoError);
  refused([&] { BackendConfig::from_file("/dev/zero"); }, "/dev/zero", "Check", ErrorKind::IoError);
  const std::string path = file(std::string(2 << 20, '#'));
  refused([&] { BackendConfig::from_file(path); }, "too long", "Check", ErrorKind::IoError);
  EXPECT_EQ(BackendConfig::from_file(file("")).num_threads, 0);
  EXPECT_EQ(BackendConfig::from_file(file("\xef\xbb\xbfnum_threads = 2\r\n")).num_threads, 2);
}

TEST_F(Config, BadValuesInCodeAreRefused) {
  const std::vector<std::pair<std::string, std::function<void(BackendConfig&)>>> bad = {
      {"num_threads=-3", [](BackendConfig& c) { c.num_threads = -3; }},
      {"num_threads=1025", [](BackendConfig& c) { c.num_threads = 1025; }},
      {"device_id=-1", [](BackendConfig& c) { c.device_id = -1; }},
      {"cache_size_mb=18446744073709551615",
       [](BackendConfig& c) { c.cache_size_mb = std::numeric_limits<uint64_t>::max(); }},
      {"timeout_ms=18446744073709551615",
       [](BackendConfig& c) { c.timeout_ms = std::numeric_limits<uint64_t>::max(); }},
      {"cpu_target=\"mmx\"", [](BackendConfig& c) { c.cpu_target = "mmx"; }},
      {"backend_type=", [](BackendConfig& c) { c.backend_type = static_cast<BackendType>(99); }},
      {"preference=", [](BackendConfig& c) { c.preference = {BackendType::Auto}; }},
      {"preference=", [](BackendConfig& c) { c.preference = {static_cast<BackendType>(99)}; }},
      {"log_level=77", [](BackendConfig& c) { c.log_level = static_cast<LogLevel>(77); }},
      {"autotuning_cache_file=",
       [](BackendConfig& c) { c.autotuning_cache_file = std::string("a\0b", 3); }},
  };
  for (const auto& [what, change] : bad) {
    BackendConfig config;
    change(config);
    refused([&] { Executor::from_config(config); }, what, "Use ");
  }
  refused([] { Executor::builder().threads(-3).build(); }, "num_threads=-3", "0 to 1024");
}

TEST_F(Config, TheBuilderBuilds) {
  const Executor executor = Executor::builder()
                                .backend(BackendType::Cpu)
                                .device(0)
                                .threads(2)
                                .strict()
                                .timeout_ms(60000)
                                .cache_size_mb(64)
                                .profiling()
                                .build();
  EXPECT_EQ(executor.device().backend, BackendType::Cpu);
  EXPECT_EQ(executor.device().compute_units, 2u);
  EXPECT_TRUE(executor.config().strict);
  EXPECT_EQ(executor.config().timeout_ms, 60000u);
}

TEST_F(Config, WithoutVectorsTheLeastInstructionSetRuns) {
  const auto driver = [](ExecutorBuilder builder) {
    return builder.backend(BackendType::Cpu).build().device().driver;
  };
  const auto targets = interp::supported_targets();
  const auto ends_with = [](const std::string& text, std::string_view end) {
    return text.ends_with(end);
  };
  EXPECT_TRUE(ends_with(driver(Executor::builder()), targets.front().name));
  EXPECT_TRUE(ends_with(driver(Executor::builder().simd(false)), targets.back().name));
  EXPECT_TRUE(ends_with(
      driver(Executor::builder().simd(false).cpu_target(std::string(targets.front().name))),
      targets.front().name));
}

TEST_F(Config, TheLogLevelHoldsWhereTheCallbackWasToldNone) {
  std::string seen;
  const auto collect = [&](LogLevel, std::string_view text) { seen += text; };
  const auto skip = [](ExecutorBuilder builder) {
    return builder.prefer({BackendType::Cuda, BackendType::Cpu}).build();
  };
  set_log_callback(collect);
  skip(Executor::builder());
  EXPECT_NE(seen.find("cuda skipped"), std::string::npos) << "a warning";
  seen.clear();
  skip(Executor::builder().log_level(LogLevel::Error));
  EXPECT_EQ(seen, "");
  set_log_callback(collect, LogLevel::Warning);
  skip(Executor::builder().log_level(LogLevel::Off));
  EXPECT_NE(seen, "") << "code comes first";
  set_log_callback(nullptr);
  skip(Executor::builder().log_level(LogLevel::Warning));  // as it was
}

}  // namespace
}  // namespace hologram
