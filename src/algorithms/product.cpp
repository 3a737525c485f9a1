#include "algorithms/product.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "engine/context.hpp"
#include "fusion/epilogue.hpp"
#include "fusion/layout.hpp"
#include "libraries/product.hpp"

namespace hologram::graph {
namespace {

using hal::Refusal;

// A matrix that a library can read: rows, or columns, one behind the other.
struct Stored {
  bool transposed = false;
  int64_t step = 0;
};

std::optional<Stored> stored(const View& view) {
  const int64_t rows = view.shape[1], columns = view.shape[2];
  const int64_t down = view.strides[1], along = view.strides[2];
  if ((along == 1 || columns == 1) && (down >= columns || rows == 1))
    return Stored{false, rows == 1 ? columns : down};
  if ((down == 1 || rows == 1) && (along >= rows || columns == 1))
    return Stored{true, columns == 1 ? rows : along};
  return std::nullopt;
}

class ProductOp : public OpaqueOp {
 public:
  std::string_view name() const override { return "matmul"; }

  void run(Context& context, const Node& node, const Storage& result) const override {
    if (!by_library(context, node, result)) by_program(context, node, result);
  }

  Candidates candidates(Context& context, const Node& node) const override {
    const auto desc = desc_of(node, expected_alignments(node));
    if (!desc && context.library() != nullptr) return {{{}, kUnread, {}}, {kPrograms, {}, {}}};
    Candidates all = context.candidates(desc.value_or(hal::GemmDesc{}), kPrograms);
    if (context.tuner() != nullptr && !context.config().deterministic)
      for (hal::Candidate& c : all)
        if (!c.note.empty()) c.note = "the fastest of " + c.note;
    return all;
  }

  bool takes_epilogue(const Epilogue& epilogue) const override {
    const DType dtype = epilogue.product->dtype;
    // Sums are rounded before something is added, by a library they would not be.
    return is_float(dtype) &&
           (epilogue.bias == nullptr || libraries::product_accumulator(dtype) == dtype);
  }

  std::optional<Refusal> run(Context& context, const Epilogue& epilogue,
                             const Storage& result) const override {
    const Node& node = *epilogue.product;
    const Operands operands = operands_of(node, result.where);
    const auto desc = desc_of(node, alignments_of(operands));
    auto planned = plan(context, desc);
    if (auto* refusal = std::get_if<Refusal>(&planned)) return std::move(*refusal);
    // The way that the product alone would be computed.
    const auto alone =
        tuned(context, *desc, std::get<std::shared_ptr<hal::LibraryPlan>>(std::move(planned)),
              operands, true);
    auto ended = with(context, *alone, epilogue, bias_of(epilogue));
    if (auto* refusal = std::get_if<Refusal>(&ended)) return std::move(*refusal);
    std::vector<hal::Binding> all(operands.begin(), operands.end());
    runtime::Work work = work_of(*desc);
    const double elements =
        static_cast<double>(desc->batch * desc->m) * static_cast<double>(desc->n);
    if (epilogue.relu) work.flops += elements;
    if (epilogue.bias != nullptr) {
      all.push_back(bias_of(epilogue));
      work.flops += elements;
      work.bytes += static_cast<double>(all.back().size);
    }
    const auto& plan = std::get<std::shared_ptr<const hal::LibraryPlan>>(ended);
    const Storage workspace = context.allocate(plan->workspace());
    context.call(plan, all, workspace.where, work);
    return {};
  }

  std::optional<Refusal> refuses(Context& context, const Epilogue& epilogue) const override {
    const Node& node = *epilogue.product;
    const auto desc = desc_of(node, expected_alignments(node));
    auto planned = plan(context, desc);
    if (auto* refusal = std::get_if<Refusal>(&planned)) return std::move(*refusal);
    auto ended = with(context, *std::get<std::shared_ptr<hal::LibraryPlan>>(planned), epilogue, {});
    if (auto* refusal = std::get_if<Refusal>(&ended)) return std::move(*refusal);
    return {};
  }

 private:
  static constexpr const char* kPrograms = "programs";
  static constexpr const char* kUnread = "no library reads matrices that lie so";

  using Operands = std::array<hal::Binding, 3>;
  using Alignments = std::array<uint32_t, 3>;
  static constexpr uint32_t kPooled = 256;  // of memory of the pool
  static constexpr uint32_t kOfBias = 16;

  static Operands operands_of(const Node& node, const hal::Binding& result) {
    return {node.inputs[0].where(), node.inputs[1].where(), result};
  }
  static Alignments alignments_of(const Operands& operands) {
    return {hal::alignment_of(operands[0]), hal::alignment_of(operands[1]),
            hal::alignment_of(operands[2])};
  }
  // Also of what has no memory yet.
  static uint32_t alignment_of(const Input& input) {
    if (input.node->result.where.buffer != nullptr) return hal::alignment_of(input.where());
    const uint64_t least =
        static_cast<uint64_t>(input.offset()) * size_of(input.node->dtype) | kPooled;
    return static_cast<uint32_t>(least & (~least + 1));
  }

