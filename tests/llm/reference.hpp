// Decoders as plain loops in f64: what the logits of a model ought to be.
#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "llm/source.hpp"

namespace hologram::tests {

class Reference {
 public:
  using Row = std::vector<double>;
  using Rows = std::vector<Row>;

  explicit Reference(const llm::Source& source) : source_(source), c_(source.config()) {}

  // The logits behind each of the tokens.
  Rows logits(const std::vector<int32_t>& tokens) {
    Rows x;
    const Rows& embedding = matrix("token_embd.weight");
    for (const int32_t token : tokens) {
      x.push_back(embedding[static_cast<size_t>(token)]);
      if (c_.architecture->scaled_embedding)
        for (double& number : x.back()) number *= std::sqrt(static_cast<double>(c_.width));
    }
    for (int64_t i = 0; i < c_.layers; i++) {
      prefix_ = "blk." + std::to_string(i) + ".";
      Rows y = attention(i, each(x, [&](const Row& r) { return norm(r, "attn_norm"); }));
      x = sum(x, behind(y, "post_attention_norm"));
      y = each(x, [&](const Row& r) { return feed(norm(r, "ffn_norm")); });
      x = sum(x, behind(y, "post_ffw_norm"));
    }
    prefix_.clear();
    return each(x, [&](const Row& r) {
      const bool tied = !source_.find("output.weight");
      Row y = times(norm(r, "output_norm"), tied ? "token_embd" : "output");
      if (c_.final_softcap > 0)
        for (double& number : y) number = std::tanh(number / c_.final_softcap) * c_.final_softcap;
      return y;
    });
  }

 private:
  template <class F>
  static Rows each(const Rows& rows, const F& f) {
    Rows made;
    for (const Row& row : rows) made.push_back(f(row));
    return made;
  }
  static Rows sum(Rows a, const Rows& b) {
    for (size_t i = 0; i < a.size(); i++)
      for (size_t k = 0; k < a[i].size(); k++) a[i][k] += b[i][k];
    return a;
  }
  const Rows& matrix(const std::string& name) {
    Rows& rows = known_[name];
    if (rows.empty()) {
      const llm::Stored stored = source_.find(name).value();
      std::vector<float> row(static_cast<size_t>(stored.columns));
      for (int64_t i = 0; i < stored.rows * stored.count; i++) {
        stored.row(i, row.data());
        rows.emplace_back(row.begin(), row.end());
      }
    }
    return rows;
  }
  bool has(const std::string& name) const { return source_.find(prefix_ + name).has_value(); }
  // Rows [first, first + count) of a matrix, all unless given.
  Row times(const Row& x, const std::string& name, size_t first = 0, size_t count = SIZE_MAX) {
    const Rows& rows = matrix(prefix_ + name + ".weight");
    Row y;
    for (size_t r = first; r < rows.size() && r - first < count; r++) {
      double total = has(name + ".bias") ? matrix(prefix_ + name + ".bias")[0][r] : 0;
      for (size_t k = 0; k < x.size(); k++) total += x[k] * rows[r][k];
      y.push_back(total);
    }
    return y;
  }
  Row norm(const Row& x, const std::string& name) {
    double squares = 0;
    for (const double number : x) squares += number * number;
    const double scale = 1 / std::sqrt(squares / static_cast<double>(x.size()) + c_.epsilon);
    Row y = x;
    for (size_t k = 0; k < x.size(); k++) y[k] *= scale * matrix(prefix_ + name + ".weight")[0][k];
    return y;
  }
  Rows behind(const Rows& y, const std::string& name) {
    if (!has(name + ".weight")) return y;
    return each(y, [&](const Row& r) { return norm(r, name); });
  }

  // A head, normalised if there is a norm of that name, and turned.
  Row head(const Row& all, int64_t number, size_t position, const std::string& name, bool local) {
    const auto from = all.begin() + number * c_.key_length;
    Row h(from, from + c_.key_length);
    if (has(name + ".weight")) h = norm(h, name);
    const double base = local && c_.local_rope_base > 0 ? c_.local_rope_base : c_.rope_base;
    const int64_t half = c_.rotated / 2;
    for (int64_t i = 0; i < half; i++) {
      const bool halves = c_.rope == llm::RopeKind::Halves;
      double& a = h[static_cast<size_t>(halves ? i : 2 * i)];
      double& b = h[static_cast<size_t>(halves ? i + half : 2 * i + 1)];
      const double angle = static_cast<double>(position) *
                           std::pow(base, -static_cast<double>(i) / static_cast<double>(half));
      const double x = a * std::cos(angle) - b * std::sin(angle);
      b = a * std::sin(angle) + b * std::cos(angle);
      a = x;
    }
    return h;
  }

