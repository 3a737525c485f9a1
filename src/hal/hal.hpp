// The seams between the runtime and a backend. A backend is one folder that implements Backend,
// Device, Stream, Buffer and Executable; docs/adding-a-backend.md walks through one.
#pragma once

#include <array>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "hal/blocks.hpp"
#include "hologram/config.hpp"
#include "hologram/device.hpp"
#include "hologram/error.hpp"
#include "hologram/executor.hpp"
#include "hologram/program.hpp"

namespace hologram::hal {

// Why something is not done: a short clause, as in "No CUDA-capable device found".
struct Refusal {
  std::string reason;
  // Of a library: it does such work, and what kept it from doing so is missing or went wrong.
  bool missed = false;
};

template <class T>
using Expected = std::variant<T, Refusal>;

class Buffer {
 public:
  virtual ~Buffer() = default;  // work under way may still use the memory: it stays until then
  virtual uint64_t size() const = 0;  // bytes
  virtual std::byte* host() = 0;      // null unless the host can reach it
  // Bytes that the address of its beginning is a multiple of, up to 256.
  virtual uint32_t alignment() const { return 256; }
  // Where it begins, for work of others: an address of the device, or of the host. Null where the
  // device's memory has none.
  virtual void* native() { return host(); }
  // Until all that was put on the device is done, work of others with it. Does not throw.
  virtual void wait_for_everybody() {}
};

// Memory of the host as an end of a copy.
class HostBuffer final : public Buffer {
 public:
  HostBuffer(std::byte* data, uint64_t bytes) : data_(data), bytes_(bytes) {}
  uint64_t size() const override { return bytes_; }
  std::byte* host() override { return data_; }
  uint32_t alignment() const override { return 1; }

 private:
  std::byte* data_;
  uint64_t bytes_;
};

// A part of a buffer given to a program. `size` is exact: the length of the buffer parameter is
// size / element size. `offset` is a multiple of DeviceInfo::binding_alignment.
struct Binding {
  Buffer* buffer = nullptr;
  uint64_t offset = 0;
  uint64_t size = 0;
};

// Bytes that the address of a binding is a multiple of, as far as is known.
inline uint32_t alignment_of(const Binding& where) {
  if (where.buffer->host() != nullptr) return 1;  // it may be anybody's
  const uint64_t least = where.offset | where.buffer->alignment();
  return static_cast<uint32_t>(least & (~least + 1));
}

// A moment on a stream's timeline.
struct Point {
  uint64_t value = 0;
};

enum class State : uint8_t { Pending, Done, Failed };

using Clock = std::chrono::steady_clock;
using Deadline = std::optional<Clock::time_point>;

// A program made ready for one device.
class Executable {
 public:
  virtual ~Executable() = default;
  // How it runs, for explain(): "compiled: AVX-512, 1,234 bytes". Empty if there is one way only.
  virtual std::string note() const { return {}; }
};

struct CompileOptions {
  bool check = false;  // look for races and reads of unset workgroup memory
  // The first launch may wait for the compiler, and tell what is wrong; its scalars are these.
  bool later = false;
  std::span<const uint64_t> scalars = {};
};

struct Launch {
  const Executable* executable = nullptr;
  Grid grid = {1, 1, 1};              // workgroups, any number: the backend linearises past limits
  std::span<const Binding> bindings;  // one a buffer parameter
  std::span<const uint64_t> scalars;  // bits, one a scalar parameter
  Deadline deadline;
  uint64_t budget = 0;           // RunOptions::budget
  Progress* progress = nullptr;  // lanes that are done are added to `done`
  uint64_t timed = 0;            // not 0: a number under which Stream::times tells how long it took
};

// How long a launch took by the clock of the device.
struct Timing {
  uint64_t number = 0;  // Launch::timed
  double seconds = 0;
};

// Memory that a command uses and that each replay gives anew: place `number` of its table.
class Slot final : public Buffer {
 public:
  Slot(uint32_t number, uint64_t bytes) : number_(number), bytes_(bytes) {}
  uint64_t size() const override { return bytes_; }
  std::byte* host() override { return nullptr; }
  uint32_t number() const { return number_; }

