// How models cut text before they look for tokens, by the names that GGUF has for it. The patterns
// are those of the models' own tokenizer.json, or what gives the same pieces.
#include <algorithm>
#include <map>
#include <string>

#include "llm/vocabulary.hpp"

namespace hologram::llm {
namespace {

constexpr std::string_view kGpt2 =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S))";
constexpr std::string_view kDigit = R"(\p{N})";
constexpr std::string_view kThreeDigits = "[0-9][0-9][0-9]";
constexpr std::string_view kLlama3 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|)"
    R"(\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kQwen2 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|)"
    R"(\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kQwen35 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}|)"
    R"( ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
// Of letters, those without case count as either: no small ASCII letter, then no capital one.
constexpr std::string_view kTekken =
    R"([^\r\n\p{L}\p{N}]?((?=\p{L})[^a-z])*((?=\p{L})[^A-Z])+|)"
    R"([^\r\n\p{L}\p{N}]?((?=\p{L})[^a-z])+((?=\p{L})[^A-Z])*|\p{N}|)"
    R"( ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kGpt4o =
    R"([^\r\n\p{L}\p{N}]?((?=\p{L})[^a-z])*((?=\p{L})[^A-Z])+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
    R"([^\r\n\p{L}\p{N}]?((?=\p{L})[^a-z])+((?=\p{L})[^A-Z])*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
    R"(\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kDeepseek3 =
    R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+|)"
    R"( ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

using Table = std::map<std::string_view, PreTokenizer>;

const Table& table() {
  static const Table all = [] {
    Table t;
    const auto put = [&](std::initializer_list<std::string_view> names, const PreTokenizer& p) {
      for (const std::string_view name : names) t.emplace(name, p);
    };
    put({"default"}, {{R"([\p{P}$+<=>^~|]+)", kGpt2, R"(\p{N}+)", kThreeDigits}});
    put({"llama3", "llama-v3", "llama-bpe", "falcon3", "falcon-h1", "pixtral", "lfm2"},
        {{kLlama3}, true, true});
    put({"dbrx", "smaug-bpe", "chatglm-bpe", "glm4"}, {{kLlama3}});
    put({"qwen2", "deepseek-r1-qwen", "stablelm2", "hunyuan", "megrez", "grok-2"}, {{kQwen2}});
    put({"qwen35"}, {{kQwen35}});
    put({"smollm", "starcoder", "refact", "command-r", "codeshell", "exaone"}, {{kDigit, kGpt2}});
    put({"gpt-2", "gpt2", "mpt", "olmo", "jais", "phi-2", "jina-es", "jina-de", "roberta-bpe"},
        {{kGpt2}});
    put({"falcon"}, {{R"([\p{P}$+<=>^~|`]+)", kGpt2, kThreeDigits}});
    put({"deepseek-coder"},
        {{"[\r\n]", R"(\s?\p{L}+)", R"(\s?\p{P}+)", "[一-龥ࠀ-一가-퟿]+", kDigit}});
    put({"deepseek-v3", "hunyuan-dense"},
        {{R"(\p{N}{1,3})", "[一-龥぀-ゟ゠-ヿ]+", kDeepseek3}});
    put({"tekken"}, {{kTekken}, true, true});
    put({"gpt-4o", "llama4"}, {{kGpt4o}});
    return t;
  }();
  return all;
}

}  // namespace

const PreTokenizer* pre_tokenizer(std::string_view name) {
  const auto found = table().find(name);
  return found == table().end() ? nullptr : &found->second;
}

std::string_view pre_tokenizer_of(const std::vector<std::string>& patterns) {
  // Whether what is left over, spaces, is one piece by a last alternative or because nothing else
  // matches it makes no difference.
  const auto bare = [](std::string_view text) {
    constexpr std::string_view kRest = R"(|\s+)";
    return text.ends_with(R"((?!\S)|\s+)") ? text.substr(0, text.size() - kRest.size()) : text;
  };
  // By the models that have made them known, where several have the same.
  constexpr std::string_view kNames[] = {"llama-bpe", "qwen2",   "smollm",     "gpt-2",
                                         "qwen35",    "tekken",  "gpt-4o",     "deepseek-coder",
                                         "falcon",    "default", "deepseek-v3"};
  for (const std::string_view name : kNames) {
    const auto& known = table().at(name).patterns;
    if (std::equal(known.begin(), known.end(), patterns.begin(), patterns.end(),
                   [&](std::string_view a, std::string_view b) { return bare(a) == bare(b); }))
      return name;
  }
  return "default";
}

std::vector<Pattern> parse_patterns(const std::vector<std::string_view>& texts) {
  std::vector<Pattern> patterns;
  patterns.reserve(texts.size());
  for (const std::string_view text : texts) patterns.push_back(Pattern::parse(text).value());
  return patterns;
}

}  // namespace hologram::llm
