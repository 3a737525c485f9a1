// Models in GGUF files.
#include <algorithm>
#include <cmath>

#include "core/messages.hpp"
#include "files/gguf.hpp"
#include "llm/gguf_entries.hpp"
#include "llm/source.hpp"

namespace hologram::llm {
namespace {

using core::Text;
using files::Gguf;

DType dtype_of(const Gguf& file, const files::GgufTensor& tensor) {
  const std::string_view name = tensor.encoding->name;
  if (name == "F32") return DType::F32;
  if (name == "F16") return DType::F16;
  if (name == "BF16") return DType::BF16;
  std::string known = "F32, F16, BF16";
  for (const BlockType& type : block_types()) known += ", " + std::string(type.name);
  throw core::error(
      Text::ModelLacks, file.path(),
      "tensors of the type " + std::string(name) + ", as is '" + std::string(tensor.name) + "'",
      "one of the types " + known);
}

class GgufSource : public Source {
 public:
  explicit GgufSource(Gguf file) : file_(std::move(file)) { read(); }
  const std::string& path() const override { return file_.path(); }
  const Config& config() const override { return config_; }
  std::vector<std::string> names() const override { return names_in(file_); }
  const Gguf* gguf() const override { return &file_; }
  uint64_t weight_bytes() const override {
    uint64_t bytes = 0;
    for (const files::GgufTensor& tensor : file_.tensors()) {
      const std::string name(tensor.name);
      // Rows of the embedding are looked up by the host, unless it is the output's matrix, too.
      if (name == "token_embd.weight" && file_.tensor("output.weight") != nullptr) continue;
      bytes += find(name)->device_bytes();
    }
    return bytes;
  }

  std::optional<Stored> find(const std::string& name) const override {
    const files::GgufTensor* const tensor = file_.tensor(name);
    if (tensor == nullptr) return {};
    return stored_in(file_, *tensor);
  }

 private:
  void read() {
    const std::string name(file_.text("general.architecture").value_or(""));
    config_.architecture = llm::architecture(name);
    const Entries from(file_, name);
    if (config_.architecture == nullptr)
      from.lacks("the architecture '" + name + "'", "one of " + architecture_names());
    Config& c = config_;
    c.layers = from.positive("block_count");
    c.width = from.positive("embedding_length");
    c.feed_forward = from.count("feed_forward_length", 0);
    c.context = from.positive("context_length");
    c.heads = from.positive("attention.head_count");
    c.key_heads = from.positive("attention.head_count_kv", c.heads);
    c.key_length = from.positive("attention.key_length", c.width / c.heads);
    c.value_length = from.positive("attention.value_length", c.width / c.heads);
    c.rotated = from.count("rope.dimension_count", c.key_length);
    c.window = from.count("attention.sliding_window", 0);
    c.experts = from.count("expert_count", 0);
    c.experts_used = from.count("expert_used_count", 0);
    if (c.experts > 0) c.feed_forward = from.positive("expert_feed_forward_length", c.feed_forward);
    c.epsilon = from.number("attention.layer_norm_rms_epsilon", 1e-5);
    c.rope_base = from.number("rope.freq_base", 10000);
    c.attention_softcap = from.number("attn_logit_softcapping", 0);
    c.final_softcap = from.number("final_logit_softcapping", 0);
    c.renormalised = file_.boolean(name + ".expert_weights_norm").value_or(true);
    c.query_scale = from.number("attention.scale", 0);
    c.rope = c.architecture->rope;
    const auto embedding = find("token_embd.weight");
    if (!embedding) from.damaged("there is no 'token_embd.weight'");
    c.vocabulary = embedding->rows;
    check(from);
    own(name, from);
    read_scaling(from);
  }

  void check(const Entries& from) const {
    const Config& c = config_;
    if (c.heads % c.key_heads != 0 || c.key_length % 2 != 0 || c.value_length % 2 != 0 ||
        c.rotated % 2 != 0 || c.rotated > c.key_length || c.key_length > 1024 ||
        c.value_length > 1024 || c.experts_used > c.experts || c.layers > 10000 || c.epsilon < 0 ||
        c.rope_base < 1)
      from.damaged("its numbers describe no model");
  }

  // What only the code of llama.cpp knows.
  void own(const std::string& name, const Entries& from) {
    Config& c = config_;
    if (name == "llama" || name == "qwen2" || name == "qwen3") c.window = 0;
    // Said by `quantize` of models whose windows other readers do not know.
    c.window = file_.integer("hologram.sliding_window").value_or(c.window);
    if (c.window < 0 || c.window >= kMostOfAnything) c.window = 0;
    if (name == "gemma3") c.local_rope_base = from.number("rope.freq_base_swa", 10000);
    const bool largest =
        (name == "gemma2" && c.layers == 46) || (name == "gemma3" && c.layers == 62);
    if (largest)
      c.query_scale = 1 / std::sqrt(static_cast<double>(c.width) / static_cast<double>(c.heads));
    if (name == "gemma2") {
      c.attention_softcap = from.number("attn_logit_softcapping", 50);
      c.final_softcap = from.number("final_logit_softcapping", 30);
    }
  }

  void read_scaling(const Entries& from) {
    RopeScaling& s = config_.scaling;
    const std::string kind = from.text("rope.scaling.type");
    s.factor = from.number("rope.scaling.factor", from.number("rope.scale_linear", 1));
    s.original_context =
        from.number("rope.scaling.original_context_length", static_cast<double>(config_.context));
    s.attention_factor = from.number("rope.scaling.attn_factor", 0);
    s.beta_fast = from.number("rope.scaling.yarn_beta_fast", 32);
    s.beta_slow = from.number("rope.scaling.yarn_beta_slow", 1);
    if (s.factor <= 0) from.damaged("the factor of its positions is wrong");
    if (kind == "yarn") s.kind = RopeScaling::Kind::Yarn;
    else if (kind == "linear" || (kind.empty() && s.factor != 1))
      s.kind = RopeScaling::Kind::Linear;
    else if (kind == "longrope") s.kind = RopeScaling::Kind::Long;
    else if (!kind.empty() && kind != "none")
      from.lacks("positions scaled by '" + kind + "'", "another scaling");
    const int64_t pairs = config_.rotated / 2;
    if (find("rope_freqs.weight")) s.factors = vector("rope_freqs.weight", pairs);
    if (find("rope_factors_short.weight")) {
      s.kind = RopeScaling::Kind::Long;
      s.factors = vector("rope_factors_short.weight", pairs);
      s.long_factors = vector("rope_factors_long.weight", pairs);
    }
  }

  Gguf file_;
  Config config_;
};

}  // namespace

Stored stored_in(const Gguf& file, const files::GgufTensor& tensor) {
  Stored stored;
  stored.type = block_type(tensor.encoding->name);
  if (stored.type == nullptr) stored.dtype = dtype_of(file, tensor);
  const auto axis = [&](size_t k) {
    return k < tensor.shape.size() ? static_cast<int64_t>(tensor.shape[k]) : 1;
  };
  stored.columns = axis(0);
  stored.rows = axis(1);
  stored.count = axis(2) * axis(3);
  stored.data = tensor.data;
  return stored;
}

std::vector<std::string> names_in(const Gguf& file) {
  std::vector<std::string> names;
  for (const files::GgufTensor& tensor : file.tensors()) names.emplace_back(tensor.name);
  return names;
}

std::unique_ptr<const Source> open_gguf(const std::string& path) {
  return gguf_source(Gguf::open(path));
}

std::unique_ptr<const Source> gguf_source(Gguf file) {
  return std::make_unique<GgufSource>(std::move(file));
}

}  // namespace hologram::llm
