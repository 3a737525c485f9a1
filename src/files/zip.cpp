#include "files/zip.hpp"

#include <algorithm>
#include <cstring>

#include "files/bytes.hpp"

namespace hologram::files {
namespace {

// Signatures and the sizes of the fixed parts that begin with them.
constexpr uint32_t kLocal = 0x04034b50, kCentral = 0x02014b50, kEnd = 0x06054b50,
                   kEnd64 = 0x06064b50, kLocator64 = 0x07064b50;
constexpr size_t kLocalSize = 30, kCentralSize = 46, kEndSize = 22, kEnd64Size = 56,
                 kLocatorSize = 20;
constexpr uint16_t kExtra64 = 1, kUtf8 = 0x800, kEncrypted = 1;
constexpr uint16_t kStored = 0, kDeflated = 8;
constexpr uint16_t kVersion = 20, kVersion64 = 45;
constexpr uint16_t kDate = 1 << 5 | 1;  // 1980-01-01, so that equal arrays give equal files
constexpr uint32_t kFull = 0xffffffff;  // "see the zip64 field"
constexpr uint64_t kMaxExpansion = 1032;
constexpr uint64_t kChunk = uint64_t{1} << 30;  // zlib counts in 32 bits

// Little-endian numbers at given places; beyond the end is damage.
class Fields {
 public:
  explicit Fields(const Source& source) : source_(source) {}
  uint16_t u16(uint64_t at) const { return number<uint16_t>(at); }
  uint32_t u32(uint64_t at) const { return number<uint32_t>(at); }
  uint64_t u64(uint64_t at) const { return number<uint64_t>(at); }
  std::span<const std::byte> range(uint64_t at, uint64_t size) const {
    if (at > source_.bytes.size() || size > source_.bytes.size() - at)
      damaged(source_, Format::Npz, "it is cut short, or its directory is wrong");
    return source_.bytes.subspan(at, size);
  }

 private:
  template <class T>
  T number(uint64_t at) const {
    return load_number<T>(range(at, sizeof(T)).data());
  }
  const Source& source_;
};

struct Directory {
  uint64_t offset, count;
};

Directory find_directory(const Source& source, const Fields& fields) {
  const uint64_t size = source.bytes.size();
  // The record is followed by a comment of at most 65535 bytes.
  for (uint64_t back = kEndSize; back <= std::min<uint64_t>(size, kEndSize + 65535); back++) {
    const uint64_t at = size - back;
    if (fields.u32(at) != kEnd || fields.u16(at + 20) != back - kEndSize) continue;
    if (at >= kLocatorSize && fields.u32(at - kLocatorSize) == kLocator64) {
      const uint64_t record = fields.u64(at - kLocatorSize + 8);
      if (record > size || fields.u32(record) != kEnd64)
        damaged(source, Format::Npz, "its zip64 directory is missing");
      return {fields.u64(record + 48), fields.u64(record + 32)};
    }
    return {fields.u32(at + 16), fields.u16(at + 10)};
  }
  damaged(source, Format::Npz, "its directory is missing");
}

// The 64-bit values stand in the order of the fields that are full.
void read_extra(const Source& source, const Fields& fields, uint64_t at, uint64_t end,
                ZipEntry& entry) {
  while (end - at >= 4) {
    const uint16_t id = fields.u16(at), length = fields.u16(at + 2);
    at += 4;
    if (length > end - at) return;
    if (id == kExtra64) {
      uint64_t next = at;
      for (uint64_t* value : {&entry.size, &entry.packed, &entry.header}) {
        if (*value != kFull) continue;
        if (next + 8 > at + length) damaged(source, Format::Npz, "a zip64 field is too short");
        *value = fields.u64(next);
        next += 8;
      }
      return;
    }
    at += length;
  }
}

}  // namespace

std::vector<ZipEntry> read_zip_directory(const Source& source) {
  const Fields fields(source);
  const Directory directory = find_directory(source, fields);
  std::vector<ZipEntry> entries;
  uint64_t at = directory.offset;
  for (uint64_t i = 0; i < directory.count; i++) {
    if (fields.u32(at) != kCentral) damaged(source, Format::Npz, "its directory is wrong");
    ZipEntry entry;
    entry.encrypted = (fields.u16(at + 8) & kEncrypted) != 0;
    entry.method = fields.u16(at + 10);
    entry.crc = fields.u32(at + 16);
    entry.packed = fields.u32(at + 20);
    entry.size = fields.u32(at + 24);
    entry.header = fields.u32(at + 42);
    const uint64_t name = fields.u16(at + 28), extra = fields.u16(at + 30);
    const uint64_t comment = fields.u16(at + 32);
    const auto text = fields.range(at + kCentralSize, name + extra + comment);
    entry.name.assign(reinterpret_cast<const char*>(text.data()), name);
    at += kCentralSize + name;
    read_extra(source, fields, at, at + extra, entry);
    at += extra + comment;
    entries.push_back(std::move(entry));
  }
  return entries;
}

ZipReader::ZipReader(const Source& source, const ZipEntry& entry)
    : source_(source), entry_(entry), left_(entry.size), crc_(crc32(0, nullptr, 0)) {
  if (entry.encrypted) unsupported(source, "encrypted members", "a plain .npz file");
  if (entry.method != kStored && entry.method != kDeflated)
    unsupported(source, "members packed by method " + std::to_string(entry.method),
                "an .npz file with stored or deflated members");
  const Fields fields(source);
  if (fields.u32(entry.header) != kLocal)
    damaged(source, Format::Npz, "the member '" + entry.name + "' is not where it should be");
  const uint64_t start = kLocalSize + fields.u16(entry.header + 26) + fields.u16(entry.header + 28);
  packed_ = fields.range(entry.header + start, entry.packed);
  // Nobody can make us allocate more than the file can hold.
  const uint64_t most = entry.method == kStored ? entry.packed : entry.packed * kMaxExpansion;
  if (entry.size > most)
    damaged(source, Format::Npz, "the member '" + entry.name + "' cannot be as large as it says");
  // Negative: a bare deflate stream.
  if (entry.method == kDeflated && inflateInit2(&stream_, -MAX_WBITS) != Z_OK)
    throw std::bad_alloc();
}

ZipReader::~ZipReader() {
  if (entry_.method == kDeflated) inflateEnd(&stream_);
}

void ZipReader::read(void* to, uint64_t bytes) {
  if (bytes > left_) damaged(source_, Format::Npz, "the member '" + entry_.name + "' is too short");
  auto* out = static_cast<unsigned char*>(to);
  while (bytes > 0) {
    const auto chunk = static_cast<unsigned>(std::min(bytes, kChunk));
    read_some(out, chunk);
    crc_ = crc32(crc_, out, chunk);
    out += chunk;
    bytes -= chunk;
    left_ -= chunk;
  }
}

void ZipReader::read_some(unsigned char* to, unsigned bytes) {
  if (entry_.method == kStored) {
    std::memcpy(to, packed_.data(), bytes);
    packed_ = packed_.subspan(bytes);
    return;
  }
  stream_.next_out = to;
  stream_.avail_out = bytes;
  while (stream_.avail_out > 0) {
    const auto given = static_cast<unsigned>(std::min<uint64_t>(packed_.size(), kChunk));
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(packed_.data()));
    stream_.avail_in = given;
    const int status = inflate(&stream_, Z_NO_FLUSH);
    packed_ = packed_.subspan(given - stream_.avail_in);
    if (status == Z_MEM_ERROR) throw std::bad_alloc();
    if (status != Z_OK && !(status == Z_STREAM_END && stream_.avail_out == 0))
      damaged(source_, Format::Npz, "the member '" + entry_.name + "' does not unpack");
  }
}

