#include "libraries/host_products.hpp"

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "libraries/host_ops.hpp"
#include "libraries/matrix_view.hpp"
#include "libraries/narrow/product.hpp"
#include "libraries/packed/packed.hpp"
#include "libraries/upcast.hpp"

namespace hologram::libraries {
namespace {

using hal::GemmDesc;
using hal::Planned;
using hal::Refusal;

// Short reasons need no memory: most products pass the first rows on their way.
constexpr const char *kNotNarrow = "not narrow", *kNotFew = "not a few rows";
constexpr const char* kNotAsked = "not asked for";
constexpr const char* kOnlyLibraries = "off";

struct Request {
  const GemmDesc& desc;
  const ProductPolicy& policy;
  const bool widens = can_widen(desc);  // narrow floats, summed in f32

  // The product of their f32 copies; else what was asked for.
  GemmDesc wanted() const { return widens ? widen(desc) : desc; }
  Planned agreed(std::shared_ptr<HostPlan> plan) const {
    if (widens) return std::make_shared<UpcastPlan>(std::move(plan), desc, wanted());
    return plan;
  }
};

// A few rows, of a batch that shares b the more, read it as it lies.
Planned few_rows(const Request& r) {
  if (!r.policy.own) return Refusal{kOnlyLibraries};
  if (!r.widens) return Refusal{kNotNarrow};
  const GemmDesc folded = fold(r.desc), few = widen(folded, true, false);
  if (!packed::takes_narrow_b(few)) return Refusal{kNotFew};
  return std::make_shared<UpcastPlan>(packed::plan(few, r.policy.threads), folded, few);
}

Planned by_instructions(const Request& r, narrow::Pays pays) {
  if (!r.policy.own) return Refusal{kOnlyLibraries};
  if (size_of(r.desc.a) > 2) return Refusal{kNotNarrow};
  // Integers have the same sums in any order.
  if (r.policy.reproducible && is_float(r.desc.accumulate))
    return Refusal{"reproducible forbids sums of pairs"};
  if (auto refusal = narrow::refuses(r.desc, pays)) return *std::move(refusal);
  return narrow::plan(r.desc, r.policy.threads);
}
Planned narrow_always(const Request& r) { return by_instructions(r, narrow::Pays::Always); }
Planned narrow_for_want(const Request& r) {
  return by_instructions(r, narrow::Pays::WithoutLibrary);
}

Planned widened_as_copied(const Request& r) {
  if (!r.policy.own) return Refusal{kOnlyLibraries};
  if (!r.widens) return Refusal{kNotNarrow};
  const GemmDesc sums = widen(r.desc, false, false);
  if (!packed::takes_narrow(sums))
    return Refusal{"it takes two matrices of one type that this processor widens"};
  auto plan = packed::plan(sums, r.policy.threads);
  if (r.desc.d == DType::F32) return plan;
  return std::make_shared<UpcastPlan>(std::move(plan), r.desc, sums);
}

Planned asked_cblas(const Request& r) {
  const HostLibrary* const cblas = r.policy.cblas;
  if (cblas == nullptr) return Refusal{kNotAsked};
  if (r.policy.reproducible) return Refusal{"reproducible forbids libraries"};
  if (auto refusal = cblas->refuses(r.desc)) return *std::move(refusal);
  return std::make_shared<GemmPlan>(*cblas, r.desc);
}

Planned own_kernels(const Request& r) {
  if (!r.policy.own) return Refusal{kOnlyLibraries};
  const GemmDesc wanted = r.wanted();
  if (auto refusal = packed::refuses(wanted)) return *std::move(refusal);
  return r.agreed(packed::plan(wanted, r.policy.threads));
}

Planned by(const HostLibrary& library, const Request& r) {
  const GemmDesc wanted = r.wanted();
  if (auto refusal = library.refuses(wanted)) return *std::move(refusal);
  return r.agreed(std::make_shared<GemmPlan>(library, wanted));
}

struct Row {
  std::string_view name;
  Planned (*plan)(const Request&);  // null: the libraries of the host, one after the other
};

// The order is that of speed where several would do, but for the CBLAS, which somebody wants.
constexpr Row kRows[] = {
    {"few rows by narrow elements where they lie", few_rows},
    {"instructions for narrow elements", narrow_always},
    {"kernels that widen what they copy", widened_as_copied},
    {"the CBLAS of HOLOGRAM_CBLAS", asked_cblas},
    {"kernels of f32 and f64", own_kernels},
    {"the libraries of the host", nullptr},
    {"instructions for narrow elements, for want of a library", narrow_for_want},
};

std::span<const HostLibrary* const> libraries_of(const ProductPolicy& policy) {
  if (policy.reproducible) return {};
  return policy.only.empty() ? policy.libraries() : policy.only;
}

bool took(const Planned& planned) {
  return std::holds_alternative<std::shared_ptr<hal::LibraryPlan>>(planned);
}

}  // namespace

Planned host_product(const GemmDesc& desc, const ProductPolicy& policy) {
  if (auto refusal = malformed(desc)) return *std::move(refusal);
  const Request request{desc, policy};
  std::string reasons;
  for (const Row& row : kRows) {
    if (row.plan != nullptr) {
      if (Planned planned = row.plan(request); took(planned)) return planned;
      continue;
    }
    for (const HostLibrary* library : libraries_of(policy)) {
      Planned planned = by(*library, request);
      if (took(planned)) return planned;
      reasons += fmt::format("{}{}: {}", reasons.empty() ? "" : "; ", library->info().name,
                             std::get<Refusal>(planned).reason);
    }
  }
  if (policy.reproducible) return Refusal{"reproducible forbids libraries"};
  return Refusal{std::move(reasons)};
}

std::vector<hal::Candidate> host_product_candidates(const GemmDesc& desc,
                                                    const ProductPolicy& policy) {
  const auto malformation = malformed(desc);
  if (malformation) return {{{}, malformation->reason, {}}};
  const Request request{desc, policy};
  std::vector<hal::Candidate> all;
  const auto add = [&](std::string_view name, const Planned& planned) {
    hal::Candidate& c = all.emplace_back(hal::Candidate{std::string(name), {}, {}});
    if (const auto* refusal = std::get_if<Refusal>(&planned)) c.refusal = refusal->reason;
    else c.name = std::get<std::shared_ptr<hal::LibraryPlan>>(planned)->name();
  };
  for (const Row& row : kRows) {
    if (row.plan != nullptr) add(row.name, row.plan(request));
    else if (policy.reproducible)
      all.push_back({std::string(row.name), "reproducible forbids libraries", {}});
    else
      for (const HostLibrary* library : libraries_of(policy))
        add(library->info().name, by(*library, request));
  }
  return all;
}

}  // namespace hologram::libraries
