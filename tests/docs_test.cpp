// The documents say what the library does: generated parts are fresh, programs in them are right.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include "dialects/dialect.hpp"
#include "expression/reference.hpp"
#include "hologram/dialects.hpp"
#include "hologram/error.hpp"
#include "hologram/expression.hpp"
#include "hologram/ops.hpp"
#include "hologram/program.hpp"
#include "hologram/tensor.hpp"
#include "program/library.hpp"
#include "program/reference.hpp"
#include "runtime/settings.hpp"

namespace hologram::program {
namespace {

const std::filesystem::path kRoot = HOLOGRAM_SOURCE_DIR;

std::string contents(const std::filesystem::path& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST(Docs, InstructionsAreFresh) {
  const std::string text = contents(kRoot / "docs/atlas.md");
  EXPECT_EQ(with_instruction_reference(text), text) << "run `scripts/generate`";
}

TEST(Docs, SettingsAreFresh) {
  const std::string text = contents(kRoot / "docs/configuration.md");
  EXPECT_EQ(runtime::with_settings_reference(text), text) << "run `scripts/generate`";
}

TEST(Docs, TheProgramLibraryIsFresh) {
  const std::string text = contents(kRoot / "docs/program-library.md");
  EXPECT_EQ(library_reference(text), text) << "run `scripts/generate`";
}

// A row and a column for each dtype; a dash where there is no common one.
std::string promotion_table() {
  constexpr DType kTypes[] = {DType::Bool, DType::U8,  DType::U16, DType::U32, DType::U64,
                              DType::I8,   DType::I16, DType::I32, DType::I64, DType::F16,
                              DType::BF16, DType::F32, DType::F64};
  std::string head = "| |", line = "|---|", rows;
  for (const DType a : kTypes) {
    head += " " + std::string(name_of(a)) + " |";
    line += "---|";
    rows += "| **" + std::string(name_of(a)) + "** |";
    for (const DType b : kTypes) {
      try {
        rows += " " + std::string(name_of(promote(a, b))) + " |";
      } catch (const Error&) {
        rows += " – |";
      }
    }
    rows += "\n";
  }
  return head + "\n" + line + "\n" + rows;
}

TEST(Docs, ThePromotionTableIsRight) {
  EXPECT_NE(contents(kRoot / "docs/tensors.md").find("\n\n" + promotion_table() + "\n"),
            std::string::npos)
      << promotion_table();
}

TEST(Docs, FunctionsOfExpressionsAreFresh) {
  const std::string text = contents(kRoot / "docs/expressions.md");
  EXPECT_EQ(expression::with_function_reference(text), text) << "run `scripts/generate`";
}

// What docs/dialects.md shows of its program, and the flags of each language.
TEST(Docs, DialectsAreRight) {
  const std::string text = contents(kRoot / "docs/dialects.md");
  const auto block = [&](const std::string& language) {
    const std::string opening = "```" + language + "\n";
    const size_t at = text.find(opening) + opening.size();
    return text.substr(at, text.find("```", at) - at);
  };
  EXPECT_EQ(block("c++"), in_dialect(Program::parse(block("atlas")), "cuda"));
  for (const dialects::Language language : dialects::kLanguages) {
    std::string flags;
    for (const std::string& flag : dialects::compiler_flags(language))
      flags += (flags.empty() ? "" : " ") + flag;
    const std::string row = "| `" + std::string(name_of(language)) + "` | " +
                            (flags.empty() ? "none" : "`" + flags + "`");
    EXPECT_NE(text.find(row), std::string::npos) << row;
  }
}

// All of them take x, a matrix of three rows.
TEST(Docs, ExpressionsAreRight) {
  const std::string text = contents(kRoot / "docs/expressions.md");
  constexpr std::string_view kOpen = "```expression\n";
  size_t expressions = 0;
  for (size_t at = 0; (at = text.find(kOpen, at)) != std::string::npos; expressions++) {
    at += kOpen.size();
    const std::string one = text.substr(at, text.find("```", at) - at);
    try {
      const Tensor x = ops::arange(6).reshape({3, 2}).to(DType::F32);
      for (const auto& [name, value] :
           Expression::parse(one, "expressions.md").evaluate({{"x", x}}))
        value.eval();
    } catch (const Error& error) {
      ADD_FAILURE() << error.what() << '\n' << error.remedy() << '\n' << one;
    }
  }
  EXPECT_GE(expressions, 4u);
}

TEST(Docs, ProgramsAreRight) {
  std::vector<std::filesystem::path> files = {kRoot / "README.md"};
  for (const auto& entry : std::filesystem::directory_iterator(kRoot / "docs"))
    if (entry.path().extension() == ".md") files.push_back(entry.path());
  size_t programs = 0;
  for (const auto& file : files) {
    const std::string text = contents(file);
    constexpr std::string_view kOpen = "```atlas\n";
    for (size_t at = 0; (at = text.find(kOpen, at)) != std::string::npos; programs++) {
      at += kOpen.size();
      const std::string program = text.substr(at, text.find("```", at) - at);
      try {
        const Program parsed = Program::parse(program, file.filename().string());
        EXPECT_EQ(Program::parse(parsed.text()).text(), parsed.text());
      } catch (const Error& error) {
        ADD_FAILURE() << error.what() << '\n' << error.remedy() << '\n' << program;
      }
    }
  }
  EXPECT_GE(programs, 7u);
}

}  // namespace
}  // namespace hologram::program
