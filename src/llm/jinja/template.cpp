#include "llm/jinja/template.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <optional>
#include <unordered_map>

#include "llm/jinja/ast.hpp"
#include "llm/jinja/library.hpp"

namespace hologram::llm::jinja {
namespace {

constexpr int kMostDeep = 800;           // of evaluation: macros that call each other
constexpr size_t kBytesOfStep = 16;      // of text that is made
constexpr int64_t kKeptSteps = 20;       // for what stays until the end
constexpr int64_t kMostRange = 100'000;  // as Jinja's sandbox has it

// The variables of a body, in front of those around it.
struct Scope {
  std::shared_ptr<Scope> around;
  Items variables;

  const Value* find(std::string_view name) const {
    for (const Scope* s = this; s != nullptr; s = s->around.get())
      for (const auto& each : s->variables)
        if (each.first == name) return &each.second;
    return nullptr;
  }
  void set(const std::string& name, Value value) {
    for (auto& each : variables)
      if (each.first == name) {
        each.second = std::move(value);
        return;
      }
    variables.emplace_back(name, std::move(value));
  }
};

std::string local_time(const std::string& form) {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  localtime_r(&now, &parts);
  std::string to(256, '\0');
  to.resize(std::strftime(to.data(), to.size(), form.c_str(), &parts));
  return to;
}

// Roughly, in units of work, what touching a value costs.
int64_t size_of(const Value& v) {
  switch (v.kind()) {
    case Kind::String: return static_cast<int64_t>(v.as_text().size() / kBytesOfStep);
    case Kind::List: return static_cast<int64_t>(v.as_list().items.size());
    case Kind::Dict: return static_cast<int64_t>(v.as_dict().items.size());
    default: return 0;
  }
}

class Evaluator {
 public:
  explicit Evaluator(const Environment& environment)
      : environment_(environment), scope_(std::make_shared<Scope>()) {
    add_functions();
    for (const auto& [name, value] : environment.variables) scope_->set(name, value);
    enter();
  }
  // Macros know the scopes that know them, and namespaces may know themselves.
  ~Evaluator() {
    for (const auto& scope : captured_) scope->variables.clear();
    for (const auto& each : namespaces_) each->items.clear();
  }
  Evaluator(const Evaluator&) = delete;
  Evaluator& operator=(const Evaluator&) = delete;

  std::string render(const Node& body) {
    std::string to;
    run(body, to);
    return to;
  }

 private:
  enum class Flow : uint8_t { Next, Break, Continue };

  void spend(int64_t steps) {
    steps_ += steps;
    if (steps_ > environment_.most_steps) throw Failure("the template takes too long");
  }
  void write(std::string& to, std::string_view text) {
    spend(static_cast<int64_t>(text.size() / kBytesOfStep));
    require_size(static_cast<double>(to.size() + text.size()));
    to += text;
  }
  void enter() { scope_ = std::make_shared<Scope>(Scope{scope_, {}}); }
  // A body's own scope.
  class Inner {
   public:
    explicit Inner(Evaluator& e) : e_(e), before_(e.scope_) { e.enter(); }
    Inner(Evaluator& e, std::shared_ptr<Scope> of) : e_(e), before_(e.scope_) {
      e.scope_ = std::move(of);
      e.enter();
    }
    ~Inner() { e_.scope_ = std::move(before_); }
    Inner(const Inner&) = delete;
    Inner& operator=(const Inner&) = delete;

   private:
    Evaluator& e_;
    std::shared_ptr<Scope> before_;
  };
  struct Deeper {
    explicit Deeper(int& d) : depth(d) {
      if (++depth > kMostDeep) {
        depth--;
        throw Failure("the template calls itself too deeply");
      }
    }
    ~Deeper() { depth--; }
    Deeper(const Deeper&) = delete;
    Deeper& operator=(const Deeper&) = delete;
    int& depth;
  };

