#include "files/npy.hpp"

#include <algorithm>
#include <charconv>

#include "core/messages.hpp"

namespace hologram::files {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr size_t kMaxAxes = 64;  // NumPy's own bound

struct TypeRow {
  std::string_view code;  // without the byte order
  DType dtype;
  std::string_view others;  // that NumPy reads, too
};
constexpr TypeRow kTypes[] = {
    {"b1", DType::Bool, " ? bool "},    {"i1", DType::I8, " b int8 "},
    {"u1", DType::U8, " B uint8 "},     {"i2", DType::I16, " h int16 "},
    {"u2", DType::U16, " H uint16 "},   {"i4", DType::I32, " i int32 "},
    {"u4", DType::U32, " I uint32 "},   {"i8", DType::I64, " l q int64 "},
    {"u8", DType::U64, " L Q uint64 "}, {"f2", DType::F16, " e float16 "},
    {"f4", DType::F32, " f float32 "},  {"f8", DType::F64, " d float64 "},
};

struct RefusedRow {
  char kind;
  std::string_view what;
};
constexpr RefusedRow kRefused[] = {
    {'O', "Python objects"}, {'c', "complex numbers"}, {'U', "text"},       {'S', "byte strings"},
    {'a', "byte strings"},   {'M', "dates"},           {'m', "time spans"}, {'V', "raw records"},
};

// Reads the dictionary; whatever it does not expect is an error.
class HeaderText {
 public:
  HeaderText(const Source& source, std::string_view text) : source_(source), text_(text) {}

  void parse(NpyHeader& header) {
    bool descr = false, order = false, shape = false;
    expect('{');
    while (!accept('}')) {
      const std::string key = string();
      expect(':');
      if (key == "descr" && !descr) {
        descr = true;
        header.stored = peek() == '[' ? skip_list() : string();
      } else if (key == "fortran_order" && !order) {
        order = true;
        header.layout.fortran = boolean();
      } else if (key == "shape" && !shape) {
        shape = true;
        header.shape = tuple();
      } else {
        fail();
      }
      if (!accept(',') && peek() != '}') fail();
    }
    if (!descr || !order || !shape || peek() != '\0') fail();
  }

 private:
  [[noreturn]] void fail() const { damaged(source_, Format::Npy, "its header does not parse"); }

  // The next character that is neither what Python takes for a space nor in a comment; '\0' at the
  // end.
  char peek() {
    while (true) {
      at_ = std::min(text_.find_first_not_of(" \t\n\r\f", at_), text_.size());
      if (at_ == text_.size() || text_[at_] != '#') break;
      at_ = std::min(text_.find('\n', at_), text_.size());
    }
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool accept(char c) {
    if (peek() != c || at_ == text_.size()) return false;
    at_++;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) fail();
  }
  std::string string() {
    if (peek() == 'u') at_++;  // as Python 2 writes text
    const char quote = peek();
    if (quote != '\'' && quote != '"') fail();
    const size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) fail();
    const std::string_view value = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return std::string(value);
  }
  bool boolean() {
    peek();
    for (const std::string_view word : {std::string_view("True"), std::string_view("False")})
      if (text_.substr(at_).starts_with(word)) {
        at_ += word.size();
        return word == "True";
      }
    fail();
  }
  int64_t integer() {
    accept('+');
    peek();
    const std::string_view prefix = text_.substr(at_, 2);
    const int base = prefix == "0x" || prefix == "0X" ? 16 : 10;
    if (base == 16) at_ += 2;
    int64_t value = 0;
    const char* begin = text_.data() + at_;
    const auto [end, problem] = std::from_chars(begin, text_.data() + text_.size(), value, base);
    if (problem != std::errc() || value < 0) fail();
    at_ += static_cast<size_t>(end - begin);
    accept('L');  // as Python 2 writes it
    return value;
  }
  Shape tuple() {
    Shape shape;
    expect('(');
    while (!accept(')')) {
      if (shape.size() == kMaxAxes) fail();
      shape.push_back(integer());
      if (!accept(',') && peek() != ')') fail();
    }
    return shape;
  }
  // The fields of a record, which only have to be stepped over.
  std::string skip_list() {
    size_t depth = 0;
    do {
      const char c = peek();
      if (c == '\0') fail();
      if (c == '\'' || c == '"') {
        string();
        continue;
      }
      if (c == '[' || c == '(') depth++;
      if (c == ']' || c == ')') depth--;
      at_++;
    } while (depth > 0);
    return "V";
  }

  const Source& source_;
  std::string_view text_;
  size_t at_ = 0;
};

