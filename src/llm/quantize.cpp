#include "hologram/quantize.hpp"

#include <cmath>
#include <cstring>
#include <filesystem>
#include <memory>
#include <mutex>

#include "core/half.hpp"
#include "core/messages.hpp"
#include "core/parallel.hpp"
#include "files/gguf_writer.hpp"
#include "llm/block_encoding.hpp"
#include "llm/encoder_source.hpp"
#include "llm/gguf_metadata.hpp"
#include "llm/quantize_choice.hpp"

namespace hologram::llm {
namespace {

// A model as it will stand in a GGUF file, before anything is quantised.
class Input {
 public:
  virtual ~Input() = default;
  virtual std::vector<std::string> names() const = 0;
  virtual Stored find(const std::string& name) const = 0;
  virtual void write_metadata(files::GgufWriter& to) const = 0;
  // The row of the stored tensor that is row `row` of the file's.
  virtual int64_t source_row(const std::string& /*name*/, int64_t row) const { return row; }
  virtual bool keeps_order(const std::string& /*name*/) const { return true; }
};

class GgufInput : public Input {
 public:
  explicit GgufInput(const std::string& path) : file_(files::Gguf::open(path)) {}
  std::vector<std::string> names() const override { return names_in(file_); }
  Stored find(const std::string& name) const override {
    return stored_in(file_, *file_.tensor(name));
  }
  void write_metadata(files::GgufWriter& to) const override {
    for (const auto& [name, value] : file_.metadata())
      if (name != "general.file_type" && name != "general.quantization_version" &&
          name != "general.alignment" && !name.starts_with("split."))
        to.copy(name, value);
  }

 private:
  files::Gguf file_;
};

class FolderInput : public Input {
 public:
  explicit FolderInput(const std::string& path) : path_(path) {
    encoder_ = open_encoder(path);
    if (encoder_ == nullptr) decoder_ = open_source(path);
    if (decoder_ != nullptr) add_factors();
  }
  std::vector<std::string> names() const override {
    std::vector<std::string> names = tensors().names();
    for (const auto& [name, factors] : factors_) names.push_back(name);
    return names;
  }
  Stored find(const std::string& name) const override {
    for (const auto& [known, factors] : factors_) {
      if (known != name) continue;
      Stored stored;
      stored.dtype = DType::F32;
      stored.columns = static_cast<int64_t>(factors.size());
      stored.data = std::as_bytes(std::span(factors));
      return stored;
    }
    Stored stored = *tensors().find(name);
    if (const int64_t skipped = first_row(name); skipped > 0) {
      stored.rows -= skipped;
      stored.data = stored.data.subspan(static_cast<uint64_t>(skipped) * stored.row_bytes());
    }
    return stored;
  }
  void write_metadata(files::GgufWriter& to) const override {
    if (encoder_ != nullptr) write_config(encoder_->config(), to);
    else write_config(decoder_->config(), to);
    to.text("general.name", std::filesystem::path(path_).filename().string());
    const Vocabulary vocabulary = read_vocabulary(path_);
    if (vocabulary.preparation != nullptr)
      throw core::error(core::Text::ModelLacks, path_,
                        "what its tokenizer.json does before Unigram, for which GGUF has no words",
                        "another tokenizer");
    write_vocabulary(vocabulary, to);
  }
  // Of a head's two halves, which lie one behind the other in a folder, GGUF has Llama's elements
  // in turns.
  int64_t source_row(const std::string& name, int64_t row) const override {
    if (keeps_order(name)) return row;
    const int64_t length = decoder_->config().key_length, half = length / 2;
    const int64_t head = row / length, place = row % length;
    return head * length + place % 2 * half + place / 2;
  }
  bool keeps_order(const std::string& name) const override {
    if (decoder_ == nullptr || decoder_->config().architecture->rope != RopeKind::Neighbours)
      return true;
    return name.find(".attn_q.") == std::string::npos && name.find(".attn_k.") == std::string::npos;
  }

