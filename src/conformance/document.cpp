#include "conformance/document.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "conformance/layouts.hpp"
#include "conformance/minimum.hpp"
#include "conformance/suite.hpp"
#include "graph/elementwise.hpp"

namespace hologram::conformance {
namespace {

constexpr const char* kBegin =
    R"(# Conformance

Written by `scripts/generate`.

`hologram conformance` tries every operation on a device, for every dtype that it takes and in every
layout, and holds the results against plain loops in wider arithmetic (`src/conformance/oracle.cpp`:
long double for functions, binary128 where a result has to be rounded correctly). In programs
`check_conformance` of `hologram/conformance.hpp` does the same. A case is named
`operation/dtype/property`; `--filter` takes a regular expression.

)";

constexpr const char* kCovered =
    R"(
* **Elementwise operations**: every row of the table in `src/graph/elementwise.cpp`, which also has the
  bounds. The operands are the limits of the dtype against each other (zeros, infinities, NaN,
  denormals, the largest numbers; of integers both ends), then numbers of every magnitude that the
  bound covers. Whole numbers and bools must be equal; `+ - * /`, `sqrt`, `fma`, `square` and
  `reciprocal` correctly rounded, zeros of the right sign; NaN where the row says so. Functions of
  one f16 or bf16 are tried on all 65,536 values.
* **Reductions**, softmax and its logarithm: along the first, the last, some and all axes, and along
  rows that a group shares or that are cut into pieces. Sums are within 2 eps log2(n) sum|x|, the
  others within what follows from that; min, max, argmin, argmax, any, all and sums of integers exact.
* **Products of matrices**, by whatever library there is: within (k + 1) eps sum|a||b|, those of
  integers and bool exact.
* **Convolutions**, by whatever library there is: padded, strided, dilated, in groups, depthwise, of
  both orders of the axes, with and without a bias: within (k + 1) eps sum|x||w| of k terms, those of
  integers and bool exact.
* **Movement**: views made dense (slices with steps, flips, permutations, broadcasts), concat, stack,
  split, pad, put, take, gather, scatter, roll, repeat and tile, along the first axis and the last, on
  any bits there are, which stay what they were; positions of every dtype of integers.
* **Running sums and products**: within (k + 1) eps sum|x| for the element at k, of products
  (k + 1) eps |p|; of integers, and of whole numbers that f32 holds, exact.
* **Order**: sort, argsort, topk, searchsorted, nonzero and unique, of any bits, with many equal
  elements, NaN and zeros of both signs among them: the order of a stable sort.
* **Functions** that are made of others, of small whole numbers, NaN and infinities, exact: parts of
  matrices, einsum, kron, vecdot, cdist, padding by what is there, indices and masks, diff, cummax and
  cummin, nansum, nanmax, median, nanmedian, quantile, counts, bins, sets, isclose, interp.
* **Random numbers**: those of a plain Philox4x32-10, in every layout, for seeds of 64 bits and one
  operation after another: rand and randint bit for bit, randn within 19/2 eps of its radius.
* **Creation**: zeros, ones, full, arange, linspace, eye and tri, and full, zeros and ones like
  another; rounded once, linspace within 1/2 eps (|stop - start| + |start| + |x|).
* **Neural operations**: the main ones of `hologram/nn.hpp`, on f16, bf16, f32 and f64: within 16 to 64
  eps of the largest result, and one rounding to the dtype (two for what is computed in two steps).
* **Bits**: f32 results, and f64 of reductions and products, are the same with fusion and without it,
  and on one thread and two.

Strided and offset operands lie between poison (NaN, or all bits set), so that an element read from
the wrong place shows.

A case that the device need not be able to do is *unsupported*, one that was not tried *skipped*, each
with its reason in `--json`.

## What a device must do
)";

constexpr const char* kRelaxed =
    R"(

For a dtype with a yes every operation that takes it is there.

## Relaxed devices

WebGPU, and OpenCL and Metal where they were not seen to be exact, promise less than IEEE 754, and nobody
compares their bits with the CPU's. Before the cases a program on the device looks at special values, denormals,
quotients, square roots and integers that become f32. What it finds is printed ("allowed for", and
`arithmetic` in `--json`), and that alone is not held against the results:

