// Code points: UTF-8, and their major categories.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hologram::llm {

enum class Category : uint8_t { Letter, Mark, Number, Punctuation, Symbol, Separator, Other };

Category category_of(char32_t point);
bool is_space(char32_t point);  // as \s of regular expressions has it
// As Unicode 8 has it, which BERT's tokenizers know: by category.
bool is_nonspacing(char32_t point);
bool is_punctuation(char32_t point);
bool is_control(char32_t point);
// Behind `to`: the point without its nonspacing marks, which may be several or none, and in lower
// case.
void append_bare(std::vector<char32_t>& to, char32_t point);
void append_lower(std::vector<char32_t>& to, char32_t point);

// Bytes that are no UTF-8 become one U+FFFD each.
std::vector<char32_t> code_points(std::string_view text);
void append_utf8(std::string& to, char32_t point);
std::string to_utf8(std::vector<char32_t>::const_iterator begin,
                    std::vector<char32_t>::const_iterator end);

// The length of the sequence that a byte begins; 0 of one that begins none.
size_t utf8_length(char first);
// How many bytes at the end begin a sequence that is not complete.
size_t incomplete_tail(std::string_view text);

}  // namespace hologram::llm
