// The values of templates: Python's, as far as chat templates use them. Lists and dictionaries
// never change once they are made, as in the sandbox that templates are written for; only
// namespaces do.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "llm/json.hpp"

namespace hologram::llm::jinja {

// What is wrong with a template, or with what it is given. The line is put in on the way out.
struct Failure : std::runtime_error {
  explicit Failure(const std::string& what, int at = 0) : std::runtime_error(what), line(at) {}
  int line;
  bool refused = false;  // by the template's own raise_exception
};

class Value;
struct Arguments;
using Function = std::function<Value(const Arguments&)>;
using Items = std::vector<std::pair<std::string, Value>>;

struct Undefined {
  std::string name;  // of what is not there, for messages
};
struct None {};
struct List;
struct Dict;
struct Namespace;

struct JsonForm {
  int indent = -1;  // less than 0: on one line
  bool sorted = false, ascii = false;
};

// The kinds in the order of the variant below.
enum class Kind : uint8_t {
  Undefined,
  None,
  Bool,
  Int,
  Float,
  String,
  List,
  Dict,
  Namespace,
  Function
};

class Value {
 public:
  Value() : data_(Undefined{}) {}
  Value(None none) : data_(none) {}  // NOLINT(google-explicit-constructor)
  static Value undefined(std::string name) { return Value(Data(Undefined{std::move(name)})); }
  static Value boolean(bool b) { return Value(Data(b)); }
  static Value integer(int64_t n) { return Value(Data(n)); }
  static Value real(double x) { return Value(Data(x)); }
  static Value text(std::string s);
  static Value list(std::vector<Value> items, bool tuple = false);  // Failure if nested too deeply
  static Value dict(Items items);  // a key's last value counts, at its first place
  static Value name_space(std::shared_ptr<Namespace> n) { return Value(Data(std::move(n))); }
  static Value function(Function f);
  static Value from(const Json& json);
  static Value from(const OrderedJson& json);

  Kind kind() const { return static_cast<Kind>(data_.index()); }
  bool is(Kind k) const { return kind() == k; }
  bool is_number() const { return is(Kind::Int) || is(Kind::Float) || is(Kind::Bool); }
  bool truth() const;

  bool as_bool() const { return std::get<bool>(data_); }
  int64_t as_int() const;  // of Int and Bool
  double as_real() const;  // of numbers
  const std::string& as_text() const {
    return *std::get<std::shared_ptr<const std::string>>(data_);
  }
  const List& as_list() const { return *std::get<std::shared_ptr<const List>>(data_); }
  const Dict& as_dict() const { return *std::get<std::shared_ptr<const Dict>>(data_); }
  Namespace& as_namespace() const { return *std::get<std::shared_ptr<Namespace>>(data_); }
  const Function& as_function() const { return *std::get<std::shared_ptr<const Function>>(data_); }
  const std::string& undefined_name() const { return std::get<Undefined>(data_).name; }

  int depth() const;  // of lists in lists
  const char* type_name() const;

  std::string str() const;   // as printed
  std::string repr() const;  // as printed inside of a list
  // As json.dumps writes it.
  std::string json(const JsonForm& form) const;

 private:
  using Data =
      std::variant<Undefined, None, bool, int64_t, double, std::shared_ptr<const std::string>,
                   std::shared_ptr<const List>, std::shared_ptr<const Dict>,
                   std::shared_ptr<Namespace>, std::shared_ptr<const Function>>;
  explicit Value(Data data) : data_(std::move(data)) {}
  void write_json(std::string& to, const JsonForm& form, int level) const;
  Data data_;
};

struct List {
  std::vector<Value> items;
  bool tuple = false;
  int depth = 1;
};
struct Dict {
  Items items;
  int depth = 1;
  const Value* find(std::string_view key) const;
};
struct Namespace {
  Items items;
  void set(const std::string& key, Value value);
  const Value* find(std::string_view key) const;
};

// What a function, filter or test is called with.
struct Arguments {
  std::vector<Value> positional;
  Items named;
  // The argument at `index`, or of that name, or null.
  const Value* find(size_t index, std::string_view name) const;
  Value get(size_t index, std::string_view name, Value otherwise) const;
  const Value& need(size_t index, std::string_view name) const;  // Failure
};

// Keys of dictionaries are texts; whole numbers are kept as texts that nobody writes.
std::string key_of(const Value& v);  // Failure
Value value_of_key(const std::string& key);

bool equal(const Value& a, const Value& b);
int compare(const Value& a, const Value& b);          // -1, 0, 1; Failure where there is no order
bool contains(const Value& all, const Value& value);  // `value in all`
// The elements of a list, keys of a dictionary, characters of a text; of Undefined none.
std::vector<Value> elements(const Value& v);
int64_t length(const Value& v);
// The text of a value that has to be one.
const std::string& need_text(const Value& v, const char* what);
int64_t need_int(const Value& v, const char* what);

}  // namespace hologram::llm::jinja