  static Alignments expected_alignments(const Node& node) {
    return {alignment_of(node.inputs[0]), alignment_of(node.inputs[1]), kPooled};
  }

  // Nothing if libraries cannot read the matrices.
  static std::optional<hal::GemmDesc> desc_of(const Node& node, const Alignments& alignments) {
    const View a = node.inputs[0].view(), b = node.inputs[1].view();
    const auto as = stored(a), bs = stored(b);
    if (!as || !bs || a.strides[0] < 0 || b.strides[0] < 0) return {};
    hal::GemmDesc desc;
    desc.a = node.inputs[0].node->dtype;
    desc.b = node.inputs[1].node->dtype;
    desc.d = node.dtype;
    desc.accumulate = libraries::product_accumulator(node.dtype);
    desc.transpose_a = as->transposed;
    desc.transpose_b = bs->transposed;
    desc.m = node.shape[1];
    desc.n = node.shape[2];
    desc.k = a.shape[2];
    desc.batch = node.shape[0];
    desc.lda = as->step;
    desc.ldb = bs->step;
    desc.ldd = desc.n;
    desc.stride_a = a.strides[0];
    desc.stride_b = b.strides[0];
    desc.stride_d = desc.m * desc.n;
    desc.alignment_a = alignments[0];
    desc.alignment_b = alignments[1];
    desc.alignment_d = alignments[2];
    return desc;
  }

  static hal::Planned plan(Context& context, const std::optional<hal::GemmDesc>& desc) {
    if (context.library() == nullptr) return context.no_library();
    if (!desc) return Refusal{kUnread};
    return context.library()->plan(*desc);
  }

  static hal::Binding bias_of(const Epilogue& epilogue) {
    if (epilogue.bias == nullptr) return {};
    hal::Binding where = epilogue.bias->where();
    where.size =
        static_cast<uint64_t>(epilogue.product->shape[2]) * size_of(epilogue.product->dtype);
    return where;
  }

  // A bias that has no memory yet is aligned.
  static hal::Expected<std::shared_ptr<const hal::LibraryPlan>> with(Context& context,
                                                                     const hal::LibraryPlan& plan,
                                                                     const Epilogue& epilogue,
                                                                     const hal::Binding& bias) {
    if (bias.buffer != nullptr && hal::alignment_of(bias) < kOfBias)
      return Refusal{"the bias is not aligned"};
    return context.library()->with(plan, epilogue.epilogue());
  }

  static runtime::Work work_of(const hal::GemmDesc& desc) {
    const auto sides = [](int64_t x, int64_t y) {
      return static_cast<double>(x) * static_cast<double>(y);
    };
    const double times = static_cast<double>(desc.batch);
    const auto size = [](DType type) { return static_cast<double>(size_of(type)); };
    return {.bytes = times *
                     (sides(desc.m, desc.k) * size(desc.a) + sides(desc.k, desc.n) * size(desc.b) +
                      sides(desc.m, desc.n) * size(desc.d)),
            .flops = 2 * times * sides(desc.m, desc.n) * static_cast<double>(desc.k)};
  }

  static bool by_library(Context& context, const Node& node, const Storage& result) {
    const Operands operands = operands_of(node, result.where);
    const auto desc = desc_of(node, alignments_of(operands));
    if (!desc || context.library() == nullptr) return false;
    auto planned = plan(context, desc);
    if (const auto* refusal = std::get_if<Refusal>(&planned)) {
      if (refusal->is_fallback) context.fall_back("matmul", refusal->reason);
      else context.say(LogLevel::Debug, fmt::format("matmul by a program: {}", refusal->reason));
      return false;
    }
    const auto plan =
        tuned(context, *desc, std::get<std::shared_ptr<hal::LibraryPlan>>(std::move(planned)),
              operands, false);
    const Storage workspace =
        plan->workspace() == 0 ? Storage{} : context.allocate(plan->workspace());
    context.call(plan, operands, workspace.where, work_of(*desc));
    return true;
  }

  // The plan, or one of its alternatives. A search leaves its result behind, unless `apart`.
  static std::shared_ptr<const hal::LibraryPlan> tuned(
      Context& context, const hal::GemmDesc& desc,
      const std::shared_ptr<const hal::LibraryPlan>& plan, std::span<const hal::Binding> operands,
      bool apart) {
    const auto alternatives = plan->alternatives();
    // What is the fastest may be another one the next time, and with it the bits.
    if (context.config().deterministic || context.tuner() == nullptr || alternatives.empty())
      return plan;
    const auto by = [&](size_t way) { return way == 0 ? plan : alternatives[way - 1]; };
    const std::string work = fmt::format(
        "{}{} {}{} {}x{}x{}, batch {}, rows {} {} {}, matrices {} {} {}, at {} {} {}", plan->name(),
        context.config().enable_tensor_cores ? "" : " without tensor cores",
        desc.transpose_a ? 'T' : 'N', desc.transpose_b ? 'T' : 'N', desc.m, desc.n, desc.k,
        desc.batch, desc.lda, desc.ldb, desc.ldd, desc.stride_a, desc.stride_b, desc.stride_d,
        desc.alignment_a, desc.alignment_b, desc.alignment_d);
    return by(context.tuner()->way(work, [&] {
      Choices choices;
      uint64_t most = 0;
      for (size_t i = 0; i <= alternatives.size(); i++) {
        choices.ways.push_back(by(i)->way());
        most = std::max(most, by(i)->workspace());
      }
      const Storage scratch = apart ? context.allocate(operands[2].size) : Storage{};
      choices.result = apart ? scratch.where : operands[2];
      choices.dtype = desc.d;
      choices.tolerance = tolerance(desc);
      choices.start = [&context, by, operands, scratch, workspace = context.allocate(most)](
                          size_t way, const hal::Binding& result) {
        const hal::Binding all[] = {operands[0], operands[1], result};
        context.executor().stream->call(
            *by(way), all, {workspace.where.buffer, workspace.where.offset, by(way)->workspace()});
      };
      return choices;
    }));
  }

