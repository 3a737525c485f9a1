#include "files/npz.hpp"

#include <algorithm>

#include "core/messages.hpp"
#include "files/npy.hpp"
#include "files/zip.hpp"

namespace hologram::files {
namespace {

constexpr std::string_view kSuffix = ".npy";
constexpr size_t kMaxName = 65535 - kSuffix.size();

// The arrays; other files in there are none of our business.
struct Members {
  std::vector<ZipEntry> entries;
  std::vector<std::string> names;
};

Members members_of(const Source& source) {
  Members members;
  for (ZipEntry& entry : read_zip_directory(source)) {
    if (!entry.name.ends_with(kSuffix)) continue;
    members.names.push_back(entry.name.substr(0, entry.name.size() - kSuffix.size()));
    members.entries.push_back(std::move(entry));
  }
  return members;
}

// Unpacks the header of the .npy and no more.
NpyHeader read_header(const Source& source, ZipReader& reader) {
  std::vector<std::byte> bytes(kNpyPreamble);
  reader.read(bytes.data(), bytes.size());
  const size_t size = npy_header_size(source, bytes);
  if (size < bytes.size()) damaged(source, Format::Npy, "its header is cut short");
  bytes.resize(size);
  reader.read(bytes.data() + kNpyPreamble, size - kNpyPreamble);
  NpyHeader header = parse_npy_header(source, bytes);
  if (header.dtype != DType::None && header.data_bytes != reader.left())
    damaged(source, Format::Npy,
            "its shape " + to_string(header.shape) + " needs " + std::to_string(header.data_bytes) +
                " bytes, there are " + std::to_string(reader.left()));
  return header;
}

Source member_source(const Source& source, const std::string& name) {
  return {source.name + ":" + name, source.bytes, {}, false};
}

class NpzEncoder : public Encoder {
 public:
  NpzEncoder(core::OutputFile& file, const std::vector<Part>& parts)
      : path_(file.path()), zip_(file), parts_(parts) {
    for (const Part& part : parts_) {
      if (part.name.size() > kMaxName)
        throw core::error(core::Text::FileMemberName, path_, part.name, kMaxName);
      headers_.push_back(make_npy_header(path_, Format::Npz, part.dtype, part.shape));
    }
    begin();
  }
  void write(const std::byte* data, size_t bytes) override {
    while (bytes > 0) {
      const size_t some = static_cast<size_t>(std::min<uint64_t>(bytes, left_));
      zip_.write(data, some);
      data += some;
      bytes -= some;
      left_ -= some;
      if (left_ == 0) next();
    }
  }
  void finish() override { zip_.finish(); }

 private:
  // Starts entries up to one that has data.
  void begin() {
    while (at_ < parts_.size()) {
      const Part& part = parts_[at_];
      left_ = static_cast<uint64_t>(count_of(part.shape)) * size_of(part.dtype);
      zip_.begin(part.name + std::string(kSuffix), headers_[at_].size() + left_);
      zip_.write(headers_[at_].data(), headers_[at_].size());
      if (left_ > 0) return;
      zip_.end();
      at_++;
    }
  }
  void next() {
    zip_.end();
    at_++;
    begin();
  }

  std::string path_;
  ZipWriter zip_;
  std::vector<Part> parts_;
  std::vector<std::string> headers_;
  size_t at_ = 0;
  uint64_t left_ = 0;  // bytes of the current part
};

}  // namespace

bool is_npz(std::span<const std::byte> bytes) {
  return starts_with(bytes, "PK\x03\x04") || starts_with(bytes, "PK\x05\x06");
}

FileInfo inspect_npz(const Source& source) {
  const Members members = members_of(source);
  FileInfo info{Format::Npz, {}};
  for (size_t i = 0; i < members.names.size(); i++) {
    const Source member = member_source(source, members.names[i]);
    ZipReader reader(member, members.entries[i]);
    const NpyHeader header = read_header(member, reader);
    info.members.push_back({members.names[i], header.dtype, header.shape, header.stored});
  }
  return info;
}

Array read_npz(const Source& source, const ReadOptions& options) {
  const Members members = members_of(source);
  const size_t i = choose_member(source, members.names, options.member);
  const Source member = member_source(source, members.names[i]);
  ZipReader reader(member, members.entries[i]);
  const NpyHeader header = read_header(member, reader);
  require_supported(member, header);
  Array array(header.dtype, header.shape);
  if (is_dense(header.layout, header.dtype, header.shape)) {
    reader.read(array.mutable_data(), array.bytes());
  } else {
    Array stored(header.dtype, header.shape);
    reader.read(stored.mutable_data(), stored.bytes());
    convert(stored.data(), header.layout, array);
  }
  reader.finish();
  return array;
}

std::unique_ptr<Encoder> npz_encoder(core::OutputFile& file, const std::vector<Part>& parts,
                                     const WriteOptions&) {
  return std::make_unique<NpzEncoder>(file, parts);
}

}  // namespace hologram::files
