#include <algorithm>
#include <set>

#include "core/messages.hpp"
#include "files/formats.hpp"

namespace hologram::files {
namespace {

// An .npz or .safetensors file names its arrays; a single one gets a name if it has none.
std::string default_name(Format format) { return format == Format::Npz ? "arr_0" : "data"; }

// One file in the making: an encoder over a file that is not visible yet.
class Job {
 public:
  Job(const std::string& path, std::vector<Part> parts, const WriteOptions& options)
      : format_(format_of(path)), file_(path) {
    std::set<std::string> names;
    for (Part& part : parts) {
      if (!format_.has_members && !part.name.empty())
        throw core::error(core::Text::FileMemberUnused, path, part.name, format_.name);
      if (format_.has_members && part.name.empty()) part.name = default_name(format_.format);
      if (!names.insert(part.name).second) throw core::error(core::Text::FileTwice, path);
    }
    encoder_ = format_.encoder(file_, parts, options);
  }

  void write(const std::byte* data, size_t bytes) {
    if (bytes > 0) encoder_->write(data, bytes);
  }
  // Everything but the rename.
  void finish() {
    encoder_->finish();
    file_.close();
  }
  void commit() { file_.commit(); }

 private:
  static const FormatInfo& format_of(const std::string& path) {
    const FormatInfo* format = format_of_extension(path);
    if (format == nullptr)
      throw core::error(core::Text::FileExtensionUnknown, path, list_of_formats());
    return *format;
  }

  const FormatInfo& format_;
  core::OutputFile file_;
  std::unique_ptr<Encoder> encoder_;
};

}  // namespace

struct Writer::State {
  std::string path;
  DType dtype;
  Shape shape;
  uint64_t rows = 1;  // along axis 0; a single number is one row
  uint64_t row_bytes = 0;
  uint64_t written = 0;
  bool finished = false;
  std::unique_ptr<Job> job;  // empty after the commit and after errors
};

Writer::Writer(std::unique_ptr<State> state) : state_(std::move(state)) {}
Writer::Writer(Writer&&) noexcept = default;
Writer& Writer::operator=(Writer&&) noexcept = default;
Writer::~Writer() = default;

Writer Writer::create(const std::string& path, DType dtype, const Shape& shape,
                      const WriteOptions& options) {
  MemberPath place{path, options.member};
  if (options.member.empty()) place = split_member(path);
  auto state = std::make_unique<State>();
  state->path = path;
  state->dtype = dtype;
  state->shape = shape;
  const auto count = static_cast<uint64_t>(count_of(shape));
  if (!shape.empty()) state->rows = static_cast<uint64_t>(shape[0]);
  state->row_bytes = state->rows == 0 ? 0 : count / state->rows * size_of(dtype);
  state->job =
      std::make_unique<Job>(place.file, std::vector<Part>{{place.member, dtype, shape}}, options);
  return Writer(std::move(state));
}

void Writer::write(const Array& rows) {
  const Shape& whole = state_->shape;
  const Shape& given = rows.shape();
  if (rows.dtype() != state_->dtype)
    throw core::error(core::Text::FileRowsDType, state_->path, name_of(state_->dtype),
                      name_of(rows.dtype()));
  if (given.size() != whole.size() ||
      !std::equal(given.begin() + (given.empty() ? 0 : 1), given.end(),
                  whole.begin() + (whole.empty() ? 0 : 1)))
    throw core::error(core::Text::FileRowsShape, state_->path, to_string(given), to_string(whole));
  write_rows(rows.data(), given.empty() ? 1 : static_cast<size_t>(given[0]));
}

void Writer::write_rows(const std::byte* data, size_t rows) {
  // Taken out for the duration, so that an error leaves nothing that could be committed.
  std::unique_ptr<Job> job = std::move(state_->job);
  if (!job || state_->finished) throw core::error(core::Text::FileWriterDone, state_->path);
  if (rows > state_->rows - state_->written)
    throw core::error(core::Text::FileRowsExcess, state_->path, state_->rows,
                      state_->written + rows);
  job->write(data, rows * state_->row_bytes);
  state_->written += rows;
  state_->job = std::move(job);
}

void Writer::finish() {
  std::unique_ptr<Job> job = std::move(state_->job);
  if (!job || state_->finished) throw core::error(core::Text::FileWriterDone, state_->path);
  if (state_->written != state_->rows)
    throw core::error(core::Text::FileRowsMissing, state_->path, state_->rows, state_->written);
  job->finish();
  state_->finished = true;
  state_->job = std::move(job);
}

void Writer::commit() {
  if (!state_->finished) finish();
  const std::unique_ptr<Job> job = std::move(state_->job);
  if (!job) throw core::error(core::Text::FileWriterDone, state_->path);
  job->commit();
}

void write(const std::string& path, const Array& array, const WriteOptions& options) {
  Writer writer = Writer::create(path, array.dtype(), array.shape(), options);
  writer.write(array);
  writer.commit();
}

void write_all(const std::map<std::string, Array>& arrays, const WriteOptions& options) {
  if (!options.member.empty())
    throw core::error(core::Text::FileOption, "write_all", "member", options.member,
                      "paths such as 'file.npz:name'");
  // The members of a file, by their names.
  std::map<std::string, std::map<std::string, const Array*>> files;
  for (const auto& [path, array] : arrays) {
    const MemberPath place = split_member(path);
    files[place.file][place.member] = &array;
  }
  std::vector<std::unique_ptr<Job>> jobs;
  for (const auto& [path, members] : files) {
    std::vector<std::pair<std::string, const Array*>> order(members.begin(), members.end());
    // Wide elements first, so that every array of a mapped file is aligned.
    std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
      return size_of(a.second->dtype()) > size_of(b.second->dtype());
    });
    std::vector<Part> parts;
    parts.reserve(order.size());
    for (const auto& [name, array] : order) parts.push_back({name, array->dtype(), array->shape()});
    auto job = std::make_unique<Job>(path, std::move(parts), options);
    for (const auto& [name, array] : order) job->write(array->data(), array->bytes());
    job->finish();
    jobs.push_back(std::move(job));
  }
  for (const auto& job : jobs) job->commit();
}

}  // namespace hologram::files
