#include "llm/json_schema.hpp"

#include <algorithm>
#include <map>

#include "core/messages.hpp"
#include "llm/json.hpp"

namespace hologram::llm {
namespace {

constexpr int64_t kMostRepeated = 2000;
constexpr int kMostNested = 64;

[[noreturn]] void refuse(const std::string& what, const char* remedy) {
  throw core::error(core::Text::ModelArgument, "the JSON schema", what, remedy);
}

// Keywords that say nothing of the values, or are looked at below.
constexpr std::string_view kKnown[] = {
    "type",      "properties",  "required",   "additionalProperties",
    "items",     "prefixItems", "enum",       "const",
    "anyOf",     "oneOf",       "allOf",      "$ref",
    "$defs",     "definitions", "minItems",   "maxItems",
    "minLength", "maxLength",   "title",      "description",
    "default",   "examples",    "$schema",    "$id",
    "$comment",  "format",      "deprecated", "readOnly",
    "writeOnly", "strict",      "name",       "nullable"};

class Maker {
 public:
  Maker(Grammar& grammar, const OrderedJson& root) : g_(grammar), root_(root) {}

  int rule_of(const OrderedJson& schema) {
    if (++depth_ > kMostNested) refuse("nested too deeply", "less than 64 levels");
    const int rule = g_.add_rule();
    fill(rule, schema);
    depth_--;
    return rule;
  }

 private:
  // ---- what JSON is made of ----
  int space(int from) {  // nothing, a space, or a new line with an indent
    const int to = g_.add_node();
    g_.join(from, to);
    g_.bytes(from, ' ', ' ', to);
    int indent = g_.bytes(from, '\n', '\n');
    for (int i = 0; i < 16; i++) {
      g_.join(indent, to);
      indent = g_.bytes(indent, ' ', ' ');
    }
    g_.join(indent, to);
    return to;
  }
  template <class Make>
  int kept(int& rule, const Make& make) {
    if (rule < 0) {
      rule = g_.add_rule();
      make(g_.first_of(rule));
    }
    return rule;
  }
  // One character inside of quotes: UTF-8, without what has to be escaped, or an escape.
  int character() {
    return kept(character_, [&](int from) {
      const int end = g_.add_node();
      g_.end_rule(end);
      const auto path = [&](std::initializer_list<std::pair<int, int>> ranges) {
        int at = from;
        size_t left = ranges.size();
        for (const auto& [first, last] : ranges)
          at = g_.bytes(at, static_cast<uint8_t>(first), static_cast<uint8_t>(last),
                        --left == 0 ? end : -1);
      };
      path({{0x20, 0x21}});
      path({{0x23, 0x5b}});
      path({{0x5d, 0x7f}});
      path({{0xc2, 0xdf}, {0x80, 0xbf}});
      path({{0xe0, 0xe0}, {0xa0, 0xbf}, {0x80, 0xbf}});
      path({{0xe1, 0xec}, {0x80, 0xbf}, {0x80, 0xbf}});
      path({{0xed, 0xed}, {0x80, 0x9f}, {0x80, 0xbf}});
      path({{0xee, 0xef}, {0x80, 0xbf}, {0x80, 0xbf}});
      path({{0xf0, 0xf0}, {0x90, 0xbf}, {0x80, 0xbf}, {0x80, 0xbf}});
      path({{0xf1, 0xf3}, {0x80, 0xbf}, {0x80, 0xbf}, {0x80, 0xbf}});
      path({{0xf4, 0xf4}, {0x80, 0x8f}, {0x80, 0xbf}, {0x80, 0xbf}});
      for (const char c : std::string_view("\"\\/bfnrt")) path({{'\\', '\\'}, {c, c}});
    });
  }
  int string(int from, int64_t least, int64_t most) {
    int at = g_.text(from, "\"");
    at = repeated(at, least, most, [&](int n) { return g_.call(n, character()); });
    return g_.text(at, "\"");
  }
  template <class Each>
  int repeated(int from, int64_t least, int64_t most, const Each& each) {
    if (least > kMostRepeated || (most > kMostRepeated && most < INT64_MAX))
      refuse("with more than 2000 repetitions", "fewer");
    for (int64_t i = 0; i < least; i++) from = each(from);
    if (most < 0) {
      const int loop = g_.add_node();
      g_.join(from, loop);
      g_.join(each(loop), loop);
      return loop;
    }
    const int end = g_.add_node();
    for (int64_t i = least; i < most; i++) {
      g_.join(from, end);
      from = each(from);
    }
    g_.join(from, end);
    return end;
  }
  int digits(int from, int64_t least, int64_t most) {
    return repeated(from, least, most, [&](int n) { return g_.bytes(n, '0', '9'); });
  }
  int integer(int from) {
    const int first = g_.add_node(), end = g_.add_node();
    g_.join(from, first);
    g_.bytes(from, '-', '-', first);
    g_.bytes(first, '0', '0', end);
    g_.join(digits(g_.bytes(first, '1', '9'), 0, 15), end);
    return end;
  }
  int number(int from) {
    const int whole = integer(from), fraction = g_.add_node(), end = g_.add_node();
    g_.join(whole, fraction);
    g_.join(digits(g_.text(whole, "."), 1, 16), fraction);
    g_.join(fraction, end);
    for (const char* e : {"e", "e-", "e+"}) g_.join(digits(g_.text(fraction, e), 1, 2), end);
    return end;
  }
  int any() {
    return kept(any_, [&](int from) {
      const int end = g_.add_node();
      g_.end_rule(end);
      for (const char* type : {"object", "array", "string", "number", "boolean", "null"})
        g_.join(typed(from, type, OrderedJson::object()), end);
    });
  }

