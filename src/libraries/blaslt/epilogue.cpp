// Products with an epilogue: what the library does with sums before it stores them.
#include <fmt/format.h>

#include "libraries/blaslt/blaslt.hpp"

namespace hologram::libraries::blaslt {
namespace {

using hal::Epilogue;
using hal::Refusal;
using Answer = hal::Expected<std::shared_ptr<const GemmPlan>>;

// What a bias is aligned to at the least; without an address the library could not tell.
constexpr uintptr_t kSomeBias = 16;

uint32_t number_of(const Epilogue& epilogue) {
  const uint32_t number = (epilogue.relu ? kRelu : 0) | (epilogue.bias ? kBias : 0);
  return number == 0 ? kNoEpilogue : number;
}

// One that would leave other bits than a product that is stored, and read again.
std::optional<Refusal> inexact(const hal::GemmDesc& desc, const Epilogue& epilogue) {
  if (!is_float(desc.d)) return Refusal{"cuBLASLt: no epilogue of whole numbers"};
  // The sum would be rounded once instead of twice.
  if (epilogue.bias && desc.d != desc.accumulate)
    return Refusal{fmt::format("cuBLASLt: a bias of {} is added before the sums are rounded",
                               name_of(desc.d))};
  if (epilogue.bias && desc.batch != 1) return Refusal{"cuBLASLt: a bias of a batch"};
  return {};
}

}  // namespace

GemmPlan::Ended::~Ended() {
  if (operation != nullptr) library->operation_destroy(operation);
}

// Without the library's word an algorithm might add up in another order, or not fit at all.
std::optional<Refusal> GemmPlan::unasked() const {
  const Vendor& vendor = of_->library.vendor();
  if (vendor.chooses) return {};
  return Refusal{fmt::format("{}: it cannot be asked what else an algorithm is for", vendor.name)};
}

Answer GemmPlan::with(const Epilogue& epilogue) const {
  if (auto refusal = unasked()) return *refusal;
  if (auto refusal = inexact(of_->desc, epilogue)) return *refusal;
  const std::lock_guard lock(mutex_);
  WithEpilogue& known = with_[(epilogue.bias ? 1u : 0u) | (epilogue.relu ? 2u : 0u)];
  if (known) return *known;
  std::shared_ptr<const GemmPlan> plan;
  const Status status = make_with(epilogue, plan);
  if (status == kSuccess) return *(known = plan);
  const Refusal refusal{"cuBLASLt: the product's algorithm has no such epilogue: " +
                        of_->library.text(status)};
  const Vendor& vendor = of_->library.vendor();
  if (status == vendor.not_supported || status == vendor.invalid_value) known = refusal;
  return refusal;
}

Status GemmPlan::make_with(const Epilogue& epilogue, std::shared_ptr<const GemmPlan>& made) const {
  const BlasLt& library = of_->library;
  const Vendor& vendor = library.vendor();
  auto ended = std::make_shared<Ended>(library);
  ended->bias = epilogue.bias;
  Status status = make(ended->operation);
  const auto set = [&](int attribute, const auto& value) {
    if (status == kSuccess)
      status = library->operation_set(ended->operation, attribute, &value, sizeof value);
  };
  set(vendor.epilogue, number_of(epilogue));
  if (epilogue.bias) set(vendor.bias_pointer, kSomeBias);
  Proposal found;
  if (status == kSuccess) status = check(ended->operation, found);
  if (status == kSuccess && found.workspace > kMostWorkspace) status = vendor.not_supported;
  if (status != kSuccess) return status;
  const std::shared_ptr<GemmPlan> plan(new GemmPlan(*this, found));
  plan->algorithm_ = algorithm_;
  plan->name_ = std::make_shared<const std::string>(*name_ + (epilogue.bias ? ", bias" : "") +
                                                    (epilogue.relu ? ", relu" : ""));
  plan->ended_ = std::move(ended);
  made = plan;
  return kSuccess;
}

Answer GemmPlan::square(int64_t side) const {
  if (auto refusal = unasked()) return *refusal;
  hal::GemmDesc desc = of_->desc;
  desc.m = desc.n = desc.k = desc.lda = desc.ldb = desc.ldd = side;
  desc.batch = 1;
  desc.stride_a = desc.stride_b = desc.stride_d = 0;
  const std::shared_ptr<GemmPlan> plan(new GemmPlan(of_->library, of_->handles, desc, of_->manner));
  plan->algorithm_ = algorithm_;
  Proposal found;
  Status status = plan->describe();
  if (status == kSuccess) status = plan->check(plan->of_->operation, found);
  if (status != kSuccess) return Refusal{"cuBLASLt: " + of_->library.text(status)};
  plan->workspace_ = found.workspace;
  return plan;
}

std::string GemmPlan::manner() const {
  const hal::GemmDesc& g = of_->desc;
  return fmt::format("{} {} {} {} {} {} {}", *name_, g.transpose_a, g.transpose_b, g.alignment_a,
                     g.alignment_b, g.alignment_d, way());
}

}  // namespace hologram::libraries::blaslt
