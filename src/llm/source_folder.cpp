// Models in folders: config.json, and safetensors in one file or several with an index.
#include <charconv>
#include <cstring>
#include <map>

#include "core/messages.hpp"
#include "hologram/files.hpp"
#include "llm/config_folder.hpp"
#include "llm/safetensors.hpp"
#include "llm/source.hpp"

namespace hologram::llm {
namespace {

using core::Text;

// Names of tensors in a layer, and what GGUF calls them.
struct NameRow {
  std::string_view hugging, gguf;
};
constexpr NameRow kNames[] = {
    {"input_layernorm", "attn_norm"},
    {"self_attn.q_proj", "attn_q"},
    {"self_attn.k_proj", "attn_k"},
    {"self_attn.v_proj", "attn_v"},
    {"self_attn.qkv_proj", "attn_qkv"},
    {"self_attn.o_proj", "attn_output"},
    {"self_attn.q_norm", "attn_q_norm"},
    {"self_attn.k_norm", "attn_k_norm"},
    {"pre_feedforward_layernorm", "ffn_norm"},
    {"post_feedforward_layernorm", "post_ffw_norm"},
    {"mlp.gate_proj", "ffn_gate"},
    {"mlp.up_proj", "ffn_up"},
    {"mlp.gate_up_proj", "ffn_up"},
    {"mlp.down_proj", "ffn_down"},
    {"mlp.gate", "ffn_gate_inp"},
    {"mlp.experts.gate_proj", "ffn_gate_exps"},
    {"mlp.experts.up_proj", "ffn_up_exps"},
    {"mlp.experts.down_proj", "ffn_down_exps"},
    {"block_sparse_moe.gate", "ffn_gate_inp"},
    {"block_sparse_moe.experts.w1", "ffn_gate_exps"},
    {"block_sparse_moe.experts.w3", "ffn_up_exps"},
    {"block_sparse_moe.experts.w2", "ffn_down_exps"},
};

// "mlp.experts.3.up_proj" as "mlp.experts.up_proj".
std::string without_number(std::string_view name) {
  constexpr std::string_view kMark = "experts.";
  const size_t at = name.find(kMark);
  const size_t end = at == std::string_view::npos ? at : name.find('.', at + kMark.size());
  if (end == std::string_view::npos) return std::string(name);
  return std::string(name.substr(0, at + kMark.size())) + std::string(name.substr(end + 1));
}

class FolderSource : public Source {
 public:
  explicit FolderSource(const std::string& path) : path_(path) {
    const FolderConfig read = read_config(path);
    config_ = read.config;
    tied_ = read.tied;
    find_tensors();
    const auto embedding = find("token_embd.weight");
    if (!embedding) damaged("there are no embeddings");
    config_.vocabulary = embedding->rows;
  }
  const std::string& path() const override { return path_; }
  const Config& config() const override { return config_; }
  std::vector<std::string> names() const override {
    std::vector<std::string> names;
    for (const auto& [name, array] : tensors_) names.push_back(name);
    return names;
  }
  uint64_t weight_bytes() const override {
    uint64_t bytes = 0;
    for (const auto& [name, array] : tensors_)
      if (name != "token_embd.weight" || tied_) bytes += array.bytes();
    return bytes;
  }

  std::optional<Stored> find(const std::string& name) const override {
    const auto found = tensors_.find(name);
    if (found == tensors_.end()) return {};
    return stored_as(found->second);
  }

 private:
  [[noreturn]] void damaged(const std::string& what) const {
    throw core::error(Text::ModelDamaged, path_, what);
  }
  [[noreturn]] void lacks(const std::string& what, const std::string& instead) const {
    throw core::error(Text::ModelLacks, path_, what, instead);
  }

  void find_tensors() {
    for_each_member(path_, "model", [&](const std::string& file, const files::Member& member) {
      add(file, member);
    });
    for (auto& [name, parts] : experts_) join(name, parts);
    experts_.clear();
  }

