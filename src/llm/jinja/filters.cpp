#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "llm/jinja/library.hpp"

namespace hologram::llm::jinja {
namespace {

using V = const Value&;
using A = const Arguments&;

// The part that a path as "function.name" names.
Value at_path(V of, V path) {
  if (path.is(Kind::Int)) return item(of, path);
  Value at = of;
  const std::string& text = need_text(path, "an attribute");
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find('.', begin), text.size());
    const std::string name = text.substr(begin, end - begin);
    int64_t index = 0;
    const auto read = std::from_chars(name.data(), name.data() + name.size(), index);
    const bool number =
        !name.empty() && read.ec == std::errc() && read.ptr == name.data() + name.size();
    // As Jinja has it: elements come before methods here.
    at = item(at, number ? Value::integer(index) : Value::text(name));
    begin = end + 1;
  }
  return at;
}

Arguments behind(A all, size_t first) {
  Arguments rest;
  for (size_t i = first; i < all.positional.size(); i++)
    rest.positional.push_back(all.positional[i]);
  rest.named = all.named;
  return rest;
}

// select, reject, selectattr, rejectattr.
Value chosen(V list, A a, bool by_attribute, bool wanted) {
  std::vector<Value> kept;
  if (!list.truth()) return Value::list({});  // none, too
  const size_t test = by_attribute ? 1 : 0;
  const std::string name = a.positional.size() > test
                               ? need_text(a.positional[test], "the name of a test")
                               : std::string();
  for (V each : elements(list)) {
    const Value looked = by_attribute ? at_path(each, a.need(0, "attribute")) : each;
    const bool holds = name.empty() ? looked.truth() : tested(name, looked, behind(a, test + 1));
    if (holds == wanted) kept.push_back(each);
  }
  return Value::list(std::move(kept));
}

Value mapped(V list, A a) {
  std::vector<Value> made;
  if (!list.truth()) return Value::list({});
  const Value* path = a.positional.empty() ? a.find(SIZE_MAX, "attribute") : nullptr;
  for (V each : elements(list)) {
    if (path == nullptr) {
      made.push_back(
          filtered(need_text(a.need(0, "filter"), "the name of a filter"), each, behind(a, 1)));
      continue;
    }
    Value part = at_path(each, *path);
    if (part.is(Kind::Undefined)) part = a.get(SIZE_MAX, "default", part);
    made.push_back(std::move(part));
  }
  return Value::list(std::move(made));
}

// What values are ordered by: without regard to case unless asked for.
Value ordering(V v, bool with_case) {
  return !with_case && v.is(Kind::String) ? Value::text(lower(v.as_text())) : v;
}

Value sorted(V list, A a) {
  std::vector<Value> all = elements(list);
  const bool back = a.get(0, "reverse", Value::boolean(false)).truth();
  const bool with_case = a.get(1, "case_sensitive", Value::boolean(false)).truth();
  const Value path = a.get(2, "attribute", None{});
  const auto key = [&](V v) {
    return ordering(path.is(Kind::None) ? v : at_path(v, path), with_case);
  };
  std::vector<std::pair<Value, Value>> keyed;
  keyed.reserve(all.size());
  for (V each : all) keyed.emplace_back(key(each), each);
  std::stable_sort(keyed.begin(), keyed.end(), [&](const auto& x, const auto& y) {
    return back ? compare(y.first, x.first) < 0 : compare(x.first, y.first) < 0;
  });
  for (size_t i = 0; i < all.size(); i++) all[i] = keyed[i].second;
  return Value::list(std::move(all));
}

Value dictsorted(V dict, A a) {
  const bool with_case = a.get(0, "case_sensitive", Value::boolean(false)).truth();
  const bool by_value = a.get(1, "by", Value::text("key")).str() == "value";
  const bool back = a.get(2, "reverse", Value::boolean(false)).truth();
  if (!dict.is(Kind::Dict)) throw Failure("dictsort needs a dictionary");
  Items items = dict.as_dict().items;
  const auto key = [&](const auto& each) {
    return ordering(by_value ? each.second : value_of_key(each.first), with_case);
  };
  std::stable_sort(items.begin(), items.end(), [&](const auto& x, const auto& y) {
    return back ? compare(key(y), key(x)) < 0 : compare(key(x), key(y)) < 0;
  });
  std::vector<Value> pairs;
  for (const auto& [name, value] : items)
    pairs.push_back(Value::list({value_of_key(name), value}, true));
  return Value::list(std::move(pairs));
}

