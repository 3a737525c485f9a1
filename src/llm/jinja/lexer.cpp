#include "llm/jinja/lexer.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "llm/jinja/value.hpp"
#include "llm/unicode.hpp"

namespace hologram::llm::jinja {
namespace {

constexpr std::string_view kSpace = " \t\n\r\v\f";
constexpr std::string_view kOperators[] = {"//", "**", "==", "!=", ">=", "<=", "+", "-", "/",
                                           "*",  "%",  "~",  "[",  "]",  "(",  ")", "{", "}",
                                           ">",  "<",  "=",  ".",  ":",  "|",  ",", ";"};

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_name(char c) {
  return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         static_cast<unsigned char>(c) >= 0x80;
}

// Line ends become \n, and one at the end goes away.
std::string normalised(std::string_view source) {
  std::string to;
  to.reserve(source.size());
  for (size_t i = 0; i < source.size(); i++) {
    if (source[i] != '\r') to += source[i];
    else if (i + 1 == source.size() || source[i + 1] != '\n') to += '\n';
  }
  if (!to.empty() && to.back() == '\n') to.pop_back();
  return to;
}

class Lexer {
 public:
  explicit Lexer(std::string_view source) : source_(normalised(source)) {}

  std::vector<Token> run() {
    while (at_ < source_.size()) {
      const size_t tag = next_tag();
      if (tag == std::string::npos) {
        put_data(source_.substr(at_));
        at_ = source_.size();
        break;
      }
      const char kind = source_[tag + 1];
      std::string data = source_.substr(at_, tag - at_);
      const char sign = tag + 2 < source_.size() ? source_[tag + 2] : '\0';
      strip_before(data, sign, kind != '{');
      put_data(std::move(data));
      move_to(tag + 2);
      if (kind == '#') {
        comment();
        continue;
      }
      if (sign == '-' || (sign == '+' && kind == '%')) move_to(at_ + 1);
      if (kind == '%' && raw()) continue;
      put(kind == '%' ? TokenType::BlockBegin : TokenType::VariableBegin, "");
      inside(kind == '%' ? '%' : '}');
    }
    put(TokenType::End, "");
    return std::move(tokens_);
  }

 private:
  size_t next_tag() const {
    for (size_t i = source_.find('{', at_); i != std::string::npos; i = source_.find('{', i + 1))
      if (i + 1 < source_.size() &&
          std::string_view("{%#").find(source_[i + 1]) != std::string::npos)
        return i;
    return std::string::npos;
  }

  // White space in front of a tag: all with a minus; of a line that has nothing else, for blocks.
  void strip_before(std::string& data, char sign, bool block) const {
    if (sign == '-') {
      data.resize(data.find_last_not_of(kSpace) + 1);
    } else if (sign != '+' && block) {
      const size_t line = data.rfind('\n') + 1;
      if ((line > 0 || line_starts_) && data.find_first_not_of(kSpace, line) == std::string::npos)
        data.resize(line);
    }
  }

  // Behind the end of a tag at `end`: all white space with a minus, a line end of blocks.
  void end_tag(size_t end, size_t width, bool minus, bool trims) {
    size_t next = end + width;
    if (minus) next = std::min(source_.find_first_not_of(kSpace, next), source_.size());
    else if (trims && next < source_.size() && source_[next] == '\n') next++;
    line_starts_ = next > 0 && source_[next - 1] == '\n';
    move_to(next);
  }

  void comment() {
    const size_t end = source_.find("#}", at_);
    if (end == std::string::npos) throw Failure("a comment has no end", line_);
    const char sign = end > at_ ? source_[end - 1] : '\0';
    end_tag(end, 2, sign == '-', sign != '+');
  }

  // {% raw %} up to {% endraw %}: text.
  bool raw() {
    const auto tag_ends = [&](size_t from, std::string_view word, size_t& end, char& sign) {
      size_t i = source_.find_first_not_of(kSpace, from);
      if (i == std::string::npos || source_.compare(i, word.size(), word) != 0) return false;
      i = source_.find_first_not_of(kSpace, i + word.size());
      if (i == std::string::npos) return false;
      sign = source_[i] == '-' || source_[i] == '+' ? source_[i++] : '\0';
      end = i;
      return source_.compare(i, 2, "%}") == 0;
    };
    size_t end = 0;
    char sign = '\0';
    if (!tag_ends(at_, "raw", end, sign)) return false;
    end_tag(end, 2, sign == '-', false);
    for (size_t i = source_.find("{%", at_); i != std::string::npos;
         i = source_.find("{%", i + 1)) {
      const char before = i + 2 < source_.size() ? source_[i + 2] : '\0';
      const size_t word = i + 2 + static_cast<size_t>(before == '-' || before == '+');
      if (!tag_ends(word, "endraw", end, sign)) continue;
      std::string data = source_.substr(at_, i - at_);
      strip_before(data, before, true);
      put_data(std::move(data));
      move_to(i);
      end_tag(end, 2, sign == '-', sign != '+');
      return true;
    }
    throw Failure("{% raw %} has no end", line_);
  }

