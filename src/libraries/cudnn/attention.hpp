// Attention by cuDNN, forward and backward.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>

#include "libraries/cudnn/graph.hpp"

namespace hologram::libraries::cudnn {

// Attention with an engine for it.
class AttentionPlan final : public GpuPlan {
 public:
  uint64_t workspace() const override { return sums_at_ + sums_bytes_; }
  std::optional<Failure> run(std::span<void* const> operands, void* workspace,
                             void* stream) const override;
  void require_inside(std::span<const hal::Binding> operands) const override;
  const char* variable() const override { return kVariable; }
  const std::shared_ptr<const std::string>& shared_name() const override { return name_; }

 private:
  friend class Attentions;
  using Tensor = Graph::Tensor;
  AttentionPlan(const Session& session, const hal::AttentionDesc& desc, bool deterministic);

  Status prepare();
  void forward();
  void backward();
  // Scores, scaled; `capped` and `cap` of a soft cap, for its derivative.
  struct Scores {
    Tensor all;
    std::optional<Tensor> capped, cap;
  };
  Scores scores(const Tensor& q, const Tensor& k_transposed, const std::optional<Tensor>& mask,
                const Tensor& scale);
  std::optional<Tensor> mask();  // the next operand, if there is one
  Tensor masked(Tensor scores);
  Tensor operand(const Axes& lengths, const Axes& strides);
  Tensor transpose(const Tensor& x);
  void shared_product(const Tensor& x, const Tensor& y, const Tensor& result);

  Axes queries() const;
  Axes keys() const;
  Axes values() const;
  Axes results() const;
  Axes rows() const;
  int type() const { return *data_type(desc_.dtype); }

  const hal::AttentionDesc desc_;
  const bool deterministic_;
  const std::shared_ptr<const std::string> name_;
  Graph graph_;
  // Sums of f32 that the backward pass keeps in memory of ours, behind the library's workspace.
  uint64_t sums_at_ = 0, sums_bytes_ = 0;
  std::array<uint64_t, 2> sums_ = {};  // where each begins
};

// The attention of one device: each is planned once. Thread-safe.
class Attentions {
 public:
  explicit Attentions(int driver_major) : driver_major_(driver_major) {}

  // The device's context is current. What is refused for want of the library, or because a call of
  // it failed, is a fallback. deterministic: the same bits each time.
  hal::Expected<std::shared_ptr<AttentionPlan>> plan(const hal::AttentionDesc& desc,
                                                     bool deterministic);

 private:
  using Planned = hal::Expected<std::shared_ptr<AttentionPlan>>;
  using Numbers = std::array<int64_t, 36>;
  using Key = std::tuple<Numbers, double, double>;
  static Key key_of(const hal::AttentionDesc& desc, bool deterministic);
  Planned make(const hal::AttentionDesc& desc, bool deterministic);

  const int driver_major_;
  std::mutex mutex_;
  std::unique_ptr<Session> session_;
  std::map<Key, Planned> known_;
};

}  // namespace hologram::libraries::cudnn