Value unique(V list, A a) {
  const bool with_case = a.get(0, "case_sensitive", Value::boolean(false)).truth();
  const Value path = a.get(1, "attribute", None{});
  std::vector<Value> seen, kept;
  for (V each : elements(list)) {
    const Value key = ordering(path.is(Kind::None) ? each : at_path(each, path), with_case);
    if (std::any_of(seen.begin(), seen.end(), [&](V s) { return equal(s, key); })) continue;
    seen.push_back(key);
    require_size(static_cast<double>(seen.size()) * static_cast<double>(seen.size()));
    kept.push_back(each);
  }
  return Value::list(std::move(kept));
}

Value joined(V list, A a) {
  const std::string mark = a.get(0, "d", Value::text("")).str();
  const Value path = a.get(1, "attribute", None{});
  std::string to;
  bool first = true;
  for (V each : elements(list)) {
    if (!first) to += mark;
    first = false;
    to += (path.is(Kind::None) ? each : at_path(each, path)).str();
    require_size(static_cast<double>(to.size()));
  }
  return Value::text(std::move(to));
}

Value indented(V text, A a) {
  const Value width = a.get(0, "width", Value::integer(4));
  require_size(width.is(Kind::Int) ? static_cast<double>(width.as_int()) : 0);
  const std::string by =
      width.is(Kind::String)
          ? width.as_text()
          : std::string(static_cast<size_t>(std::max<int64_t>(0, need_int(width, "the width"))),
                        ' ');
  const bool first = a.get(1, "first", Value::boolean(false)).truth();
  const bool blank = a.get(2, "blank", Value::boolean(false)).truth();
  const std::string& all = need_text(text, "what is indented");
  std::string to = first ? by : std::string();
  for (size_t begin = 0; begin <= all.size();) {
    const size_t end = std::min(all.find('\n', begin), all.size());
    if (begin > 0 && (blank || end > begin)) to += by;
    to.append(all, begin, end - begin);
    if (end < all.size()) to += '\n';
    require_size(static_cast<double>(to.size()));
    begin = end + 1;
  }
  return Value::text(std::move(to));
}

// [-n, n) of a list from an end.
Value end_of(V list, bool front) {
  const std::vector<Value> all = elements(list);
  if (all.empty()) return Value::undefined(front ? "the first element" : "the last element");
  return front ? all.front() : all.back();
}

Value whole(V v, A a) {
  Value otherwise = a.get(0, "default", Value::integer(0));
  if (v.is(Kind::Float)) {
    if (!(std::abs(v.as_real()) < 9e18)) return otherwise;
    return Value::integer(static_cast<int64_t>(v.as_real()));
  }
  if (v.is_number()) return Value::integer(v.as_int());
  if (!v.is(Kind::String)) return otherwise;
  const std::string text = stripped(v.as_text(), "", true, true);
  const size_t plus = text.starts_with('+') ? 1 : 0;
  int64_t n = 0;
  const auto read = std::from_chars(text.data() + plus, text.data() + text.size(), n);
  if (!text.empty() && read.ec == std::errc() && read.ptr == text.data() + text.size())
    return Value::integer(n);
  char* end = nullptr;
  const double x = std::strtod(text.c_str(), &end);
  const bool number = !text.empty() && *end == '\0' && std::abs(x) < 9e18;
  return number ? Value::integer(static_cast<int64_t>(x)) : otherwise;
}
Value real(V v, A a) {
  if (v.is_number()) return Value::real(v.as_real());
  if (v.is(Kind::String)) {
    const std::string text = stripped(v.as_text(), "", true, true);
    char* end = nullptr;
    const double x = std::strtod(text.c_str(), &end);
    if (!text.empty() && *end == '\0') return Value::real(x);
  }
  return a.get(0, "default", Value::real(0));
}
Value rounded(V v, A a) {
  if (!v.is_number()) throw Failure("round needs a number");
  const double scale = std::pow(
      10.0,
      static_cast<double>(need_int(a.get(0, "precision", Value::integer(0)), "the precision")));
  const std::string how = a.get(1, "method", Value::text("common")).str();
  const double x = v.as_real() * scale;
  const double whole = how == "ceil"    ? std::ceil(x)
                       : how == "floor" ? std::floor(x)
                                        : std::nearbyint(x);
  return Value::real(whole / scale);
}

Value total(V list, A a) {
  const Value path = a.get(0, "attribute", None{});
  Value sum = a.get(1, "start", Value::integer(0));
  for (V each : elements(list))
    sum = binary("+", sum, path.is(Kind::None) ? each : at_path(each, path));
  return sum;
}
Value extreme(V list, bool least) {
  const std::vector<Value> all = elements(list);
  if (all.empty()) return Value::undefined("an element of nothing");
  Value best = all[0];
  for (V each : all) {
    const int order = compare(ordering(each, false), ordering(best, false));
    if (least ? order < 0 : order > 0) best = each;
  }
  return best;
}