| found | allowed |
|---|---|
| denormals may become 0 | what is below 2^-126 may be 0, as operand and as result; `unique` takes it for 0 |
| quotients within 2.5 ulp | `div`, `reciprocal`, functions, means and the like may be off by so much more; elements with an operand above 2^126 are observed |
| square roots within 4.5 ulp | the same of `sqrt` and functions |
| integers become either f32 beside them | functions of integers are those of either |
| NaN and infinities are not kept | elements with one as operand or result are observed |

What is *observed* is looked at, counted (`observed` in `--json`), and neither right nor wrong. No case
is skipped. Integers, what only moves, order, and all other numbers have the bounds that exact devices
have. Seen so far: Mesa's lavapipe needs no allowance; SwiftShader flushes denormals, and rounds integers
to the other f32 now and then; an NVIDIA H200 through its Vulkan driver flushes denormals.
)";

// Errors by dtype.
struct Row {
  std::string operation;
  std::array<double, 4> error = {-1, -1, -1, -1};
};
constexpr std::array<DType, 4> kFloats = {DType::F16, DType::BF16, DType::F32, DType::F64};

std::vector<Row> rows_of(const ConformanceReport& report) {
  std::vector<Row> rows;
  for (const ConformanceResult& r : report.results) {
    auto at = std::find_if(rows.begin(), rows.end(),
                           [&](const Row& row) { return row.operation == r.operation; });
    if (at == rows.end()) at = rows.insert(at, {.operation = r.operation});
    const auto dtype = std::find(kFloats.begin(), kFloats.end(), r.dtype);
    if (dtype == kFloats.end()) continue;
    double& worst = at->error[static_cast<size_t>(dtype - kFloats.begin())];
    worst = std::max(worst, r.error);
  }
  return rows;
}

std::string bound_text(const Row& operation) {
  const graph::ElementwiseOp* row = graph::find_elementwise(operation.operation);
  if (row == nullptr) return "1 of its bound";
  if (row->ulps == 0) return "exact";
  return fmt::format("{}{}", row->ulps, row->absolute ? " of the operand" : "");
}

}  // namespace

std::string document(const ConformanceReport& report) {
  std::string text = kBegin;
  text += fmt::format("There are {} cases. The layouts are ", report.results.size());
  for (size_t k = 0; k < layouts().size(); k++)
    text += fmt::format("{}{}",
                        k == 0                      ? ""
                        : k + 1 == layouts().size() ? " and "
                                                    : ", ",
                        layouts()[k].name);
  text += ".\n";
  text += kCovered;
  text += "\n| backend |";
  for (const DType t : all_dtypes()) text += fmt::format(" {} |", hologram::name_of(t));
  text += "\n|---|";
  for (size_t k = 0; k < all_dtypes().size(); k++) text += "---|";
  for (const Minimum& m : minima()) {
    text += fmt::format("\n| {} |", display_name(m.backend));
    for (const DType t : all_dtypes())
      text += std::find(m.dtypes.begin(), m.dtypes.end(), t) != m.dtypes.end() ? " yes |" : " |";
  }
  text += kRelaxed;
  text +=
      "\n## The largest errors on the CPU\n\n"
      "In units of the last place; those of reductions and the like are a part of their bounds. "
      "What the\nlibraries make of products of matrices and of convolutions depends on the machine "
      "and "
      "is left out, as are\noperations that are exact but for the elementwise ones.\n\n"
      "| operation | bound of f32 and f64 | f16 | bf16 | f32 | f64 |\n|---|---|---|---|---|---|\n";
  for (const Row& row : rows_of(report)) {
    const bool exact = *std::max_element(row.error.begin(), row.error.end()) <= 0 &&
                       graph::find_elementwise(row.operation) == nullptr;
    if (exact || row.operation == "matmul" || row.operation == "conv2d") continue;
    const auto one = [](double e) { return e < 0 ? std::string() : fmt::format("{:.3g}", e); };
    text += fmt::format("| `{}` | {} | {} | {} | {} | {} |\n", row.operation, bound_text(row),
                        one(row.error[0]), one(row.error[1]), one(row.error[2]), one(row.error[3]));
  }
  return text;
}

}  // namespace hologram::conformance
