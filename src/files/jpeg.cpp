#include "files/jpeg.hpp"

#include <cstdio>
// jpeglib.h needs the types of <cstdio>.
#include <jerror.h>
#include <jpeglib.h>

#include <exception>

#include "core/messages.hpp"
#include "files/exif.hpp"
#include "files/picture.hpp"

namespace hologram::files {
namespace {

// A block of 64 samples takes at least one bit; subsampled colour makes up to 3072 values of nine
// blocks.
constexpr uint64_t kMaxExpansion = 4096;
// Honest progressive files have about ten; thousands keep a decoder busy for hours.
constexpr int kMaxScans = 500;
constexpr int64_t kMaxSide = 65500;
constexpr int kFullColorFrom = 90;
constexpr size_t kOutBytes = 65536;

// What the callbacks share with the C++ side; libjpeg's objects point to it. libjpeg jumps over its
// own frames, so that everything that needs a destructor lives outside of them.
struct Context {
  jpeg_error_mgr errors;
  jpeg_progress_mgr progress;
  jpeg_destination_mgr destination;
  std::jmp_buf jump;
  char message[JMSG_LENGTH_MAX] = "";
  std::exception_ptr thrown;  // by the output file
  core::OutputFile* out = nullptr;
  std::vector<JOCTET> buffer;
};

Context& context_of(j_common_ptr jpeg) { return *static_cast<Context*>(jpeg->client_data); }

[[noreturn]] void on_error(j_common_ptr jpeg) {
  Context& context = context_of(jpeg);
  context.errors.format_message(jpeg, context.message);
  std::longjmp(context.jump, 1);
}

// Warnings mean that the decoder makes up pixels, but for a few about oddities of the headers.
void on_message(j_common_ptr jpeg, int level) {
  if (level >= 0) return;
  const int code = jpeg->err->msg_code;
  if (code != JWRN_EXTRANEOUS_DATA && code != JWRN_ADOBE_XFORM && code != JWRN_JFIF_MAJOR &&
      code != JWRN_BOGUS_ICC)
    on_error(jpeg);
}
void on_output(j_common_ptr) {}

void on_progress(j_common_ptr jpeg) {
  if (jpeg->is_decompressor &&
      reinterpret_cast<j_decompress_ptr>(jpeg)->input_scan_number > kMaxScans)
    ERREXIT(jpeg, JERR_BAD_PROGRESSION);
}

bool try_write(Context& context, size_t size) {
  try {
    context.out->write(context.buffer.data(), size);
    return true;
  } catch (...) {
    context.thrown = std::current_exception();
    return false;
  }
}
void rewind_output(Context& context) {
  context.destination.next_output_byte = context.buffer.data();
  context.destination.free_in_buffer = context.buffer.size();
}
void send_output(j_compress_ptr jpeg, size_t size) {
  Context& context = context_of(reinterpret_cast<j_common_ptr>(jpeg));
  if (!try_write(context, size)) ERREXIT(jpeg, JERR_FILE_WRITE);
  rewind_output(context);
}
void on_start(j_compress_ptr jpeg) {
  rewind_output(context_of(reinterpret_cast<j_common_ptr>(jpeg)));
}
boolean on_full(j_compress_ptr jpeg) {
  send_output(jpeg, kOutBytes);
  return TRUE;
}
void on_end(j_compress_ptr jpeg) { send_output(jpeg, kOutBytes - jpeg->dest->free_in_buffer); }

// Sets everything up but the object itself.
template <class Jpeg>
void prepare(Jpeg& jpeg, Context& context) {
  jpeg.err = jpeg_std_error(&context.errors);
  context.errors.error_exit = on_error;
  context.errors.emit_message = on_message;
  context.errors.output_message = on_output;
  context.progress.progress_monitor = on_progress;
  jpeg.client_data = &context;
}

class JpegReader {
 public:
  explicit JpegReader(const Source& source) : source_(source) {
    prepare(jpeg_, context_);
    try {
      run([&] { read_header(); });
      describe();
    } catch (...) {
      jpeg_destroy_decompress(&jpeg_);
      throw;
    }
  }
  ~JpegReader() { jpeg_destroy_decompress(&jpeg_); }
  JpegReader(const JpegReader&) = delete;
  JpegReader& operator=(const JpegReader&) = delete;

  Shape shape() const {
    const bool turned = orientation_ >= 5;
    const int64_t h = jpeg_.image_height, w = jpeg_.image_width;
    return {turned ? w : h, turned ? h : w, static_cast<int64_t>(channels_)};
  }
  const std::string& stored() const { return stored_; }

  void read(const SampleReader& reader, float* to) {
    run([&] { jpeg_start_decompress(&jpeg_); });
    const auto h = static_cast<ptrdiff_t>(jpeg_.output_height);
    const auto w = static_cast<ptrdiff_t>(jpeg_.output_width);
    const auto c = static_cast<ptrdiff_t>(channels_);
    // Where the stored pixel (y, x) goes: orientations 5 to 8 swap the axes; a step is negative
    // where the picture is mirrored along the stored rows or columns.
    const bool turned = orientation_ >= 5;
    const int o = orientation_;
    ptrdiff_t y_step = turned ? c : w * c, x_step = turned ? h * c : c;
    if (o == 3 || o == 4 || o == 6 || o == 7) {
      to += (h - 1) * y_step;
      y_step = -y_step;
    }
    if (o == 2 || o == 3 || o == 7 || o == 8) {
      to += (w - 1) * x_step;
      x_step = -x_step;
    }
    std::vector<JSAMPLE> samples(static_cast<size_t>(w * c));
    JSAMPROW row = samples.data();
    for (ptrdiff_t y = 0; y < h; y++) {
      run([&] {
        if (jpeg_read_scanlines(&jpeg_, &row, 1) != 1) ERREXIT(&jpeg_, JERR_INPUT_EOF);
      });
      reader.read(samples.data(), static_cast<size_t>(w), to + y * y_step, x_step);
    }
    run([&] { jpeg_finish_decompress(&jpeg_); });
  }