void ZipReader::finish() {
  if (left_ != 0 || crc_ != entry_.crc)
    damaged(source_, Format::Npz, "the checksum of the member '" + entry_.name + "' is wrong");
}

void ZipWriter::begin(const std::string& name, uint64_t size) {
  ZipEntry entry;
  entry.name = name;
  entry.packed = entry.size = size;
  entry.header = file_.size();
  entry.crc = static_cast<uint32_t>(crc32(0, nullptr, 0));
  const bool large = size >= kFull;
  ByteWriter out;
  out.u32(kLocal).u16(large ? kVersion64 : kVersion).u16(kUtf8).u16(kStored).u16(0).u16(kDate);
  out.u32(0);  // the checksum, which end() fills in
  out.u32(large ? kFull : static_cast<uint32_t>(size));
  out.u32(large ? kFull : static_cast<uint32_t>(size));
  out.u16(static_cast<uint16_t>(name.size())).u16(large ? 20 : 0).text(name);
  if (large) out.u16(kExtra64).u16(16).u64(size).u64(size);
  file_.write(out.data(), out.size());
  entries_.push_back(std::move(entry));
}

void ZipWriter::write(const void* data, size_t bytes) {
  ZipEntry& entry = entries_.back();
  const auto* from = static_cast<const unsigned char*>(data);
  entry.crc = static_cast<uint32_t>(crc32_z(entry.crc, from, bytes));
  file_.write(data, bytes);
}

void ZipWriter::end() {
  ByteWriter crc;
  crc.u32(entries_.back().crc);
  file_.patch(entries_.back().header + 14, crc.data(), crc.size());
}

void ZipWriter::finish() {
  const uint64_t start = file_.size();
  for (const ZipEntry& entry : entries_) {
    // All three in the zip64 field as soon as one needs it.
    const bool large = entry.size >= kFull || entry.header >= kFull;
    const uint32_t size = large ? kFull : static_cast<uint32_t>(entry.size);
    ByteWriter out;
    out.u32(kCentral).u16(3 << 8 | kVersion64).u16(large ? kVersion64 : kVersion);
    out.u16(kUtf8).u16(kStored).u16(0).u16(kDate).u32(entry.crc).u32(size).u32(size);
    out.u16(static_cast<uint16_t>(entry.name.size())).u16(large ? 28 : 0).u16(0).u16(0).u16(0);
    out.u32(0100644u << 16).u32(large ? kFull : static_cast<uint32_t>(entry.header));
    out.text(entry.name);
    if (large) out.u16(kExtra64).u16(24).u64(entry.size).u64(entry.packed).u64(entry.header);
    file_.write(out.data(), out.size());
  }
  const uint64_t size = file_.size() - start, count = entries_.size(), end = file_.size();
  const bool large = start >= kFull || size >= kFull || count >= 0xffff;
  ByteWriter out;
  if (large) {
    out.u32(kEnd64).u64(kEnd64Size - 12).u16(3 << 8 | kVersion64).u16(kVersion64).u32(0).u32(0);
    out.u64(count).u64(count).u64(size).u64(start);
    out.u32(kLocator64).u32(0).u64(end).u32(1);
  }
  const auto shown = static_cast<uint16_t>(std::min<uint64_t>(count, 0xffff));
  out.u32(kEnd).u16(0).u16(0).u16(shown).u16(shown);
  out.u32(large ? kFull : static_cast<uint32_t>(size));
  out.u32(large ? kFull : static_cast<uint32_t>(start)).u16(0);
  file_.write(out.data(), out.size());
}

}  // namespace hologram::files
