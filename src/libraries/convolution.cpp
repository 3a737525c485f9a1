#include "libraries/convolution.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>

#include "hologram/builder.hpp"
#include "libraries/accumulation.hpp"

namespace hologram::libraries {

using hal::ConvAxis;
using hal::ConvDesc;
using program::Access;
using program::Buf;
using program::Builder;
using program::Value;
using program::Var;

namespace {

constexpr uint32_t kLaneUnit = 32;

// An axis of the image, its numbers being scalars of the program.
struct Axis {
  Value input, kernel, output, stride, dilation, before;
};

class Writer {
 public:
  explicit Writer(const ConvKey& key)
      : key_(key),
        b_(name(key), {key.lanes * kLaneUnit}, key.wide ? DType::I64 : DType::I32),
        index_(b_.index_type()),
        sums_(b_, key.accumulate),
        x_(b_.buffer("x", key.x, Access::In)),
        w_(b_.buffer("w", key.w, Access::In)),
        d_(b_.buffer("d", key.d, Access::Out)) {}

  program::Program write() {
    // In the order of convolution_launch.
    scalar("batch");
    groups_ = scalar("groups");
    channels_ = scalar("channels");
    outputs_ = scalar("outputs");
    rows_ = axis("row");
    columns_ = axis("column");
    for (const char* part : {"start", "image", "row", "column", "channel"})
      x_layout_.push_back(scalar(std::string("x_") + part));
    for (const char* part : {"start", "row", "column", "channel", "output"})
      w_layout_.push_back(scalar(std::string("w_") + part));
    declare_lanes();

    image_ = b_.global_id(2);
    if (key_.along_columns) write_along_columns();
    else write_along_outputs();
    return b_.finish();
  }

 private:
  static std::string name(const ConvKey& key) {
    return "convolution_" + std::string(name_of(key.x)) + "_" + std::string(name_of(key.w)) + "_" +
           std::string(name_of(key.d));
  }

  Value scalar(const std::string& text) { return b_.scalar(text, index_); }
  Axis axis(const std::string& text) {
    return {scalar(text + "s"),       scalar(text + "_kernel"),   scalar(text + "_outputs"),
            scalar(text + "_stride"), scalar(text + "_dilation"), scalar(text + "_before")};
  }

  // Blocks of so many as a lane has.
  Value blocks(Value count) { return (count + (int64_t{key_.times} - 1)) / int64_t{key_.times}; }

  void declare_lanes() {
    b_.begin_host();
    const Value groups = b_.dimension("groups"), outputs = b_.dimension("outputs"),
                columns = b_.dimension("column_outputs");
    b_.lanes(0, key_.along_columns ? columns : outputs * groups);
    b_.lanes(1, b_.dimension("row_outputs") *
                    (key_.along_columns ? groups * blocks(outputs) : blocks(columns)));
    b_.lanes(2, b_.dimension("batch"));
    b_.end_host();
  }

  // Where the channels of an output begin in x.
  Value channels_of(Value output) {
    const Value first = key_.groups == ConvGroups::Single ? output : output / outputs_ * channels_;
    return first * x_layout_[4];
  }

  // A lane has one output of several columns.
  void write_along_outputs() {
    const Value output = b_.global_id(0), line = b_.global_id(1);
    const Value many = blocks(columns_.output), row = line / many;
    const Value first = (line - row * many) * int64_t{key_.times};
    b_.if_(output < outputs_ * groups_, [&] {
      Value x_of = x_layout_[0] + image_ * x_layout_[1];
      if (key_.groups != ConvGroups::One) x_of = x_of + channels_of(output);
      const Value w_of = w_layout_[0] + output * w_layout_[4];
      std::vector<Value> column(key_.times);
      for (size_t t = 0; t < column.size(); t++) column[t] = first + static_cast<int64_t>(t);
      sum_up(row, [&](Value i, Value y, Value j) {
        const Value w_at = w_of + i * w_layout_[1] + j * w_layout_[2];
        const Value x_row = x_of + y * x_layout_[2];
        std::vector<Value> at(column.size()), inside(column.size());
        Value all;
        for (size_t t = 0; t < at.size(); t++) {
          // Columns beyond the last compute the last again and are not stored.
          const Value x = across(min(column[t], columns_.output - 1), j);
          at[t] = x_row + x * x_layout_[3];
          if (!key_.padded) continue;
          inside[t] = within(x, columns_.input);
          all = t == 0 ? inside[t] : all & inside[t];
        }
        const auto plain = [&] {
          channels([&](Value c) {
            const Value weight = sums_.load(w_, w_at + c * w_layout_[3]);
            const Value step = c * x_layout_[4];
            for (size_t t = 0; t < at.size(); t++) gather(t, sums_.load(x_, at[t] + step), weight);
          });
        };
        const auto careful = [&] {
          channels([&](Value c) {
            const Value weight = sums_.load(w_, w_at + c * w_layout_[3]);
            const Value step = c * x_layout_[4];
            for (size_t t = 0; t < at.size(); t++)
              gather(t, sums_.load(x_, select(inside[t], at[t] + step, -1)), weight);
          });
        };
        if (key_.padded) b_.if_(all, plain, careful);
        else plain();
      });
      for (size_t t = 0; t < column.size(); t++) store(row, column[t], output, t);
    });
  }

