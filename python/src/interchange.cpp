// Memory shared with others: Python's buffer protocol, and DLPack both ways.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>

#include <algorithm>
#include <cstring>

#include "binding.hpp"
#include "dlpack.hpp"

namespace hologram::python {
namespace {

// --- what both have in common

// Elements that lie anywhere in memory, copied row by row.
void copy_strided(std::byte*& to, const std::byte* from, const Shape& shape,
                  const std::vector<int64_t>& strides, size_t axis, size_t size) {
  if (axis == shape.size()) {
    std::memcpy(to, from, size);
    to += size;
    return;
  }
  if (axis + 1 == shape.size() && strides[axis] == static_cast<int64_t>(size)) {
    const size_t bytes = static_cast<size_t>(shape[axis]) * size;
    if (bytes > 0) std::memcpy(to, from, bytes);
    to += bytes;
    return;
  }
  for (int64_t i = 0; i < shape[axis]; i++)
    copy_strided(to, from + i * strides[axis], shape, strides, axis + 1, size);
}

// Memory of somebody else, described.
struct Foreign {
  const std::byte* data;
  DType dtype;
  Shape shape;
  std::vector<int64_t> strides;  // in bytes
  bool read_only;

  bool is_dense() const {
    int64_t expected = static_cast<int64_t>(size_of(dtype));
    for (size_t i = shape.size(); i-- > 0;) {
      if (shape[i] != 1 && strides[i] != expected) return false;
      expected *= shape[i];
    }
    return true;
  }
  bool is_aligned() const { return reinterpret_cast<uintptr_t>(data) % size_of(dtype) == 0; }
};

// Shares the memory, which `owner` keeps, or copies it: as `copy` says, or if that says nothing,
// shares what nobody may write to.
Tensor take_in(const Foreign& memory, std::shared_ptr<const void> owner, std::optional<bool> copy,
               const Executor& executor) {
  const bool is_empty =
      std::find(memory.shape.begin(), memory.shape.end(), 0) != memory.shape.end();
  if (is_empty) return ops::zeros(memory.shape, memory.dtype, executor);
  const bool can_share = memory.is_dense() && memory.is_aligned();
  if (copy == false && !can_share)
    throw nb::value_error(
        "the memory cannot be shared: it is not dense and row-major, or not "
        "aligned; leave copy=False out");
  if (can_share && !copy.value_or(!memory.read_only))
    return Tensor::from(Array::borrow(memory.dtype, memory.shape,
                                      static_cast<const void*>(memory.data), std::move(owner)),
                        executor);
  auto [array, to] = fresh_array(memory.dtype, memory.shape);
  if (array.size() > 0)
    copy_strided(to, memory.data, memory.shape, memory.strides, 0, size_of(memory.dtype));
  return Tensor::from(array, executor);
}

std::vector<int64_t> row_major(const Shape& shape, int64_t unit) {
  std::vector<int64_t> strides(shape.size());
  for (size_t i = shape.size(); i-- > 0;) {
    strides[i] = unit;
    unit *= shape[i];
  }
  return strides;
}

// --- the buffer protocol

struct FormatRow {
  char code;
  DType dtype;
};
// Native sizes of Linux on 64 bits; the first of a dtype is the one written.
constexpr FormatRow kFormats[] = {
    {'?', DType::Bool}, {'b', DType::I8},  {'B', DType::U8},  {'h', DType::I16}, {'H', DType::U16},
    {'i', DType::I32},  {'I', DType::U32}, {'l', DType::I64}, {'L', DType::U64}, {'q', DType::I64},
    {'Q', DType::U64},  {'e', DType::F16}, {'f', DType::F32}, {'d', DType::F64}};

DType dtype_of_format(const char* format, Py_ssize_t size) {
  if (format == nullptr) return DType::U8;
  if (*format == '@' || *format == '=' || *format == '<') format++;
  if (*format == '>' && size == 1) format++;
  for (const FormatRow& row : kFormats)
    if (format[0] == row.code && format[1] == 0 && size_of(row.dtype) == static_cast<size_t>(size))
      return row.dtype;
  return DType::None;
}

struct Exported {
  Array array;
  char format[2];
  std::vector<Py_ssize_t> shape, strides;
};

int fill_buffer(Py_buffer* view, nb::handle self, int flags) {
  const Tensor tensor = *nb::inst_ptr<Tensor>(self);
  if (flags & PyBUF_WRITABLE) {
    PyErr_SetString(PyExc_BufferError,
                    "the values of a tensor never change; take numpy.array(tensor), a copy");
    return -1;
  }
  const FormatRow* row = nullptr;
  for (const FormatRow& r : kFormats)
    if (row == nullptr && r.dtype == tensor.dtype()) row = &r;
  if (row == nullptr) {
    PyErr_SetString(PyExc_BufferError,
                    "bfloat16 has no buffer format; use numpy.asarray with ml_dtypes installed, "
                    "or astype(hologram.float32)");
    return -1;
  }
  auto exported = std::make_unique<Exported>();
  exported->array = without_gil([&] { return tensor.array(); });
  exported->format[0] = row->code;
  exported->format[1] = 0;
  const Array& array = exported->array;
  exported->shape.assign(array.shape().begin(), array.shape().end());
  const auto strides = row_major(array.shape(), static_cast<int64_t>(size_of(array.dtype())));
  exported->strides.assign(strides.begin(), strides.end());
  static char nothing;
  view->buf = array.data() != nullptr ? const_cast<std::byte*>(array.data())
                                      : reinterpret_cast<std::byte*>(&nothing);
  view->len = static_cast<Py_ssize_t>(array.bytes());
  view->itemsize = static_cast<Py_ssize_t>(size_of(array.dtype()));
  view->readonly = 1;
  view->ndim = static_cast<int>(array.shape().size());
  view->format = flags & PyBUF_FORMAT ? exported->format : nullptr;
  view->shape = flags & PyBUF_ND ? exported->shape.data() : nullptr;
  view->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? exported->strides.data() : nullptr;
  view->suboffsets = nullptr;
  view->internal = exported.release();
  view->obj = self.inc_ref().ptr();
  return 0;
}

int get_buffer(PyObject* self, Py_buffer* view, int flags) {
  view->obj = nullptr;
  try {
    return fill_buffer(view, self, flags);
  } catch (const std::exception& e) {
    PyErr_SetString(PyExc_BufferError, e.what());
    return -1;
  }
}

void release_buffer(PyObject*, Py_buffer* view) { delete static_cast<Exported*>(view->internal); }

// --- DLPack, out

dlpack::DataType dlpack_dtype(DType t) {
  const dlpack::Code code = t == DType::Bool       ? dlpack::kBool
                            : t == DType::BF16     ? dlpack::kBfloat
                            : is_float(t)          ? dlpack::kFloat
                            : is_signed_integer(t) ? dlpack::kInt
                                                   : dlpack::kUInt;
  return {code, static_cast<uint8_t>(8 * size_of(t)), 1};
}

// What is handed out: memory, dense and row-major, and what keeps it.
struct Lent {
  void* data;
  std::shared_ptr<const void> owner;
  dlpack::Device device;
  DType dtype;
  Shape shape;
};

template <class M>
struct Handed {
  M managed{};
  std::shared_ptr<const void> owner;
  std::vector<int64_t> shape, strides;
};

template <class M>
M* hand_out(const Lent& lent) {
  auto handed = std::make_unique<Handed<M>>();
  handed->owner = lent.owner;
  handed->shape.assign(lent.shape.begin(), lent.shape.end());
  handed->strides = row_major(lent.shape, 1);
  M& managed = handed->managed;
  managed.tensor = {lent.data,
                    lent.device,
                    static_cast<int32_t>(lent.shape.size()),
                    dlpack_dtype(lent.dtype),
                    handed->shape.data(),
                    handed->strides.data(),
                    0};
  managed.context = handed.get();
  managed.release = [](M* m) {
    // Letting go may wait for the device.
    const std::unique_ptr<Handed<M>> gone(static_cast<Handed<M>*>(m->context));
  };
  return &handed.release()->managed;
}

// Where DLPack says that a tensor is: devices whose memory has an address, or the host.
dlpack::Device device_of(const Tensor& tensor) {
  const DeviceInfo& device = tensor.executor().device();
  if (device.backend == BackendType::Cuda) return {dlpack::kCuda, device.index};
  if (device.backend == BackendType::Rocm) return {dlpack::kRocm, device.index};
  return {dlpack::kCpu, 0};
}

Lent lend_host(const Tensor& tensor, bool copies) {
  Array given = without_gil([&] { return tensor.array(); });
  if (copies) {
    const Fresh fresh = fresh_array(given.dtype(), given.shape());
    if (given.bytes() > 0) std::memcpy(fresh.data, given.data(), given.bytes());
    given = fresh.array;
  }
  const auto kept = std::make_shared<const Array>(given);
  return {
      const_cast<std::byte*>(given.data()), kept, {dlpack::kCpu, 0}, given.dtype(), given.shape()};
}

Lent lend_device(const Tensor& tensor, bool copies) {
  const DeviceMemory memory = without_gil(
      [&] { return copies ? ops::copy(tensor).device_memory() : tensor.device_memory(); });
  return {memory.address, memory.owner, device_of(tensor), tensor.dtype(), tensor.shape()};
}

template <class M, const char* name>
nb::object capsule(M* managed) {
  PyObject* made = PyCapsule_New(managed, name, [](PyObject* self) {
    if (!PyCapsule_IsValid(self, name)) return;  // somebody took it
    auto* kept = static_cast<M*>(PyCapsule_GetPointer(self, name));
    kept->release(kept);
  });
  if (made == nullptr) {
    managed->release(managed);
    throw nb::python_error();
  }
  return nb::steal(made);
}

nb::object to_dlpack(const Tensor& tensor, nb::handle stream,
                     std::optional<std::pair<uint32_t, uint32_t>> max_version,
                     std::optional<std::pair<int32_t, int32_t>> wanted, std::optional<bool> copy) {
  (void)stream;  // the values are there by then, for every stream
  const dlpack::Device own = device_of(tensor);
  const bool to_host = wanted ? wanted->first == dlpack::kCpu : own.type == dlpack::kCpu;
  if (wanted && !to_host && (wanted->first != own.type || wanted->second != own.index)) {
    PyErr_SetString(PyExc_BufferError,
                    "tensors are handed out in memory of their own device or of the host; ask for "
                    "dl_device=(1, 0), or use Tensor.to first");
    throw nb::python_error();
  }
  const bool versioned = max_version && max_version->first >= 1;
  // Consumers before 1.0 cannot be told that they must not write.
  const bool copies = copy.value_or(!versioned);
  const Lent lent = to_host ? lend_host(tensor, copies) : lend_device(tensor, copies);
  if (!versioned) return capsule<dlpack::Managed, dlpack::kName>(hand_out<dlpack::Managed>(lent));
  auto* managed = hand_out<dlpack::ManagedVersioned>(lent);
  managed->version = {1, 0};
  managed->flags = copies ? dlpack::kIsCopied : dlpack::kReadOnly;
  return capsule<dlpack::ManagedVersioned, dlpack::kNameVersioned>(managed);
}

// --- DLPack, in

DType dtype_of(const dlpack::DataType& d) {
  for (size_t i = 1; i < kDTypeCount; i++) {
    const auto ours = dlpack_dtype(static_cast<DType>(i));
    if (d.lanes == 1 && d.code == ours.code && d.bits == ours.bits) return static_cast<DType>(i);
  }
  fail(ErrorKind::DTypeMismatch,
       "DLPack's element type " + std::to_string(d.code) + " of " + std::to_string(d.bits) +
           " bits has no dtype",
       "Convert the array before: there are bool, integers of 8 to 64 bits, float16, bfloat16, "
       "float32 and float64.");
}

template <class M>
std::shared_ptr<const void> owner_of(M* managed) {
  return {managed, [](M* m) {
            release_later(
                [](void* data) {
                  auto* kept = static_cast<M*>(data);
                  if (kept->release != nullptr) kept->release(kept);
                },
                m);
          }};
}

// Shares memory of the executor's device, or copies it there.
Tensor take_in_device(const Foreign& memory, std::shared_ptr<const void> owner,
                      std::optional<bool> copy, const Executor& executor, bool wait) {
  if (!memory.is_dense()) {
    PyErr_SetString(PyExc_BufferError,
                    "memory of a device has to be dense and row-major; make the array contiguous");
    throw nb::python_error();
  }
  return without_gil([&] {
    // Held by the release itself, which is dropped as soon as the device is done.
    Tensor made = Tensor::from_device_pointer(
        const_cast<std::byte*>(memory.data), memory.shape, memory.dtype,
        [owner = std::move(owner)](void*) mutable { owner.reset(); }, executor);
    if (wait) made.device_memory();  // what its producer has put on the device is done
    if (copy.value_or(!memory.read_only)) made = ops::copy(made).eval();
    return made;
  });
}

bool is_of_host(const dlpack::Device& device) {
  return device.type == dlpack::kCpu || device.type == dlpack::kCudaHost ||
         device.type == dlpack::kCudaManaged;
}

template <class M, const char* name, const char* used>
Tensor take_capsule(nb::handle capsule, bool read_only, std::optional<bool> copy,
                    const Executor& executor, bool wait) {
  auto* managed = static_cast<M*>(PyCapsule_GetPointer(capsule.ptr(), name));
  if (managed == nullptr) throw nb::python_error();
  const dlpack::TensorData& t = managed->tensor;
  Foreign memory{static_cast<const std::byte*>(t.data) + t.byte_offset,
                 dtype_of(t.dtype),
                 Shape(t.shape, t.shape + t.axes),
                 {},
                 read_only};
  const auto unit = static_cast<int64_t>(size_of(memory.dtype));
  memory.strides = t.strides == nullptr ? row_major(memory.shape, unit)
                                        : std::vector<int64_t>(t.strides, t.strides + t.axes);
  if (t.strides != nullptr)
    for (int64_t& stride : memory.strides) stride *= unit;
  const bool on_device = !is_of_host(t.device);
  PyCapsule_SetName(capsule.ptr(), used);
  std::shared_ptr<const void> owner = owner_of(managed);
  if (on_device) return take_in_device(memory, std::move(owner), copy, executor, wait);
  return take_in(memory, std::move(owner), copy, executor);
}

Tensor from_capsule(nb::handle capsule, std::optional<bool> copy, nb::handle device, bool wait) {
  const ReleasingNow now;
  const Executor executor = executor_from(device);
  if (PyCapsule_IsValid(capsule.ptr(), dlpack::kNameVersioned)) {
    auto* managed = static_cast<dlpack::ManagedVersioned*>(
        PyCapsule_GetPointer(capsule.ptr(), dlpack::kNameVersioned));
    if (managed->version.major > 1) {
      PyErr_SetString(PyExc_BufferError, "the capsule is of a DLPack after 1.x");
      throw nb::python_error();
    }
    const bool ours = (managed->flags & dlpack::kIsCopied) != 0;  // nobody else has it
    return take_capsule<dlpack::ManagedVersioned, dlpack::kNameVersioned, dlpack::kUsedVersioned>(
        capsule, ours || (managed->flags & dlpack::kReadOnly) != 0, copy, executor, wait);
  }
  if (PyCapsule_IsValid(capsule.ptr(), dlpack::kName))
    return take_capsule<dlpack::Managed, dlpack::kName, dlpack::kUsed>(capsule, false, copy,
                                                                       executor, wait);
  throw nb::type_error("a capsule of DLPack, not used before, is needed");
}

}  // namespace

Tensor tensor_from_buffer(nb::handle object, std::optional<bool> copy, const Executor& executor) {
  const ReleasingNow now;
  auto* view = new Py_buffer;
  if (PyObject_GetBuffer(object.ptr(), view, PyBUF_RECORDS_RO) != 0) {
    delete view;
    throw nb::python_error();
  }
  const std::shared_ptr<const void> owner(view, [](Py_buffer* v) {
    release_later(
        [](void* data) {
          PyBuffer_Release(static_cast<Py_buffer*>(data));
          delete static_cast<Py_buffer*>(data);
        },
        v);
  });
  const DType dtype = dtype_of_format(view->format, view->itemsize);
  if (dtype == DType::None)
    fail(ErrorKind::DTypeMismatch,
         std::string("an array with elements of format '") +
             (view->format != nullptr ? view->format : "") + "' has no dtype",
         "Convert it before: there are bool, integers of 8 to 64 bits, float16, bfloat16, float32 "
         "and float64, in this machine's byte order.");
  Foreign memory{
      static_cast<const std::byte*>(view->buf), dtype, Shape(view->shape, view->shape + view->ndim),
      std::vector<int64_t>(view->strides, view->strides + view->ndim), view->readonly != 0};
  return take_in(memory, owner, copy, executor);
}

PyType_Slot buffer_slots[] = {{Py_bf_getbuffer, reinterpret_cast<void*>(get_buffer)},
                              {Py_bf_releasebuffer, reinterpret_cast<void*>(release_buffer)},
                              {0, nullptr}};

void register_interchange(nb::module_& m) {
  m.def("_to_dlpack", to_dlpack, "x"_a, "stream"_a.none(), "max_version"_a.none(),
        "dl_device"_a.none(), "copy"_a.none());
  m.def("_dlpack_device", [](const Tensor& t) {
    const dlpack::Device device = device_of(t);
    return nb::make_tuple(device.type, device.index);
  });
  m.def("_from_capsule", from_capsule, "capsule"_a, "copy"_a.none(), "device"_a.none(),
        "wait"_a = true);
  m.def(
      "_from_buffer",
      [](nb::handle object, std::optional<bool> copy, nb::handle device) {
        return tensor_from_buffer(object, copy, executor_from(device));
      },
      "object"_a, "copy"_a.none(), "device"_a.none());
  m.def(
      "_borrow",
      [](uint64_t address, nb::handle shape, nb::handle dtype, const Executor& executor) {
        void* const memory = reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr)
        Shape lengths = shape_from(shape);
        const DType of = dtype_from(dtype);
        if (executor.device().backend == BackendType::Cpu)
          return Tensor::from(
              Array::borrow(of, std::move(lengths), static_cast<const void*>(memory)), executor);
        return Tensor::from_device_pointer(memory, std::move(lengths), of, {}, executor);
      },
      "address"_a, "shape"_a, "dtype"_a, "executor"_a,
      "Dense memory of the executor's device, or of the host for the CPU's: nobody keeps it, and\n"
      "nothing is waited for. Of who promises that it stays until all that reads it is done.");
  m.def(
      "_from_bytes",
      [](nb::bytes bytes, nb::handle dtype, nb::handle shape, nb::handle device) {
        const auto [array, data] = fresh_array(dtype_from(dtype), shape_from(shape));
        if (array.bytes() != bytes.size())
          fail(ErrorKind::ShapeMismatch, "the bytes are not as many as the shape says",
               "Give as many bytes as the elements take.");
        if (bytes.size() > 0) std::memcpy(data, bytes.c_str(), bytes.size());
        return Tensor::from(array, executor_from(device));
      },
      "bytes"_a, "dtype"_a, "shape"_a, "device"_a.none());
  m.def(
      "_reinterpret",
      [](const Tensor& t, nb::handle dtype) {
        const Array values = without_gil([&] { return t.array(); });
        const DType wanted = dtype_from(dtype);
        if (size_of(wanted) != size_of(t.dtype()))
          fail(ErrorKind::DTypeMismatch, "elements of another size cannot be looked at so",
               "Use a dtype of the same size, or astype.");
        const auto owner = std::make_shared<Array>(values);
        return Tensor::from(
            Array::borrow(wanted, values.shape(), static_cast<const void*>(values.data()), owner),
            t.executor());
      },
      "x"_a, "dtype"_a, "The same bits as elements of another dtype of the same size.");
}

}  // namespace hologram::python