 private:
  const Tensors& tensors() const {
    return encoder_ != nullptr ? static_cast<const Tensors&>(*encoder_) : *decoder_;
  }
  // RoBERTa's first positions are never met.
  int64_t first_row(const std::string& name) const {
    return encoder_ != nullptr && name == "position_embd.weight" ? encoder_->config().first_position
                                                                 : 0;
  }
  void add_factors() {
    const RopeScaling& s = decoder_->config().scaling;
    if (s.kind == RopeScaling::Kind::Llama3)
      factors_.emplace_back("rope_freqs.weight", llama3_factors(decoder_->config()));
    if (s.kind != RopeScaling::Kind::Long) return;
    factors_.emplace_back("rope_factors_short.weight", s.factors);
    factors_.emplace_back("rope_factors_long.weight", s.long_factors);
  }

  std::string path_;
  std::unique_ptr<const EncoderSource> encoder_;
  std::unique_ptr<const Source> decoder_;
  std::vector<std::pair<std::string, std::vector<float>>> factors_;
};

void encode_row(const NumberType& type, const float* numbers, int64_t columns, std::byte* to) {
  if (type.block != nullptr) {
    encode_blocks(*type.block, numbers, columns, to);
    return;
  }
  for (int64_t i = 0; i < columns; i++) {
    if (type.dtype == DType::F32) {
      std::memcpy(to + i * 4, numbers + i, 4);
      continue;
    }
    const uint16_t bits =
        type.dtype == DType::F16 ? core::f32_to_f16(numbers[i]) : core::f32_to_bf16(numbers[i]);
    std::memcpy(to + i * 2, &bits, 2);
  }
}

struct Loss {
  double lost = 0, all = 0;  // sums of squares
  double error() const { return all > 0 ? std::sqrt(lost / all) : 0; }
};

class Work {
 public:
  Work(const Input& input, const std::string& name, const NumberType& type, core::Threads& threads)
      : input_(input), name_(name), from_(input.find(name)), type_(type), threads_(threads) {}

  bool unchanged() const { return NumberType{from_.type, from_.dtype} == type_ && is_in_order(); }
  const Stored& from() const { return from_; }
  Loss loss() const { return loss_; }

  // Writes the tensor, so many rows at a time that they take a few megabytes.
  void write(core::OutputFile& file) {
    if (unchanged()) {
      file.write(from_.data.data(), from_.data.size());
      return;
    }
    const int64_t rows = from_.rows * from_.count;
    const auto row_bytes = static_cast<int64_t>(type_.bytes(static_cast<uint64_t>(columns())));
    const int64_t most = std::max<int64_t>(1, (int64_t{4} << 20) / row_bytes);
    std::vector<std::byte> part;
    for (int64_t begin = 0; begin < rows; begin += most) {
      const int64_t count = std::min(most, rows - begin);
      part.resize(static_cast<size_t>(count * row_bytes));
      encode(begin, count, row_bytes, part.data());
      file.write(part.data(), part.size());
    }
  }

 private:
  int64_t columns() const { return from_.columns; }
  bool is_in_order() const { return input_.keeps_order(name_); }

