// Attributes, elements, and the methods of Python's texts and dictionaries.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "llm/jinja/library.hpp"
#include "llm/unicode.hpp"

namespace hologram::llm::jinja {
namespace {

using Points = std::vector<char32_t>;

Value text_of(const Points& points, size_t begin, size_t end) {
  return Value::text(to_utf8(points.begin() + static_cast<std::ptrdiff_t>(begin),
                             points.begin() + static_cast<std::ptrdiff_t>(end)));
}

std::string text_argument(const Arguments& a, size_t index, std::string_view name,
                          const std::string& otherwise) {
  const Value* given = a.find(index, name);
  if (given == nullptr || given->is(Kind::None)) return otherwise;
  return need_text(*given, "an argument");
}
int64_t int_argument(const Arguments& a, size_t index, std::string_view name, int64_t otherwise) {
  const Value* given = a.find(index, name);
  return given == nullptr || given->is(Kind::None) ? otherwise : need_int(*given, "an argument");
}

// At white space, or at a text; from the back, where `back`, at most so often.
Value split(const std::string& text, const Arguments& a, bool back) {
  const std::string mark = text_argument(a, 0, "sep", "");
  int64_t left = int_argument(a, 1, "maxsplit", -1);
  std::vector<Value> parts;
  if (a.find(0, "sep") != nullptr && !a.find(0, "sep")->is(Kind::None)) {
    if (mark.empty()) throw Failure("texts cannot be split at nothing");
    size_t begin = 0, end = text.size();
    for (; left != 0; left--) {
      const size_t at =
          back ? (end < mark.size() ? std::string::npos : text.rfind(mark, end - mark.size()))
               : text.find(mark, begin);
      if (at == std::string::npos) break;
      parts.push_back(Value::text(back ? text.substr(at + mark.size(), end - at - mark.size())
                                       : text.substr(begin, at - begin)));
      (back ? end : begin) = back ? at : at + mark.size();
    }
    parts.push_back(Value::text(text.substr(begin, end - begin)));
  } else {
    std::string rest = stripped(text, "", true, true);
    constexpr std::string_view kSpace = " \t\n\r\v\f";
    while (!rest.empty()) {
      const size_t at = left == 0 ? std::string::npos
                        : back    ? rest.find_last_of(kSpace)
                                  : rest.find_first_of(kSpace);
      if (left > 0) left--;
      if (at == std::string::npos) {
        parts.push_back(Value::text(rest));
        break;
      }
      parts.push_back(Value::text(back ? rest.substr(at + 1) : rest.substr(0, at)));
      rest = back ? stripped(rest.substr(0, at), "", false, true)
                  : stripped(rest.substr(at), "", true, false);
    }
  }
  if (back) std::reverse(parts.begin(), parts.end());
  return Value::list(std::move(parts));
}

Value splitlines(const std::string& text, const Arguments& a) {
  const bool kept = a.get(0, "keepends", Value::boolean(false)).truth();
  std::vector<Value> lines;
  for (size_t begin = 0; begin < text.size();) {
    const size_t at = std::min(text.find_first_of("\n\r\v\f", begin), text.size());
    size_t end = std::min(at + 1, text.size());
    if (at + 1 < text.size() && text[at] == '\r' && text[at + 1] == '\n') end++;
    lines.push_back(Value::text(text.substr(begin, (kept ? end : at) - begin)));
    begin = end;
  }
  return Value::list(std::move(lines));
}

// Whether it begins, or ends, with a text or one of several.
Value bounded(const std::string& text, const Arguments& a, bool front) {
  const Value& mark = a.need(0, "prefix");
  const auto matches = [&](const Value& each) {
    const std::string& part = need_text(each, "an argument");
    return front ? text.starts_with(part) : text.ends_with(part);
  };
  if (!mark.is(Kind::List)) return Value::boolean(matches(mark));
  const auto& all = mark.as_list().items;
  return Value::boolean(std::any_of(all.begin(), all.end(), matches));
}

// Where a text stands, in characters, or -1.
int64_t find(const std::string& text, const Arguments& a, bool back) {
  const std::string& part = need_text(a.need(0, "sub"), "what is looked for");
  const Points points = code_points(text), wanted = code_points(part);
  const auto size = static_cast<int64_t>(points.size());
  const auto place = [&](int64_t at) {
    return std::clamp(at < 0 ? at + size : at, int64_t{0}, size);
  };
  const auto begin = points.begin() + place(int_argument(a, 1, "start", 0));
  const auto end = points.begin() + place(int_argument(a, 2, "end", size));
  if (begin > end) return -1;
  const auto at = back ? std::find_end(begin, end, wanted.begin(), wanted.end())
                       : std::search(begin, end, wanted.begin(), wanted.end());
  if (wanted.empty()) return (back ? end : begin) - points.begin();
  return at == end ? -1 : at - points.begin();
}

Value joined(const std::string& mark, const Arguments& a) {
  std::string to;
  const std::vector<Value> parts = elements(a.need(0, "iterable"));
  for (size_t i = 0; i < parts.size(); i++) {
    if (i > 0) to += mark;
    to += need_text(parts[i], "an element");
    require_size(static_cast<double>(to.size()));
  }
  return Value::text(std::move(to));
}

Value partition(const std::string& text, const Arguments& a, bool back) {
  const std::string& mark = need_text(a.need(0, "sep"), "an argument");
  const size_t at = back ? text.rfind(mark) : text.find(mark);
  if (at == std::string::npos) {
    const Value all = Value::text(text), none = Value::text("");
    return back ? Value::list({none, none, all}, true) : Value::list({all, none, none}, true);
  }
  return Value::list({Value::text(text.substr(0, at)), Value::text(mark),
                      Value::text(text.substr(at + mark.size()))},
                     true);
}

Value count(const std::string& text, const Arguments& a) {
  const std::string& part = need_text(a.need(0, "sub"), "an argument");
  int64_t times = 0;
  if (part.empty()) return Value::integer(length(Value::text(text)) + 1);
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size()))
    times++;
  return Value::integer(times);
}