  // ---- statements ----
  Flow run(const Node& n, std::string& to) {
    try {
      spend(1);
      const Deeper deeper(depth_);
      return run_one(n, to);
    } catch (Failure& failure) {
      if (failure.line == 0) failure.line = n.line;
      throw;
    }
  }
  Flow run_one(const Node& n, std::string& to) {
    switch (n.op) {
      case Op::Body:
        for (const NodePtr& each : n.nodes)
          if (const Flow flow = run(*each, to); flow != Flow::Next) return flow;
        return Flow::Next;
      case Op::Text: write(to, n.text); return Flow::Next;
      case Op::Print: write(to, eval(*n.nodes[0]).str()); return Flow::Next;
      case Op::If: return if_(n, to);
      case Op::For: return for_(n, to);
      case Op::Break: return Flow::Break;
      case Op::Continue: return Flow::Continue;
      case Op::Set: assign(n.names, eval(*n.nodes[0])); return Flow::Next;
      case Op::SetBlock: {
        Value text = Value::text(inner_text(*n.nodes[0]));
        if (n.nodes[1]) text = with_operand(*n.nodes[1], text);
        assign(n.names, text);
        return Flow::Next;
      }
      case Op::Macro: scope_->set(n.text, macro(n)); return Flow::Next;
      case Op::CallBlock: {
        Arguments arguments = arguments_of(*n.nodes[0], 1);
        arguments.named.emplace_back("caller", macro(*n.nodes[1]));
        write(to, call(eval(*n.nodes[0]->nodes[0]), arguments).str());
        return Flow::Next;
      }
      case Op::FilterBlock:
        write(to, with_operand(*n.nodes[1], Value::text(inner_text(*n.nodes[0]))).str());
        return Flow::Next;
      case Op::With: {
        std::vector<Value> values;
        for (size_t i = 0; i < n.names.size(); i++) values.push_back(eval(*n.nodes[i]));
        const Inner inner(*this);
        for (size_t i = 0; i < n.names.size(); i++) scope_->set(n.names[i], values[i]);
        return run(*n.nodes.back(), to);
      }
      default: throw Failure("this is no statement");
    }
  }

  std::string inner_text(const Node& body) {
    const Inner inner(*this);
    std::string text;
    run(body, text);
    return text;
  }
  // A chain of filters, the innermost of which has no operand.
  Value with_operand(const Node& filters, const Value& operand) {
    const Value v = filters.nodes[0] ? with_operand(*filters.nodes[0], operand) : operand;
    return filtered(filters.text, v, arguments_of(filters, 1));
  }

  Flow if_(const Node& n, std::string& to) {
    size_t i = 0;
    for (; i + 1 < n.nodes.size(); i += 2)
      if (eval(*n.nodes[i]).truth()) return run(*n.nodes[i + 1], to);
    return i < n.nodes.size() ? run(*n.nodes[i], to) : Flow::Next;
  }

  Flow for_(const Node& n, std::string& to) {
    if (n.flag) throw Failure("recursive loops are not known");
    std::vector<Value> all = elements(eval(*n.nodes[0]));
    spend(static_cast<int64_t>(all.size()));
    if (n.nodes[1]) {
      std::vector<Value> kept;
      for (const Value& each : all) {
        const Inner inner(*this);
        unpack(n.names, each);
        if (eval(*n.nodes[1]).truth()) kept.push_back(each);
      }
      all = std::move(kept);
    }
    if (all.empty()) {
      if (!n.nodes[3]) return Flow::Next;
      const Inner inner(*this);
      return run(*n.nodes[3], to);
    }
    const std::shared_ptr<Namespace> loop = name_space();
    const auto last = std::make_shared<std::optional<Value>>();
    for (size_t i = 0; i < all.size(); i++) {
      const Inner inner(*this);
      describe(*loop, all, i, last);
      scope_->set("loop", Value::name_space(loop));
      unpack(n.names, all[i]);
      if (run(*n.nodes[2], to) == Flow::Break) break;
    }
    loop->items.clear();
    return Flow::Next;
  }
  void describe(Namespace& loop, const std::vector<Value>& all, size_t i,
                const std::shared_ptr<std::optional<Value>>& last) {
    const auto at = static_cast<int64_t>(i), count = static_cast<int64_t>(all.size());
    loop.set("index", Value::integer(at + 1));
    loop.set("index0", Value::integer(at));
    loop.set("revindex", Value::integer(count - at));
    loop.set("revindex0", Value::integer(count - at - 1));
    loop.set("first", Value::boolean(i == 0));
    loop.set("last", Value::boolean(at + 1 == count));
    loop.set("length", Value::integer(count));
    loop.set("previtem", i > 0 ? all[i - 1] : Value::undefined("there is no previous item"));
    loop.set("nextitem",
             i + 1 < all.size() ? all[i + 1] : Value::undefined("there is no next item"));
    loop.set("depth", Value::integer(1));
    loop.set("depth0", Value::integer(0));
    loop.set("cycle", Value::function([i](const Arguments& a) {
               if (a.positional.empty()) throw Failure("loop.cycle needs values");
               return a.positional[i % a.positional.size()];
             }));
    loop.set("changed", Value::function([last](const Arguments& a) {
               const Value now = Value::list(a.positional);
               const bool changed = !*last || !equal(**last, now);
               *last = now;
               return Value::boolean(changed);
             }));
  }

