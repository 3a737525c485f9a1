#include "llm/encoder_source.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "core/messages.hpp"
#include "files/gguf.hpp"
#include "hologram/files.hpp"
#include "hologram/ops.hpp"
#include "llm/gguf_entries.hpp"
#include "llm/json.hpp"
#include "llm/safetensors.hpp"

namespace hologram::llm {
namespace {

using core::Text;

// What kinds of encoder call their numbers in a config.json.
struct Family {
  std::string_view type;
  const char *width, *layers, *heads, *feed_forward, *activation;
  bool padded_positions;  // positions begin behind the number of the padding token
};
constexpr Family kFamilies[] = {
    {"bert", "hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size",
     "hidden_act", false},
    {"roberta", "hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size",
     "hidden_act", true},
    {"xlm-roberta", "hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size",
     "hidden_act", true},
    {"distilbert", "dim", "n_layers", "n_heads", "hidden_dim", "activation", false},
};

struct ActivationRow {
  std::string_view name;
  Tensor (*function)(const Operand& x);
};
constexpr ActivationRow kActivations[] = {
    {"gelu", ops::gelu},
    {"gelu_new", ops::gelu_tanh},
    {"gelu_pytorch_tanh", ops::gelu_tanh},
    {"relu", ops::relu},
};

// Names of parts of a model, and of a layer, and what GGUF calls them.
struct NameRow {
  std::string_view hugging, gguf;
};
constexpr NameRow kNames[] = {
    {"embeddings.word_embeddings", "token_embd"},
    {"embeddings.position_embeddings", "position_embd"},
    {"embeddings.token_type_embeddings", "token_types"},
    {"embeddings.LayerNorm", "token_embd_norm"},
};
constexpr NameRow kLayerNames[] = {
    {"attention.self.query", "attn_q"},
    {"attention.self.key", "attn_k"},
    {"attention.self.value", "attn_v"},
    {"attention.output.dense", "attn_output"},
    {"attention.output.LayerNorm", "attn_output_norm"},
    {"intermediate.dense", "ffn_up"},
    {"output.dense", "ffn_down"},
    {"output.LayerNorm", "layer_output_norm"},
    {"attention.q_lin", "attn_q"},
    {"attention.k_lin", "attn_k"},
    {"attention.v_lin", "attn_v"},
    {"attention.out_lin", "attn_output"},
    {"sa_layer_norm", "attn_output_norm"},
    {"ffn.lin1", "ffn_up"},
    {"ffn.lin2", "ffn_down"},
    {"output_layer_norm", "layer_output_norm"},
};

template <size_t N>
std::string_view gguf_name(const NameRow (&rows)[N], std::string_view hugging) {
  for (const NameRow& row : rows)
    if (row.hugging == hugging) return row.gguf;
  return {};
}

// "encoder.layer.3.output.dense.weight" as "blk.3.ffn_down.weight"; empty for what is not looked
// at.
std::string name_of(std::string_view name) {
  for (const std::string_view model : {"bert.", "roberta.", "distilbert."})
    if (name.starts_with(model)) name.remove_prefix(model.size());
  const size_t last = name.rfind('.');
  if (last == std::string_view::npos) return {};
  std::string kind(name.substr(last));
  if (kind == ".gamma") kind = ".weight";
  if (kind == ".beta") kind = ".bias";
  name = name.substr(0, last);
  std::string prefix;
  std::string_view known;
  for (const std::string_view layers : {"encoder.layer.", "transformer.layer."}) {
    if (!name.starts_with(layers)) continue;
    name.remove_prefix(layers.size());
    const size_t dot = name.find('.');
    if (dot == std::string_view::npos) return {};
    prefix = "blk." + std::string(name.substr(0, dot)) + ".";
    known = gguf_name(kLayerNames, name.substr(dot + 1));
  }
  if (prefix.empty()) known = gguf_name(kNames, name);
  return known.empty() ? std::string() : prefix + std::string(known) + kind;
}

void check(const EncoderConfig& c, const std::string& path) {
  if (c.layers < 1 || c.layers > 10000 || c.width < 1 || c.heads < 1 || c.feed_forward < 1 ||
      c.context < 1 || c.width % c.heads != 0 || !(c.epsilon >= 0 && c.epsilon < 1))
    throw core::error(Text::ModelDamaged, path, "its numbers describe no model");
}

class FolderEncoder : public EncoderSource {
 public:
  FolderEncoder(const std::string& path, const Json& json, const Family& family) : path_(path) {
    read(json, family);
    for_each_member(path, "model", [&](const std::string& file, const files::Member& member) {
      const std::string name = name_of(member.name);
      if (name.empty()) return;
      if (member.dtype != DType::F32 && member.dtype != DType::F16 && member.dtype != DType::BF16)
        throw core::error(Text::ModelLacks, path_, "tensors of the type " + member.stored,
                          "F32, F16 or BF16");
      tensors_.emplace(name, files::read(file, {.member = member.name}));
    });
    const auto words = find("token_embd.weight"), positions = find("position_embd.weight");
    if (!words || !positions)
      throw core::error(Text::ModelDamaged, path_, "there are no embeddings");
    config_.vocabulary = words->rows;
    config_.context = positions->rows - config_.first_position;
    config_.pooling = pooling_of_folder(path, Pooling::Mean);
    check(config_, path_);
  }
  const std::string& path() const override { return path_; }
  const EncoderConfig& config() const override { return config_; }
  std::vector<std::string> names() const override {
    std::vector<std::string> names;
    for (const auto& [name, array] : tensors_) names.push_back(name);
    return names;
  }
  std::optional<Stored> find(const std::string& name) const override {
    const auto found = tensors_.find(name);
    if (found == tensors_.end()) return {};
    return stored_as(found->second);
  }