  // ---- schemas ----
  void fill(int rule, const OrderedJson& schema) {
    const int end = alternatives(g_.first_of(rule), schema);
    g_.end_rule(end);
  }
  int alternatives(int from, const OrderedJson& schema) {
    if (schema.is_boolean()) {
      if (!schema.get<bool>()) refuse("'false', which has no values", "another one");
      return g_.call(from, any());
    }
    if (!schema.is_object()) refuse("no object", "a JSON object with a type");
    for (const auto& [key, value] : schema.items())
      if (std::find(std::begin(kKnown), std::end(kKnown), key) == std::end(kKnown))
        refuse("with '" + key + "', which is not known", "a schema without it");
    if (schema.contains("$ref")) return g_.call(from, referred(schema["$ref"]));
    if (schema.contains("const")) return literal(from, schema["const"]);
    if (schema.contains("enum")) {
      const int end = g_.add_node();
      for (const OrderedJson& value : list(schema, "enum")) g_.join(literal(from, value), end);
      return end;
    }
    for (const char* key : {"anyOf", "oneOf"}) {
      if (!schema.contains(key)) continue;
      const int end = g_.add_node();
      for (const OrderedJson& each : list(schema, key)) g_.join(g_.call(from, rule_of(each)), end);
      return end;
    }
    if (schema.contains("allOf")) return g_.call(from, rule_of(merged(list(schema, "allOf"))));
    return by_type(from, schema);
  }
  static const OrderedJson& list(const OrderedJson& schema, const char* key) {
    const OrderedJson& all = schema.at(key);
    if (!all.is_array() || all.empty())
      refuse(std::string("with '") + key + "' that is no list", "a list of one or more");
    return all;
  }
  int literal(int from, const OrderedJson& value) {
    return g_.text(from, value.dump(-1, ' ', false, OrderedJson::error_handler_t::replace));
  }
  // Of objects: all properties of all.
  OrderedJson merged(const OrderedJson& parts) {
    OrderedJson all = OrderedJson::object();
    for (const OrderedJson& part : parts) {
      const OrderedJson& p =
          part.is_object() && part.contains("$ref") ? target(part["$ref"]) : part;
      if (!p.is_object()) refuse("with 'allOf' of no objects", "objects");
      for (const auto& [key, value] : p.items()) {
        if (key == "properties" && all.contains(key)) all[key].update(value);
        else if (key == "required" && all.contains(key))
          all[key].insert(all[key].end(), value.begin(), value.end());
        else all[key] = value;
      }
    }
    return all;
  }
  const OrderedJson& target(const OrderedJson& ref) {
    const std::string path = ref.is_string() ? ref.get<std::string>() : std::string();
    try {
      if (path == "#") return root_;
      if (path.starts_with("#/")) return root_.at(OrderedJson::json_pointer(path.substr(1)));
    } catch (const OrderedJson::exception&) {
    }
    refuse("with the reference '" + path + "' to nothing in it", "references as #/$defs/name");
  }
  int referred(const OrderedJson& ref) {
    const OrderedJson& to = target(ref);
    const auto [at, fresh] = referred_.try_emplace(&to, 0);
    if (!fresh) return at->second;
    const int rule = g_.add_rule();
    at->second = rule;
    if (++depth_ > kMostNested) refuse("nested too deeply", "less than 64 levels");
    fill(rule, to);
    depth_--;
    return rule;
  }