  void unpack(const std::vector<std::string>& names, const Value& value) {
    if (names.size() == 1) return scope_->set(names[0], value);
    const std::vector<Value> parts = elements(value);
    const size_t count = names.size() - static_cast<size_t>(names.back().empty());
    if (parts.size() != count)
      throw Failure(fmt::format("{} values for {} names", parts.size(), count));
    for (size_t i = 0; i < count; i++) set_one(names[i], parts[i]);
  }
  void assign(const std::vector<std::string>& names, const Value& value) {
    if (names.size() == 1) return set_one(names[0], value);
    unpack(names, value);
  }
  void set_one(const std::string& name, const Value& value) {
    const size_t dot = name.find('.');
    if (dot == std::string::npos) return scope_->set(name, value);
    const Value* const to = scope_->find(name.substr(0, dot));
    if (to == nullptr || !to->is(Kind::Namespace))
      throw Failure(fmt::format("'{}' is no namespace", name.substr(0, dot)));
    to->as_namespace().set(name.substr(dot + 1), value);
  }

  Value macro(const Node& n) {
    spend(kKeptSteps);
    captured_.push_back(scope_);
    const std::weak_ptr<Scope> around = scope_;
    return Value::function(
        [this, &n, around](const Arguments& a) { return expand(n, around.lock(), a); });
  }
  Value expand(const Node& n, std::shared_ptr<Scope> around, const Arguments& given) {
    const Inner inner(*this, std::move(around));
    std::vector<Value> more;
    Items named;
    for (size_t i = n.names.size(); i < given.positional.size(); i++)
      more.push_back(given.positional[i]);
    for (const auto& [name, value] : given.named) {
      if (name == "caller") scope_->set(name, value);
      else if (std::find(n.names.begin(), n.names.end(), name) == n.names.end())
        named.emplace_back(name, value);
    }
    for (size_t i = 0; i < n.names.size(); i++) {
      const Value* value = given.find(i, n.names[i]);
      const Node* otherwise = n.nodes[i + 1].get();
      scope_->set(n.names[i], value != nullptr       ? *value
                              : otherwise != nullptr ? eval(*otherwise)
                                                     : Value::undefined(n.names[i]));
    }
    scope_->set("varargs", Value::list(std::move(more), true));
    scope_->set("kwargs", Value::dict(std::move(named)));
    std::string text;
    run(*n.nodes[0], text);
    return Value::text(std::move(text));
  }

  std::shared_ptr<Namespace> name_space() {
    spend(kKeptSteps);
    namespaces_.push_back(std::make_shared<Namespace>());
    return namespaces_.back();
  }

  // ---- expressions ----
  Value eval(const Node& n) {
    try {
      spend(1);
      const Deeper deeper(depth_);
      return eval_one(n);
    } catch (Failure& failure) {
      if (failure.line == 0) failure.line = n.line;
      throw;
    }
  }
  Value eval_one(const Node& n) {
    const auto part = [&](size_t i) { return n.nodes[i] ? eval(*n.nodes[i]) : Value(None{}); };
    switch (n.op) {
      case Op::Constant: return n.value;
      case Op::Name: {
        const Value* found = scope_->find(n.text);
        return found != nullptr ? *found : Value::undefined(n.text);
      }
      case Op::MakeList:
      case Op::MakeTuple: {
        std::vector<Value> items;
        for (const NodePtr& each : n.nodes) items.push_back(eval(*each));
        return Value::list(std::move(items), n.op == Op::MakeTuple);
      }
      case Op::MakeDict: {
        Items items;
        for (size_t i = 0; i < n.nodes.size(); i += 2)
          items.emplace_back(key_of(eval(*n.nodes[i])), eval(*n.nodes[i + 1]));
        return Value::dict(std::move(items));
      }
      case Op::Attribute: return attribute(part(0), n.text);
      case Op::Item: return item(part(0), part(1));
      case Op::Slice: {
        const Value of = part(0);
        spend(size_of(of));
        return slice(of, part(1), part(2), part(3));
      }
      case Op::Call: return call(eval(*n.nodes[0]), arguments_of(n, 1));
      case Op::Filter: {
        const Value operand = part(0);
        spend(size_of(operand));
        Value made = filtered(n.text, operand, arguments_of(n, 1));
        spend(size_of(made));
        return made;
      }
      case Op::Test: return Value::boolean(tested(n.text, part(0), arguments_of(n, 1)) != n.flag);
      case Op::Not: return Value::boolean(!part(0).truth());
      case Op::Negative: return binary("-", Value::integer(0), number(part(0)));
      case Op::Positive: return number(part(0));
      case Op::And: {
        const Value left = part(0);
        return left.truth() ? part(1) : left;
      }
      case Op::Or: {
        const Value left = part(0);
        return left.truth() ? left : part(1);
      }
      case Op::Binary: {
        const Value a = part(0), b = part(1);
        spend(size_of(a) + size_of(b));
        return binary(n.text, a, b);
      }
      case Op::Compare: return Value::boolean(compared(n));
      case Op::Choice:
        if (part(0).truth()) return part(1);
        return n.nodes[2] ? part(2) : Value::undefined("the value of an if without else");
      default: throw Failure("this is no value");
    }
  }
  static Value number(Value v) {
    if (v.is_number()) return v;
    throw Failure(fmt::format("a sign does not take {}", v.type_name()));
  }