 private:
  template <class Body>
  void run(const Body& body) {
    if (!returns(context_.jump, body)) damaged(source_, Format::Jpeg, context_.message);
  }

  void read_header() {
    jpeg_create_decompress(&jpeg_);
    jpeg_.progress = &context_.progress;
    jpeg_mem_src(&jpeg_, reinterpret_cast<const unsigned char*>(source_.bytes.data()),
                 source_.bytes.size());
    jpeg_save_markers(&jpeg_, JPEG_APP0 + 1, 0xffff);
    jpeg_read_header(&jpeg_, TRUE);
  }

  void describe() {
    if (jpeg_.num_components != 1 && jpeg_.num_components != 3)
      unsupported(source_, std::to_string(jpeg_.num_components) + " channels, as in CMYK",
                  "a grey or RGB picture");
    channels_ = static_cast<size_t>(jpeg_.num_components);
    jpeg_.out_color_space = channels_ == 1 ? JCS_GRAYSCALE : JCS_RGB;
    stored_ = channels_ == 1 ? "8 bit grey" : "8 bit RGB";
    check_picture_size(source_, Format::Jpeg, jpeg_.image_height, jpeg_.image_width, channels_,
                       source_.bytes.size() * kMaxExpansion);
    for (const jpeg_marker_struct* m = jpeg_.marker_list; m != nullptr; m = m->next)
      if (orientation_ == 1) orientation_ = exif_orientation({m->data, m->data_length});
  }

  const Source& source_;
  Context context_;
  jpeg_decompress_struct jpeg_ = {};
  size_t channels_ = 3;
  int orientation_ = 1;
  std::string stored_;
};

class JpegEncoder : public Encoder {
 public:
  JpegEncoder(core::OutputFile& file, const Part& part, const WriteOptions& options)
      : samples_(file.path(), Format::Jpeg, part, options, "1, 3", kMaxSide) {
    if (options.quality < 1 || options.quality > 100)
      throw core::error(core::Text::FileOption, file.path(), "quality", options.quality,
                        "a number from 1 to 100");
    context_.out = &file;
    context_.buffer.resize(kOutBytes);
    prepare(jpeg_, context_);
    try {
      run([&] { write_header(options.quality); });
    } catch (...) {
      jpeg_destroy_compress(&jpeg_);
      throw;
    }
  }
  ~JpegEncoder() override { jpeg_destroy_compress(&jpeg_); }
  JpegEncoder(const JpegEncoder&) = delete;
  JpegEncoder& operator=(const JpegEncoder&) = delete;

  void write(const std::byte* data, size_t bytes) override {
    for (size_t at = 0; at < bytes; at += samples_.row_bytes()) {
      JSAMPROW row = samples_.convert(data + at);
      run([&] { jpeg_write_scanlines(&jpeg_, &row, 1); });
    }
  }
  void finish() override {
    run([&] { jpeg_finish_compress(&jpeg_); });
  }

 private:
  template <class Body>
  void run(const Body& body) {
    if (returns(context_.jump, body)) return;
    if (context_.thrown) std::rethrow_exception(context_.thrown);
    throw core::error(core::Text::FileNotWritable, context_.out->path(), context_.message);
  }

  void write_header(int quality) {
    jpeg_create_compress(&jpeg_);
    context_.destination.init_destination = on_start;
    context_.destination.empty_output_buffer = on_full;
    context_.destination.term_destination = on_end;
    jpeg_.dest = &context_.destination;
    jpeg_.image_width = samples_.width();
    jpeg_.image_height = samples_.height();
    jpeg_.input_components = samples_.channels();
    jpeg_.in_color_space = samples_.channels() == 1 ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_set_defaults(&jpeg_);
    jpeg_set_quality(&jpeg_, quality, TRUE);
    if (quality >= kFullColorFrom) {
      jpeg_.comp_info[0].h_samp_factor = 1;
      jpeg_.comp_info[0].v_samp_factor = 1;
    }
    jpeg_start_compress(&jpeg_, TRUE);
  }

  SampleWriter samples_;
  Context context_;
  jpeg_compress_struct jpeg_ = {};
};

}  // namespace

bool is_jpeg(std::span<const std::byte> bytes) { return starts_with(bytes, "\xff\xd8\xff"); }

FileInfo inspect_jpeg(const Source& source) {
  const JpegReader jpeg(source);
  return {Format::Jpeg, {{"", DType::F32, jpeg.shape(), jpeg.stored()}}};
}

Array read_jpeg(const Source& source, const ReadOptions& options) {
  JpegReader jpeg(source);
  Array array(DType::F32, jpeg.shape());
  jpeg.read(SampleReader(8, static_cast<size_t>(jpeg.shape()[2]), options.linear),
            array.mutable_as<float>().data());
  return array;
}

std::unique_ptr<Encoder> jpeg_encoder(core::OutputFile& file, const std::vector<Part>& parts,
                                      const WriteOptions& options) {
  return std::make_unique<JpegEncoder>(file, parts.front(), options);
}

}  // namespace hologram::files
