// From tokens to a Builder in one pass. Functions are inlined and `unroll for` is expanded by
// reading their tokens again, so there is no tree between the text and the instructions.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/messages.hpp"
#include "hologram/builder.hpp"
#include "program/text/lexer.hpp"

namespace hologram::program {

inline constexpr size_t kMaxDepth = 100;             // of blocks with calls, and of expressions
inline constexpr size_t kMaxInstructions = 1000000;  // after expansion
inline constexpr size_t kMaxSteps = 2 * kMaxInstructions;  // of the assembler itself

// What an expression stands for: a value of the program, or a number without a type.
struct Expr {
  Value value;
  std::optional<Number> number;
  uint32_t first = 0, last = 0;  // its tokens

  bool weak() const { return number.has_value(); }
};

// A buffer or workgroup array.
struct Memory {
  std::string_view name;
  DType type = DType::None;
  Access access = Access::InOut;
  bool atomic = false;
  std::vector<Dim> dims{};
  bool shared = false;
  uint32_t id = 0;
};

struct Symbol {
  enum class Kind : uint8_t { Number, Binding, HostBinding, Scalar, Memory, Variable };
  Kind kind = Kind::Number;
  uint32_t token = 0;  // where it is declared
  Number number{};     // Number
  Value value{};       // Binding, HostBinding; Scalar: its value in the body
  uint32_t id = 0;     // Memory: in memories_; Variable: the Var
};

struct Function {
  uint32_t token = 0;  // of its name
  std::vector<uint32_t> parameters;
  std::vector<DType> types, results;
  uint32_t body = 0;  // the token of its brace
  bool active = false, used = false;
};

class Assembler {
 public:
  Assembler(std::string_view text, std::string_view file);
  Module run();

 private:
  // Tokens and errors (assembler.cpp).
  const Token& peek(size_t ahead = 0) const;
  bool at(Tok kind) const { return peek().kind == kind; }
  bool at_word(std::string_view word) const { return at(Tok::Name) && spelled(at_) == word; }
  bool accept(Tok kind);
  bool accept_word(std::string_view word);
  uint32_t expect(Tok kind, std::string_view what, std::string_view remedy);
  uint32_t new_name(std::string_view what);
  void skip_lines();
  void end_statement();
  std::string_view spelled(uint32_t token) const;
  std::string_view source(uint32_t first, uint32_t last) const;
  std::string found() const;
  Error located(const Error& error, uint32_t first, uint32_t last) const;
  template <class... Args>
  [[noreturn]] void fail(uint32_t token, core::Text text, const Args&... args) const {
    throw located(core::error(text, args...), token, token);
  }
  template <class... Args>
  [[noreturn]] void fail(const Expr& e, core::Text text, const Args&... args) const {
    throw located(core::error(text, args...), e.first, e.last);
  }
  // What the builder or a number throws gets the place of the tokens.
  template <class F>
  auto placed(uint32_t first, uint32_t last, F&& f) const {
    try {
      return f();
    } catch (const Error& error) {
      throw located(error, first, last);
    }
  }
  void step();
  struct Nested {
    Nested(const Assembler& a, size_t& depth);
    ~Nested() { depth--; }
    size_t& depth;
  };

  // Names (assembler.cpp).
  const Symbol* find(std::string_view name) const;
  void declare(uint32_t token, Symbol symbol);
  [[noreturn]] void unknown_name(uint32_t token) const;
  [[noreturn]] void unknown_function(uint32_t token) const;

  // Declarations (declarations.cpp).
  void scan();
  void constant();
  void function();
  void program();
  void clauses(uint32_t& lanes);
  void parameter();
  void buffer(uint32_t name, DType type, Access access);
  void scalar(uint32_t name, DType type);
  void lanes();
  void check_unused_functions();
  DType type();
  DType compute(uint32_t token, DType type);
  std::vector<Dim> dimensions(bool names);
  Number constant_expression(std::string_view what);
  int64_t constant_integer(std::string_view what, int64_t low, int64_t high);

  // Statements (statements.cpp).
  void block();
  uint32_t opening();
  void statement();
  bool keyword_statement();
  void variable_statement();
  void shared_statement();
  void require_statement();
  void host_statement();
  void if_statement();
  void for_statement();
  void unroll_statement();
  void while_statement();
  void loop_statement();
  void jump_statement();
  void return_statement();
  void call_statement();
  void element_statement();
  void assignment();
  void assign(uint32_t name, const Expr& e);
  void body_only(uint32_t token) const;
  std::optional<Op> compound_operator();

  // Expressions (expressions.cpp). `hint` is the type that the surroundings want; numbers take it
  // where nothing closer gives them one.
  Expr expression(DType hint);
  Expr binary(DType hint, int level);
  Expr unary(DType hint);
  Expr primary(DType hint);
  Expr literal(bool negative);
  Expr name();
  Expr id_source(Op op);
  Expr apply(Op op, uint32_t where, std::vector<Expr> operands, DType hint);
  DType common_type(Op op, uint32_t where, const std::vector<Expr>& operands, DType hint);
  [[noreturn]] void mixed_types(uint32_t where, const Expr& a, const Expr& b) const;
  [[noreturn]] void wrong_type(Op op, uint32_t where, const Expr& e, DType type) const;
  Expr made(Value value, uint32_t first) const;
  Expr made(const Number& number, uint32_t first) const;
  Value as(const Expr& e, DType type);  // must be of the type, or a number that fits
  Value strong(const Expr& e);          // a number takes its default type
  DType type_of(const Expr& e) const;
  Value condition();

  // Memory (memory.cpp).
  struct Place {
    const Memory* memory;
    Value index;
    uint32_t first;
  };
  Place place();
  Value flat_index(const Memory& memory, const std::vector<Expr>& indices);
  Value load(const Place& place);
  void store(const Place& place, const Expr& e);
  void may_read(const Place& place) const;
  void may_write(const Place& place) const;

  // Calls (calls.cpp).
  Expr call(DType hint);
  std::vector<Expr> arguments(DType hint);
  Expr convert(uint32_t name, DType to);
  Expr reinterpret(uint32_t name, DType to);
  Expr length(uint32_t name);
  Expr clamp(uint32_t name, DType hint);
  Expr atomic(uint32_t name, std::string_view word);
  Expr group(uint32_t name, Op op, std::string_view word);
  Expr operation(uint32_t name, Op op, DType hint);
  std::vector<Expr> inline_call();
  std::vector<Expr> inline_body(Function& f, std::vector<Value> arguments, uint32_t call);
  std::vector<Expr> results(const Function& f);
  bool is_builtin(std::string_view name) const;
  std::vector<std::string_view> callable_names() const;

  std::string_view text_, file_;
  std::vector<Token> tokens_;
  uint32_t at_ = 0;
  size_t steps_ = 0, nested_blocks_ = 0, nested_expressions_ = 0;

  using Names = std::map<std::string_view, Symbol>;
  std::vector<Names> scopes_;  // [0]: constants of the file
  size_t visible_from_ = 1;    // the first scope of the function being inlined
  std::map<std::string_view, Function> functions_;
  std::vector<Memory> memories_;

  std::unique_ptr<Builder> builder_;
  DType index_ = DType::I32;
  uint32_t program_ = 0;  // the token of the program's name
  bool host_ = false;
  size_t loops_ = 0;           // around the statement, within its function
  size_t function_depth_ = 0;  // of inlined calls
  size_t block_depth_ = 0;     // below the program's own block
};

}  // namespace hologram::program