  bool compared(const Node& n) {
    Value left = eval(*n.nodes[0]);
    for (size_t i = 0; i < n.names.size(); i++) {
      const Value right = eval(*n.nodes[i + 1]);
      spend(size_of(right));
      const std::string& op = n.names[i];
      const bool holds = op == "in"       ? contains(right, left)
                         : op == "not in" ? !contains(right, left)
                                          : tested(op, left, {{right}, {}});
      if (!holds) return false;
      left = right;
    }
    return true;
  }

  Arguments arguments_of(const Node& n, size_t first) {
    Arguments made;
    for (size_t i = 0; i < n.names.size(); i++) {
      Value value = eval(*n.nodes[first + i]);
      if (n.names[i].empty()) made.positional.push_back(std::move(value));
      else made.named.emplace_back(n.names[i], std::move(value));
    }
    return made;
  }
  Value call(const Value& function, const Arguments& arguments) {
    if (function.is(Kind::Undefined))
      throw Failure(fmt::format("'{}' is undefined", function.undefined_name()));
    if (!function.is(Kind::Function))
      throw Failure(fmt::format("a value of type {} cannot be called", function.type_name()));
    Value made = function.as_function()(arguments);
    spend(size_of(made));
    return made;
  }

  // ---- what templates can call ----
  void add_functions() {
    const auto add = [&](const char* name, Function f) {
      scope_->set(name, Value::function(std::move(f)));
    };
    add("raise_exception", [](const Arguments& a) -> Value {
      Failure failure(a.need(0, "message").str());
      failure.refused = true;
      throw Failure(failure);
    });
    add("strftime_now", [this](const Arguments& a) {
      const std::string& form = need_text(a.need(0, "format"), "the format");
      return Value::text(environment_.now ? environment_.now(form) : local_time(form));
    });
    add("namespace", [this](const Arguments& a) {
      const std::shared_ptr<Namespace> made = name_space();
      if (!a.positional.empty() && a.positional[0].is(Kind::Dict))
        made->items = a.positional[0].as_dict().items;
      for (const auto& [name, value] : a.named) made->set(name, value);
      return Value::name_space(made);
    });
    add("dict", [](const Arguments& a) {
      Items items;
      if (!a.positional.empty() && a.positional[0].is(Kind::Dict))
        items = a.positional[0].as_dict().items;
      items.insert(items.end(), a.named.begin(), a.named.end());
      return Value::dict(std::move(items));
    });
    add("range", range);
    add("joiner", [](const Arguments& a) {
      const Value mark = a.get(0, "sep", Value::text(", "));
      const auto used = std::make_shared<bool>(false);
      return Value::function([mark, used](const Arguments&) {
        return std::exchange(*used, true) ? mark : Value::text("");
      });
    });
  }
  static Value range(const Arguments& a) {
    const bool one = a.positional.size() == 1;
    const int64_t begin = one ? 0 : need_int(a.need(0, "start"), "a range's begin");
    const int64_t end = need_int(a.need(one ? 0 : 1, "stop"), "a range's end");
    const int64_t step = need_int(a.get(2, "step", Value::integer(1)), "a range's step");
    if (step == 0) throw Failure("a range has the step 0");
    const double count =
        (static_cast<double>(end) - static_cast<double>(begin)) / static_cast<double>(step);
    if (count > static_cast<double>(kMostRange))
      throw Failure(fmt::format("a range has more than {} numbers", kMostRange));
    std::vector<Value> all;
    for (int64_t i = 0; i < static_cast<int64_t>(std::ceil(std::max(count, 0.0))); i++)
      all.push_back(Value::integer(begin + i * step));
    return Value::list(std::move(all));
  }

  const Environment& environment_;
  std::shared_ptr<Scope> scope_;
  std::vector<std::shared_ptr<Scope>> captured_;
  std::vector<std::shared_ptr<Namespace>> namespaces_;
  int64_t steps_ = 0;
  int depth_ = 0;
};

}  // namespace

Template::Template(std::string_view source) : body_(parse(source)) {}
Template::Template(Template&&) noexcept = default;
Template::~Template() = default;

std::string Template::render(const Environment& environment) const {
  return Evaluator(environment).render(*body_);
}

}  // namespace hologram::llm::jinja
