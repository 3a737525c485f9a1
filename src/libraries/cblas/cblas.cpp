#include "libraries/cblas/cblas.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <string_view>

#include "libraries/cblas/one_thread.hpp"

namespace hologram::libraries::cblas {
namespace {

// The second word of "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH …".
std::string second_word(std::string_view text) {
  const size_t space = text.find(' ');
  if (space == std::string_view::npos) return std::string(text);
  return std::string(text.substr(space + 1, text.find(' ', space + 1) - space - 1));
}

// What comes behind "Version " in MKL's own words.
std::string version_in(std::string_view text) {
  constexpr std::string_view kBefore = "Version ";
  const size_t at = text.find(kBefore);
  if (at == std::string_view::npos) return std::string(text.substr(0, text.find('\0')));
  const std::string_view rest = text.substr(at + kBefore.size());
  return std::string(rest.substr(0, rest.find_first_of(" -")));
}

}  // namespace

Cblas::Cblas(const core::DynamicLibrary& library, const char* name) {
  info_.name = name;
  if (!library.loaded()) {
    info_.reason = fmt::format("not found ({})", library.reason());
    return;
  }
  info_.path = library.path();
  // SciPy's and NumPy's builds of OpenBLAS have a prefix, so that they do not meet others in a
  // process; a suffix says that sizes have 64 bits.
  for (const char* const prefix : {"", "scipy_"})
    for (const char* const suffix : {"", "64_"})
      if (auto* const config = library.get<GetConfig>(
              fmt::format("{}openblas_get_config{}", prefix, suffix).c_str());
          config != nullptr && f32_.narrow == nullptr && f32_.wide == nullptr)
        find_openblas(library, config, prefix, suffix);
  if (auto* const mkl = library.get<GetVersionString>("MKL_Get_Version_String"); mkl != nullptr)
    find_mkl(library, mkl);
  else if (auto* const blis = library.get<GetVersion>("bli_info_get_version_str"); blis != nullptr)
    find_blis(library, blis);
  else if (info_.version.empty()) {
    // Apple's, the reference's, or one that says nothing of itself.
    if (info_.path.find("Accelerate") != std::string::npos) info_.name = "Accelerate";
    info_.version = "unknown";
    find_gemm(library, "", "", false);
  }
  const bool has_f32 = f32_.narrow != nullptr || f32_.wide != nullptr;
  const bool has_f64 = f64_.narrow != nullptr || f64_.wide != nullptr;
  if (!has_f32 || !has_f64) info_.reason = "not usable (it lacks cblas_sgemm or cblas_dgemm)";
  else if (!multiplies_rightly())
    info_.reason = "not usable (a small product of it is wrong: are its sizes other integers?)";
  if (!info_.reason.empty()) info_.version.clear();
}

void Cblas::find_openblas(const core::DynamicLibrary& library, GetConfig* config,
                          const char* prefix, const char* suffix) {
  info_.name = "OpenBLAS";
  info_.version = second_word(config());
  const auto named = [&](const char* name) { return fmt::format("{}{}{}", prefix, name, suffix); };
  get_threads_ = library.get<GetNumThreads>(named("openblas_get_num_threads").c_str());
  set_threads_ = library.get<SetNumThreads>(named("openblas_set_num_threads").c_str());
  if (get_threads_ == nullptr || set_threads_ == nullptr) get_threads_ = nullptr;
  find_gemm(library, prefix, suffix,
            std::string_view(config()).find("USE64BITINT") != std::string_view::npos);
}

void Cblas::find_mkl(const core::DynamicLibrary& library, GetVersionString* version) {
  info_.name = "MKL";
  std::array<char, 256> text{};
  version(text.data(), static_cast<int>(text.size()) - 1);
  info_.version = version_in(std::string_view(text.data()));
  set_local_ = library.get<SetNumThreadsLocal>("MKL_Set_Num_Threads_Local");
  // The one library has both kinds of sizes, and the environment chooses.
  const char* const layer = std::getenv("MKL_INTERFACE_LAYER");
  find_gemm(library, "", "",
            layer != nullptr && std::string_view(layer).find("ILP64") != std::string_view::npos);
}

void Cblas::find_blis(const core::DynamicLibrary& library, GetVersion* version) {
  info_.name = "BLIS";
  info_.version = version();
  auto* const size = library.get<GetIntSize>("bli_info_get_blas_int_type_size");
  find_gemm(library, "", "", size != nullptr && size() == 64);
}

void Cblas::find_gemm(const core::DynamicLibrary& library, const std::string& prefix,
                      const std::string& suffix, bool wide) {
  const auto find = [&]<class T>(Routine<T>& gemm, const char* name) {
    const std::string symbol = prefix + name + suffix;
    if (wide) gemm.wide = library.get<Gemm<T, int64_t>>(symbol.c_str());
    else gemm.narrow = library.get<Gemm<T>>(symbol.c_str());
  };
  find(f32_, "cblas_sgemm");
  find(f64_, "cblas_dgemm");
}

const Cblas& Cblas::openblas() {
  static const auto* const library =
      new Cblas(open("HOLOGRAM_OPENBLAS_LIBRARY", {"libopenblas.so.0"}), "OpenBLAS");
  return *library;
}

const Cblas& Cblas::named(const std::string& setting) {
  struct All {
    std::mutex mutex;
    std::map<std::string, std::unique_ptr<const Cblas>> opened;
  };
  static auto* const all = new All;
  const std::lock_guard lock(all->mutex);
  std::unique_ptr<const Cblas>& known = all->opened[setting];
  if (known == nullptr)
    known = std::make_unique<const Cblas>(
        setting == "auto"
            ? core::DynamicLibrary({"libopenblas.so.0", "libopenblas64.so.0", "libmkl_rt.so.3",
                                    "libmkl_rt.so.2", "libmkl_rt.so.1", "libmkl_rt.so",
                                    "libblis.so.4", "libblis.so.3",
                                    "/System/Library/Frameworks/Accelerate.framework/Accelerate"})
            : core::DynamicLibrary({setting.c_str()}),
        "CBLAS");
  return *known;
}

std::optional<hal::Refusal> Cblas::refuses(const hal::GemmDesc& desc) const {
  if (!info_.reason.empty()) return hal::Refusal{info_.reason};
  if (!all_of_type(desc, DType::F32) && !all_of_type(desc, DType::F64))
    return no_such_product(desc);
  if (f32_.narrow != nullptr &&
      std::max({desc.m, desc.n, desc.k, desc.lda, desc.ldb, desc.ldd}) > INT_MAX)
    return hal::Refusal{"a side or stride is more than 2147483647"};
  return {};
}

std::string Cblas::routine(const hal::GemmDesc& desc) const {
  return desc.a == DType::F32 ? "sgemm" : "dgemm";
}

template <class T>
void Cblas::call(const Routine<T>& gemm, const hal::GemmDesc& desc, const Tile& tile) {
  const auto with = [&]<class Int>(Gemm<T, Int>* function) {
    const auto size = [](int64_t n) { return static_cast<Int>(n); };
    function(kRowMajor, desc.transpose_a ? kTransposed : kPlain,
             desc.transpose_b ? kTransposed : kPlain, size(tile.m), size(tile.n), size(desc.k),
             T{1}, reinterpret_cast<const T*>(tile.a), size(desc.lda),
             reinterpret_cast<const T*>(tile.b), size(desc.ldb), T{0}, reinterpret_cast<T*>(tile.d),
             size(desc.ldd));
  };
  if (gemm.wide != nullptr) with(gemm.wide);
  else with(gemm.narrow);
}

void Cblas::multiply(const hal::GemmDesc& desc, const Tile& tile) const {
  // MKL's number is the calling thread's.
  struct Local {
    explicit Local(SetNumThreadsLocal* set) : set(set), before(set == nullptr ? 0 : set(1)) {}
    ~Local() {
      if (set != nullptr) set(before);
    }
    Local(const Local&) = delete;
    Local& operator=(const Local&) = delete;
    SetNumThreadsLocal* const set;
    const int before;
  } const alone(set_local_);
  if (desc.a == DType::F32) call(f32_, desc, tile);
  else call(f64_, desc, tile);
}

void Cblas::begin() const { hold(get_threads_, set_threads_); }
void Cblas::end() const {
  if (get_threads_ != nullptr) release(set_threads_);
}

// Sizes of the other width would be read wrongly: [1 2 3; 4 5 6] [1 4; 2 5; 3 6], b transposed.
bool Cblas::multiplies_rightly() const {
  const auto tried = [&]<class T>(const Routine<T>& gemm) {
    const std::array<T, 6> a = {1, 2, 3, 4, 5, 6};
    std::array<T, 6> d = {-1, -1, -1, -1, -1, -1};
    hal::GemmDesc desc;
    desc.transpose_b = true;
    desc.m = desc.n = 2, desc.k = 3;
    desc.lda = desc.ldb = desc.ldd = 3;
    const auto* const bytes = reinterpret_cast<const std::byte*>(a.data());
    call(gemm, desc, {bytes, bytes, reinterpret_cast<std::byte*>(d.data()), 2, 2});
    return d == std::array<T, 6>{14, 32, -1, 32, 77, -1};
  };
  begin();
  const bool right = tried(f32_) && tried(f64_);
  end();
  return right;
}

}  // namespace hologram::libraries::cblas