  // How far two right orders of additions may be apart, by the largest element of the result.
  static double tolerance(const hal::GemmDesc& desc) {
    if (!is_float(desc.accumulate)) return 0;
    const auto epsilon = [](DType type) {
      return type == DType::F64    ? 0x1p-52
             : type == DType::F16  ? 0x1p-10
             : type == DType::BF16 ? 0x1p-7
                                   : 0x1p-23;
    };
    const double steps = 4 + std::sqrt(static_cast<double>(desc.k));
    return steps * epsilon(desc.accumulate) + epsilon(desc.d);
  }

  static libraries::ProductMatrix matrix(const Input& input) {
    const View v = input.view();
    return {input.node->dtype, v.offset, v.strides[1], v.strides[2], v.strides[0]};
  }

  static void by_program(Context& context, const Node& node, const Storage& result) {
    libraries::Product product;
    product.a = matrix(node.inputs[0]);
    product.b = matrix(node.inputs[1]);
    product.d = {node.dtype, 0, node.shape[2], 1, node.shape[1] * node.shape[2]};
    product.accumulate = libraries::product_accumulator(node.dtype);
    product.m = node.shape[1];
    product.n = node.shape[2];
    product.k = node.inputs[0].view().shape[2];
    product.batch = node.shape[0];
    const bool is_gpu_like = hints_of(context.device()).is_gpu_like;
    libraries::ProductLaunch launch = libraries::product_launch(product, is_gpu_like);
    const hal::Binding operands[] = {node.inputs[0].node->result.where,
                                     node.inputs[1].node->result.where, result.where};
    const auto program_of = [&](const libraries::ProductKey& key) -> const Program& {
      return context.kept("product", key, [&] { return libraries::product_program(key); });
    };
    if (launch.key.tiled)
      launch =
          libraries::product_launch(product, true, tile(context, product, launch.key, operands));
    context.launch(program_of(launch.key), launch.grid, operands, launch.scalars);
  }

  // Which of the tiles: one that is the best for a size is so for those that are not far from it.
  static uint8_t tile(Context& context, const libraries::Product& product,
                      const libraries::ProductKey& key, std::span<const hal::Binding> operands) {
    libraries::Product about = product;
    for (int64_t* size : {&about.m, &about.n, &about.k, &about.batch})
      *size = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(*size)));
    const uint8_t usual = libraries::usual_tile(about, context.device().compute_units,
                                                context.device().max_shared_bytes);
    if (context.tuner() == nullptr) return usual;
    const std::string work =
        fmt::format("tiled product {} {} {} {}{} of about {}x{}x{}, batch {}", name_of(key.a),
                    name_of(key.b), name_of(key.d), key.a_terms ? 'N' : 'T',
                    key.b_columns ? 'N' : 'T', about.m, about.n, about.k, about.batch);
    // The first way is the one without tuning.
    const auto tile_of = [usual](size_t way) {
      return static_cast<uint8_t>(way == 0 ? usual : way <= usual ? way - 1 : way);
    };
    return tile_of(context.tuner()->way(work, [&] {
      Choices choices;
      for (size_t way = 0; way < std::size(libraries::kProductTiles); way++)
        choices.ways.push_back(name_of(libraries::kProductTiles[tile_of(way)]));
      choices.result = operands[2];
      choices.dtype = product.d.type;
      choices.start = [&context, &product, operands, tile_of](size_t way,
                                                              const hal::Binding& result) {
        const libraries::ProductLaunch launch =
            libraries::product_launch(product, true, tile_of(way));
        const auto executable = context.executor().executable(context.kept(
            "product", launch.key, [&] { return libraries::product_program(launch.key); }));
        const hal::Binding all[] = {operands[0], operands[1], result};
        context.executor().stream->launch({.executable = executable.get(),
                                           .grid = launch.grid,
                                           .bindings = all,
                                           .scalars = launch.scalars,
                                           .deadline = {},
                                           .budget = 0,
                                           .progress = nullptr});
      };
      return choices;
    }));
  }
};

}  // namespace

bool is_for_libraries(const View& view) { return stored(view) && view.strides[0] >= 0; }

std::unique_ptr<const OpaqueOp> product_op() { return std::make_unique<ProductOp>(); }

}  // namespace hologram::graph