Value reversed(V v) {
  std::vector<Value> all = elements(v);
  std::reverse(all.begin(), all.end());
  if (!v.is(Kind::String)) return Value::list(std::move(all));
  std::string to;
  for (V each : all) to += each.as_text();
  return Value::text(std::move(to));
}

Value in_batches(V list, A a) {
  const int64_t size = need_int(a.need(0, "linecount"), "the size of a batch");
  if (size < 1) throw Failure("batches have 1 element or more");
  std::vector<Value> batches, batch;
  for (V each : elements(list)) {
    batch.push_back(each);
    if (static_cast<int64_t>(batch.size()) < size) continue;
    batches.push_back(Value::list(std::exchange(batch, {})));
  }
  if (!batch.empty()) batches.push_back(Value::list(std::move(batch)));
  return Value::list(std::move(batches));
}

Value escaped(V v) {
  std::string text = v.str();
  for (const auto& [from, to] :
       {std::pair("&", "&amp;"), std::pair("<", "&lt;"), std::pair(">", "&gt;"),
        std::pair("'", "&#39;"), std::pair("\"", "&#34;")})
    text = replaced(text, from, to, -1);
  return Value::text(std::move(text));
}

Value otherwise(V v, A a) {
  const bool also_false = a.get(1, "boolean", Value::boolean(false)).truth();
  if (v.is(Kind::Undefined) || (also_false && !v.truth()))
    return a.get(0, "default_value", Value::text(""));
  return v;
}

Value absolute(V v) {
  if (!v.is_number()) throw Failure("abs needs a number");
  if (v.is(Kind::Float)) return Value::real(std::abs(v.as_real()));
  return v.as_int() < 0 ? binary("-", Value::integer(0), v) : Value::integer(v.as_int());
}

Value json_of(V v, A a) {
  const Value indent = a.get(SIZE_MAX, "indent", a.get(0, "indent", None{}));
  const auto is_set = [&](const char* name) {
    return a.get(SIZE_MAX, name, Value::boolean(false)).truth();
  };
  if (v.is(Kind::Undefined)) throw Failure(fmt::format("'{}' is undefined", v.undefined_name()));
  const int64_t by = indent.is(Kind::None) ? -1 : need_int(indent, "the indent");
  if (by > 64) throw Failure("the indent is too wide");
  return Value::text(v.json(
      {static_cast<int>(std::max<int64_t>(by, -1)), is_set("sort_keys"), is_set("ensure_ascii")}));
}

// Unlike the method, it has a word go on behind an apostrophe.
Value titled(V v) {
  std::string to;
  bool inside = false;
  for (V each : elements(Value::text(v.str()))) {
    to += inside ? lower(each.as_text()) : upper(each.as_text());
    inside = std::string_view("-({[< \t\n\r").find(each.as_text()) == std::string_view::npos;
  }
  return Value::text(std::move(to));
}

struct Filter {
  std::string_view name;
  Value (*apply)(V v, A a);
};
constexpr Filter kFilters[] = {
    {"abs", [](V v, A) { return absolute(v); }},
    {"attr", [](V v, A a) { return attribute(v, need_text(a.need(0, "name"), "the name")); }},
    {"batch", in_batches},
    {"capitalize", [](V v, A) { return Value::text(capitalized(v.str())); }},
    {"count", [](V v, A) { return Value::integer(length(v)); }},
    {"d", otherwise},
    {"default", otherwise},
    {"dictsort", dictsorted},
    {"e", [](V v, A) { return escaped(v); }},
    {"escape", [](V v, A) { return escaped(v); }},
    {"first", [](V v, A) { return end_of(v, true); }},
    {"float", real},
    {"indent", indented},
    {"int", whole},
    {"items",
     [](V v, A) {
       if (v.is(Kind::Undefined)) return Value::list({});
       if (!v.is(Kind::Dict)) throw Failure("items needs a dictionary");
       return (*method(v, "items")).as_function()({});
     }},
    {"join", joined},
    {"last", [](V v, A) { return end_of(v, false); }},
    {"length", [](V v, A) { return Value::integer(length(v)); }},
    {"list", [](V v, A) { return Value::list(elements(v)); }},
    {"lower", [](V v, A) { return Value::text(lower(v.str())); }},
    {"map", mapped},
    {"max", [](V v, A) { return extreme(v, false); }},
    {"min", [](V v, A) { return extreme(v, true); }},
    {"reject", [](V v, A a) { return chosen(v, a, false, false); }},
    {"rejectattr", [](V v, A a) { return chosen(v, a, true, false); }},
    {"replace",
     [](V v, A a) {
       const Value most = a.get(2, "count", None{});
       return Value::text(replaced(v.str(), a.need(0, "old").str(), a.need(1, "new").str(),
                                   most.is(Kind::None) ? -1 : need_int(most, "the count")));
     }},
    {"reverse", [](V v, A) { return reversed(v); }},
    {"round", rounded},
    {"safe", [](V v, A) { return Value::text(v.str()); }},
    {"select", [](V v, A a) { return chosen(v, a, false, true); }},
    {"selectattr", [](V v, A a) { return chosen(v, a, true, true); }},
    {"sort", sorted},
    {"string", [](V v, A) { return Value::text(v.str()); }},
    {"sum", total},
    {"title", [](V v, A) { return titled(v); }},
    {"tojson", json_of},
    {"trim",
     [](V v, A a) {
       const Value characters = a.get(0, "chars", None{});
       return Value::text(
           stripped(v.str(), characters.is(Kind::None) ? "" : characters.str(), true, true));
     }},
    {"unique", unique},
    {"upper", [](V v, A) { return Value::text(upper(v.str())); }},
};

