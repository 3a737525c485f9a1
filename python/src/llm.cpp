// Language models.
#include <nanobind/stl/function.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <exception>

#include "binding.hpp"
#include "hologram/embeddings.hpp"
#include "hologram/llm.hpp"
#include "hologram/quantize.hpp"
#include "hologram/receipt.hpp"
#include "hologram/weights.hpp"

namespace hologram::python {
namespace {

using llm::Embedder;
using llm::Generation;
using llm::Model;
using OnText = std::function<bool(const std::string&)>;

// Models may write bytes that are no UTF-8.
nb::object text_from(std::string_view text) {
  return nb::steal(
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace"));
}

// What is asked of an answer, as the package hands it over.
struct Asked {
  llm::GenerateOptions options;
  std::exception_ptr raised;  // by on_text
};

void read_options(Asked& asked, nb::dict given, const std::optional<nb::object>& on_text) {
  llm::GenerateOptions& o = asked.options;
  const auto take = [&](const char* name, auto& into) {
    using T = std::remove_reference_t<decltype(into)>;
    if (given.contains(name)) into = nb::cast<T>(given[name]);
  };
  take("max_tokens", o.max_tokens);
  take("greedy", o.sampling.greedy);
  take("temperature", o.sampling.temperature);
  take("top_k", o.sampling.top_k);
  take("top_p", o.sampling.top_p);
  take("min_p", o.sampling.min_p);
  take("repetition_penalty", o.sampling.repetition_penalty);
  take("seed", o.sampling.seed);
  take("presence_penalty", o.sampling.presence_penalty);
  take("frequency_penalty", o.sampling.frequency_penalty);
  take("json_schema", o.json_schema);
  take("stop", o.stop);
  take("special", o.special);
  if (!on_text) return;
  // Without a word, or with None, it goes on.
  o.on_text = [&asked, call = *on_text](std::string_view text) {
    const nb::gil_scoped_acquire held;
    try {
      const nb::object answer = call(text_from(text));
      return answer.is_none() || nb::cast<bool>(answer);
    } catch (...) {
      asked.raised = std::current_exception();
      return false;
    }
  };
}

nb::object as_tuple(const Generation& g) {
  const std::string_view reason = llm::name_of(g.finish_reason);
  return nb::make_tuple(g.tokens, text_from(g.text), nb::str(reason.data(), reason.size()),
                        g.prompt_tokens, g.prefill_seconds, g.decode_seconds);
}

template <class F>
nb::object answered(nb::dict given, const std::optional<nb::object>& on_text, F&& run) {
  Asked asked;
  read_options(asked, given, on_text);
  const Generation made = without_gil([&] { return run(asked.options); });
  if (asked.raised) std::rethrow_exception(asked.raised);
  return as_tuple(made);
}

// What a message has beside its role and content goes on as JSON, as templates want it.
std::vector<llm::Message> messages_from(nb::handle list) {
  const nb::object dumps = nb::module_::import_("json").attr("dumps");
  std::vector<llm::Message> messages;
  for (nb::handle item : list) {
    const auto fields = nb::cast<nb::dict>(item);
    llm::Message message{nb::cast<std::string>(fields["role"]), {}};
    nb::dict more;
    for (const auto& [key, value] : fields) {
      const auto name = nb::cast<std::string>(key);
      if (name == "content" && !value.is_none()) message.content = nb::cast<std::string>(value);
      else if (name != "role" && name != "content") more[key] = value;
    }
    if (nb::len(more) > 0) message.more = nb::cast<std::string>(dumps(more));
    messages.push_back(std::move(message));
  }
  return messages;
}

llm::Pooling pooling_from(const std::string& name) {
  for (const llm::Pooling pooling : {llm::Pooling::Mean, llm::Pooling::First, llm::Pooling::Last})
    if (llm::name_of(pooling) == name) return pooling;
  throw nb::value_error("pooling is one of 'mean', 'first' and 'last'");
}

std::optional<llm::Activations> activations_from(const std::optional<std::string>& name) {
  if (!name) return std::nullopt;
  const auto found = llm::parse_activations(*name);
  if (!found) throw nb::value_error("activations are 'exact', 'bytes' or 'halves'");
  return found;
}

void register_weights(nb::module_& m) {
  using llm::DecoderShape;
  using llm::Weights;
  nb::class_<DecoderShape>(m, "_DecoderShape")
      .def_ro("architecture", &DecoderShape::architecture)
      .def_ro("layers", &DecoderShape::layers)
      .def_ro("heads", &DecoderShape::heads)
      .def_ro("key_heads", &DecoderShape::key_heads)
      .def_ro("key_length", &DecoderShape::key_length)
      .def_ro("value_length", &DecoderShape::value_length)
      .def_ro("rotated", &DecoderShape::rotated)
      .def_ro("vocabulary", &DecoderShape::vocabulary)
      .def_ro("context", &DecoderShape::context)
      .def_ro("windows", &DecoderShape::windows)
      .def_ro("epsilon", &DecoderShape::epsilon)
      .def_ro("score_scale", &DecoderShape::score_scale)
      .def_ro("attention_softcap", &DecoderShape::attention_softcap)
      .def_ro("final_softcap", &DecoderShape::final_softcap)
      .def_ro("embedding_scale", &DecoderShape::embedding_scale)
      .def_ro("gelu", &DecoderShape::gelu);
  nb::class_<Weights>(m, "_Weights")
      .def(nb::new_(
          [](const std::string& path) { return without_gil([&] { return Weights::open(path); }); }))
      .def_prop_ro("shape", &Weights::shape)
      .def("has", &Weights::has)
      .def(
          "read",
          [](const Weights& weights, const std::string& name, nb::handle device) {
            const Executor executor = executor_from(device);
            return without_gil([&] { return weights.read(name, executor); });
          },
          "name"_a, "device"_a.none())
      .def(
          "rotary",
          [](const Weights& weights, int64_t length, bool local, nb::handle device) {
            const Executor executor = executor_from(device);
            return without_gil([&] { return weights.rotary(length, local, executor); });
          },
          "length"_a, "local"_a, "device"_a.none());
}

}  // namespace

void register_llm(nb::module_& m) {
  register_weights(m);
  nb::class_<Model>(m, "_Model")
      .def(
          nb::new_([](const std::string& path, int64_t context, nb::handle cache, nb::handle device,
                      const std::vector<std::pair<std::string, double>>& adapters,
                      const std::optional<std::string>& activations) {
            llm::ModelOptions options{context, dtype_from(cache), {}};
            options.activations = activations_from(activations);
            for (const auto& [folder, scale] : adapters)
              options.adapters.push_back({folder, scale});
            const Executor executor = executor_from(device);
            return without_gil([&] { return Model::open(path, options, executor); });
          }),
          "path"_a, "context"_a, "cache"_a, "device"_a.none(), "adapters"_a, "activations"_a.none())
      .def_prop_ro("architecture", &Model::architecture)
      .def_prop_ro("context", &Model::context)
      .def_prop_ro("vocabulary", &Model::vocabulary)
      .def_prop_ro("load_seconds", &Model::load_seconds)
      .def_prop_ro("activations",
                   [](const Model& m) { return std::string(llm::name_of(m.activations())); })
      .def_prop_ro("has_chat_template", &Model::has_chat_template)
      .def("tokenize", [](const Model& model, const std::string& text, bool ends,
                          bool special) { return model.tokenize(text, ends, special); })
      .def("text_of",
           [](const Model& model, const std::vector<int32_t>& tokens) {
             return text_from(model.text_of(tokens));
           })
      .def(
          "logits",
          [](Model& model, const std::vector<int32_t>& tokens, nb::handle device) {
            const Executor executor = executor_from(device);
            return without_gil([&] {
              const std::vector<float> values = model.logits(tokens);
              return Tensor::from_vector(values, {static_cast<int64_t>(values.size())}, executor);
            });
          },
          "tokens"_a, "device"_a.none())
      .def(
          "generate",
          [](Model& model, nb::handle prompt, nb::dict options, std::optional<nb::object> on_text) {
            if (nb::isinstance<nb::str>(prompt)) {
              const auto text = nb::cast<std::string>(prompt);
              return answered(options, on_text,
                              [&](const auto& o) { return model.generate(text, o); });
            }
            const auto tokens = nb::cast<std::vector<int32_t>>(prompt);
            return answered(options, on_text, [&](const auto& o) {
              return model.generate(std::span<const int32_t>(tokens), o);
            });
          },
          "prompt"_a, "options"_a, "on_text"_a.none())
      .def(
          "chat",
          [](Model& model, nb::handle messages, nb::dict options,
             std::optional<nb::object> on_text) {
            const std::vector<llm::Message> list = messages_from(messages);
            return answered(options, on_text, [&](const auto& o) { return model.chat(list, o); });
          },
          "messages"_a, "options"_a, "on_text"_a.none())
      .def("chat_prompt", [](const Model& model, nb::handle messages, const std::string& tools,
                             const std::string& variables) {
        return model.chat_prompt(messages_from(messages), {tools, variables});
      });
  nb::class_<Embedder>(m, "_Embedder")
      .def(nb::new_([](const std::string& path, nb::handle device) {
             const Executor executor = executor_from(device);
             return without_gil([&] { return Embedder::open(path, executor); });
           }),
           "path"_a, "device"_a.none())
      .def_prop_ro("architecture", &Embedder::architecture)
      .def_prop_ro("width", &Embedder::width)
      .def_prop_ro("context", &Embedder::context)
      .def_prop_ro("vocabulary", &Embedder::vocabulary)
      .def_prop_ro("pooling",
                   [](const Embedder& e) { return std::string(llm::name_of(e.pooling())); })
      .def("tokenize", [](const Embedder& embedder, const std::string& text, bool ends,
                          bool special) { return embedder.tokenize(text, ends, special); })
      .def(
          "embed",
          [](const Embedder& embedder, nb::list texts, const std::optional<std::string>& pooling,
             bool normalize, bool truncate) {
            llm::EmbedOptions options{{}, normalize, truncate};
            if (pooling) options.pooling = pooling_from(*pooling);
            if (nb::len(texts) > 0 && nb::isinstance<nb::str>(texts[0])) {
              const auto list = nb::cast<std::vector<std::string>>(texts);
              return without_gil([&] { return embedder.embed(list, options); });
            }
            const auto list = nb::cast<std::vector<std::vector<int32_t>>>(texts);
            return without_gil([&] { return embedder.embed_tokens(list, options); });
          },
          "texts"_a, "pooling"_a.none(), "normalize"_a, "truncate"_a);
  m.def(
      "_make_receipt",
      [](const std::string& path, const std::vector<int32_t>& prompt, nb::dict given,
         int64_t context, nb::handle cache, nb::handle device,
         const std::optional<std::string>& activations) {
        Asked asked;
        read_options(asked, given, {});
        llm::ModelOptions options{context, dtype_from(cache), {}};
        options.activations = activations_from(activations);
        const Executor executor = executor_from(device);
        return without_gil([&] {
          return llm::make_receipt(path, prompt, asked.options.sampling, asked.options.max_tokens,
                                   options, executor)
              .to_json();
        });
      },
      nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg().none(), nb::arg().none());
  m.def(
      "_verify",
      [](const std::string& receipt, const std::string& path, nb::handle device) {
        const Executor executor = executor_from(device);
        const llm::Verification seen = without_gil(
            [&] { return llm::verify(llm::Receipt::from_json(receipt), path, executor); });
        return nb::make_tuple(seen.equal(), seen.text(), seen.changed_layers, seen.steps,
                              seen.equal_tokens, seen.equal_logits);
      },
      nb::arg(), nb::arg(), nb::arg().none());
  m.def("_quantize", [](const std::string& path, const std::string& to_path, const std::string& to,
                        const std::vector<std::pair<std::string, std::string>>& tensors) {
    const llm::QuantizeOptions options{to, tensors};
    const llm::Quantized made = without_gil([&] { return llm::quantize(path, to_path, options); });
    nb::list rows;
    for (const llm::QuantizedTensor& t : made.tensors)
      rows.append(nb::make_tuple(t.name, t.from, t.to, t.fell_back, t.bytes_before, t.bytes_after,
                                 t.error));
    return nb::make_tuple(rows, made.bytes_before, made.bytes_after, made.error);
  });
  m.def("_model_memory", [](const std::string& path, int64_t context, nb::handle cache) {
    const llm::ModelMemory needed = Model::memory_of(path, {context, dtype_from(cache), {}});
    return nb::make_tuple(needed.weights, needed.cache, needed.total);
  });
}

}  // namespace hologram::python
