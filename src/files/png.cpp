#include "files/png.hpp"

#include <png.h>

#include <cstring>
#include <exception>

#include "core/messages.hpp"
#include "files/picture.hpp"

namespace hologram::files {
namespace {

// Deflate cannot do better.
constexpr uint64_t kMaxExpansion = 1032;

// What the callbacks share with the C++ side. libpng jumps over its own frames, so that everything
// that needs a destructor lives outside of them.
struct Context {
  std::jmp_buf jump;
  char message[128] = "";
  std::exception_ptr thrown;  // by the output file

  std::span<const std::byte> in;
  size_t at = 0;
  core::OutputFile* out = nullptr;
};

void on_error(png_structp png, png_const_charp message) {
  auto* context = static_cast<Context*>(png_get_error_ptr(png));
  std::strncpy(context->message, message, sizeof context->message - 1);
  std::longjmp(context->jump, 1);
}
void on_warning(png_structp, png_const_charp) {}

void on_read(png_structp png, png_bytep to, size_t size) {
  auto* context = static_cast<Context*>(png_get_io_ptr(png));
  if (size > context->in.size() - context->at) png_error(png, "the file ends too early");
  std::memcpy(to, context->in.data() + context->at, size);
  context->at += size;
}

bool try_write(Context& context, const void* data, size_t size) {
  try {
    context.out->write(data, size);
    return true;
  } catch (...) {
    context.thrown = std::current_exception();
    return false;
  }
}
void on_write(png_structp png, png_bytep data, size_t size) {
  if (!try_write(*static_cast<Context*>(png_get_io_ptr(png)), data, size)) png_error(png, "");
}
void on_flush(png_structp) {}

// Either of libpng's two objects.
struct Handle {
  Handle(bool writes, Context& context)
      : writing(writes),
        png(writes ? png_create_write_struct(PNG_LIBPNG_VER_STRING, &context, on_error, on_warning)
                   : png_create_read_struct(PNG_LIBPNG_VER_STRING, &context, on_error, on_warning)),
        info(png != nullptr ? png_create_info_struct(png) : nullptr) {
    if (info != nullptr) return;
    destroy();
    throw std::bad_alloc();
  }
  ~Handle() { destroy(); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  void destroy() {
    if (writing) png_destroy_write_struct(&png, &info);
    else png_destroy_read_struct(&png, &info, nullptr);
  }

  bool writing;
  png_structp png;
  png_infop info;
};

class PngReader {
 public:
  explicit PngReader(const Source& source) : source_(source) {
    context_.in = source.bytes;
    run([&] { read_header(); });
    height = png_get_image_height(handle_.png, handle_.info);
    width = png_get_image_width(handle_.png, handle_.info);
    channels = png_get_channels(handle_.png, handle_.info);
    bits = png_get_bit_depth(handle_.png, handle_.info);
    check_picture_size(source, Format::Png, height, width, channels, possible_elements());
  }

  // An interlaced picture comes in seven passes and needs all its samples at once.
  void read(const SampleReader& reader, float* to) {
    const size_t row_bytes = png_get_rowbytes(handle_.png, handle_.info);
    const size_t row_floats = size_t{width} * channels;
    const bool interlaced = passes_ > 1;
    std::vector<uint8_t> samples(interlaced ? row_bytes * height : row_bytes);
    for (int pass = 0; pass < passes_; pass++)
      for (size_t y = 0; y < height; y++) {
        uint8_t* row = samples.data() + (interlaced ? y * row_bytes : 0);
        run([&] { png_read_row(handle_.png, row, nullptr); });
        if (pass == passes_ - 1)
          reader.read(row, width, to + y * row_floats, static_cast<ptrdiff_t>(channels));
      }
    run([&] { png_read_end(handle_.png, nullptr); });
  }

  size_t height = 0, width = 0, channels = 0;
  int bits = 8;
  std::string stored;

 private:
  template <class Body>
  void run(const Body& body) {
    if (!returns(context_.jump, body)) damaged(source_, Format::Png, context_.message);
  }

