#include "files/safetensors.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/messages.hpp"
#include "files/bytes.hpp"
#include "files/layout.hpp"

namespace hologram::files {
namespace {

using nlohmann::json;

constexpr uint64_t kPreamble = 8;                   // the length of the header
constexpr uint64_t kMaxHeader = 100 * 1000 * 1000;  // the format's own bound
constexpr int kMaxDepth = 3;                        // {name: {shape: [number]}}
constexpr size_t kMaxName = 4096;
constexpr size_t kMaxAxes = 64;
constexpr std::string_view kMetadata = "__metadata__";

struct TypeRow {
  std::string_view code;
  DType dtype;
};
constexpr TypeRow kTypes[] = {
    {"BOOL", DType::Bool}, {"I8", DType::I8},   {"U8", DType::U8},     {"I16", DType::I16},
    {"U16", DType::U16},   {"I32", DType::I32}, {"U32", DType::U32},   {"I64", DType::I64},
    {"U64", DType::U64},   {"F16", DType::F16}, {"BF16", DType::BF16}, {"F32", DType::F32},
    {"F64", DType::F64},
};

struct Tensor {
  Member member;
  uint64_t begin, end;  // in the data
};
struct Contents {
  std::vector<Tensor> tensors;
  uint64_t data;  // offset of the data
};

json parse_header(const Source& source, std::string_view text) {
  // The callback bounds the depth, and with it what a small file can make us allocate.
  bool deep = false;
  const auto watch = [&](int depth, json::parse_event_t, json&) {
    deep = deep || depth > kMaxDepth;
    if (deep) throw std::length_error("too deep");
    return true;
  };
  try {
    json header = json::parse(text.begin(), text.end(), watch);
    if (header.is_object()) return header;
  } catch (const json::exception&) {
  } catch (const std::length_error&) {
  }
  damaged(source, Format::Safetensors, "its header does not parse");
}

uint64_t natural(const Source& source, const json& value) {
  if (!value.is_number_unsigned())
    damaged(source, Format::Safetensors, "its header holds a number that is not valid");
  return value.get<uint64_t>();
}

Tensor parse_tensor(const Source& source, const std::string& name, const json& value) {
  const auto wrong = [&](std::string_view what) {
    damaged(source, Format::Safetensors,
            "the " + std::string(what) + " of '" + name + "' is wrong");
  };
  if (!value.is_object()) wrong("description");
  const auto field = [&](const char* key) -> const json& {
    const auto found = value.find(key);
    if (found == value.end()) wrong(key);
    return *found;
  };
  Tensor tensor{{name, DType::None, {}, ""}, 0, 0};
  const json& dtype = field("dtype");
  if (!dtype.is_string()) wrong("dtype");
  tensor.member.stored = dtype.get<std::string>();
  const json& shape = field("shape");
  if (!shape.is_array() || shape.size() > kMaxAxes) wrong("shape");
  for (const json& length : shape) {
    const uint64_t n = natural(source, length);
    if (n > INT64_MAX) wrong("shape");
    tensor.member.shape.push_back(static_cast<int64_t>(n));
  }
  const json& offsets = field("data_offsets");
  if (!offsets.is_array() || offsets.size() != 2) wrong("data_offsets");
  tensor.begin = natural(source, offsets[0]);
  tensor.end = natural(source, offsets[1]);
  if (tensor.begin > tensor.end) wrong("data_offsets");

  for (const TypeRow& row : kTypes)
    if (row.code == tensor.member.stored && shape.size() <= kMaxRank)
      tensor.member.dtype = row.dtype;
  if (tensor.member.dtype != DType::None &&
      bytes_of(source, Format::Safetensors, tensor.member.dtype, tensor.member.shape) !=
          tensor.end - tensor.begin)
    wrong("size");
  return tensor;
}

Contents parse(const Source& source) {
  const uint64_t size = source.bytes.size();
  if (size < kPreamble) damaged(source, Format::Safetensors, "its header is cut short");
  const auto length = load_number<uint64_t>(source.bytes.data());
  if (length > size - kPreamble) damaged(source, Format::Safetensors, "its header is cut short");
  if (length > kMaxHeader) damaged(source, Format::Safetensors, "its header is above 100 MB");
  const auto* text = reinterpret_cast<const char*>(source.bytes.data()) + kPreamble;
  const json header = parse_header(source, {text, static_cast<size_t>(length)});

  Contents contents{{}, kPreamble + length};
  for (const auto& [name, value] : header.items())
    if (name != kMetadata) contents.tensors.push_back(parse_tensor(source, name, value));
  std::sort(contents.tensors.begin(), contents.tensors.end(), [](const Tensor& a, const Tensor& b) {
    return std::tie(a.begin, a.end) < std::tie(b.begin, b.end);
  });
  // The format allows neither holes nor overlaps.
  uint64_t at = 0;
  for (const Tensor& tensor : contents.tensors) {
    if (tensor.begin != at)
      damaged(source, Format::Safetensors,
              "the data of '" + tensor.member.name + "' does not follow what is before it");
    at = tensor.end;
  }
  if (at != size - contents.data)
    damaged(source, Format::Safetensors,
            "its header describes " + std::to_string(at) + " bytes of data, there are " +
                std::to_string(size - contents.data));
  return contents;
}

class SafetensorsEncoder : public Encoder {
 public:
  SafetensorsEncoder(core::OutputFile& file, const std::vector<Part>& parts) : file_(file) {
    json header = json::object();
    uint64_t at = 0;
    for (const Part& part : parts) {
      if (part.name.size() > kMaxName || part.name == kMetadata || header.contains(part.name))
        throw core::error(core::Text::FileMemberName, file.path(), part.name, kMaxName);
      const uint64_t end = at + static_cast<uint64_t>(count_of(part.shape)) * size_of(part.dtype);
      const auto* row = std::find_if(std::begin(kTypes), std::end(kTypes),
                                     [&](const TypeRow& r) { return r.dtype == part.dtype; });
      if (row == std::end(kTypes))
        throw core::error(core::Text::FileDType, file.path(), name_of(part.dtype),
                          name_of(Format::Safetensors), "f32, i32");
      header[part.name] = {
          {"dtype", row->code}, {"shape", part.shape}, {"data_offsets", {at, end}}};
      at = end;
    }
    std::string text;
    try {
      text = header.dump();
    } catch (const json::exception&) {
      throw core::error(core::Text::FileMemberName, file.path(), "(not UTF-8)", kMaxName);
    }
    // Spaces at the end align the data for readers that map it.
    text.resize((text.size() + kPreamble + 63) / 64 * 64 - kPreamble, ' ');
    ByteWriter out;
    out.u64(text.size()).text(text);
    file_.write(out.data(), out.size());
  }
  void write(const std::byte* data, size_t bytes) override { file_.write(data, bytes); }
  void finish() override {}