// "{} and {name}".format(…), without forms behind a colon.
Value formatted(const std::string& form, const Arguments& a) {
  std::string to;
  size_t next = 0;
  for (size_t i = 0; i < form.size(); i++) {
    const char c = form[i];
    if (c != '{' && c != '}') {
      to += c;
    } else if (i + 1 < form.size() && form[i + 1] == c) {
      to += form[i++];
    } else {
      const size_t end = form.find('}', i);
      if (c == '}' || end == std::string::npos) throw Failure("a format is not complete");
      const std::string field = form.substr(i + 1, end - i - 1);
      const bool number = field.find_first_not_of("0123456789") == std::string::npos;
      if (field.size() > 4 && number) throw Failure("a format has no such value");
      const size_t index = !number ? SIZE_MAX : field.empty() ? next++ : std::stoul(field);
      to += a.need(index, field).str();
      require_size(static_cast<double>(to.size()));
      i = end;
    }
  }
  return Value::text(std::move(to));
}

bool all_of(const std::string& text, bool (*holds)(char32_t)) {
  const Points points = code_points(text);
  return !points.empty() && std::all_of(points.begin(), points.end(), holds);
}

enum class Side : uint8_t { Left, Right, Both };
// Filled up to a width, in characters.
Value padded(const std::string& text, const Arguments& a, Side side, std::string fill) {
  const int64_t width = need_int(a.need(0, "width"), "the width");
  fill = text_argument(a, 1, "fillchar", fill);
  const int64_t missing = width - length(Value::text(text));
  if (missing <= 0) return Value::text(text);
  require_size(static_cast<double>(missing) * 4);
  const int64_t front = side == Side::Left    ? missing
                        : side == Side::Right ? 0
                                              : missing / 2 + (missing & width & 1);
  std::string to;
  for (int64_t i = 0; i < front; i++) to += fill;
  to += text;
  for (int64_t i = front; i < missing; i++) to += fill;
  return Value::text(std::move(to));
}

