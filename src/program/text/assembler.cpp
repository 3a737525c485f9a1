#include "program/text/assembler.hpp"

#include <fmt/format.h>

#include "core/nearest.hpp"
#include "program/ir.hpp"
#include "program/text/excerpt.hpp"

namespace hologram::program {

using core::Text;

Module assemble(std::string_view text, std::string_view file) {
  return Assembler(text, file).run();
}

Assembler::Assembler(std::string_view text, std::string_view file)
    : text_(text),
      file_(file),
      tokens_(tokenize(text, file)),
      scopes_(1),
      // For constants, until the program's own is there.
      builder_(std::make_unique<Builder>("constants")) {}

Module Assembler::run() {
  scan();
  program();
  Module module = builder_->finish_unverified();
  check_unused_functions();
  return module;
}

const Token& Assembler::peek(size_t ahead) const {
  return tokens_[std::min(at_ + ahead, tokens_.size() - 1)];
}

bool Assembler::accept(Tok kind) {
  if (!at(kind)) return false;
  at_++;
  return true;
}

bool Assembler::accept_word(std::string_view word) {
  if (!at_word(word)) return false;
  at_++;
  return true;
}

uint32_t Assembler::expect(Tok kind, std::string_view what, std::string_view remedy) {
  if (!at(kind)) fail(at_, Text::AtlasExpected, what, found(), remedy);
  return at_++;
}

uint32_t Assembler::new_name(std::string_view what) {
  const uint32_t token = expect(Tok::Name, fmt::format("the name of {}", what), "Give it a name.");
  if (is_reserved(spelled(token))) fail(token, Text::AtlasReserved, spelled(token));
  return token;
}

void Assembler::skip_lines() {
  while (accept(Tok::Line)) {
  }
}

void Assembler::end_statement() {
  if (at(Tok::RBrace) || accept(Tok::Line)) return;
  fail(at_, Text::AtlasExpected, "the end of the statement", found(),
       "Write one statement a line, or separate them with `;`.");
}

std::string_view Assembler::spelled(uint32_t token) const {
  return text_.substr(tokens_[token].offset, tokens_[token].length);
}

std::string_view Assembler::source(uint32_t first, uint32_t last) const {
  const Token &a = tokens_[first], &b = tokens_[last];
  return text_.substr(a.offset, b.offset + b.length - a.offset);
}

std::string Assembler::found() const {
  const Token& token = peek();
  if (token.kind <= Tok::Line) return std::string(describe(token.kind));
  return fmt::format("'{}'", spelled(at_));
}

Error Assembler::located(const Error& error, uint32_t first, uint32_t last) const {
  const Token &a = tokens_[first], &b = tokens_[std::max(first, last)];
  return at_place(error, text_, file_, a.offset, b.offset + b.length - a.offset);
}

// Counts what costs time and memory: hostile text must not take much of either.
void Assembler::step() {
  if (++steps_ > kMaxSteps) fail(at_, Text::AtlasSteps, kMaxSteps);
  if (builder_->instruction_count() > kMaxInstructions)
    fail(at_, Text::AtlasInstructions, kMaxInstructions);
}

Assembler::Nested::Nested(const Assembler& a, size_t& d) : depth(d) {
  if (depth >= kMaxDepth) a.fail(a.at_, Text::AtlasDepth, kMaxDepth);
  depth++;
}

const Symbol* Assembler::find(std::string_view name) const {
  for (size_t i = scopes_.size(); i-- > 0;) {
    if (i != 0 && i < visible_from_) i = 0;
    const auto it = scopes_[i].find(name);
    if (it != scopes_[i].end()) return &it->second;
  }
  return nullptr;
}

void Assembler::declare(uint32_t token, Symbol symbol) {
  if (const Symbol* other = find(spelled(token)))
    fail(token, Text::AtlasDeclared, spelled(token), tokens_[other->token].line);
  symbol.token = token;
  scopes_.back().emplace(spelled(token), symbol);
}

void Assembler::unknown_name(uint32_t token) const {
  const std::string_view name = spelled(token);
  if (functions_.contains(name) || is_builtin(name)) fail(token, Text::AtlasFunctionName, name);
  std::vector<std::string_view> known;
  for (size_t i = 0; i < scopes_.size(); i++)
    if (i == 0 || i >= visible_from_)
      for (const auto& [other, symbol] : scopes_[i]) known.push_back(other);
  for (const std::string_view word :
       {"lane_id", "group_id", "global_id", "group_count", "true", "false", "inf", "nan"})
    known.push_back(word);
  std::string_view close = core::nearest(name, known);
  if (close.empty()) {
    close = core::nearest(name, callable_names());
    if (close.empty()) fail(token, Text::AtlasUnknownName, name);
  }
  fail(token, Text::AtlasMisspelledName, name, close);
}

void Assembler::unknown_function(uint32_t token) const {
  const std::string_view name = spelled(token);
  if (find(name)) fail(token, Text::AtlasNotFunction, name);
  const std::string_view close = core::nearest(name, callable_names());
  if (close.empty()) fail(token, Text::AtlasUnknownFunction, name);
  fail(token, Text::AtlasMisspelledFunction, name, close);
}

}  // namespace hologram::program
