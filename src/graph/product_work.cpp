#include "graph/product_work.hpp"

#include <fmt/format.h>

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
    desc.alignment_a = alignment(operands[0]);
    desc.alignment_b = alignment(operands[1]);
    desc.alignment_d = alignment(operands[2]);
    auto planned = library->plan(desc);
    if (const auto* refusal = std::get_if<hal::Refusal>(&planned)) {
      if (refusal->missed) context.fall_back("matmul", refusal->reason);
      else context.say(LogLevel::Debug, fmt::format("matmul by a program: {}", refusal->reason));
      return false;
    }
    const auto& plan = *std::get<std::shared_ptr<hal::LibraryPlan>>(planned);
    const Storage workspace = context.allocate(plan.workspace());
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

  static uint32_t alignment(const hal::Binding& where) {
    if (where.buffer->host() != nullptr) return 1;  // it may be anybody's
    // Memory of a device begins at a multiple of 256.
    const uint64_t least = where.offset | 256;
    return static_cast<uint32_t>(least & (~least + 1));
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
    const libraries::ProductLaunch launch =
        libraries::product_launch(product, hints_of(context.device()).many_threads);
    const hal::Binding operands[] = {node.inputs[0].node->result.where,
                                     node.inputs[1].node->result.where, result.where};
    context.launch(
        context.kept("product", launch.key, [&] { return libraries::product_program(launch.key); }),
        launch.grid, operands, launch.scalars);
  }
};

}  // namespace

bool is_for_libraries(const View& view) { return stored(view) && view.strides[0] >= 0; }

std::unique_ptr<const Work> product_work() { return std::make_unique<ProductWork>(); }

}  // namespace hologram::graph