  void encode(int64_t begin, int64_t count, int64_t row_bytes, std::byte* to) {
    std::mutex mutex;
    threads_.run(static_cast<uint64_t>(count), 1, [&](uint64_t first, uint64_t last) {
      std::vector<float> numbers(static_cast<size_t>(columns())), after(numbers.size());
      Loss loss;
      for (uint64_t r = first; r < last; r++) {
        read(begin + static_cast<int64_t>(r), numbers.data());
        std::byte* const row = to + static_cast<int64_t>(r) * row_bytes;
        encode_row(type_, numbers.data(), columns(), row);
        Stored made;
        made.type = type_.block;
        made.dtype = type_.dtype;
        made.columns = columns();
        made.data = {row, static_cast<size_t>(row_bytes)};
        made.row(0, after.data());
        for (size_t i = 0; i < numbers.size(); i++) {
          const double lost = double{numbers[i]} - double{after[i]};
          loss.lost += lost * lost;
          loss.all += double{numbers[i]} * double{numbers[i]};
        }
      }
      const std::lock_guard lock(mutex);
      loss_.lost += loss.lost;
      loss_.all += loss.all;
    });
  }
  // Rows in the file's order; the elements of a vector are its rows.
  void read(int64_t row, float* to) const {
    if (is_in_order()) return from_.row(row, to);
    if (from_.rows > 1) return from_.row(input_.source_row(name_, row), to);
    std::vector<float> all(static_cast<size_t>(columns()));
    from_.row(0, all.data());
    for (int64_t i = 0; i < columns(); i++)
      to[i] = all[static_cast<size_t>(input_.source_row(name_, i))];
  }

  const Input& input_;
  const std::string& name_;
  const Stored from_;
  const NumberType type_;
  core::Threads& threads_;
  Loss loss_;
};

std::vector<uint64_t> shape_of(const Stored& stored) {
  std::vector<uint64_t> shape = {static_cast<uint64_t>(stored.columns)};
  if (stored.rows > 1 || stored.count > 1) shape.push_back(static_cast<uint64_t>(stored.rows));
  if (stored.count > 1) shape.push_back(static_cast<uint64_t>(stored.count));
  return shape;
}

}  // namespace

Quantized quantize(const std::string& path, const std::string& to_path,
                   const QuantizeOptions& options) {
  const NumberType asked = number_type(options.to);
  for (const auto& [part, type] : options.tensors) number_type(type);
  std::unique_ptr<const Input> input;
  if (std::filesystem::is_directory(path)) input = std::make_unique<FolderInput>(path);
  else input = std::make_unique<GgufInput>(path);
  const std::vector<std::string> names = input->names();
  bool tied = true;
  for (const std::string& name : names) tied = tied && name != "output.weight";

  files::GgufWriter head;
  input->write_metadata(head);
  head.integer("general.quantization_version", 2);
  head.integer("general.file_type", file_type(asked));
  core::Threads threads(options.threads);
  std::vector<std::unique_ptr<Work>> works;
  Quantized made;
  for (const std::string& name : names) {
    const Stored stored = input->find(name);
    const bool logits = name == (tied ? "token_embd.weight" : "output.weight");
    const Choice choice =
        choose_type(options, name, stored.rows * stored.count, stored.columns, logits);
    works.push_back(std::make_unique<Work>(*input, name, choice.type, threads));
    const NumberType from{stored.type, stored.dtype};
    QuantizedTensor tensor;
    tensor.name = name;
    tensor.from = from.name();
    tensor.to = choice.type.name();
    tensor.fell_back = choice.fell_back;
    tensor.bytes_before = stored.data.size();
    tensor.bytes_after =
        choice.type.bytes(static_cast<uint64_t>(stored.rows * stored.columns * stored.count));
    made.bytes_before += tensor.bytes_before;
    made.bytes_after += tensor.bytes_after;
    made.tensors.push_back(std::move(tensor));
    head.tensor(name, *files::gguf_encoding(choice.type.name()), shape_of(stored));
  }

  core::OutputFile file(to_path);
  head.begin(file);
  Loss all;
  for (size_t i = 0; i < works.size(); i++) {
    works[i]->write(file);
    files::GgufWriter::end_tensor(file);
    const Loss loss = works[i]->loss();
    made.tensors[i].error = loss.error();
    all.lost += loss.lost;
    all.all += loss.all;
    if (options.on_tensor && !options.on_tensor(made.tensors[i], i, works.size()))
      throw core::error(core::Text::ModelCancelled, to_path);
  }
  made.error = all.error();
  file.commit();
  return made;
}

}  // namespace hologram::llm