 private:
  core::OutputFile& file_;
};

}  // namespace

bool is_safetensors(std::span<const std::byte> bytes) {
  return bytes.size() > kPreamble && bytes[kPreamble] == std::byte{'{'} &&
         load_number<uint64_t>(bytes.data()) <= kMaxHeader;
}

FileInfo inspect_safetensors(const Source& source) {
  FileInfo info{Format::Safetensors, {}};
  for (Tensor& tensor : parse(source).tensors) info.members.push_back(std::move(tensor.member));
  return info;
}

Array read_safetensors(const Source& source, const ReadOptions& options) {
  const Contents contents = parse(source);
  std::vector<std::string> names;
  for (const Tensor& tensor : contents.tensors) names.push_back(tensor.member.name);
  const Tensor& tensor = contents.tensors[choose_member(source, names, options.member)];
  const Member& member = tensor.member;
  if (member.dtype == DType::None)
    unsupported(source,
                "in '" + member.name + "' " + std::to_string(member.shape.size()) +
                    " axes of the type " + member.stored,
                "at most 8 axes of bool, integers, F16, BF16, F32 or F64");
  return array_at(source, contents.data + tensor.begin, member.dtype, member.shape, {});
}

std::unique_ptr<Encoder> safetensors_encoder(core::OutputFile& file, const std::vector<Part>& parts,
                                             const WriteOptions&) {
  return std::make_unique<SafetensorsEncoder>(file, parts);
}

}  // namespace hologram::files
