// How a kernel becomes an Atlas program: what codegen.cpp and codegen_rows.cpp share.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "fusion/layout.hpp"
#include "graph/elementwise.hpp"
#include "hologram/builder.hpp"

namespace hologram::graph {

class Generator {
 public:
  Generator(const Kernel& kernel, const Layout& layout);

  Program run();

 private:
  // What is known at a place of the row, by term.
  using Known = std::vector<program::Value>;
  // A position along the row: so many elements behind one that lanes compute.
  struct Along {
    program::Value at;
    int64_t ahead = 0;
  };
  using Body = std::function<void(const Along&, Known&)>;

  // One element of the row that a lane keeps: where it is, whether it is one, what is known of it.
  struct Place {
    Along at;
    program::Value inside;
    Known local;
  };
  // An element of the rows of a group as they lie: of which row, where in it, where in workgroup
  // memory, and whether it is one.
  struct Spot {
    program::Value row;
    Along along;
    program::Value place, inside;
  };
  // A reduction on its way.
  struct One {
    uint32_t term;
    DType type;
    program::Var all, run;
  };
  // A store that waits until a lane has computed its next elements, too.
  struct Waiting {
    size_t output;
    program::Value index, value;
  };

  program::Value whole(int64_t value) { return b_.constant(l_.index, value); }
  program::Value lane() { return b_.global_id(0); }
  program::Value scalar(const std::string& name) { return scalars_.at(name); }
  program::Value scalar(const char* name, size_t axis);
  Known none_known() const { return Known(kernel_.terms.size()); }
  program::Combine combine_of(uint32_t term) const { return kernel_.terms[term].combine; }

  // codegen.cpp
  void of_each_lane(const std::function<void()>& body);
  void declare();
  void find_coordinates();
  void decode(program::Value number, size_t axes);
  program::Value outer_count();
  void add_scaled(program::Value& sum, program::Value at, int64_t stride, const std::string& name);
  program::Value index(uint32_t v, const Along* at);
  program::Value value(uint32_t t, Known& local, const Along* at);
  program::Value applied(const Term& term, const std::vector<program::Value>& operands,
                         const Along* where);
  void write_elements(Known local);
  void write_blocks();
  void write_tiles();

  // codegen_staged.cpp
  void write_staged();
  bool is_staged(uint32_t view, DType dtype) const;
  void each_element(const std::function<void(const std::vector<Spot>&)>& body);
  program::Value own_place(const Along& at);

  // codegen_rows.cpp
  void write_rows();
  void write_several();
  void load_per_row();
  void write_levels();
  int64_t lanes_of_row() const { return l_.traversal == Traversal::GroupRows ? l_.lanes : 1; }
  void walk(program::Value begin, program::Value end, const Body& body);
  void walk_ahead(program::Value first, const Body& body);
  void walk_runs(const std::function<void()>& before, const Body& body,
                 const std::function<void()>& after);
  void find_places();
  void where_inside(const Place& place, const std::function<void()>& body);
  program::Shared room_for_runs(DType type);
  program::Value reduce_places(uint32_t term, DType type);
  std::vector<One> reductions(uint8_t level);
  void begin(std::vector<One>& list);
  std::optional<program::Value> guard_of(const std::vector<One>& list);
  void reduce(uint8_t level);
  std::vector<program::Value> values_of(const std::vector<program::Var>& vars);
  std::vector<program::Value> reduced_if(program::Value guard, const std::vector<One>& list,
                                         uint8_t level);
  std::vector<program::Value> reduced_again(std::vector<One> list, uint8_t level);
  std::vector<program::Value> reduced(std::vector<One> list, uint8_t level);
  void accumulate(const std::vector<One>& list, uint8_t level);
  void write_gathered();
  std::vector<program::Value> reduce_pieces(std::vector<One> list, uint8_t level);
  void keep_row(uint32_t term, program::Value result);
  program::Value first_lane();
  void store(size_t output, const Along& at, program::Value value);
  bool is_elements(const Output& output) const;
  bool has_elements() const;
  void store_rows();

  const Kernel& kernel_;
  const Layout& l_;
  program::Builder b_;
  std::vector<program::Buf> buffers_, outputs_;
  std::unordered_map<std::string, program::Value> scalars_;
  std::vector<program::Value> coordinate_;
  std::optional<ElementOfBlock> of_block_;  // of Traversal::Blocks
  Known per_row_;
  std::map<size_t, uint32_t> kept_;  // by output: the term that waits in its memory
  std::vector<Place> places_;        // if lanes keep their elements
  std::vector<Waiting> waiting_;
  std::map<DType, program::Shared> runs_;
  std::map<uint32_t, program::Shared> staged_loads_;  // by term
  std::map<size_t, program::Shared> staged_outputs_;
  bool waits_ = false;  // what is stored along the row
  const uint8_t last_level_;
  program::Value begin_, end_;  // of the row
};

}  // namespace hologram::graph