void resolve_type(NpyHeader& header) {
  std::string_view code = header.stored;
  const char order = code.empty() ? '\0' : code[0];
  if (order == '<' || order == '>' || order == '=' || order == '|') code.remove_prefix(1);
  header.layout.swapped = order == '>';
  const std::string name = ' ' + std::string(code) + ' ';
  for (const TypeRow& row : kTypes)
    if (row.code == code || (code.find(' ') == std::string_view::npos &&
                             row.others.find(name) != std::string_view::npos))
      header.dtype = row.dtype;
  if (header.dtype != DType::None && header.shape.size() <= kMaxRank) return;
  if (header.dtype != DType::None) {
    header.dtype = DType::None;
    header.refusal = "an array of " + std::to_string(header.shape.size()) + " axes";
    header.instead = "an array of at most 8 axes";
    return;
  }
  header.instead = "bool, integers or floating-point numbers";
  for (const RefusedRow& row : kRefused)
    if (!code.empty() && row.kind == code[0]) header.refusal = row.what;
  if (header.refusal.empty()) header.refusal = "elements of the type '" + header.stored + "'";
}

class NpyEncoder : public Encoder {
 public:
  NpyEncoder(core::OutputFile& file, const Part& part) : file_(file) {
    const std::string header = make_npy_header(file.path(), Format::Npy, part.dtype, part.shape);
    file_.write(header.data(), header.size());
  }
  void write(const std::byte* data, size_t bytes) override { file_.write(data, bytes); }
  void finish() override {}

 private:
  core::OutputFile& file_;
};

NpyHeader parse_file(const Source& source) {
  if (npy_header_size(source, source.bytes) > source.bytes.size())
    damaged(source, Format::Npy, "its header is cut short");
  NpyHeader header = parse_npy_header(source, source.bytes);
  if (header.data_bytes > source.bytes.size() - header.size)
    damaged(source, Format::Npy,
            "its shape " + to_string(header.shape) + " needs " + std::to_string(header.data_bytes) +
                " bytes, there are " + std::to_string(source.bytes.size() - header.size));
  return header;
}

}  // namespace

size_t npy_header_size(const Source& source, std::span<const std::byte> bytes) {
  if (!starts_with(bytes, kMagic)) damaged(source, Format::Npy, "it does not begin as one");
  if (bytes.size() < kNpyPreamble) damaged(source, Format::Npy, "its header is cut short");
  const auto at = [&](size_t i) { return static_cast<size_t>(bytes[i]); };
  const size_t version = at(6);
  if (version < 1 || version > 3 || at(7) != 0)
    damaged(source, Format::Npy,
            "its version is " + std::to_string(version) + "." + std::to_string(at(7)));
  const size_t length =
      version == 1 ? at(8) | at(9) << 8 : at(8) | at(9) << 8 | at(10) << 16 | at(11) << 24;
  if (length > kMaxNpyHeader) damaged(source, Format::Npy, "its header is longer than 65536 bytes");
  return (version == 1 ? 10 : 12) + length;
}

NpyHeader parse_npy_header(const Source& source, std::span<const std::byte> bytes) {
  NpyHeader header;
  header.size = npy_header_size(source, bytes);
  const size_t start = bytes[6] == std::byte{1} ? 10 : 12;
  const auto* text = reinterpret_cast<const char*>(bytes.data());
  HeaderText(source, {text + start, header.size - start}).parse(header);
  resolve_type(header);
  if (header.dtype != DType::None)
    header.data_bytes = bytes_of(source, Format::Npy, header.dtype, header.shape);
  return header;
}

void require_supported(const Source& source, const NpyHeader& header) {
  if (header.dtype == DType::None) unsupported(source, header.refusal, header.instead);
}

std::string make_npy_header(const std::string& path, Format format, DType dtype,
                            const Shape& shape) {
  const auto* row = std::find_if(std::begin(kTypes), std::end(kTypes),
                                 [&](const TypeRow& r) { return r.dtype == dtype; });
  if (row == std::end(kTypes))
    throw core::error(core::Text::FileDType, path, name_of(dtype), name_of(format),
                      "f32 or f16, or write a .safetensors file");
  std::string text = "{'descr': '";
  text += (size_of(dtype) == 1 ? "|" : "<") + std::string(row->code);
  text += "', 'fortran_order': False, 'shape': (";
  for (size_t i = 0; i < shape.size(); i++) text += (i ? " " : "") + std::to_string(shape[i]) + ",";
  // Python writes (2, 3) and (2,).
  if (shape.size() > 1) text.pop_back();
  text += "), }";
  while ((10 + text.size() + 1) % 64 != 0) text += ' ';
  text += '\n';
  std::string header(kMagic);
  header += {1, 0, static_cast<char>(text.size() & 255), static_cast<char>(text.size() >> 8)};
  return header + text;
}

bool is_npy(std::span<const std::byte> bytes) { return starts_with(bytes, kMagic); }

FileInfo inspect_npy(const Source& source) {
  const NpyHeader header = parse_file(source);
  return {Format::Npy, {{"", header.dtype, header.shape, header.stored}}};
}

Array read_npy(const Source& source, const ReadOptions&) {
  const NpyHeader header = parse_file(source);
  require_supported(source, header);
  return array_at(source, header.size, header.dtype, header.shape, header.layout);
}

std::unique_ptr<Encoder> npy_encoder(core::OutputFile& file, const std::vector<Part>& parts,
                                     const WriteOptions&) {
  return std::make_unique<NpyEncoder>(file, parts.front());
}

}  // namespace hologram::files