struct TextMethod {
  std::string_view name;
  Value (*call)(const std::string& self, const Arguments& a);
};
using S = const std::string&;
using A = const Arguments&;
constexpr TextMethod kTextMethods[] = {
    {"capitalize", [](S s, A) { return Value::text(capitalized(s)); }},
    {"center", [](S s, A a) { return padded(s, a, Side::Both, " "); }},
    {"count", count},
    {"endswith", [](S s, A a) { return bounded(s, a, false); }},
    {"find", [](S s, A a) { return Value::integer(find(s, a, false)); }},
    {"format", formatted},
    {"index",
     [](S s, A a) {
       const int64_t at = find(s, a, false);
       if (at < 0) throw Failure("the text that is looked for is not there");
       return Value::integer(at);
     }},
    {"isalpha",
     [](S s, A) {
       return Value::boolean(
           all_of(s, [](char32_t c) { return category_of(c) == Category::Letter; }));
     }},
    {"isalnum",
     [](S s, A) {
       return Value::boolean(all_of(s, [](char32_t c) {
         return category_of(c) == Category::Letter || category_of(c) == Category::Number;
       }));
     }},
    {"isdigit",
     [](S s, A) {
       return Value::boolean(all_of(s, [](char32_t c) { return c >= '0' && c <= '9'; }));
     }},
    {"isspace", [](S s, A) { return Value::boolean(all_of(s, is_space)); }},
    {"islower", [](S s, A) { return Value::boolean(lower(s) == s && upper(s) != s); }},
    {"isupper", [](S s, A) { return Value::boolean(upper(s) == s && lower(s) != s); }},
    {"join", joined},
    {"ljust", [](S s, A a) { return padded(s, a, Side::Right, " "); }},
    {"lower", [](S s, A) { return Value::text(lower(s)); }},
    {"lstrip",
     [](S s, A a) {
       return Value::text(stripped(s, text_argument(a, 0, "chars", ""), true, false));
     }},
    {"partition", [](S s, A a) { return partition(s, a, false); }},
    {"removeprefix",
     [](S s, A a) {
       const std::string& part = need_text(a.need(0, "prefix"), "an argument");
       return Value::text(s.starts_with(part) ? s.substr(part.size()) : s);
     }},
    {"removesuffix",
     [](S s, A a) {
       const std::string& part = need_text(a.need(0, "suffix"), "an argument");
       return Value::text(s.ends_with(part) ? s.substr(0, s.size() - part.size()) : s);
     }},
    {"replace",
     [](S s, A a) {
       return Value::text(replaced(s, need_text(a.need(0, "old"), "an argument"),
                                   need_text(a.need(1, "new"), "an argument"),
                                   int_argument(a, 2, "count", -1)));
     }},
    {"rfind", [](S s, A a) { return Value::integer(find(s, a, true)); }},
    {"rjust", [](S s, A a) { return padded(s, a, Side::Left, " "); }},
    {"rpartition", [](S s, A a) { return partition(s, a, true); }},
    {"rsplit", [](S s, A a) { return split(s, a, true); }},
    {"rstrip",
     [](S s, A a) {
       return Value::text(stripped(s, text_argument(a, 0, "chars", ""), false, true));
     }},
    {"split", [](S s, A a) { return split(s, a, false); }},
    {"splitlines", splitlines},
    {"startswith", [](S s, A a) { return bounded(s, a, true); }},
    {"strip",
     [](S s, A a) {
       return Value::text(stripped(s, text_argument(a, 0, "chars", ""), true, true));
     }},
    {"title", [](S s, A) { return Value::text(title(s)); }},
    {"upper", [](S s, A) { return Value::text(upper(s)); }},
    {"zfill", [](S s, A a) { return padded(s, a, Side::Left, "0"); }},
};

Value pairs_of(const Dict& dict) {
  std::vector<Value> pairs;
  for (const auto& [key, value] : dict.items)
    pairs.push_back(Value::list({value_of_key(key), value}, true));
  return Value::list(std::move(pairs));
}

struct DictMethod {
  std::string_view name;
  Value (*call)(const Value& self, const Arguments& a);
};
constexpr DictMethod kDictMethods[] = {
    {"copy", [](const Value& d, A) { return d; }},
    {"get",
     [](const Value& d, A a) {
       const Value& key = a.need(0, "key");
       const Value* found = key.is(Kind::None) ? nullptr : d.as_dict().find(key_of(key));
       return found != nullptr ? *found : a.get(1, "default", None{});
     }},
    {"items", [](const Value& d, A) { return pairs_of(d.as_dict()); }},
    {"keys", [](const Value& d, A) { return Value::list(elements(d)); }},
    {"values",
     [](const Value& d, A) {
       std::vector<Value> all;
       for (const auto& each : d.as_dict().items) all.push_back(each.second);
       return Value::list(std::move(all));
     }},
};

struct ListMethod {
  std::string_view name;
  Value (*call)(const List& self, const Arguments& a);
};
constexpr ListMethod kListMethods[] = {
    {"copy", [](const List& l, A) { return Value::list(l.items); }},
    {"count",
     [](const List& l, A a) {
       const Value& wanted = a.need(0, "value");
       return Value::integer(std::count_if(l.items.begin(), l.items.end(),
                                           [&](const Value& each) { return equal(each, wanted); }));
     }},
    {"index",
     [](const List& l, A a) {
       for (size_t i = 0; i < l.items.size(); i++)
         if (equal(l.items[i], a.need(0, "value"))) return Value::integer(static_cast<int64_t>(i));
       throw Failure("the value that is looked for is not in the list");
     }},
};

// What would change a value: the sandbox of templates has none of it.
constexpr std::string_view kChanging[] = {"append", "extend", "insert",     "pop",
                                          "remove", "clear",  "setdefault", "popitem",
                                          "update", "sort",   "reverse"};

