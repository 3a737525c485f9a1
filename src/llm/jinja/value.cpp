#include "llm/jinja/value.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <unordered_map>

#include "llm/unicode.hpp"

namespace hologram::llm::jinja {
namespace {

constexpr int kMostNested = 100;  // lists in lists: destroying them recurses

const std::string kNumberKey = "\x01";

int nested(int depth) {
  if (depth > kMostNested) throw Failure("lists are nested too deeply");
  return depth;
}

std::string real_text(double x) {
  if (std::isnan(x)) return "nan";
  if (std::isinf(x)) return x > 0 ? "inf" : "-inf";
  std::string text = fmt::format("{}", x);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::string quoted(const std::string& text) {
  const bool single = text.find('\'') == std::string::npos || text.find('"') != std::string::npos;
  const char quote = single ? '\'' : '"';
  std::string to(1, quote);
  for (const char32_t c : code_points(text)) {
    const Category category = category_of(c);
    if (c == static_cast<char32_t>(quote) || c == '\\') {
      to += '\\';
      to += static_cast<char>(c);
    } else if (c == '\n') {
      to += "\\n";
    } else if (c == '\r') {
      to += "\\r";
    } else if (c == '\t') {
      to += "\\t";
    } else if (c >= ' ' && c < 127) {
      to += static_cast<char>(c);
    } else if (category == Category::Other || category == Category::Separator) {
      const auto n = static_cast<uint32_t>(c);
      to += c < 0x100     ? fmt::format("\\x{:02x}", n)
            : c < 0x10000 ? fmt::format("\\u{:04x}", n)
                          : fmt::format("\\U{:08x}", n);
    } else {
      append_utf8(to, c);
    }
  }
  return to + quote;
}

void write_json_text(std::string& to, const std::string& text, bool ascii) {
  constexpr std::string_view kFrom = "\"\\\n\r\t\f\b", kTo = "\"\\nrtfb";
  const auto escape = [&](uint32_t unit) { to += fmt::format("\\u{:04x}", unit); };
  to += '"';
  for (const char32_t c : code_points(text)) {
    const auto n = static_cast<uint32_t>(c);
    const size_t short_form = n < 128 ? kFrom.find(static_cast<char>(n)) : std::string_view::npos;
    if (short_form != std::string_view::npos) {
      to.append("\\") += kTo[short_form];
    } else if (n < 32 || (ascii && n > 126 && n < 0x10000)) {
      escape(n);
    } else if (ascii && n > 0xffff) {
      escape(0xd800 + ((n - 0x10000) >> 10));
      escape(0xdc00 + ((n - 0x10000) & 0x3ff));
    } else {
      append_utf8(to, c);
    }
  }
  to += '"';
}

template <class J>
Value value_from(const J& json) {
  switch (json.type()) {
    case J::value_t::boolean: return Value::boolean(json.template get<bool>());
    case J::value_t::number_integer: return Value::integer(json.template get<int64_t>());
    case J::value_t::number_unsigned:
      if (json.template get<uint64_t>() <= INT64_MAX)
        return Value::integer(json.template get<int64_t>());
      return Value::real(json.template get<double>());
    case J::value_t::number_float: return Value::real(json.template get<double>());
    case J::value_t::string: return Value::text(json.template get<std::string>());
    case J::value_t::array: {
      std::vector<Value> items;
      for (const auto& item : json) items.push_back(value_from(item));
      return Value::list(std::move(items));
    }
    case J::value_t::object: {
      Items items;
      for (const auto& [key, item] : json.items()) items.emplace_back(key, value_from(item));
      return Value::dict(std::move(items));
    }
    default: return None{};
  }
}

const Value* find_in(const Items& items, std::string_view key) {
  for (const auto& item : items)
    if (item.first == key) return &item.second;
  return nullptr;
}

}  // namespace

Value Value::text(std::string s) {
  return Value(Data(std::make_shared<const std::string>(std::move(s))));
}
Value Value::list(std::vector<Value> items, bool tuple) {
  int depth = 0;
  for (const Value& item : items) depth = std::max(depth, item.depth());
  return Value(
      Data(std::make_shared<const List>(List{std::move(items), tuple, nested(depth + 1)})));
}
Value Value::dict(Items items) {
  Dict made;
  std::unordered_map<std::string, size_t> places;  // objects of requests may be large
  for (auto& [key, item] : items) {
    made.depth = std::max(made.depth, item.depth() + 1);
    const auto [at, fresh] = places.emplace(key, made.items.size());
    if (fresh) made.items.emplace_back(key, std::move(item));
    else made.items[at->second].second = std::move(item);
  }
  nested(made.depth);
  return Value(Data(std::make_shared<const Dict>(std::move(made))));
}
Value Value::function(Function f) {
  return Value(Data(std::make_shared<const Function>(std::move(f))));
}
Value Value::from(const Json& json) { return value_from(json); }
Value Value::from(const OrderedJson& json) { return value_from(json); }

bool Value::truth() const {
  switch (kind()) {
    case Kind::Undefined:
    case Kind::None: return false;
    case Kind::Bool: return as_bool();
    case Kind::Int: return as_int() != 0;
    case Kind::Float: return as_real() != 0;
    case Kind::String: return !as_text().empty();
    case Kind::List: return !as_list().items.empty();
    case Kind::Dict: return !as_dict().items.empty();
    default: return true;
  }
}

int64_t Value::as_int() const {
  return is(Kind::Bool) ? static_cast<int64_t>(as_bool()) : std::get<int64_t>(data_);
}
double Value::as_real() const {
  return is(Kind::Float) ? std::get<double>(data_) : static_cast<double>(as_int());
}

int Value::depth() const {
  if (is(Kind::List)) return as_list().depth;
  return is(Kind::Dict) ? as_dict().depth : 0;
}

const char* Value::type_name() const {
  constexpr const char* kNames[] = {"undefined", "None", "bool", "int",       "float",
                                    "str",       "list", "dict", "namespace", "function"};
  return kNames[static_cast<size_t>(kind())];
}

std::string Value::str() const {
  if (is(Kind::String)) return as_text();
  return is(Kind::Undefined) ? std::string() : repr();
}

std::string Value::repr() const {
  switch (kind()) {
    case Kind::Undefined: return "Undefined";
    case Kind::None: return "None";
    case Kind::Bool: return as_bool() ? "True" : "False";
    case Kind::Int: return std::to_string(as_int());
    case Kind::Float: return real_text(as_real());
    case Kind::String: return quoted(as_text());
    case Kind::List: {
      const List& list = as_list();
      std::string to(1, list.tuple ? '(' : '[');
      for (size_t i = 0; i < list.items.size(); i++)
        to.append(i > 0 ? ", " : "").append(list.items[i].repr());
      if (list.tuple) return to + (list.items.size() == 1 ? ",)" : ")");
      return to + "]";
    }
    case Kind::Dict: {
      std::string to = "{";
      for (const auto& [key, item] : as_dict().items)
        to.append(to.size() > 1 ? ", " : "")
            .append(value_of_key(key).repr())
            .append(": ")
            .append(item.repr());
      return to + "}";
    }
    case Kind::Namespace: return "<Namespace>";
    case Kind::Function: break;
  }
  return "<function>";
}

std::string Value::json(const JsonForm& form) const {
  std::string to;
  write_json(to, form, 0);
  return to;
}

void Value::write_json(std::string& to, const JsonForm& form, int level) const {
  const auto line = [&](int at) {
    if (form.indent >= 0)
      to.append("\n").append(static_cast<size_t>(form.indent) * static_cast<size_t>(at), ' ');
  };
  const char* const between = form.indent >= 0 ? "," : ", ";
  switch (kind()) {
    case Kind::None: to += "null"; return;
    case Kind::Bool: to += as_bool() ? "true" : "false"; return;
    case Kind::Int: to += std::to_string(as_int()); return;
    case Kind::Float: {
      const double x = as_real();
      to += std::isnan(x)   ? "NaN"
            : std::isinf(x) ? (x > 0 ? "Infinity" : "-Infinity")
                            : real_text(x);
      return;
    }
    case Kind::String: write_json_text(to, as_text(), form.ascii); return;
    case Kind::List: {
      const auto& items = as_list().items;
      to += '[';
      for (size_t i = 0; i < items.size(); i++) {
        if (i > 0) to += between;
        line(level + 1);
        items[i].write_json(to, form, level + 1);
      }
      if (!items.empty()) line(level);
      to += ']';
      return;
    }
    case Kind::Dict: {
      const Items& items = as_dict().items;
      std::vector<size_t> order(items.size());
      std::iota(order.begin(), order.end(), size_t{0});
      if (form.sorted)
        std::sort(order.begin(), order.end(),
                  [&](size_t a, size_t b) { return items[a].first < items[b].first; });
      to += '{';
      for (size_t i = 0; i < order.size(); i++) {
        if (i > 0) to += between;
        line(level + 1);
        write_json_text(to, value_of_key(items[order[i]].first).str(), form.ascii);
        to += ": ";
        items[order[i]].second.write_json(to, form, level + 1);
      }
      if (!items.empty()) line(level);
      to += '}';
      return;
    }
    default:
      throw Failure(fmt::format("a value of type {} cannot be written as JSON", type_name()));
  }
}

std::string key_of(const Value& v) {
  if (v.is(Kind::Int) || v.is(Kind::Bool)) return kNumberKey + std::to_string(v.as_int());
  return need_text(v, "a key");
}
Value value_of_key(const std::string& key) {
  if (!key.starts_with(kNumberKey)) return Value::text(key);
  return Value::integer(std::strtoll(key.c_str() + 1, nullptr, 10));
}

const Value* Dict::find(std::string_view key) const { return find_in(items, key); }
const Value* Namespace::find(std::string_view key) const { return find_in(items, key); }
void Namespace::set(const std::string& key, Value value) {
  for (auto& item : items)
    if (item.first == key) {
      item.second = std::move(value);
      return;
    }
  items.emplace_back(key, std::move(value));
}

const Value* Arguments::find(size_t index, std::string_view name) const {
  return index < positional.size() ? &positional[index] : find_in(named, name);
}
Value Arguments::get(size_t index, std::string_view name, Value otherwise) const {
  const Value* given = find(index, name);
  return given != nullptr ? *given : otherwise;
}
const Value& Arguments::need(size_t index, std::string_view name) const {
  const Value* given = find(index, name);
  if (given == nullptr) throw Failure(fmt::format("the argument '{}' is missing", name));
  return *given;
}

bool equal(const Value& a, const Value& b) {
  if (a.is(Kind::Int) && b.is(Kind::Int)) return a.as_int() == b.as_int();
  if (a.is_number() && b.is_number()) return a.as_real() == b.as_real();
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case Kind::Undefined:
    case Kind::None: return true;
    case Kind::String: return a.as_text() == b.as_text();
    case Kind::List: {
      const List &x = a.as_list(), &y = b.as_list();
      return x.tuple == y.tuple &&
             std::equal(x.items.begin(), x.items.end(), y.items.begin(), y.items.end(), equal);
    }
    case Kind::Dict: {
      const Dict &x = a.as_dict(), &y = b.as_dict();
      if (x.items.size() != y.items.size()) return false;
      return std::all_of(x.items.begin(), x.items.end(), [&](const auto& item) {
        const Value* other = y.find(item.first);
        return other != nullptr && equal(item.second, *other);
      });
    }
    case Kind::Namespace: return &a.as_namespace() == &b.as_namespace();
    case Kind::Function: return &a.as_function() == &b.as_function();
    default: return false;
  }
}

int compare(const Value& a, const Value& b) {
  const auto order = [](const auto& x, const auto& y) { return x < y ? -1 : y < x ? 1 : 0; };
  if (a.is(Kind::Int) && b.is(Kind::Int)) return order(a.as_int(), b.as_int());
  if (a.is_number() && b.is_number()) return order(a.as_real(), b.as_real());
  // Bytes of UTF-8 have the order of code points.
  if (a.is(Kind::String) && b.is(Kind::String)) return order(a.as_text(), b.as_text());
  if (a.is(Kind::List) && b.is(Kind::List)) {
    const auto &x = a.as_list().items, &y = b.as_list().items;
    for (size_t i = 0; i < std::min(x.size(), y.size()); i++)
      if (!equal(x[i], y[i])) return compare(x[i], y[i]);
    return order(x.size(), y.size());
  }
  throw Failure(fmt::format("there is no order of {} and {}", a.type_name(), b.type_name()));
}

bool contains(const Value& all, const Value& value) {
  switch (all.kind()) {
    case Kind::String:
      return all.as_text().find(need_text(value, "what is looked for in a text")) !=
             std::string::npos;
    case Kind::Dict:
      if (value.is(Kind::None) || value.is(Kind::Float)) return false;
      return all.as_dict().find(key_of(value)) != nullptr;
    case Kind::List: {
      const auto& items = all.as_list().items;
      return std::any_of(items.begin(), items.end(),
                         [&](const Value& item) { return equal(item, value); });
    }
    case Kind::Undefined: return false;
    default: throw Failure(fmt::format("nothing can be in a value of type {}", all.type_name()));
  }
}

std::vector<Value> elements(const Value& v) {
  std::vector<Value> all;
  switch (v.kind()) {
    case Kind::Undefined: return all;
    case Kind::List: return v.as_list().items;
    case Kind::Dict:
      for (const auto& item : v.as_dict().items) all.push_back(value_of_key(item.first));
      return all;
    case Kind::String:
      for (const char32_t c : code_points(v.as_text())) {
        std::string one;
        append_utf8(one, c);
        all.push_back(Value::text(std::move(one)));
      }
      return all;
    default: throw Failure(fmt::format("a value of type {} has no elements", v.type_name()));
  }
}

int64_t length(const Value& v) {
  switch (v.kind()) {
    case Kind::Undefined: return 0;
    case Kind::List: return static_cast<int64_t>(v.as_list().items.size());
    case Kind::Dict: return static_cast<int64_t>(v.as_dict().items.size());
    case Kind::String: return static_cast<int64_t>(code_points(v.as_text()).size());
    default: throw Failure(fmt::format("a value of type {} has no length", v.type_name()));
  }
}

const std::string& need_text(const Value& v, const char* what) {
  if (v.is(Kind::String)) return v.as_text();
  if (v.is(Kind::Undefined)) throw Failure(fmt::format("'{}' is undefined", v.undefined_name()));
  throw Failure(fmt::format("{} is of type {}, not a text", what, v.type_name()));
}
int64_t need_int(const Value& v, const char* what) {
  if (v.is(Kind::Int) || v.is(Kind::Bool)) return v.as_int();
  if (v.is(Kind::Undefined)) throw Failure(fmt::format("'{}' is undefined", v.undefined_name()));
  throw Failure(fmt::format("{} is of type {}, not a whole number", what, v.type_name()));
}

}  // namespace hologram::llm::jinja