double rest_of_two(V v) { return binary("%", v, Value::integer(2)).as_real(); }
bool divides(V v, A a) {
  const int64_t by = need_int(a.need(0, "num"), "the divisor");
  if (by == 0) throw Failure("a division by 0");
  return by == -1 || need_int(v, "the number") % by == 0;
}

struct Test {
  std::string_view name;
  bool (*holds)(V v, A a);
};
template <int kLeast, int kMost>
bool in_order(V v, A a) {
  const int order = compare(v, a.need(0, "other"));
  return order >= kLeast && order <= kMost;
}
bool equals(V v, A a) { return equal(v, a.need(0, "other")); }
bool differs(V v, A a) { return !equal(v, a.need(0, "other")); }
constexpr Test kTests[] = {
    {"!=", differs},
    {"<", in_order<-1, -1>},
    {"<=", in_order<-1, 0>},
    {"==", equals},
    {">", in_order<1, 1>},
    {">=", in_order<0, 1>},
    {"boolean", [](V v, A) { return v.is(Kind::Bool); }},
    {"callable", [](V v, A) { return v.is(Kind::Function); }},
    {"defined", [](V v, A) { return !v.is(Kind::Undefined); }},
    {"divisibleby", divides},
    {"eq", equals},
    {"equalto", equals},
    {"even", [](V v, A) { return rest_of_two(v) == 0; }},
    {"false", [](V v, A) { return v.is(Kind::Bool) && !v.as_bool(); }},
    {"float", [](V v, A) { return v.is(Kind::Float); }},
    {"ge", in_order<0, 1>},
    {"greaterthan", in_order<1, 1>},
    {"gt", in_order<1, 1>},
    {"in", [](V v, A a) { return contains(a.need(0, "seq"), v); }},
    {"integer", [](V v, A) { return v.is(Kind::Int); }},
    {"iterable",
     [](V v, A) {
       return v.is(Kind::String) || v.is(Kind::List) || v.is(Kind::Dict) || v.is(Kind::Undefined);
     }},
    {"le", in_order<-1, 0>},
    {"lessthan", in_order<-1, -1>},
    {"lower", [](V v, A) { return lower(v.str()) == v.str() && upper(v.str()) != v.str(); }},
    {"lt", in_order<-1, -1>},
    {"mapping", [](V v, A) { return v.is(Kind::Dict); }},
    {"ne", differs},
    {"none", [](V v, A) { return v.is(Kind::None); }},
    {"number", [](V v, A) { return v.is_number(); }},
    {"odd", [](V v, A) { return rest_of_two(v) == 1; }},
    {"sameas",
     [](V v, A a) {
       return v.kind() == a.need(0, "other").kind() && equal(v, a.need(0, "other"));
     }},
    {"sequence",
     [](V v, A) {
       return v.is(Kind::String) || v.is(Kind::List) || v.is(Kind::Dict) || v.is(Kind::Undefined);
     }},
    {"string", [](V v, A) { return v.is(Kind::String); }},
    {"true", [](V v, A) { return v.is(Kind::Bool) && v.as_bool(); }},
    {"undefined", [](V v, A) { return v.is(Kind::Undefined); }},
    {"upper", [](V v, A) { return upper(v.str()) == v.str() && lower(v.str()) != v.str(); }},
};

template <class Table>
const auto& entry(const Table& table, std::string_view name, const char* what) {
  for (const auto& each : table)
    if (each.name == name) return each;
  throw Failure(fmt::format("there is no {} '{}'", what, name));
}

}  // namespace

Value filtered(std::string_view name, const Value& operand, const Arguments& arguments) {
  return entry(kFilters, name, "filter").apply(operand, arguments);
}
bool tested(std::string_view name, const Value& operand, const Arguments& arguments) {
  return entry(kTests, name, "test").holds(operand, arguments);
}

}  // namespace hologram::llm::jinja
