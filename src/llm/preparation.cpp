#include "llm/preparation.hpp"

#include <algorithm>

#include "core/messages.hpp"
#include "llm/characters_map.hpp"
#include "llm/unicode.hpp"

namespace hologram::llm {
namespace {

using core::Text;

constexpr std::string_view kMark = "\u2581";

std::string replaced(const std::string& text, const std::string& from, const std::string& to) {
  std::string made;
  size_t at = 0;
  for (size_t found = text.find(from); found != std::string::npos; found = text.find(from, at)) {
    made.append(text, at, found - at);
    made += to;
    at = found + from.size();
  }
  return made.append(text, at);
}

// Two spaces or more become one text.
std::string with_runs_replaced(const std::string& text, const std::string& to) {
  std::string made;
  for (size_t i = 0; i < text.size();) {
    const size_t end = std::min(text.find_first_not_of(' ', i), text.size());
    if (end - i >= 2) made += to;
    else made.append(text, i, std::max<size_t>(end - i, 1));
    i = std::max(end, i + 1);
  }
  return made;
}

std::string stripped(const std::string& text, bool left, bool right) {
  std::vector<char32_t> points = code_points(text);
  if (right)
    while (!points.empty() && is_space(points.back())) points.pop_back();
  auto begin = points.cbegin();
  if (left)
    while (begin != points.cend() && is_space(*begin)) ++begin;
  return to_utf8(begin, points.cend());
}

std::string lowered(const std::string& text) {
  std::vector<char32_t> points;
  for (const char32_t point : code_points(text)) append_lower(points, point);
  return to_utf8(points.cbegin(), points.cend());
}

}  // namespace

Preparation::Preparation(const std::string& folder, const Json& tokenizer) : folder_(folder) {
  add_normalizer(tokenizer.value("normalizer", Json()));
  add_pre_tokenizer(tokenizer.value("pre_tokenizer", Json()));
}

void Preparation::lacks(const std::string& what) const {
  throw core::error(Text::ModelLacks, folder_, what + " before Unigram",
                    "a Precompiled map of characters, or a GGUF file");
}

void Preparation::add_normalizer(const Json& how) {
  if (how.is_null()) return;
  const std::string type = text_of(how, "type");
  if (type == "Sequence") {
    for (const Json& part : how.value("normalizers", Json::array())) add_normalizer(part);
  } else if (type == "Precompiled") {
    const auto map = CharactersMap::parse(text_of(how, "precompiled_charsmap"));
    if (!map)
      throw core::error(Text::ModelDamaged, folder_ + "/tokenizer.json",
                        "its map of characters does not parse");
    steps_.emplace_back([map = *map](const std::string& text) { return map.normal(text); });
  } else if (type == "Replace") {
    add_replacement(how);
  } else if (type == "Strip") {
    steps_.emplace_back([left = flag_of(how, "strip_left", true),
                         right = flag_of(how, "strip_right", true)](const std::string& text) {
      return stripped(text, left, right);
    });
  } else if (type == "Prepend") {
    steps_.emplace_back([front = text_of(how, "prepend")](const std::string& text) {
      return text.empty() ? text : front + text;
    });
  } else if (type == "Lowercase") {
    steps_.emplace_back(lowered);
  } else {
    lacks("the normalizer '" + type + "'");
  }
}

void Preparation::add_replacement(const Json& how) {
  const Json pattern = how.value("pattern", Json::object());
  const std::string to = text_of(how, "content");
  if (const std::string from = text_of(pattern, "String"); !from.empty())
    return void(steps_.emplace_back(
        [from, to](const std::string& text) { return replaced(text, from, to); }));
  if (text_of(pattern, "Regex") != " {2,}")
    lacks("what replaces '" + text_of(pattern, "Regex") + "'");
  steps_.emplace_back([to](const std::string& text) { return with_runs_replaced(text, to); });
}

void Preparation::add_pre_tokenizer(const Json& how) {
  if (how.is_null()) return;
  const std::string type = text_of(how, "type");
  if (type == "Sequence") {
    for (const Json& part : how.value("pretokenizers", Json::array())) add_pre_tokenizer(part);
  } else if (type == "WhitespaceSplit" && !marks_) {
    words_ = true;
  } else if (type == "Metaspace" && !marks_) {
    const std::string mark = text_of(how, "replacement"), scheme = text_of(how, "prepend_scheme");
    if (mark != kMark) lacks("spaces that become '" + mark + "'");
    marks_ = true;
    cut_ = flag_of(how, "split", true);
    scheme_ = scheme == "first"                                           ? Scheme::First
              : scheme == "never"                                         ? Scheme::Never
              : scheme.empty() && !flag_of(how, "add_prefix_space", true) ? Scheme::Never
                                                                          : Scheme::Always;
  } else {
    lacks("the pre-tokenizer '" + type + "'");
  }
}

std::string Preparation::marked(std::string_view word, bool first) const {
  std::string text = replaced(std::string(word), " ", std::string(kMark));
  const bool wanted = scheme_ == Scheme::Always || (scheme_ == Scheme::First && first);
  return wanted && !text.starts_with(kMark) ? std::string(kMark) + text : text;
}

std::vector<std::string> Preparation::parts(std::string_view given, bool first) const {
  std::string text(given);
  for (const Step& step : steps_) text = step(text);
  std::vector<std::string> words;
  if (words_) {
    std::string word;
    for (const char32_t point : code_points(text)) {
      if (!is_space(point)) append_utf8(word, point);
      else if (!word.empty()) words.push_back(std::exchange(word, {}));
    }
    if (!word.empty()) words.push_back(word);
    first = first && !text.empty() && !is_space(code_points(text)[0]);
  } else if (!text.empty()) {
    words.push_back(text);
  }
  if (!marks_) return words;
  std::vector<std::string> parts;
  for (const std::string& word : words) {
    const std::string all = marked(word, std::exchange(first, false));
    for (size_t begin = 0; begin < all.size();) {
      const size_t end = cut_ ? std::min(all.find(kMark, begin + 1), all.size()) : all.size();
      parts.push_back(all.substr(begin, end - begin));
      begin = end;
    }
  }
  return parts;
}

}  // namespace hologram::llm
