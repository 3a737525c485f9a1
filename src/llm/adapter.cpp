#include "llm/adapter.hpp"

#include <cmath>
#include <map>

#include "core/messages.hpp"
#include "hologram/files.hpp"
#include "llm/json.hpp"
#include "llm/safetensors.hpp"

namespace hologram::llm {
namespace {

using core::Text;

struct Matrix {
  int64_t rows = 0, columns = 0;
  std::vector<float> numbers;
};

Stored stored(const Matrix& m) {
  Stored stored;
  stored.dtype = DType::F32;
  stored.rows = m.rows;
  stored.columns = m.columns;
  stored.data = std::as_bytes(std::span(m.numbers));
  return stored;
}

class AdaptedSource : public Source {
 public:
  explicit AdaptedSource(std::shared_ptr<const Source> base) : base_(std::move(base)) {}

  const std::string& path() const override { return base_->path(); }
  const Config& config() const override { return base_->config(); }
  const files::Gguf* gguf() const override { return base_->gguf(); }
  std::vector<std::string> names() const override {
    std::vector<std::string> names = base_->names();
    for (const auto& [name, matrix] : added_) names.push_back(name);
    return names;
  }
  uint64_t weight_bytes() const override {
    uint64_t bytes = base_->weight_bytes();
    for (const auto& [name, matrix] : added_) bytes += matrix.numbers.size() * sizeof(float);
    return bytes;
  }
  std::optional<Stored> find(const std::string& name) const override {
    const auto found = added_.find(name);
    return found != added_.end() ? stored(found->second) : base_->find(name);
  }

  void add(const Adapter& adapter) {
    const Json json = json_of(adapter.path, "adapter_config.json");
    const Scales scales(adapter.path, json);
    std::map<std::string, Matrix> downs, ups;
    for_each_member(adapter.path, "adapter_model",
                    [&](const std::string& file, const files::Member& member) {
                      take(adapter.path, file, member, downs, ups);
                    });
    if (downs.empty() || downs.size() != ups.size())
      damaged(adapter.path, "its matrices do not come in pairs");
    for (auto& [name, down] : downs) {
      const auto up = ups.find(name);
      if (up == ups.end() || up->second.columns != down.rows)
        damaged(adapter.path, "the matrices of '" + name + "' do not fit");
      put(adapter, scales, name, std::move(down), std::move(up->second));
    }
  }

 private:
  // How much of a product is added, which depends on the rank.
  class Scales {
   public:
    Scales(const std::string& path, const Json& json) {
      const auto lacks = [&](const std::string& what) {
        throw core::error(Text::ModelLacks, path, what, "plain LoRA");
      };
      const auto given = [&](const char* key) {
        const auto found = json.find(key);
        return found != json.end() && !found->is_null() && *found != false && !found->empty();
      };
      if (json.value("peft_type", Json("LORA")) != "LORA") lacks("an adapter of another type");
      for (const char* key : {"use_dora", "modules_to_save", "rank_pattern", "alpha_pattern",
                              "fan_in_fan_out", "trainable_token_indices", "layer_replication"})
        if (given(key)) lacks("'" + std::string(key) + "' of an adapter");
      if (json.value("bias", Json("none")) != "none") lacks("biases of an adapter");
      const auto alpha = json.find("lora_alpha");
      alpha_ = alpha != json.end() && alpha->is_number() ? alpha->get<double>() : 8;
      root_ = given("use_rslora");
    }
    double of(int64_t rank) const {
      const auto r = static_cast<double>(rank);
      return alpha_ / (root_ ? std::sqrt(r) : r);
    }

   private:
    double alpha_ = 8;
    bool root_ = false;
  };

  [[noreturn]] static void damaged(const std::string& path, const std::string& what) {
    throw core::error(Text::ModelDamaged, path, what);
  }

  void take(const std::string& path, const std::string& file, const files::Member& member,
            std::map<std::string, Matrix>& downs, std::map<std::string, Matrix>& ups) const {
    std::string name = member.name;
    for (const std::string_view prefix : {"base_model.model.", "base_model."})
      if (name.starts_with(prefix)) {
        name.erase(0, prefix.size());
        break;
      }
    const bool down = name.ends_with(".lora_A.weight"), up = name.ends_with(".lora_B.weight");
    const std::string known =
        down || up ? gguf_name(name.substr(0, name.size() - 14) + ".weight", *config().architecture)
                   : std::string();
    // What is named here has to be in the model: nothing is left out in silence.
    if (known.empty() || !base_->find(known))
      throw core::error(Text::ModelLacks, path, "'" + member.name + "'",
                        "adapters of matrices that the model has");
    const Array array = files::read(file, {.member = member.name});
    const Stored from = stored_as(array);
    if (from.count != 1 || array.shape().size() != 2)
      damaged(path, "'" + member.name + "' is no matrix");
    Matrix made{from.rows, from.columns, {}};
    made.numbers.resize(array.size());
    for (int64_t r = 0; r < from.rows; r++) from.row(r, made.numbers.data() + r * from.columns);
    (down ? downs : ups).emplace(known.substr(0, known.size() - 7), std::move(made));
  }

  void put(const Adapter& adapter, const Scales& scales, const std::string& name, Matrix down,
           Matrix up) {
    const auto scale = static_cast<float>(scales.of(down.rows) * adapter.scale);
    for (float& number : up.numbers) number *= scale;
    if (config().rope == RopeKind::Neighbours &&
        (name.ends_with(".attn_q") || name.ends_with(".attn_k")))
      up = in_turns(up);
    Matrix& downs = added_[name + ".lora_a"];
    Matrix& ups = added_[name + ".lora_b"];
    if (ups.rows != 0 && (ups.rows != up.rows || downs.columns != down.columns))
      damaged(adapter.path, "the matrices of '" + name + "' do not fit those of another adapter");
    // A second adapter's rows and columns come behind the first one's.
    Matrix both{up.rows, ups.columns + up.columns, {}};
    for (int64_t r = 0; r < up.rows; r++)
      for (const Matrix* part : {&ups, &up}) {
        const auto begin = part->numbers.begin() + r * part->columns;
        if (part->columns > 0)
          both.numbers.insert(both.numbers.end(), begin, begin + part->columns);
      }
    ups = std::move(both);
    downs.columns = down.columns;
    downs.rows += down.rows;
    downs.numbers.insert(downs.numbers.end(), down.numbers.begin(), down.numbers.end());
  }

  // GGUF has the two halves of Llama's heads in turns.
  Matrix in_turns(const Matrix& m) const {
    const int64_t length = config().key_length, half = length / 2;
    Matrix made{m.rows, m.columns, {}};
    for (int64_t r = 0; r < m.rows; r++) {
      const int64_t place = r % length, from = r - place + place % 2 * half + place / 2;
      if (from >= m.rows) return m;  // told when it is loaded
      const auto begin = m.numbers.begin() + from * m.columns;
      made.numbers.insert(made.numbers.end(), begin, begin + m.columns);
    }
    return made;
  }

  std::shared_ptr<const Source> base_;
  std::map<std::string, Matrix> added_;
};

}  // namespace

std::shared_ptr<const Source> adapted(std::shared_ptr<const Source> source,
                                      const std::vector<Adapter>& adapters) {
  if (adapters.empty()) return source;
  auto made = std::make_shared<AdaptedSource>(std::move(source));
  for (const Adapter& adapter : adapters) checked(adapter.path, [&] { made->add(adapter); });
  return made;
}

}  // namespace hologram::llm