  int by_type(int from, const OrderedJson& schema) {
    std::vector<std::string> types;
    if (schema.contains("type")) {
      const OrderedJson& type = schema["type"];
      for (const OrderedJson& each : type.is_array() ? type : OrderedJson::array({type})) {
        if (!each.is_string()) refuse("with a type that is no text", "names of types");
        types.push_back(each.get<std::string>());
      }
    } else if (schema.contains("properties") || schema.contains("additionalProperties")) {
      types.emplace_back("object");
    } else if (schema.contains("items") || schema.contains("prefixItems")) {
      types.emplace_back("array");
    } else {
      return g_.call(from, any());
    }
    const int end = g_.add_node();
    for (const std::string& type : types) g_.join(typed(from, type, schema), end);
    return end;
  }
  static int64_t count(const OrderedJson& schema, const char* key, int64_t otherwise) {
    if (!schema.contains(key)) return otherwise;
    if (!schema[key].is_number_unsigned())
      refuse(std::string("with '") + key + "' that is no count", "0 or more");
    return static_cast<int64_t>(std::min<uint64_t>(schema[key].get<uint64_t>(), kMostRepeated + 1));
  }
  int typed(int from, const std::string& type, const OrderedJson& schema) {
    if (type == "string")
      return string(from, count(schema, "minLength", 0), count(schema, "maxLength", -1));
    if (type == "integer") return integer(from);
    if (type == "number") return number(from);
    if (type == "null") return g_.text(from, "null");
    if (type == "object") return object(from, schema);
    if (type == "array") return array(from, schema);
    if (type != "boolean") refuse("with the type '" + type + "'", "a type of JSON");
    const int end = g_.add_node();
    g_.join(g_.text(from, "true"), end);
    g_.join(g_.text(from, "false"), end);
    return end;
  }
  int value(int from, const OrderedJson* schema) {
    return g_.call(from, schema == nullptr ? any() : rule_of(*schema));
  }

  int object(int from, const OrderedJson& schema) {
    int at = g_.text(from, "{");
    const OrderedJson none = OrderedJson::object();
    const OrderedJson& properties = schema.contains("properties") ? schema["properties"] : none;
    if (!properties.is_object()) refuse("with properties that are no object", "an object");
    const int end = properties.empty() ? map(at, schema) : record(at, schema, properties);
    return g_.text(space(end), "}");
  }
  // Any keys.
  int map(int from, const OrderedJson& schema) {
    const bool closed = schema.contains("additionalProperties") &&
                        schema["additionalProperties"].is_boolean() &&
                        !schema["additionalProperties"].get<bool>();
    if (closed) return from;
    const OrderedJson* each =
        schema.contains("additionalProperties") && schema["additionalProperties"].is_object()
            ? &schema["additionalProperties"]
            : nullptr;
    const int pair = g_.add_rule(), end = g_.add_node();
    const int key = string(space(g_.first_of(pair)), 0, -1);
    g_.end_rule(value(space(g_.text(key, ":")), each));
    g_.join(from, end);
    const int first = g_.call(from, pair);
    g_.join(repeated(first, 0, -1, [&](int n) { return g_.call(g_.text(n, ","), pair); }), end);
    return end;
  }
  // Its own, in their order; `some`: there is one before.
  int record(int from, const OrderedJson& schema, const OrderedJson& properties) {
    const OrderedJson required = schema.value("required", OrderedJson::array());
    int some = -1;
    for (const auto& [name, each] : properties.items()) {
      const bool needed =
          std::find(required.begin(), required.end(), OrderedJson(name)) != required.end();
      const int pair = g_.add_rule();
      const int key = literal(space(g_.first_of(pair)), OrderedJson(name));
      g_.end_rule(value(space(g_.text(key, ":")), &each));
      const int behind = g_.add_node();
      if (from >= 0) g_.join(g_.call(from, pair), behind);
      if (some >= 0) {
        g_.join(g_.call(g_.text(some, ","), pair), behind);
        if (!needed) g_.join(some, behind);
      }
      some = behind;
      if (needed) from = -1;
    }
    if (from < 0) return some;
    const int end = g_.add_node();
    g_.join(from, end);
    g_.join(some, end);
    return end;
  }

  int array(int from, const OrderedJson& schema) {
    const int64_t least = count(schema, "minItems", 0), most = count(schema, "maxItems", -1);
    const OrderedJson* items = schema.contains("items") ? &schema["items"] : nullptr;
    int at = g_.text(from, "["), after = g_.add_node();
    if (schema.contains("prefixItems")) {
      const OrderedJson& front = list(schema, "prefixItems");
      for (size_t i = 0; i < front.size(); i++)
        at = value(space(i > 0 ? g_.text(at, ",") : at), &front[i]);
      g_.join(at, after);
      return g_.text(space(after), "]");
    }
    const int rule = items == nullptr ? any() : rule_of(*items);
    const auto item = [&](int n) { return g_.call(space(n), rule); };
    if (least == 0) g_.join(at, after);
    if (most != 0)
      g_.join(repeated(item(at), std::max<int64_t>(least - 1, 0), most < 0 ? -1 : most - 1,
                       [&](int n) { return item(g_.text(n, ",")); }),
              after);
    return g_.text(space(after), "]");
  }

  Grammar& g_;
  const OrderedJson& root_;
  std::map<const OrderedJson*, int> referred_;
  int character_ = -1, any_ = -1, depth_ = 0;
};

}  // namespace

int add_json_schema(Grammar& grammar, std::string_view schema, std::string_view before,
                    std::string_view behind) {
  const OrderedJson root = parse_json(schema);
  if (root.is_discarded()) refuse("no JSON", "a JSON object");
  const int rule = grammar.add_rule();
  const int at = grammar.text(grammar.first_of(rule), before);
  const int value = grammar.call(at, Maker(grammar, root).rule_of(root));
  grammar.end_rule(grammar.text(value, behind));
  return rule;
}

}  // namespace hologram::llm