  void add(const std::string& file, const files::Member& member) {
    const std::string name = gguf_name(member.name, *config_.architecture);
    if (name.empty() || (name == "output.weight" && tied_)) return;
    if (member.dtype != DType::F32 && member.dtype != DType::F16 && member.dtype != DType::BF16)
      lacks("tensors of the type " + member.stored, "F32, F16 or BF16");
    Array array = files::read(file, {.member = member.name});
    if (config_.architecture->norms_plus_one && name.ends_with("norm.weight")) {
      Array more(DType::F32, array.shape());
      Stored stored;
      stored.dtype = array.dtype();
      stored.columns = static_cast<int64_t>(array.size());
      stored.data = {array.data(), array.bytes()};
      stored.row(0, more.mutable_as<float>().data());
      for (float& number : more.mutable_as<float>()) number += 1;
      array = more;
    }
    if (const size_t expert = expert_of(member.name); expert != kNoExpert) {
      if (expert >= static_cast<size_t>(config_.experts))
        damaged("'" + member.name + "' is of an expert that there is not");
      auto& parts = experts_[name];
      parts.resize(static_cast<size_t>(config_.experts));
      parts[expert] = array;
      return;
    }
    tensors_.emplace(name, std::move(array));
  }

  // The number behind "experts.", as each expert's matrices stand for themselves.
  static constexpr size_t kNoExpert = SIZE_MAX;
  static size_t expert_of(std::string_view name) {
    constexpr std::string_view kMark = ".experts.";
    const size_t at = name.find(kMark);
    if (at == std::string_view::npos) return kNoExpert;
    const std::string_view rest = name.substr(at + kMark.size());
    size_t number = 0;
    const auto end = std::from_chars(rest.data(), rest.data() + rest.size(), number);
    return end.ec == std::errc() ? number : kNoExpert;
  }

  // One matrix behind the other.
  void join(const std::string& name, const std::vector<std::optional<Array>>& parts) {
    for (const std::optional<Array>& part : parts)
      if (!part || part->shape() != parts[0]->shape() || part->dtype() != parts[0]->dtype() ||
          part->shape().size() != 2)
        damaged("the experts of '" + name + "' are not all alike");
    const Shape& shape = parts[0]->shape();
    Array all(parts[0]->dtype(), {static_cast<int64_t>(parts.size()), shape[0], shape[1]});
    std::byte* to = all.mutable_data();
    for (const std::optional<Array>& part : parts) {
      std::memcpy(to, part->data(), part->bytes());
      to += part->bytes();
    }
    tensors_.emplace(name, std::move(all));
  }

  std::string path_;
  Config config_;
  bool tied_ = false;
  std::map<std::string, Array> tensors_;
  std::map<std::string, std::vector<std::optional<Array>>> experts_;  // while files are read
};

}  // namespace

std::string gguf_name(const std::string& given, const Architecture& architecture) {
  std::string_view name = given;
  if (name.starts_with("lm_head.")) return "output." + given.substr(8);
  if (!name.starts_with("model.")) return {};
  name.remove_prefix(6);
  if (name == "embed_tokens.weight") return "token_embd.weight";
  if (name == "norm.weight") return "output_norm.weight";
  if (!name.starts_with("layers.")) return {};
  name.remove_prefix(7);
  const size_t dot = name.find('.'), last = name.rfind('.');
  if (dot == std::string_view::npos || last <= dot) return {};
  const std::string block = "blk." + std::string(name.substr(0, dot)) + ".";
  const std::string_view kind = name.substr(last);
  const std::string part = without_number(name.substr(dot + 1, last - dot - 1));
  // Between attention and the rest Gemma has two norms, others one.
  if (part == "post_attention_layernorm") {
    const bool behind = architecture.window_period > 0;
    return block + (behind ? "post_attention_norm" : "ffn_norm") + std::string(kind);
  }
  for (const NameRow& row : kNames)
    if (row.hugging == part) return block + std::string(row.gguf) + std::string(kind);
  return {};
}

std::unique_ptr<const Source> open_folder(const std::string& path) {
  return std::make_unique<FolderSource>(path);
}

}  // namespace hologram::llm