  // The tokens up to the end of a tag, which is no end inside of brackets.
  void inside(char closing) {
    std::vector<char> open;
    for (;;) {
      move_to(std::min(source_.find_first_not_of(kSpace, at_), source_.size()));
      if (at_ == source_.size()) throw Failure("a tag has no end", line_);
      if (open.empty()) {
        const size_t signs =
            static_cast<size_t>(source_[at_] == '-' || (closing == '%' && source_[at_] == '+'));
        if (source_.compare(at_ + signs, 2, std::string{closing, '}'}) == 0) {
          put(closing == '%' ? TokenType::BlockEnd : TokenType::VariableEnd, "");
          const char sign = signs > 0 ? source_[at_] : '\0';
          return end_tag(at_ + signs, 2, sign == '-', closing == '%' && sign != '+');
        }
      }
      const char c = source_[at_];
      if (is_name(c)) name();
      else if (is_digit(c)) number();
      else if (c == '"' || c == '\'') text(c);
      else operators(open);
    }
  }

  void name() {
    size_t end = at_;
    while (end < source_.size() && (is_name(source_[end]) || is_digit(source_[end]))) end++;
    put(TokenType::Name, source_.substr(at_, end - at_));
    move_to(end);
  }

  void number() {
    size_t end = at_;
    const auto digits = [&] {
      while (end < source_.size() &&
             (is_digit(source_[end]) ||
              (source_[end] == '_' && end + 1 < source_.size() && is_digit(source_[end + 1]))))
        end++;
    };
    const auto digit_at = [&](size_t i) { return i < source_.size() && is_digit(source_[i]); };
    digits();
    bool real = false;
    // Not behind a dot: a.0.1 takes elements.
    const bool after_dot = !tokens_.empty() && tokens_.back().type == TokenType::Operator &&
                           tokens_.back().text == ".";
    if (!after_dot && end < source_.size() && source_[end] == '.' && digit_at(end + 1)) {
      real = true;
      end++;
      digits();
    }
    if (!after_dot && end < source_.size() && (source_[end] == 'e' || source_[end] == 'E')) {
      const size_t sign =
          end + 1 < source_.size() && (source_[end + 1] == '-' || source_[end + 1] == '+') ? 1 : 0;
      if (digit_at(end + 1 + sign)) {
        real = true;
        end += 1 + sign;
        digits();
      }
    }
    std::string text = source_.substr(at_, end - at_);
    text.erase(std::remove(text.begin(), text.end(), '_'), text.end());
    put(real ? TokenType::Float : TokenType::Int, std::move(text));
    move_to(end);
  }

  void text(char quote) {
    std::string value;
    size_t i = at_ + 1;
    for (; i < source_.size() && source_[i] != quote; i++) {
      if (source_[i] != '\\' || i + 1 == source_.size()) {
        value += source_[i];
        continue;
      }
      i = escape(i + 1, value);
    }
    if (i >= source_.size()) throw Failure("a text has no end", line_);
    put(TokenType::String, std::move(value));
    move_to(i + 1);
  }

  // One of Python's escapes; where its last character stands.
  size_t escape(size_t i, std::string& to) const {
    constexpr std::string_view kFrom = "abfnrtv\\'\"", kTo = "\a\b\f\n\r\t\v\\'\"";
    const char c = source_[i];
    if (const size_t k = kFrom.find(c); k != std::string_view::npos) {
      to += kTo[k];
      return i;
    }
    if (c == '\n') return i;
    const size_t count = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    uint32_t point = 0;
    for (size_t k = 1; k <= count; k++) {
      const char digit = i + k < source_.size() ? source_[i + k] : '\0';
      const size_t nibble =
          std::string_view("0123456789abcdef")
              .find(static_cast<char>(digit >= 'A' && digit <= 'F' ? digit + 32 : digit));
      if (nibble == std::string_view::npos) throw Failure("an escape is not complete", line_);
      point = point * 16 + static_cast<uint32_t>(nibble);
    }
    if (count == 0) {
      to += '\\';
      to += c;
      return i;
    }
    if (point > 0x10ffff || (point >= 0xd800 && point < 0xe000))
      throw Failure("an escape is no character", line_);
    append_utf8(to, point);
    return i + count;
  }

  void operators(std::vector<char>& open) {
    for (const std::string_view op : kOperators) {
      if (source_.compare(at_, op.size(), op) != 0) continue;
      const char c = op[0];
      if (std::string_view("([{").find(c) != std::string_view::npos) {
        open.push_back(c == '(' ? ')' : c == '[' ? ']' : '}');
      } else if (std::string_view(")]}").find(c) != std::string_view::npos) {
        if (open.empty() || open.back() != c)
          throw Failure(fmt::format("'{}' closes nothing", c), line_);
        open.pop_back();
      }
      put(TokenType::Operator, std::string(op));
      return move_to(at_ + op.size());
    }
    throw Failure(fmt::format("'{}' is not expected", source_[at_]), line_);
  }

  void put(TokenType type, std::string text) { tokens_.push_back({type, std::move(text), line_}); }
  void put_data(std::string text) {
    if (!text.empty()) line_starts_ = false;
    if (!text.empty()) put(TokenType::Data, std::move(text));
  }
  void move_to(size_t to) {
    const auto from = source_.begin();
    line_ += static_cast<int>(std::count(from + static_cast<std::ptrdiff_t>(at_),
                                         from + static_cast<std::ptrdiff_t>(to), '\n'));
    at_ = to;
  }

  const std::string source_;
  std::vector<Token> tokens_;
  size_t at_ = 0;
  int line_ = 1;
  bool line_starts_ = true;  // whether what comes next begins a line
};

}  // namespace

std::vector<Token> tokens_of(std::string_view source) { return Lexer(source).run(); }

}  // namespace hologram::llm::jinja