template <class Methods>
auto find_method(const Methods& methods, std::string_view name) {
  return std::find_if(std::begin(methods), std::end(methods),
                      [&](const auto& each) { return each.name == name; });
}

}  // namespace

std::optional<Value> method(const Value& of, std::string_view name) {
  if (of.is(Kind::String)) {
    const auto m = find_method(kTextMethods, name);
    if (m == std::end(kTextMethods)) return {};
    return Value::function([of, m](const Arguments& a) { return m->call(of.as_text(), a); });
  }
  if (of.is(Kind::Dict)) {
    const auto m = find_method(kDictMethods, name);
    if (m != std::end(kDictMethods))
      return Value::function([of, m](const Arguments& a) { return m->call(of, a); });
  }
  if (of.is(Kind::List)) {
    const auto m = find_method(kListMethods, name);
    if (m != std::end(kListMethods))
      return Value::function([of, m](const Arguments& a) { return m->call(of.as_list(), a); });
  }
  return {};
}

Value attribute(const Value& of, const std::string& name) {
  if (of.is(Kind::Undefined)) throw Failure(fmt::format("'{}' is undefined", of.undefined_name()));
  if (of.is(Kind::Namespace)) {
    const Value* found = of.as_namespace().find(name);
    return found != nullptr ? *found : Value::undefined(name);
  }
  if (const auto bound = method(of, name)) return *bound;
  if (of.is(Kind::Dict))
    if (const Value* found = of.as_dict().find(name)) return *found;
  const bool changing =
      std::find(std::begin(kChanging), std::end(kChanging), name) != std::end(kChanging);
  if (changing && (of.is(Kind::Dict) || of.is(Kind::List)))
    return Value::function([name](const Arguments&) -> Value {
      throw Failure(fmt::format("templates may not change values: '{}'", name));
    });
  return Value::undefined(name);
}

Value item(const Value& of, const Value& key) {
  if (of.is(Kind::Undefined)) throw Failure(fmt::format("'{}' is undefined", of.undefined_name()));
  if (key.is(Kind::String)) {
    if (of.is(Kind::Dict))
      if (const Value* found = of.as_dict().find(key.as_text())) return *found;
    return attribute(of, key.as_text());
  }
  if (!key.is(Kind::Int) && !key.is(Kind::Bool)) return Value::undefined(key.str());
  if (of.is(Kind::Dict)) {
    const Value* found = of.as_dict().find(key_of(key));
    return found != nullptr ? *found : Value::undefined(key.str());
  }
  if (!of.is(Kind::String) && !of.is(Kind::List)) return Value::undefined(key.str());
  const int64_t n = length(of), at = key.as_int() < 0 ? key.as_int() + n : key.as_int();
  if (at < 0 || at >= n) return Value::undefined(key.str());
  if (of.is(Kind::List)) return of.as_list().items[static_cast<size_t>(at)];
  const Points points = code_points(of.as_text());
  return text_of(points, static_cast<size_t>(at), static_cast<size_t>(at) + 1);
}

Value slice(const Value& of, const Value& first, const Value& last, const Value& step) {
  if (of.is(Kind::Undefined)) throw Failure(fmt::format("'{}' is undefined", of.undefined_name()));
  if (!of.is(Kind::String) && !of.is(Kind::List)) return Value::undefined("a part");
  const int64_t n = length(of);
  const int64_t by = step.is(Kind::None) ? 1 : need_int(step, "the step");
  if (by == 0) throw Failure("the step of a slice is 0");
  const auto place = [&](const Value& v, int64_t otherwise) {
    if (v.is(Kind::None)) return otherwise;
    int64_t at = need_int(v, "an end of a slice");
    if (at < 0) at = std::max(at + n, int64_t{-1});
    return by > 0 ? std::clamp<int64_t>(at, 0, n) : std::clamp<int64_t>(at, -1, n - 1);
  };
  const int64_t begin = place(first, by > 0 ? 0 : n - 1), end = place(last, by > 0 ? n : -1);
  std::vector<size_t> chosen;
  for (int64_t i = begin; by > 0 ? i < end : i > end; i += by) {
    chosen.push_back(static_cast<size_t>(i));
    if (by > n || by < -n) break;
  }
  if (of.is(Kind::List)) {
    std::vector<Value> items;
    items.reserve(chosen.size());
    for (const size_t i : chosen) items.push_back(of.as_list().items[i]);
    return Value::list(std::move(items), of.as_list().tuple);
  }
  const Points points = code_points(of.as_text());
  std::string to;
  for (const size_t i : chosen) append_utf8(to, points[i]);
  return Value::text(std::move(to));
}

}  // namespace hologram::llm::jinja
