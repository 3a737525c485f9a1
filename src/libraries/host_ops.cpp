#include "libraries/host_ops.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "core/messages.hpp"
#include "libraries/blocks/blocks.hpp"
#include "libraries/cblas/cblas.hpp"
#include "libraries/host_products.hpp"
#include "libraries/loops/loops.hpp"
#include "libraries/matrix_view.hpp"
#include "libraries/onednn/onednn.hpp"
#include "libraries/packed/columns.hpp"
#include "libraries/packed/depthwise.hpp"
#include "libraries/packed/rows.hpp"

namespace hologram::libraries {
namespace {

using hal::GemmDesc;

constexpr int64_t kTile = 256, kLeastTile = 64;
constexpr double kTilesWanted = 32;
constexpr double kTileFlops = 4e6;       // worth a tile of its own
constexpr double kLeastTileFlops = 1e6;  // worth a call
constexpr double kFlopsWorthAThread = 2e5;

// Large tiles are computed faster, many tiles occupy more threads.
std::pair<int64_t, int64_t> tile_of(const GemmDesc& d) {
  int64_t rows = std::clamp<int64_t>(d.m, 1, kTile), columns = std::clamp<int64_t>(d.n, 1, kTile);
  const auto flops = [&] {
    return 2.0 * static_cast<double>(rows) * static_cast<double>(columns) *
           static_cast<double>(d.k);
  };
  const auto tiles = [&] {
    const int64_t down = (d.m + rows - 1) / rows, across = (d.n + columns - 1) / columns;
    return static_cast<double>(down) * static_cast<double>(across) * static_cast<double>(d.batch);
  };
  while (tiles() < kTilesWanted && flops() > kTileFlops && std::max(rows, columns) > kLeastTile)
    (rows > columns ? rows : columns) /= 2;
  while (flops() < kLeastTileFlops && rows < d.m) rows = std::min(2 * rows, d.m);
  while (flops() < kLeastTileFlops && columns < d.n) columns = std::min(2 * columns, d.n);
  return {rows, columns};
}

}  // namespace

GemmPlan::GemmPlan(const HostLibrary& library, const GemmDesc& desc)
    : library_(library),
      name_(library.info().name + " " + library.routine(desc)),
      desc_(fold(desc)) {
  std::tie(rows_, columns_) =
      library.divides() ? tile_of(desc_)
                        : std::pair(std::max<int64_t>(desc_.m, 1), std::max<int64_t>(desc_.n, 1));
}

std::byte* data_of(const MatrixView& operand, const hal::Binding& binding) {
  if (extent(operand) > static_cast<__int128>(binding.size))
    throw core::error(core::Text::InternalError,
                      fmt::format("{} is beyond its memory", operand.name));
  return binding.buffer == nullptr ? nullptr : binding.buffer->host() + binding.offset;
}

void GemmPlan::run(std::span<const hal::Binding> operands, hal::Binding /*workspace*/,
                   core::Threads& threads) const {
  const GemmDesc& g = desc_;
  std::array<std::byte*, 3> data{};
  const std::array<MatrixView, 3> matrices = matrix_views(g);
  for (size_t i = 0; i < 3; i++) data[i] = data_of(matrices[i], operands[i]);
  if (g.m == 0 || g.n == 0 || g.batch == 0) return;

  const auto bytes = [&](size_t i, int64_t elements) {
    return elements * static_cast<int64_t>(size_of(matrices[i].type));
  };
  const int64_t down = (g.m + rows_ - 1) / rows_, across = (g.n + columns_ - 1) / columns_;
  const auto tile_at = [&](int64_t number) {
    const int64_t batch = number / (down * across), rest = number % (down * across);
    const int64_t row = rest / across * rows_, column = rest % across * columns_;
    const int64_t a = row * (g.transpose_a ? 1 : g.lda), b = column * (g.transpose_b ? g.ldb : 1);
    return Tile{.a = data[0] + bytes(0, batch * g.stride_a + a),
                .b = data[1] + bytes(1, batch * g.stride_b + b),
                .d = data[2] + bytes(2, batch * g.stride_d + row * g.ldd + column),
                .m = std::min(rows_, g.m - row),
                .n = std::min(columns_, g.n - column)};
  };
  // Of an empty sum libraries leave d as it is.
  const auto clear = [&](const Tile& tile) {
    for (int64_t r = 0; r < tile.m; r++)
      std::memset(tile.d + bytes(2, r * g.ldd), 0, static_cast<size_t>(bytes(2, tile.n)));
  };

  struct Under {
    explicit Under(const HostLibrary& library) : library(library) { library.begin(); }
    ~Under() { library.end(); }
    Under(const Under&) = delete;
    Under& operator=(const Under&) = delete;
    const HostLibrary& library;
  };
  const Under under(library_);
  const double flops = 2.0 * static_cast<double>(rows_) * static_cast<double>(columns_) *
                       static_cast<double>(std::max<int64_t>(g.k, 1));
  const auto grain = static_cast<uint64_t>(std::max(1.0, kFlopsWorthAThread / flops));
  threads.run(static_cast<uint64_t>(g.batch * down * across), grain,
              [&](uint64_t begin, uint64_t end) {
                for (uint64_t i = begin; i < end; i++) {
                  const Tile tile = tile_at(static_cast<int64_t>(i));
                  if (g.k == 0) clear(tile);
                  else library_.multiply(g, tile);
                }
              });
}

std::span<const HostLibrary* const> host_libraries() {
  static const std::array<const HostLibrary*, 2> all = {&onednn::OneDnn::instance(),
                                                        &cblas::Cblas::openblas()};
  return all;
}

std::span<const HostLibrary* const> HostOps::libraries() const {
  if (policy_.reproducible) return {};
  return policy_.only.empty() ? host_libraries() : policy_.only;
}

hal::Planned HostOps::convolution(const hal::ConvDesc& desc) const {
  const bool own = policy_.own && packed::takes(desc);
  if (own && packed::slides(desc)) return packed::plan(desc);
  std::string reasons;
  for (const HostLibrary* library : libraries()) {
    auto agreed = library->plan(desc);
    const auto* refusal = std::get_if<hal::Refusal>(&agreed);
    if (refusal == nullptr) return std::get<std::shared_ptr<HostPlan>>(std::move(agreed));
    reasons +=
        fmt::format("{}{}: {}", reasons.empty() ? "" : "; ", library->info().name, refusal->reason);
  }
  if (own) return packed::plan(desc);
  if (policy_.reproducible) return hal::Refusal{"reproducible forbids libraries"};
  return hal::Refusal{std::move(reasons)};
}

bool HostOps::adds_pieces(DType dtype) {
  return !packed::refuses(hal::RowReduceDesc{.dtype = dtype, .lanes = packed::kManyLanes});
}

namespace {

// Of loops that refuse some descriptions, and take the others.
template <class Refusal, class Make>
hal::Planned unless(std::optional<Refusal> refusal, const Make& make) {
  if (refusal) return *std::move(refusal);
  return make();
}

}  // namespace

hal::Planned HostOps::plan(const hal::OpDesc& desc) {
  using hal::Planned;
  return hal::answer(
      desc,  //
      [&](const GemmDesc& d) -> Planned { return host_product(d, policy_); },
      [&](const hal::ConvDesc& d) -> Planned { return convolution(d); },
      [](const hal::RowReduceDesc& d) -> Planned {
        return unless(packed::refuses(d), [&] { return packed::plan(d); });
      },
      [](const hal::ColumnReduceDesc& d) -> Planned {
        return unless(packed::refuses(d), [&] { return packed::plan(d); });
      },
      [&](const hal::OrderDesc& d) -> Planned {
        return unless(loops::refuses(d), [&] { return loops::plan(d, policy_.threads); });
      },
      [](const hal::SearchDesc& d) -> Planned { return loops::plan(d); },
      [](const hal::NonzeroDesc& d) -> Planned { return loops::plan(d); },
      [](const hal::ScanDesc& d) -> Planned {
        return unless(loops::refuses(d), [&] { return loops::plan(d); });
      },
      [](const hal::IndexDesc& d) -> Planned { return loops::plan(d); },
      [](const hal::CopyDesc& d) -> Planned {
        return unless(loops::refuses(d), [&] { return loops::plan(d); });
      },
      [](const hal::BytesDesc& d) -> Planned { return blocks::plan(d); },
      [](const hal::BlocksDesc& d) -> Planned {
        return unless(blocks::refuses(d), [&] { return blocks::plan(d); });
      });
}

std::vector<hal::Candidate> HostOps::candidates(const hal::OpDesc& desc) {
  if (const auto* product = std::get_if<GemmDesc>(&desc))
    return host_product_candidates(*product, policy_);
  return LibraryOps::candidates(desc);
}

}  // namespace hologram::libraries
