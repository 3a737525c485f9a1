#include "llm/sentencepiece.hpp"

#include <bit>
#include <span>

#include "core/mapped_file.hpp"
#include "core/messages.hpp"
#include "files/bytes.hpp"

namespace hologram::llm {
namespace {

// The fields of a message, one after the other.
class Fields {
 public:
  Fields(const std::string& path, std::span<const std::byte> bytes) : path_(path), bytes_(bytes) {}

  // The next one, or false at the end. Of its value there is a number or there are bytes.
  bool next() {
    if (bytes_.empty()) return false;
    const uint64_t tag = varint();
    field = tag >> 3;
    number = 0;
    bytes = {};
    switch (tag & 7) {
      case 0: number = varint(); break;
      case 1: number = files::load_number<uint64_t>(take(8).data()); break;
      case 2: bytes = take(varint()); break;
      case 5: number = files::load_number<uint32_t>(take(4).data()); break;
      default: damaged();
    }
    return true;
  }
  std::string text() const { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }
  [[noreturn]] void damaged() const {
    throw core::error(core::Text::ModelDamaged, path_, "its messages do not parse");
  }

  uint64_t field = 0, number = 0;
  std::span<const std::byte> bytes;

 private:
  std::span<const std::byte> take(uint64_t count) {
    if (count > bytes_.size()) damaged();
    const auto taken = bytes_.first(count);
    bytes_ = bytes_.subspan(count);
    return taken;
  }
  uint64_t varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const auto byte = std::to_integer<uint64_t>(take(1)[0]);
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    damaged();
  }

  const std::string& path_;
  std::span<const std::byte> bytes_;
};

void read_piece(Fields piece, Vocabulary& v) {
  std::string text;
  float score = 0;
  uint64_t kind = 1;
  while (piece.next()) {
    if (piece.field == 1) text = piece.text();
    if (piece.field == 2) score = std::bit_cast<float>(static_cast<uint32_t>(piece.number));
    if (piece.field == 3) kind = piece.number;
  }
  v.add(std::move(text), score, kind <= 6 ? static_cast<TokenKind>(kind) : TokenKind::Normal);
}

}  // namespace

Vocabulary read_sentencepiece(const std::string& path) {
  const auto file = core::MappedFile::open(path);
  Vocabulary v;
  v.kind = TokenizerKind::Unigram;
  v.unknown = 0;
  v.begin = 1;
  v.end = 2;
  v.add_begin = v.add_space = true;
  // Messages in the message: pieces, how it was trained, how text is prepared.
  for (Fields all(path, file->bytes()); all.next();) {
    Fields inner(path, all.bytes);
    if (all.field == 1) read_piece(inner, v);
    if (all.field == 2) {
      while (inner.next()) {
        const auto id = static_cast<int32_t>(inner.number);
        if (inner.field == 3)
          v.kind = inner.number == 2 ? TokenizerKind::ScoredBpe : TokenizerKind::Unigram;
        if (inner.field == 40) v.unknown = id;
        if (inner.field == 41) v.begin = id;
        if (inner.field == 42) v.end = id;
      }
    }
    if (all.field == 3)
      while (inner.next())
        if (inner.field == 3) v.add_space = inner.number != 0;
  }
  const auto inside = [&](int32_t id) { return id >= -1 && id < static_cast<int32_t>(v.size()); };
  if (v.size() == 0 || !inside(v.unknown) || !inside(v.begin) || !inside(v.end))
    throw core::error(core::Text::ModelDamaged, path,
                      "it has no pieces, or names some that are not there");
  return v;
}

}  // namespace hologram::llm