  Rows attention(int64_t layer, const Rows& x) {
    const auto queries = static_cast<size_t>(c_.heads * c_.key_length),
               keys = static_cast<size_t>(c_.key_heads * c_.key_length);
    const bool joined = has("attn_qkv.weight");
    const auto part = [&](const char* name, size_t first, size_t count) {
      return each(x, [&](const Row& r) {
        return joined ? times(r, "attn_qkv", first, count) : times(r, name);
      });
    };
    const Rows q = part("attn_q", 0, queries), k = part("attn_k", queries, keys),
               v = part("attn_v", queries + keys, SIZE_MAX);
    const bool local = !c_.sees_all(layer);
    const double scale =
        c_.query_scale > 0 ? c_.query_scale : 1 / std::sqrt(static_cast<double>(c_.key_length));
    Rows all(x.size());
    for (size_t t = 0; t < x.size(); t++)
      for (int64_t h = 0; h < c_.heads; h++) {
        const int64_t of_keys = h / (c_.heads / c_.key_heads);
        const Row query = head(q[t], h, t, "attn_q_norm", local);
        const size_t begin = local && t + 1 > static_cast<size_t>(c_.window)
                                 ? t + 1 - static_cast<size_t>(c_.window)
                                 : 0;
        double total = 0;
        Row result(static_cast<size_t>(c_.value_length));
        for (size_t s = begin; s <= t; s++) {
          const Row key = head(k[s], of_keys, s, "attn_k_norm", local);
          double score = 0;
          for (size_t d = 0; d < key.size(); d++) score += query[d] * key[d];
          score *= scale;
          if (c_.attention_softcap > 0)
            score = std::tanh(score / c_.attention_softcap) * c_.attention_softcap;
          const double share = std::exp(score);
          total += share;
          for (size_t d = 0; d < result.size(); d++)
            result[d] += share * v[s][static_cast<size_t>(of_keys * c_.value_length) + d];
        }
        for (const double number : result) all[t].push_back(number / total);
      }
    return each(all, [&](const Row& r) { return times(r, "attn_output"); });
  }

  double activated(double g) const {
    if (c_.architecture->activation == llm::Activation::Silu) return g / (1 + std::exp(-g));
    return g / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (g + 0.044715 * g * g * g)));
  }
  Row gated(Row gate, const Row& up) const {
    for (size_t k = 0; k < gate.size(); k++) gate[k] = activated(gate[k]) * up[k];
    return gate;
  }
  Row feed(const Row& x) {
    const auto wide = static_cast<size_t>(c_.feed_forward), width = static_cast<size_t>(c_.width);
    if (c_.experts == 0) {
      if (has("ffn_gate.weight"))
        return times(gated(times(x, "ffn_gate"), times(x, "ffn_up")), "ffn_down");
      return times(gated(times(x, "ffn_up", 0, wide), times(x, "ffn_up", wide)), "ffn_down");
    }
    Row shares = times(x, "ffn_gate_inp");
    double total = 0;
    for (double& share : shares) total += share = std::exp(share);
    std::vector<size_t> order(shares.size());
    for (size_t e = 0; e < order.size(); e++) order[e] = e;
    std::sort(order.begin(), order.end(),
              [&](size_t a, size_t b) { return shares[a] > shares[b]; });
    order.resize(static_cast<size_t>(c_.experts_used));
    if (c_.renormalised) {
      total = 0;
      for (const size_t e : order) total += shares[e];
    }
    Row y(width);
    for (const size_t e : order) {
      const Row inner =
          gated(times(x, "ffn_gate_exps", e * wide, wide), times(x, "ffn_up_exps", e * wide, wide));
      const Row down = times(inner, "ffn_down_exps", e * width, width);
      for (size_t k = 0; k < width; k++) y[k] += down[k] * shares[e] / total;
    }
    return y;
  }

  const llm::Source& source_;
  const llm::Config& c_;
  std::string prefix_;
  std::map<std::string, Rows> known_;
};

}  // namespace hologram::tests
