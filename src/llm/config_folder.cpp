#include "llm/config_folder.hpp"

#include <algorithm>
#include <cmath>

#include "core/messages.hpp"

namespace hologram::llm {
namespace {

using core::Text;

class Reader {
 public:
  explicit Reader(const std::string& folder)
      : folder_(folder), json_(json_of(folder, "config.json")) {}

  FolderConfig read() {
    const Json classes = json_.value("architectures", Json());
    const std::string name = classes.is_array() && !classes.empty() && classes[0].is_string()
                                 ? classes[0].get<std::string>()
                                 : std::string();
    c_.architecture = architecture_of_class(name);
    if (c_.architecture == nullptr)
      lacks("the architecture '" + name + "'", "one of " + architecture_names());
    if (const Json how = object(json_, "quantization_config"); !how.empty())
      lacks("weights quantised by '" + text_of(how, "quant_method") + "'",
            "F32, F16 or BF16, or a GGUF file");
    sizes();
    numbers();
    window();
    experts();
    activation();
    check();
    scaling();
    FolderConfig made{c_};
    made.tied = flag("tie_word_embeddings", c_.architecture->scaled_embedding);
    return made;
  }

 private:
  [[noreturn]] void damaged(const std::string& what) const {
    throw core::error(Text::ModelDamaged, folder_ + "/config.json", what);
  }
  [[noreturn]] void lacks(const std::string& what, const std::string& instead) const {
    throw core::error(Text::ModelLacks, folder_, what, instead);
  }

  int64_t count(const char* key, int64_t otherwise) const {
    const auto found = json_.find(key);
    if (found == json_.end() || found->is_null()) return otherwise;
    const int64_t value = found->is_number_integer() ? found->get<int64_t>() : -1;
    if (value < 0 || value >= int64_t{1} << 31) damaged("'" + std::string(key) + "' is wrong");
    return value;
  }
  double number(const Json& from, const char* key, double otherwise) const {
    const auto found = from.find(key);
    if (found == from.end() || !found->is_number()) return otherwise;
    const auto value = found->get<double>();
    if (!std::isfinite(value)) damaged("'" + std::string(key) + "' is wrong");
    return value;
  }
  bool flag(const char* key, bool otherwise) const { return flag_of(json_, key, otherwise); }
  static Json object(const Json& from, const char* key) {
    const auto found = from.find(key);
    return found != from.end() && found->is_object() ? *found : Json::object();
  }

  void sizes() {
    c_.layers = count("num_hidden_layers", 0);
    c_.width = count("hidden_size", 0);
    c_.feed_forward = count("intermediate_size", 0);
    c_.context = count("max_position_embeddings", 2048);
    c_.heads = count("num_attention_heads", 0);
    c_.key_heads = count("num_key_value_heads", c_.heads);
    c_.key_length = count("head_dim", c_.heads > 0 ? c_.width / c_.heads : 0);
    c_.value_length = c_.key_length;
  }

  void numbers() {
    c_.epsilon = number(json_, "rms_norm_eps", 1e-6);
    c_.attention_softcap = number(json_, "attn_logit_softcapping", 0);
    c_.final_softcap = number(json_, "final_logit_softcapping", 0);
    if (const double scalar = number(json_, "query_pre_attn_scalar", 0); scalar > 0)
      c_.query_scale = 1 / std::sqrt(scalar);
    c_.rope = RopeKind::Halves;
    // By kinds of layer, or for all alike.
    parameters_ = object(json_, "rope_parameters");
    const Json local = object(parameters_, "sliding_attention");
    if (parameters_.contains("full_attention")) parameters_ = object(parameters_, "full_attention");
    c_.rope_base = number(parameters_, "rope_theta", number(json_, "rope_theta", 10000));
    if (c_.architecture->name == "gemma3")
      c_.local_rope_base =
          number(local, "rope_theta", number(json_, "rope_local_base_freq", 10000));
    const double part =
        number(parameters_, "partial_rotary_factor", number(json_, "partial_rotary_factor", 1));
    if (part <= 0 || part > 1) damaged("'partial_rotary_factor' is wrong");
    c_.rotated = static_cast<int64_t>(part * static_cast<double>(c_.key_length));
  }

  void window() {
    if (flag("use_sliding_window", true) && c_.architecture->hugging != "LlamaForCausalLM")
      c_.window = count("sliding_window", 0);
    const Json kinds = json_.value("layer_types", Json());
    if (kinds.is_array() && static_cast<int64_t>(kinds.size()) == c_.layers) {
      const bool none = std::all_of(kinds.begin(), kinds.end(),
                                    [](const Json& kind) { return kind == "full_attention"; });
      if (none) c_.window = 0;
      for (int64_t i = 0; i < c_.layers; i++)
        if ((kinds[static_cast<size_t>(i)] == "full_attention") != c_.sees_all(i))
          lacks("windows of another pattern than " + std::string(c_.architecture->name) + " has",
                "its usual pattern");
    } else if (c_.window > 0 && c_.architecture->name.substr(0, 4) == "qwen" &&
               count("max_window_layers", c_.layers) < c_.layers) {
      lacks("windows in some layers", "windows in all layers or none");
    } else if (c_.architecture->name.substr(0, 4) == "qwen") {
      c_.window = 0;
    }
  }

