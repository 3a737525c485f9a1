#include "libraries/onednn/onednn.hpp"

#include <fmt/format.h>

#include "core/messages.hpp"
#include "libraries/onednn/convolution.hpp"
#include "libraries/onednn/one_thread.hpp"

namespace hologram::libraries::onednn {
namespace {

constexpr const char* kVariable = "HOLOGRAM_ONEDNN_LIBRARY";

// Without these instructions sums of pairs of products saturate at 16 bits.
bool has_exact_int8() {
#ifdef __x86_64__
  return __builtin_cpu_supports("avx512vnni") > 0;
#else
  return false;
#endif
}

bool is_int8(const hal::GemmDesc& desc) {
  return (desc.a == DType::I8 || desc.a == DType::U8) && desc.b == DType::I8 &&
         desc.d == DType::I32 && desc.accumulate == DType::I32;
}

}  // namespace

OneDnn::OneDnn(const core::DynamicLibrary& library) {
  info_.name = "oneDNN";
  if (!library.loaded()) {
    info_.reason = fmt::format("not found ({})", library.reason());
    return;
  }
  info_.path = library.path();
  auto* version = library.get<GetVersion>("dnnl_version");
  sgemm_ = library.get<Sgemm>("dnnl_sgemm");
  s8_ = library.get<Igemm<int8_t>>("dnnl_gemm_s8s8s32");
  u8_ = library.get<Igemm<uint8_t>>("dnnl_gemm_u8s8s32");
  if (version == nullptr || sgemm_ == nullptr || s8_ == nullptr || u8_ == nullptr) {
    info_.reason = "not usable (it lacks dnnl_version, dnnl_sgemm or the products of integers)";
    return;
  }
  const Version& v = *version();
  if (v.cpu_runtime == kOpenMp) {
    max_threads_ = library.get<OmpGetMaxThreads>("omp_get_max_threads");
    set_threads_ = library.get<OmpSetNumThreads>("omp_set_num_threads");
  }
  const bool alone =
      v.cpu_runtime == kSequential || v.cpu_runtime == kThreadPool ||
      (v.cpu_runtime == kOpenMp && max_threads_ != nullptr && set_threads_ != nullptr);
  if (!alone) {
    info_.reason = "not usable (this build of it cannot be held to one thread)";
    return;
  }
  info_.version = fmt::format("{}.{}.{}", v.major, v.minor, v.patch);
  if (auto primitives = Library::open(library, v.major, max_threads_, set_threads_))
    convolutions_ = std::make_unique<Convolutions>(std::move(primitives));
}

OneDnn::~OneDnn() = default;

OneDnn& OneDnn::instance() {
  static auto* const library = new OneDnn(open(kVariable, {"libdnnl.so.3", "libdnnl.so.2"}));
  return *library;
}

std::optional<hal::Refusal> OneDnn::refuses(const hal::GemmDesc& desc) const {
  if (!info_.reason.empty()) return hal::Refusal{info_.reason};
  if (all_of_type(desc, DType::F32)) return {};
  if (!is_int8(desc)) return no_such_product(desc);
  if (!has_exact_int8()) return hal::Refusal{"products of 8 bits may saturate on this processor"};
  return {};
}

std::string OneDnn::routine(const hal::GemmDesc& desc) const {
  if (desc.a == DType::F32) return "sgemm";
  return desc.a == DType::I8 ? "gemm_s8s8s32" : "gemm_u8s8s32";
}

int OneDnn::call(const hal::GemmDesc& desc, const Tile& t) const {
  const char ta = desc.transpose_a ? 'T' : 'N', tb = desc.transpose_b ? 'T' : 'N';
  if (desc.a == DType::F32)
    return sgemm_(ta, tb, t.m, t.n, desc.k, 1, reinterpret_cast<const float*>(t.a), desc.lda,
                  reinterpret_cast<const float*>(t.b), desc.ldb, 0, reinterpret_cast<float*>(t.d),
                  desc.ldd);
  const auto integers = [&]<class A>(Igemm<A>* gemm, const A* a) {
    const int32_t none = 0;
    return gemm(ta, tb, 'F', t.m, t.n, desc.k, 1, a, desc.lda, 0,
                reinterpret_cast<const int8_t*>(t.b), desc.ldb, 0, 0,
                reinterpret_cast<int32_t*>(t.d), desc.ldd, &none);
  };
  return desc.a == DType::I8 ? integers(s8_, reinterpret_cast<const int8_t*>(t.a))
                             : integers(u8_, reinterpret_cast<const uint8_t*>(t.a));
}

hal::Expected<std::shared_ptr<HostPlan>> OneDnn::plan(const hal::ConvDesc& desc) const {
  if (!info_.reason.empty()) return hal::Refusal{info_.reason};
  if (convolutions_ == nullptr) return hal::Refusal{"this version's convolutions are not known"};
  return convolutions_->plan(desc);
}

void OneDnn::multiply(const hal::GemmDesc& desc, const Tile& tile) const {
  const OneThread alone(max_threads_, set_threads_);
  if (const int status = call(desc, tile); status != 0)
    throw core::error(core::Text::LibraryFailed, "oneDNN " + routine(desc),
                      fmt::format("status {}", status), kVariable);
}

}  // namespace hologram::libraries::onednn