  // A lane has several outputs, of one group, of one column.
  void write_along_columns() {
    const Value column = b_.global_id(0), line = b_.global_id(1);
    const Value many = blocks(outputs_), lines = many * groups_;
    const Value row = line / lines, rest = line - row * lines;
    const Value group = rest / many, first = (rest - group * many) * int64_t{key_.times};
    b_.if_(column < columns_.output, [&] {
      const Value x_of = x_layout_[0] + image_ * x_layout_[1] + group * channels_ * x_layout_[4];
      std::vector<Value> output(key_.times), w_of(key_.times);
      for (size_t t = 0; t < output.size(); t++) {
        output[t] = first + static_cast<int64_t>(t);
        w_of[t] = w_layout_[0] + (group * outputs_ + min(output[t], outputs_ - 1)) * w_layout_[4];
      }
      sum_up(row, [&](Value i, Value y, Value j) {
        const Value w_at = i * w_layout_[1] + j * w_layout_[2];
        const Value x = across(column, j);
        const Value at = x_of + y * x_layout_[2] + x * x_layout_[3];
        channels([&](Value c) {
          Value index = at + c * x_layout_[4];
          if (key_.padded) index = select(within(x, columns_.input), index, -1);
          const Value pixel = sums_.load(x_, index);
          const Value step = w_at + c * w_layout_[3];
          for (size_t t = 0; t < w_of.size(); t++) gather(t, pixel, sums_.load(w_, w_of[t] + step));
        });
      });
      for (size_t t = 0; t < output.size(); t++)
        b_.if_(output[t] < outputs_, [&] { store(row, column, group * outputs_ + output[t], t); });
    });
  }

  // The column of the image that a column of the result meets at one of the kernel.
  Value across(Value column, Value j) {
    return column * columns_.stride + j * columns_.dilation - columns_.before;
  }
  static Value within(Value position, Value length) {
    return (position >= 0) & (position < length);
  }

  // Calls `terms` for each element of the kernel whose row is inside, with its row, that of the
  // image, and its column.
  template <class Terms>
  void sum_up(Value row, const Terms& terms) {
    const Value none = b_.constant(index_, int64_t{0});
    for (size_t t = 0; t < key_.times; t++) total_.push_back(b_.var(sums_.zero()));
    b_.for_(none, rows_.kernel, 1, [&](Value i) {
      const Value y = row * rows_.stride + i * rows_.dilation - rows_.before;
      b_.if_(within(y, rows_.input),
             [&] { b_.for_(none, columns_.kernel, 1, [&](Value j) { terms(i, y, j); }); });
    });
  }

  // Sums over the channels of a group, by blocks; of one channel there is but one term.
  template <class Body>
  void channels(const Body& body) {
    const Value none = b_.constant(index_, int64_t{0});
    part_ = total_;
    if (key_.groups == ConvGroups::Single) return body(none);
    b_.for_(none, channels_, kTermsOfBlock, [&](Value block) {
      part_.clear();
      for (size_t t = 0; t < total_.size(); t++) part_.push_back(b_.var(sums_.zero()));
      b_.for_(block, min(channels_, block + kTermsOfBlock), 1, body);
      for (size_t t = 0; t < total_.size(); t++)
        b_.set(total_[t], sums_.add(b_.get(total_[t]), b_.get(part_[t])));
    });
  }
  void gather(size_t t, Value x, Value w) {
    b_.set(part_[t], sums_.multiply_add(x, w, b_.get(part_[t])));
  }

  void store(Value row, Value column, Value output, size_t t) {
    b_.if_(column < columns_.output, [&] {
      const Value all = outputs_ * groups_;
      const Value at =
          key_.planes ? ((image_ * all + output) * rows_.output + row) * columns_.output + column
                      : ((image_ * rows_.output + row) * columns_.output + column) * all + output;
      b_.store(d_, at, sums_.cast(b_.get(total_[t]), compute_type(key_.d)));
    });
  }