  void experts() {
    c_.experts = count("num_local_experts", count("num_experts", 0));
    c_.renormalised = flag("norm_topk_prob", c_.architecture->hugging != "Qwen3MoeForCausalLM");
    if (c_.experts == 0) return;
    c_.experts_used = count("num_experts_per_tok", 2);
    c_.feed_forward = count("moe_intermediate_size", c_.feed_forward);
    const Json dense = json_.value("mlp_only_layers", Json::array());
    if (count("decoder_sparse_step", 1) != 1 || !dense.empty())
      lacks("layers of which some have experts", "experts in all layers or none");
    if (count("shared_expert_intermediate_size", 0) > 0)
      lacks("experts that all tokens share", "no such experts");
  }

  void activation() const {
    std::string given = text_of(json_, "hidden_activation");
    if (given.empty()) given = text_of(json_, "hidden_act");
    // Gemma's first files say gelu, and mean the other.
    const bool tanh = c_.architecture->activation == Activation::GeluTanh;
    const bool known = tanh ? given == "gelu_pytorch_tanh" || given == "gelu" || given == "gelu_new"
                            : given == "silu" || given == "swish";
    if (!given.empty() && !known)
      lacks("the activation '" + given + "'", tanh ? "gelu_pytorch_tanh" : "silu");
  }

  void check() const {
    if (c_.layers < 1 || c_.layers > 10000 || c_.width < 1 || c_.heads < 1 || c_.key_heads < 1 ||
        c_.feed_forward < 1 || c_.context < 1 || c_.heads > 65536 || c_.heads % c_.key_heads != 0 ||
        c_.key_length % 2 != 0 || c_.key_length < 2 || c_.key_length > 1024 ||
        c_.rotated % 2 != 0 || c_.rotated > c_.key_length || c_.rope_base < 1 || c_.epsilon < 0 ||
        c_.experts > 65536 || c_.experts_used > c_.experts ||
        (c_.experts > 0 && c_.experts_used < 1))
      damaged("its numbers describe no model");
  }

  void scaling() {
    const Json older = object(json_, "rope_scaling");
    const Json& json = older.empty() ? parameters_ : older;
    RopeScaling& s = c_.scaling;
    std::string kind = text_of(json, "rope_type");
    if (kind.empty()) kind = text_of(json, "type");
    s.factor = number(json, "factor", 1);
    s.original_context =
        number(json, "original_max_position_embeddings",
               number(json_, "original_max_position_embeddings", static_cast<double>(c_.context)));
    s.low_frequency = number(json, "low_freq_factor", 1);
    s.high_frequency = number(json, "high_freq_factor", 4);
    s.attention_factor = number(json, "attention_factor", 0);
    s.beta_fast = number(json, "beta_fast", 32);
    s.beta_slow = number(json, "beta_slow", 1);
    using enum RopeScaling::Kind;
    if (kind == "linear") s.kind = Linear;
    else if (kind == "llama3") s.kind = Llama3;
    else if (kind == "yarn") s.kind = Yarn;
    else if (kind == "longrope" || kind == "su") s.kind = Long;
    else if (!kind.empty() && kind != "default")
      lacks("positions scaled by '" + kind + "'", "another scaling");
    if (s.kind == Long) {
      s.factors = factors(json, "short_factor");
      s.long_factors = factors(json, "long_factor");
      // Without a factor of its own it is that of the contexts.
      if (!json.contains("factor"))
        s.factor = static_cast<double>(c_.context) / std::max(1.0, s.original_context);
    }
    if (s.factor <= 0 || s.original_context < 1 || s.low_frequency <= 0 || s.high_frequency <= 0)
      damaged("the scaling of its positions is wrong");
  }
  std::vector<float> factors(const Json& json, const char* key) const {
    const Json list = json.value(key, Json());
    if (!list.is_array() || static_cast<int64_t>(list.size()) != c_.rotated / 2)
      damaged("'" + std::string(key) + "' is wrong");
    std::vector<float> numbers;
    for (const Json& each : list) {
      const double value = each.is_number() ? each.get<double>() : 0;
      if (!(value > 0 && value < 1e9)) damaged("'" + std::string(key) + "' is wrong");
      numbers.push_back(static_cast<float>(value));
    }
    return numbers;
  }

  const std::string folder_;
  const Json json_;
  Json parameters_;
  Config c_;
};

}  // namespace

FolderConfig read_config(const std::string& folder) {
  return checked(folder + "/config.json", [&] { return Reader(folder).read(); });
}

}  // namespace hologram::llm
