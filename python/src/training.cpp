// What training is made of beside steps of optimizers, and the search for wrong operations.
#include "hologram/bisect.hpp"
#include "nn.hpp"

namespace hologram::python {
namespace {

// `with` of a precision: products of this thread are computed by it.
struct PrecisionScope {
  nn::MixedPrecision how;
  std::unique_ptr<nn::Precision> in_force;
};

nn::LossScale loss_scale(double growth, double backoff, int64_t interval) {
  nn::LossScale how;
  how.growth = growth;
  how.backoff = backoff;
  how.interval = interval;
  return how;
}

nb::dict dict_of(const Finding& f) {
  nb::dict d;
  d["is_nan"] = f.is_nan;
  d["step"] = f.step;
  d["operation"] = f.operation;
  d["where"] = f.where;
  d["dtype"] = std::string(name_of(f.dtype));
  d["expected"] = f.expected;
  d["got"] = f.got;
  d["operands"] = f.operands;
  d["line"] = f.line;
  d["source"] = f.source;
  d["file"] = f.file;
  d["inputs"] = f.inputs;
  d["command"] = f.command;
  d["text"] = f.text();
  return d;
}

}  // namespace

void register_flat(nb::module_& m) {
  nb::class_<nn::Flat>(m, "_Flat")
      .def("__init__",
           [](nn::Flat* self, nb::handle like) { new (self) nn::Flat(tensors_from(like)); })
      .def_prop_ro("size", &nn::Flat::size)
      .def("join", [](const nn::Flat& f, nb::handle list) { return f.join(tensors_from(list)); })
      .def("split", [](const nn::Flat& f, nb::handle list) { return f.split(tensors_from(list)); })
      .def("clip_by_norm", [](const nn::Flat& f, nb::handle gradients, double max_norm) {
        std::vector<Tensor> joined = tensors_from(gradients);
        nn::clip_by_norm(f, joined, max_norm);
        return joined;
      });
}

void register_precision(nb::module_& m) {
  nb::class_<PrecisionScope>(m, "_Precision")
      .def(
          "__init__",
          [](PrecisionScope* self, nb::handle compute, nb::handle accumulate) {
            nn::MixedPrecision how;
            how.compute = dtype_from(compute);
            how.accumulate = accumulate.is_none() ? DType::F32 : dtype_from(accumulate);
            const nn::Precision tried(how);  // or an error
            new (self) PrecisionScope{how, nullptr};
          },
          "compute"_a, "accumulate"_a.none())
      .def("enter",
           [](PrecisionScope& self) { self.in_force = std::make_unique<nn::Precision>(self.how); })
      .def("leave", [](PrecisionScope& self) { self.in_force.reset(); });
  m.def("_loss_scale_state", [](double initial, const Tensor& like) {
    nn::LossScale how;
    how.initial = initial;
    const nn::LossScaleState state = nn::loss_scale_state(how, like.executor());
    return nb::make_tuple(state.scale, state.good, state.skipped);
  });
  // In one call, between whose parts no handler of a signal runs: all of them are put, or none.
  m.def("_put_all", [](const nb::list& places) {
    for (const nb::handle place : places) {
      const auto dict = nb::cast<nb::dict>(place[0]);
      dict[nb::object(place[1])] = nb::object(place[2]);
    }
  });
  m.def("_unscale", [](nb::handle gradients, const Tensor& scale) {
    std::vector<Tensor> unscaled = tensors_from(gradients);
    const Tensor finite = nn::unscale(unscaled, {scale, {}, {}});
    return nb::make_tuple(unscaled, finite);
  });
  m.def("_advance", [](const Tensor& scale, const Tensor& good, const Tensor& skipped,
                       const Tensor& finite, double growth, double backoff, int64_t interval) {
    nn::LossScaleState state{scale, good, skipped};
    nn::advance(state, loss_scale(growth, backoff, interval), finite);
    return nb::make_tuple(state.scale, state.good, state.skipped);
  });
  m.def("_keep_unless", [](const Tensor& finite, nb::handle now, nb::handle before) {
    std::vector<Tensor> kept = tensors_from(now);
    std::vector<Tensor*> places;
    for (Tensor& t : kept) places.push_back(&t);
    nn::keep_unless(finite, places, tensors_from(before));
    return kept;
  });
}

void register_bisect(nb::module_& m) {
  m.def("_bisect",
        [](nb::handle device, nb::handle work, const std::string& prefix, bool nan,
           std::optional<uint64_t> tolerance) -> nb::object {
          BackendConfig config = executor_from(device).config();
          config.backend_type = executor_from(device).device().backend;
          config.device_id = static_cast<int>(executor_from(device).device().index);
          const auto found = bisect(config, [&](const Executor& on) { work(nb::cast(on)); },
                                    {prefix, nan, tolerance});
          if (!found) return nb::none();
          return dict_of(*found);
        });
}

}  // namespace hologram::python