 private:
  void read(const Json& json, const Family& family) {
    const auto count = [&](const char* key) {
      const auto found = json.find(key);
      const int64_t value =
          found != json.end() && found->is_number_integer() ? found->get<int64_t>() : 0;
      return value < 0 || value >= kMostOfAnything ? 0 : value;
    };
    EncoderConfig& c = config_;
    c.architecture = family.type;
    c.layers = count(family.layers);
    c.width = count(family.width);
    c.heads = count(family.heads);
    c.feed_forward = count(family.feed_forward);
    if (family.padded_positions) c.first_position = 1 + count("pad_token_id");
    if (const auto found = json.find("layer_norm_eps"); found != json.end() && found->is_number())
      c.epsilon = found->get<double>();
    const std::string activation = text_of(json, family.activation, "gelu");
    for (const ActivationRow& row : kActivations)
      if (row.name == activation) c.activation = row.function;
    if (c.activation == nullptr)
      throw core::error(Text::ModelLacks, path_, "the activation '" + activation + "'",
                        "gelu, gelu_new, gelu_pytorch_tanh or relu");
    const std::string positions = text_of(json, "position_embedding_type", "absolute");
    if (positions != "absolute")
      throw core::error(Text::ModelLacks, path_, "positions that are '" + positions + "'",
                        "absolute ones");
  }

  std::string path_;
  EncoderConfig config_;
  std::map<std::string, Array> tensors_;
};

class GgufEncoder : public EncoderSource {
 public:
  explicit GgufEncoder(files::Gguf file) : file_(std::move(file)) {
    const Entries from(file_, "bert");
    EncoderConfig& c = config_;
    c.architecture = "bert";
    c.layers = from.positive("block_count");
    c.width = from.positive("embedding_length");
    c.feed_forward = from.positive("feed_forward_length");
    c.heads = from.positive("attention.head_count");
    c.epsilon = from.number("attention.layer_norm_epsilon", 1e-12);
    c.activation = ops::gelu;
    const auto words = find("token_embd.weight"), positions = find("position_embd.weight");
    if (!words || !positions) from.damaged("there are no embeddings");
    c.vocabulary = words->rows;
    c.context = positions->rows;
    // None, mean, the first, the last token, or a score.
    constexpr Pooling kKinds[] = {Pooling::Mean, Pooling::Mean, Pooling::First, Pooling::Last};
    const int64_t pooling = from.count("pooling_type", 1);
    if (pooling >= static_cast<int64_t>(std::size(kKinds)))
      from.lacks("the pooling " + std::to_string(pooling), "mean, first or last");
    c.pooling = kKinds[pooling];
    check(c, path());
  }
  const std::string& path() const override { return file_.path(); }
  const EncoderConfig& config() const override { return config_; }
  const files::Gguf* gguf() const override { return &file_; }
  std::vector<std::string> names() const override { return names_in(file_); }
  std::optional<Stored> find(const std::string& name) const override {
    const files::GgufTensor* const tensor = file_.tensor(name);
    if (tensor == nullptr) return {};
    return stored_in(file_, *tensor);
  }

 private:
  files::Gguf file_;
  EncoderConfig config_;
};

}  // namespace

namespace {

Pooling read_pooling(const std::string& folder, Pooling otherwise) {
  const std::string pooling = (std::filesystem::path(folder) / "1_Pooling").string();
  const Json json = optional_json_of(pooling, "config.json");
  struct Row {
    const char *flag, *name;
    std::optional<Pooling> pooling;
  };
  const Row rows[] = {
      {"pooling_mode_mean_tokens", "mean", Pooling::Mean},
      {"pooling_mode_cls_token", "cls", Pooling::First},
      {"pooling_mode_lasttoken", "lasttoken", Pooling::Last},
      {"pooling_mode_max_tokens", "max", {}},
      {"pooling_mode_mean_sqrt_len_tokens", "mean_sqrt_len_tokens", {}},
      {"pooling_mode_weightedmean_tokens", "weightedmean", {}},
  };
  const Json mode = json.value("pooling_mode", Json());
  int told = 0;
  for (const Row& row : rows) {
    const auto flag = json.find(row.flag);
    if (mode != row.name && (flag == json.end() || *flag != true)) continue;
    if (!row.pooling || ++told > 1)
      throw core::error(Text::ModelLacks, pooling, std::string("the pooling '") + row.name + "'",
                        "one of mean, cls and lasttoken alone");
    otherwise = *row.pooling;
  }
  return otherwise;
}

}  // namespace

Pooling pooling_of_folder(const std::string& folder, Pooling otherwise) {
  return checked(folder, [&] { return read_pooling(folder, otherwise); });
}

std::unique_ptr<const EncoderSource> open_encoder(const std::string& path) {
  if (!std::filesystem::is_directory(path)) {
    files::Gguf file = files::Gguf::open(path);
    if (file.text("general.architecture").value_or("") != "bert") return nullptr;
    return std::make_unique<GgufEncoder>(std::move(file));
  }
  const Json json = json_of(path, "config.json");
  const Json type = json.value("model_type", Json());
  for (const Family& family : kFamilies)
    if (type == family.type) return std::make_unique<FolderEncoder>(path, json, family);
  return nullptr;
}

}  // namespace hologram::llm
