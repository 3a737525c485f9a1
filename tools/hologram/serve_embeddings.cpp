#include "serve_embeddings.hpp"

#include <algorithm>
#include <bit>

namespace hologram::tool {
namespace {

constexpr size_t kTexts = 32;  // of a piece
static_assert(std::endian::native == std::endian::little, "vectors are sent as they lie in memory");

std::string base64(std::span<const std::byte> bytes) {
  constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t count = std::min<size_t>(3, bytes.size() - i);
    uint32_t bits = 0;
    for (size_t k = 0; k < 3; k++)
      bits = bits << 8 | (k < count ? std::to_integer<uint32_t>(bytes[i + k]) : 0);
    for (size_t k = 0; k < 4; k++) text += k <= count ? kDigits[bits >> (18 - 6 * k) & 63] : '=';
  }
  return text;
}

}  // namespace

Vectors::Vectors(AskedVectors asked, llm::Embedder embedder, std::string model)
    : asked_(std::move(asked)), embedder_(std::move(embedder)), model_(std::move(model)) {}

std::string Vectors::row(std::span<const float> vector) {
  Json numbers = asked_.base64 ? Json(base64(std::as_bytes(vector)))
                               : Json(std::vector<float>(vector.begin(), vector.end()));
  return Json{{"object", "embedding"}, {"index", made_}, {"embedding", std::move(numbers)}}.dump();
}

std::string Vectors::next() {
  std::string text = made_ == 0 ? R"({"object":"list","data":[)" : "";
  const size_t count = std::min(kTexts, asked_.texts.size() - made_);
  const std::vector<float> numbers =
      embedder_.embed_tokens(std::span(asked_.texts).subspan(made_, count)).to_vector<float>();
  const auto width = static_cast<size_t>(embedder_.width());
  for (size_t i = 0; i < count; i++) {
    if (made_ > 0) text += ',';
    text += row(std::span(numbers).subspan(i * width, width));
    made_++;
  }
  if (!done()) return text;
  size_t tokens = 0;
  for (const std::vector<int32_t>& each : asked_.texts) tokens += each.size();
  const Json usage = {{"prompt_tokens", tokens}, {"total_tokens", tokens}};
  const std::string model = Json(model_).dump(-1, ' ', false, Json::error_handler_t::replace);
  return text + R"(],"model":)" + model + R"(,"usage":)" + usage.dump() + "}";
}

}  // namespace hologram::tool