  const ConvKey key_;
  Builder b_;
  const DType index_;
  const Accumulation sums_;
  const Buf x_, w_, d_;
  Value groups_, channels_, outputs_, image_;
  Axis rows_, columns_;
  std::vector<Value> x_layout_, w_layout_;  // the start, then strides
  std::vector<Var> total_, part_;
};

// Nanoseconds of the interpreter: of a step, and of a lane whose element is a neighbour of the last
// lane's, or far from it.
constexpr double kStep = 60, kNear = 0.2, kFar = 1.5;

double cost(int64_t lanes, double others, int64_t stride) {
  return others * (kStep + static_cast<double>(lanes) * (stride == 1 ? kNear : kFar));
}

uint8_t times_of(int64_t others) {
  uint8_t times = 8;
  while (times / 2 >= others && times > 1) times /= 2;
  return times;
}

bool fits_i32(const ConvDesc& d, int64_t x_start, int64_t w_start) {
  // Sides are rounded up by a workgroup and by what a lane has; nothing is ever further outside of
  // an image than this.
  constexpr double kMore = 512;
  const auto reach = [](const ConvAxis& a) {
    return (static_cast<double>(a.output) + kMore) * static_cast<double>(a.stride) +
           static_cast<double>(a.kernel) * static_cast<double>(a.dilation) +
           static_cast<double>(a.before) + static_cast<double>(a.input);
  };
  const auto side = [](int64_t stride, double length) {
    return std::abs(static_cast<double>(stride)) * length;
  };
  const double groups = static_cast<double>(d.groups), batch = static_cast<double>(d.batch);
  const double channels = static_cast<double>(d.channels) * groups + kTermsOfBlock,
               outputs = static_cast<double>(d.outputs) * groups + kMore;
  const double x = std::abs(static_cast<double>(x_start)) + side(d.x_strides[0], batch) +
                   side(d.x_strides[1], reach(d.rows)) + side(d.x_strides[2], reach(d.columns)) +
                   side(d.x_strides[3], channels);
  const double w = std::abs(static_cast<double>(w_start)) +
                   side(d.w_strides[0], static_cast<double>(d.rows.kernel)) +
                   side(d.w_strides[1], static_cast<double>(d.columns.kernel)) +
                   side(d.w_strides[2], channels) + side(d.w_strides[3], outputs);
  const double lines = static_cast<double>(d.rows.output) *
                       std::max(static_cast<double>(d.columns.output) + kMore, outputs);
  const double result = batch * static_cast<double>(d.rows.output) *
                        (static_cast<double>(d.columns.output) + kMore) * outputs;
  return std::max({x, w, lines, result, channels, reach(d.rows), reach(d.columns)}) <
         std::numeric_limits<int32_t>::max();
}

bool looks_outside(const ConvAxis& a) {
  return a.before > 0 ||
         (a.output - 1) * a.stride + (a.kernel - 1) * a.dilation - a.before >= a.input;
}

}  // namespace

ConvLaunch convolution_launch(const ConvDesc& desc, int64_t x_start, int64_t w_start) {
  ConvLaunch launch;
  ConvKey& key = launch.key;
  key.x = desc.x;
  key.w = desc.w;
  key.d = desc.d;
  key.accumulate = desc.accumulate;
  if (desc.groups > 1)
    key.groups = desc.channels == 1 && desc.outputs == 1 ? ConvGroups::Single : ConvGroups::Several;
  key.padded = looks_outside(desc.columns);
  key.wide = !fits_i32(desc, x_start, w_start);
  key.planes = desc.planes;
  const int64_t outputs = desc.outputs * desc.groups;
  const double rows = static_cast<double>(desc.rows.output);
  // Lanes of several groups have channels that are no neighbours.
  const int64_t stride_of_outputs = key.groups == ConvGroups::Several ? 2
                                    : key.groups == ConvGroups::Single
                                        ? std::max(desc.w_strides[3], desc.x_strides[3])
                                        : desc.w_strides[3];
  key.along_columns =
      cost(desc.columns.output, rows * static_cast<double>(outputs),
           desc.x_strides[2] * desc.columns.stride) <
      cost(outputs, rows * static_cast<double>(desc.columns.output), stride_of_outputs);
  const int64_t along = key.along_columns ? desc.columns.output : outputs,
                others = key.along_columns ? desc.outputs : desc.columns.output;
  key.times = times_of(others);
  key.lanes = along <= 32 ? 1 : along <= 64 ? 2 : along <= 128 ? 4 : 8;
  for (const int64_t size : {desc.batch, desc.groups, desc.channels, desc.outputs})
    launch.scalars.push_back(static_cast<uint64_t>(size));
  for (const ConvAxis* a : {&desc.rows, &desc.columns})
    for (const int64_t n : {a->input, a->kernel, a->output, a->stride, a->dilation, a->before})
      launch.scalars.push_back(static_cast<uint64_t>(n));
  launch.scalars.push_back(static_cast<uint64_t>(x_start));
  for (const int64_t n : desc.x_strides) launch.scalars.push_back(static_cast<uint64_t>(n));
  launch.scalars.push_back(static_cast<uint64_t>(w_start));
  for (const int64_t n : desc.w_strides) launch.scalars.push_back(static_cast<uint64_t>(n));
  if (along > 0 && others > 0 && desc.rows.output > 0 && desc.batch > 0) {
    const int64_t lanes = key.lanes * int64_t{kLaneUnit};
    const int64_t lines = (others + key.times - 1) / key.times * desc.rows.output *
                          (key.along_columns ? desc.groups : 1);
    launch.grid = {static_cast<uint64_t>((along + lanes - 1) / lanes), static_cast<uint64_t>(lines),
                   static_cast<uint64_t>(desc.batch)};
  }
  return launch;
}

program::Program convolution_program(const ConvKey& key) { return Writer(key).write(); }

}  // namespace hologram::libraries
