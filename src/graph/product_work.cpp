#include "graph/product_work.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "graph/context.hpp"
#include "graph/layout.hpp"
#include "libraries/product.hpp"

namespace hologram::graph {
namespace {

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

class ProductWork : public Work {
 public:
  std::string_view name() const override { return "matmul"; }

  void run(Context& context, const Node& node, const Storage& result) const override {
    if (!by_library(context, node, result)) by_program(context, node, result);
  }

 private:
  static bool by_library(Context& context, const Node& node, const Storage& result) {
    hal::LibraryOps* library = context.executor().device->library();
    const View &a = node.inputs[0].view, &b = node.inputs[1].view;
    const auto as = stored(a), bs = stored(b);
    if (library == nullptr || !as || !bs || a.strides[0] < 0 || b.strides[0] < 0) return false;
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
    const hal::Binding operands[] = {from(node.inputs[0]), from(node.inputs[1]), result.where};
    desc.alignment_a = hal::alignment_of(operands[0]);
    desc.alignment_b = hal::alignment_of(operands[1]);
    desc.alignment_d = hal::alignment_of(operands[2]);
    auto planned = library->plan(desc);
    if (const auto* refusal = std::get_if<hal::Refusal>(&planned)) {
      if (refusal->missed) context.fall_back("matmul", refusal->reason);
      else context.say(LogLevel::Debug, fmt::format("matmul by a program: {}", refusal->reason));
      return false;
    }
    const auto plan = tuned(
        context, desc, std::get<std::shared_ptr<hal::LibraryPlan>>(std::move(planned)), operands);
    const Storage workspace = context.allocate(plan->workspace());
    const auto sides = [](int64_t x, int64_t y) {
      return static_cast<double>(x) * static_cast<double>(y);
    };
    const double times = static_cast<double>(desc.batch);
    const auto size = [](DType type) { return static_cast<double>(size_of(type)); };
    context.call(plan, operands, workspace.where,
                 {.bytes = times * (sides(desc.m, desc.k) * size(desc.a) +
                                    sides(desc.k, desc.n) * size(desc.b) +
                                    sides(desc.m, desc.n) * size(desc.d)),
                  .flops = 2 * times * sides(desc.m, desc.n) * static_cast<double>(desc.k)});
    return true;
  }

  // The plan, or one of its alternatives.
  static std::shared_ptr<const hal::LibraryPlan> tuned(
      Context& context, const hal::GemmDesc& desc,
      const std::shared_ptr<const hal::LibraryPlan>& plan, std::span<const hal::Binding> operands) {
    const auto alternatives = plan->alternatives();
    if (context.tuner() == nullptr || alternatives.empty()) return plan;
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
      choices.result = operands[2];
      choices.dtype = desc.d;
      choices.tolerance = tolerance(desc);
      choices.start = [&context, by, operands, workspace = context.allocate(most)](
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

  // The part of the memory from where the view begins.
  static hal::Binding from(const Input& input) {
    hal::Binding where = input.node->result.where;
    const uint64_t skipped = static_cast<uint64_t>(input.view.offset) * size_of(input.node->dtype);
    where.offset += skipped;
    where.size -= skipped;
    return where;
  }

  static libraries::ProductMatrix matrix(const Input& input) {
    const View& v = input.view;
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
    product.k = node.inputs[0].view.shape[2];
    product.batch = node.shape[0];
    const bool many_threads = hints_of(context.device()).many_threads;
    libraries::ProductLaunch launch = libraries::product_launch(product, many_threads);
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

std::unique_ptr<const Work> product_work() { return std::make_unique<ProductWork>(); }

}  // namespace hologram::graph