  void read_header() {
    // Text, colour profiles and the like are skipped: they would only cost time and memory.
    png_set_keep_unknown_chunks(handle_.png, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);
    png_set_crc_action(handle_.png, PNG_CRC_ERROR_QUIT, PNG_CRC_ERROR_QUIT);
    png_set_read_fn(handle_.png, &context_, on_read);
    png_read_info(handle_.png, handle_.info);
    stored_bits_ = png_get_bit_depth(handle_.png, handle_.info);
    stored_row_ = png_get_rowbytes(handle_.png, handle_.info);
    palette_ = png_get_color_type(handle_.png, handle_.info) == PNG_COLOR_TYPE_PALETTE;
    // Palettes to colours, 1, 2 and 4 bits to 8, a transparent colour to an alpha channel.
    png_set_expand(handle_.png);
    if (stored_bits_ == 16) png_set_swap(handle_.png);
    passes_ = png_set_interlace_handling(handle_.png);
    png_read_update_info(handle_.png, handle_.info);
  }

  uint64_t possible_elements() {
    static constexpr std::string_view kNames[] = {"grey", "grey+alpha", "RGB", "RGBA"};
    stored = std::to_string(stored_bits_) + " bit " +
             (palette_ ? "palette" : std::string(kNames[channels - 1]));
    // All elements, if the file can hold the stored rows; none otherwise.
    const bool fits = uint64_t{stored_row_} * height <= source_.bytes.size() * kMaxExpansion;
    return fits ? kMaxPictureElements : 0;
  }

  const Source& source_;
  Context context_;
  Handle handle_{false, context_};
  int stored_bits_ = 0;
  size_t stored_row_ = 0;
  bool palette_ = false;
  int passes_ = 1;
};

class PngEncoder : public Encoder {
 public:
  PngEncoder(core::OutputFile& file, const Part& part, const WriteOptions& options)
      : samples_(file.path(), Format::Png, part, options, "1, 2, 3, 4", 1000000) {
    context_.out = &file;
    run([&] { write_header(); });
  }

  void write(const std::byte* data, size_t bytes) override {
    for (size_t at = 0; at < bytes; at += samples_.row_bytes()) {
      const uint8_t* row = samples_.convert(data + at);
      run([&] { png_write_row(handle_.png, row); });
    }
  }
  void finish() override {
    run([&] { png_write_end(handle_.png, nullptr); });
  }

 private:
  template <class Body>
  void run(const Body& body) {
    if (returns(context_.jump, body)) return;
    if (context_.thrown) std::rethrow_exception(context_.thrown);
    throw core::error(core::Text::FileNotWritable, context_.out->path(), context_.message);
  }

  void write_header() {
    static constexpr int kColors[] = {PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA,
                                      PNG_COLOR_TYPE_RGB, PNG_COLOR_TYPE_RGB_ALPHA};
    png_set_write_fn(handle_.png, &context_, on_write, on_flush);
    png_set_IHDR(handle_.png, handle_.info, samples_.width(), samples_.height(), samples_.bits(),
                 kColors[samples_.channels() - 1], PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
                 PNG_FILTER_TYPE_DEFAULT);
    // A 24 megapixel photograph takes a second so. Higher levels take two to six times as long for
    // a few percent of noise or a quarter of a smooth ramp; other filters gain nothing.
    png_set_filter(handle_.png, PNG_FILTER_TYPE_BASE, PNG_FILTER_SUB);
    png_set_compression_level(handle_.png, 1);
    png_write_info(handle_.png, handle_.info);
    if (samples_.bits() == 16) png_set_swap(handle_.png);
  }

  SampleWriter samples_;
  Context context_;
  Handle handle_{true, context_};
};

}  // namespace

bool is_png(std::span<const std::byte> bytes) { return starts_with(bytes, "\x89PNG\r\n\x1a\n"); }

FileInfo inspect_png(const Source& source) {
  const PngReader png(source);
  const Shape shape = {static_cast<int64_t>(png.height), static_cast<int64_t>(png.width),
                       static_cast<int64_t>(png.channels)};
  return {Format::Png, {{"", DType::F32, shape, png.stored}}};
}

Array read_png(const Source& source, const ReadOptions& options) {
  PngReader png(source);
  Array array(DType::F32, {static_cast<int64_t>(png.height), static_cast<int64_t>(png.width),
                           static_cast<int64_t>(png.channels)});
  png.read(SampleReader(png.bits, png.channels, options.linear), array.mutable_as<float>().data());
  return array;
}

std::unique_ptr<Encoder> png_encoder(core::OutputFile& file, const std::vector<Part>& parts,
                                     const WriteOptions& options) {
  return std::make_unique<PngEncoder>(file, parts.front(), options);
}

}  // namespace hologram::files