 private:
  const uint32_t number_;
  const uint64_t bytes_;
};

class LibraryPlan;

// A part of a CommandList: a launch if there is an executable; a call if there is a plan, whose
// bindings are the operands and the workspace; else a copy to its first binding from its second, or
// a fill of its only one.
struct Command {
  std::shared_ptr<const Executable> executable;
  std::shared_ptr<const LibraryPlan> plan;
  Grid grid = {1, 1, 1};
  std::vector<Binding> bindings;
  std::vector<uint64_t> scalars;
  uint32_t pattern = 0;
};

// Work in order, made ready to be done again and again as a whole. Whoever has it keeps the memory
// of its bindings.
class CommandList {
 public:
  virtual ~CommandList() = default;
  virtual std::string note() const = 0;  // "a CUDA graph of 100 nodes"
};

// A product of matrices for a library to compute: d = a b, `batch` times. Every matrix is
// row-major; strides count elements.
struct GemmDesc {
  DType a = DType::None, b = DType::None, d = DType::None;
  DType accumulate = DType::None;                 // what products are summed in
  bool transpose_a = false, transpose_b = false;  // stored as k x m, as n x k
  int64_t m = 0, n = 0, k = 0, batch = 1;         // d is m x n; each may be 0
  int64_t lda = 0, ldb = 0, ldd = 0;              // from a row, as stored, to the next
  // From one of the batch to the next; 0 for an a or b that all of the batch share.
  int64_t stride_a = 0, stride_b = 0, stride_d = 0;
  // Bytes that the address of the first element is a multiple of, as far as is known.
  uint32_t alignment_a = 1, alignment_b = 1, alignment_d = 1;
  friend bool operator==(const GemmDesc&, const GemmDesc&) = default;
};

// What may be done with each element of a product before it is stored: a number of its column is
// added, then what is below 0 becomes 0.
struct Epilogue {
  bool bias = false, relu = false;
  friend bool operator==(const Epilogue&, const Epilogue&) = default;
};

// One axis of the images of a convolution.
struct ConvAxis {
  int64_t input = 0, kernel = 0, output = 0;  // lengths
  int64_t stride = 1, dilation = 1;
  int64_t before = 0;  // zeros before the input; behind it, as many as the output reaches
  friend bool operator==(const ConvAxis&, const ConvAxis&) = default;
};

// A convolution of images for a library to compute: of each group of channels
// d[n, y, x, o] = sum of x[n, y', x', c] w[i, j, c, o] over i, j and c, where y' is
// y * stride + i * dilation - before of the rows, and x' likewise of the columns. d is dense.
struct ConvDesc {
  DType x = DType::None, w = DType::None, d = DType::None;
  DType accumulate = DType::None;  // what products are summed in
  int64_t batch = 0, groups = 1;
  int64_t channels = 0, outputs = 0;  // of one group
  ConvAxis rows, columns;
  std::array<int64_t, 4> x_strides = {};  // of image, row, column, channel; in elements, any number
  std::array<int64_t, 4> w_strides = {};  // of row, column, channel in its group, output of all
  // Bytes that the address of the first element is a multiple of, as far as is known.
  uint32_t alignment_x = 1, alignment_w = 1;
  friend bool operator==(const ConvDesc&, const ConvDesc&) = default;
};

// Attention for a library to compute: softmax(scale * q k^T) v of operands [batch, heads, rows,
// features]. Each head of k and v serves heads / key_heads heads of q in turn. A score s is first
// softcap * tanh(s / softcap), where that is not 0; key k is seen by query q if
// q + first - before <= k <= q + first + after. Results are dense.
struct AttentionDesc {
  enum class Part : uint8_t {
    Result,         // operands: q, k, v, the result
    ResultAndLogs,  // and log(sum(exp(score))) of each query, f32
    Changes         // q, k, v, the change of the result, the result, logs; and those of q, k, v
  };
  Part part = Part::Result;
  DType dtype = DType::None;
  int64_t batch = 0, heads = 0, key_heads = 0, queries = 0, keys = 0;
  int64_t features = 0, value_features = 0;
  std::array<int64_t, 4> q_strides = {}, k_strides = {}, v_strides = {}, change_strides = {};
  uint32_t alignment = 1;  // bytes that all addresses are multiples of, as far as is known
  double scale = 1, softcap = 0;
  int64_t first = 0;
  std::optional<int64_t> before, after;
};

// Sums of the rows of a, or of their products with a vector x or with rows of x, in the order of a
// program whose groups share a row: lane i of `lanes` adds up, one after the other, the elements or
// products i, i + lanes and so on, each rounded; of rows that are longer, by runs of 16 elements a
// lane, and then the runs. Then the lanes of the lower half add those of the upper half, as often
// as there are any. Where they are pieces of one row, d is the sum of theirs, one after the other.
struct RowsDesc {
  static constexpr int64_t kMostPieces = 16;
  DType dtype = DType::None;
  bool products = true;  // or of the elements alone; then x is a
  int64_t batch = 1, rows = 0, length = 0;
  int64_t last = 0;                    // length of the last row of all, which may be shorter
  int64_t step = 0, step_x = 0;        // from a row of a, and of x, to the next
  int64_t stride_a = 0, stride_x = 0;  // from one of the batch to the next; d is dense
  uint32_t lanes = 0;
  bool pieces = false;
  friend bool operator==(const RowsDesc&, const RowsDesc&) = default;
};

// Sums of the columns of x, each piece of so many rows by itself, in the order of a program whose
// lanes have a column each: runs of 16 elements, one after the other, and then the runs. Columns
// lie side by side, d is dense.
struct ColumnsDesc {
  static constexpr int64_t kRun = 16;
  DType dtype = DType::None;
  int64_t rows = 0, columns = 0;
  int64_t step = 0;   // from a row to the next
  int64_t piece = 0;  // rows; the last piece may have fewer
  friend bool operator==(const ColumnsDesc&, const ColumnsDesc&) = default;
};

// The order of each of so many dense rows: equal elements stay in order, -0 equals 0, NaN comes
// last; descending, all is the other way round. d is the sorted row, or the i64 positions that sort
// it, or those of the first `k` of them.
struct OrderDesc {
  enum class What : uint8_t { Elements, Positions, First };
  DType dtype = DType::None;
  What what = What::Elements;
  bool descending = false;
  int64_t rows = 0, length = 0, k = 0;
  friend bool operator==(const OrderDesc&, const OrderDesc&) = default;
};

// The i64 positions at which `count` dense values would be inserted into a sorted vector, in the
// order of OrderDesc: before their equals, or behind them.
struct SearchDesc {
  DType dtype = DType::None;
  bool right = false;
  int64_t count = 0, length = 0;
  friend bool operator==(const SearchDesc&, const SearchDesc&) = default;
};

// The i64 places of what is true of a dense array of bools of these lengths, in order: as many rows
// as there are, each with a position along every axis. The first bit of a byte need not be the one
// that is set.
struct PlacesDesc {
  InlineVector<int64_t, 8> lengths;
  friend bool operator==(const PlacesDesc&, const PlacesDesc&) = default;
};

// Running sums, or products, along the middle of three dense axes. The order depends on the length
// alone: a piece of kPiece elements is summed from its first element on, and so are the totals of
// kPiece pieces, which are a block, the totals of kPiece blocks, and so on. A result is the sum
// within its piece, to which is added what comes before the piece in its block, then what comes
// before the block, up to the outermost level. The total of a block is the last of its running
// sums, so that sums of numbers that are not negative never step back.
//
// Partial results of floats have the precision of the type, but exponents that do not end
// (program/extended_range.hpp): the result alone is rounded into the range of the type.
struct ScanDesc {
  static constexpr int64_t kPiece = 256;
  DType dtype = DType::None;
  bool products = false;
  std::array<int64_t, 3> lengths = {};
  friend bool operator==(const ScanDesc&, const ScanDesc&) = default;
};

// Elements at positions along the middle of three axes of dense x, whose length is `length`; or
// dense values put at them, or added, in order, to what d holds already. Position [o, j, i] is
// element start + o s0 + j s1 + i s2 of the positions; negative ones count from the end. The word
// `wrong` becomes 1 if there is one outside, which reads 0 and writes nothing.
struct IndexDesc {
  enum class What : uint8_t { Gather, Put, Add };
  What what = What::Gather;
  DType dtype = DType::None, position = DType::None;  // i32 or i64
  std::array<int64_t, 3> lengths = {};                // outer, positions, inner
  int64_t length = 0;
  std::array<int64_t, 3> strides = {};
  int64_t start = 0;
  friend bool operator==(const IndexDesc&, const IndexDesc&) = default;
};

// A copy of elements that lie otherwise: element [i, j, …] of axes of these lengths, at i, j, …
// times the strides of x and those of d, none of which is below 0. As programs copy: bools become 0
// or 1, and numbers of 16 bits that are none become quiet.
struct CopyDesc {
  DType dtype = DType::None;
  Shape lengths, of_x, of_d;  // of_d: from the longest to the shortest
  friend bool operator==(const CopyDesc&, const CopyDesc&) = default;
};

// An operation that a library has agreed to do; shared between streams.
class LibraryPlan {
 public:
  virtual ~LibraryPlan() = default;
  virtual const std::string& name() const = 0;  // "oneDNN sgemm"
  virtual uint64_t workspace() const = 0;       // bytes that Stream::call needs beside the operands
  // Of a convolution whose library wants weights in an order of its own: the plan that brings them
  // there, whose operands are w and what becomes of it, and which takes the place of w. Plans of
  // one packing take the same. Null: w is taken as it is.
  virtual std::shared_ptr<const LibraryPlan> packing() const { return nullptr; }
  virtual uint64_t packed_bytes() const { return 0; }  // of a packing: of what it makes
  // Other ways to do the same, whose sums may be rounded otherwise. What the library itself thinks
  // best is this plan.
  virtual std::span<const std::shared_ptr<const LibraryPlan>> alternatives() const { return {}; }
  // What tells this way from its alternatives, the same in every process. Empty if it has none.
  virtual std::string way() const { return {}; }
};

// The libraries of a device. Thread-safe.
class LibraryOps {
 public:
  virtual ~LibraryOps() = default;
  // A refusal says why each library will not: the caller has a program of its own for everything.
  virtual Expected<std::shared_ptr<LibraryPlan>> plan(const GemmDesc& desc) = 0;
  virtual Expected<std::shared_ptr<LibraryPlan>> plan(const ConvDesc& desc) = 0;
  virtual Expected<std::shared_ptr<LibraryPlan>> plan(const AttentionDesc&) {
    return Refusal{"the library has no attention"};
  }
  // Operands are a, x and d.
  virtual Expected<std::shared_ptr<LibraryPlan>> plan(const RowsDesc&) {
    return Refusal{"the library has no sums of rows"};
  }
  // Operands are x, x once more, and d.
  virtual Expected<std::shared_ptr<LibraryPlan>> plan(const ColumnsDesc&) {
    return Refusal{"the library has no sums of columns"};
  }
  // Operands are x and d.
  virtual Expected<std::shared_ptr<LibraryPlan>> plan(const OrderDesc&) {
    return Refusal{"the library orders nothing"};
  }
  // Operands are the vector, the values and d.
  virtual Expected<std::shared_ptr<LibraryPlan>> plan(const SearchDesc&) {
    return Refusal{"the library searches nothing"};
  }
  virtual Expected<std::shared_ptr<LibraryPlan>> plan(const PlacesDesc&) {
    return Refusal{"the library searches nothing"};
  }
  virtual Expected<std::shared_ptr<LibraryPlan>> plan(const ScanDesc&) {
    return Refusal{"the library has no running sums"};
  }
  // Operands are x or the values, the positions, `wrong` and d.
  virtual Expected<std::shared_ptr<LibraryPlan>> plan(const IndexDesc&) {
    return Refusal{"the library has no elements by position"};
  }
  // Operands are x, x once more, and d.
  virtual Expected<std::shared_ptr<LibraryPlan>> plan(const CopyDesc&) {
    return Refusal{"the library copies nothing"};
  }
  // Operands are x and d.
  virtual Expected<std::shared_ptr<LibraryPlan>> plan(const BytesDesc&) {
    return Refusal{"the library rounds nothing"};
  }
  // Operands are x, the matrix, the choice if there is one, and d.
  virtual Expected<std::shared_ptr<LibraryPlan>> plan(const BlocksDesc&) {
    return Refusal{"the library has no matrices in blocks"};
  }
  // Whether it is worth asking for a product with an epilogue.
  virtual bool has_epilogues() { return false; }
  // Whether rows of this type may be the pieces of one.
  virtual bool adds_pieces(DType) { return false; }
  // What a plan of a product, or an alternative of it, does, and the epilogue: the same sums in the
  // same order, and every bit that is left if they are stored first. The bias, n elements of d's
  // type, is the operand behind d; its address is a multiple of 16.
  virtual Expected<std::shared_ptr<const LibraryPlan>> with(const LibraryPlan&, const Epilogue&) {
    return Refusal{"the library has no epilogues"};
  }
  // Whether convolutions of floats are taken only where x and w are dense in this order: image,
  // row, column, channel; output, row, column, channel of its group.
  virtual bool wants_dense_images() { return false; }
};

// Work in order; one caller at a time. Failures of the work itself surface in wait.
class Stream {
 public:
  virtual ~Stream() = default;
  virtual void launch(const Launch& launch) = 0;
  // `plan` is of this device and outlives the work; `bindings` are its operands: a, b, d of a
  // product, and the bias of its epilogue; x, w, d of a convolution; a, x, d of sums of rows; and
  // so on, as LibraryOps says.
  virtual void call(const LibraryPlan& plan, std::span<const Binding> bindings,
                    Binding workspace) = 0;
  // Between distinct buffers, either of which may be the host's: host memory that is read may be
  // used again when this returns, host memory that is written is complete after wait.
  virtual void copy(Binding to, Binding from) = 0;
  virtual void fill(Binding where, uint32_t pattern) = 0;
  // A refusal where it is as well to do one command after the other.
  virtual Expected<std::unique_ptr<CommandList>> list(std::span<const Command>) {
    return Refusal{"the device takes one launch at a time"};
  }
  // Of a list that this stream made: `table` has a binding for each slot, of the slot's size, at a
  // multiple of 256 if a plan uses it.
  virtual void replay(CommandList&, std::span<const Binding>) {}
  // Of launches that were timed and are done, each once, in order; waits for `all` of them.
  virtual std::vector<Timing> times(bool) { return {}; }
  // Nothing that belongs together follows: a device that begins with its work at a submission only
  // may begin with what there is.
  virtual void start() {}
  virtual Point submit() = 0;
  // The one blocking call. Throws what went wrong in the work before `point`; where devices work by
  // themselves (Device::asynchronous), again at every later call.
  virtual State wait(Point point, Deadline deadline) = 0;
};

// Thread-safe.
class Device {
 public:
  virtual ~Device() = default;
  virtual const DeviceInfo& info() const = 0;
  virtual std::optional<Refusal> refuses(const program::Program& program) const = 0;
  // Memory for a slab of the pool, aligned to 256 bytes at least. OutOfMemory if there is none.
  virtual std::unique_ptr<Buffer> allocate(uint64_t bytes) = 0;
  // Whether a program may write to one part of a buffer and be given another. Where it may not, the
  // pool cuts nothing up: each of its blocks is a buffer.
  virtual bool divides_buffers() const { return true; }
  // Whether launches that use different memory may run at the same time. Then the pool lets small
  // blocks rest before it gives them to others.
  virtual bool overlaps_launches() const { return false; }
  // Host memory as a buffer without a copy, where the device can; null where it cannot.
  virtual std::unique_ptr<Buffer> adopt(std::byte* memory, uint64_t bytes) = 0;
  // Memory of the host that this device copies from and to by itself, at the speed of its link;
  // null where no memory is better than any other. OutOfMemory if there is none.
  virtual std::shared_ptr<std::byte> host_memory(uint64_t) { return nullptr; }
  // Memory of this device that somebody else has; `release` is called with it when the buffer goes
  // and no work uses it. It is not called for a refusal.
  virtual Expected<std::unique_ptr<Buffer>> borrow(void*, uint64_t, std::function<void(void*)>) {
    return Refusal{"the device has no pointers that others could give it"};
  }
  virtual std::shared_ptr<Executable> compile(const program::Program& program,
                                              const CompileOptions& options) = 0;
  // Whether programs that need to be ready later only are compiled side by side.
  virtual bool compiles_later() const { return false; }
  virtual std::unique_ptr<Stream> stream() = 0;
  // Whether work may still go on when the call that asked for it has returned.
  virtual bool asynchronous() const { return false; }
  virtual bool keeps_time() const { return false; }  // whether Stream::times tells something
  // Whether its streams copy to memory of the other.
  virtual bool copies_to(const Device&) const { return false; }
  virtual bool lists() const { return false; }       // whether its streams make CommandLists
  virtual LibraryOps* library() { return nullptr; }  // null: it has none
};

// One a folder, listed in backends/registry.cpp.
class Backend {
 public:
  virtual ~Backend() = default;
  virtual BackendType type() const = 0;
  virtual Expected<std::vector<DeviceInfo>> discover() = 0;
  // Why none of its devices would be chosen unless it is named, if that is known without loading a
  // driver, which may be large; empty if not.
  virtual std::string passed_over() { return {}; }
  virtual Expected<std::shared_ptr<Device>> open(int index, const BackendConfig& config) = 0;
  // The device of a context that the application has, with its stream as the only one.
  virtual Expected<std::shared_ptr<Device>> adopt(void*, void*, const BackendConfig&) {
    return Refusal{"it has no contexts that an application could share"};
  }
  // A device in the context that the process has, with a stream of the application's as the only
  // one.
  virtual Expected<std::shared_ptr<Device>> open_on(int, void*, const BackendConfig&) {
    return Refusal{"it has no streams that an application could share"};
  }
  // The libraries that its devices may use. Opens them.
  virtual std::vector<LibraryInfo> libraries() { return {}; }
};

}  // namespace hologram::hal
