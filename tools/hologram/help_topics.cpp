#include "help_topics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "errors.hpp"
#include "hologram/config.hpp"
#include "hologram/expression.hpp"

namespace hologram::tool {
namespace {

constexpr const char* kOverview =
    R"(hologram runs Atlas programs, which are kernels in text files, on whatever device there is.

  hologram devices                        what there is to run on
  hologram run FILE.atlas name=value … -o out.png
  hologram eval 'EXPR' name=file … -o out.npy
  hologram show FILE.atlas                what a program is, needs and costs
  hologram generate MODEL.gguf 'PROMPT'   let a language model go on with a text
  hologram chat MODEL.gguf                talk to a language model
  hologram embed MODEL 'TEXT' …           texts as vectors
  hologram quantize MODEL OUT.gguf        a model in fewer bits
  hologram verify RECEIPT MODEL           compute an answer again, and compare
  hologram serve MODEL.gguf               answer requests for it over HTTP
  hologram estimate --hidden 4096 …       memory that a language model takes
  hologram bench                          how fast tensors are here
  hologram conformance                    whether it computes everything as it should
  hologram bisect FILE.atlas --device D   which operation a device computes otherwise
  hologram report                         all of that for every device, in one file to send
  hologram help TOPIC                     one of: {topics}

Try, in the folder of the sources:

  hologram run examples/atlas/mandelbrot.atlas w=960 h=640 -o mandelbrot.png
  hologram run examples/atlas/bilateral.atlas src=mandelbrot.png sigma_space=4 -o smooth.png
)";

constexpr const char* kRun = R"(hologram run FILE.atlas name=value … [-o FILE]

Runs the program in FILE.atlas once. Each name is a parameter of the program:

  sigma=3.5            a scalar: a number, 0x1f in hexadecimal, true or false
  src=photo.jpg        a buffer: a file (see `hologram help files`)
  w=model.npz:layer1   one array of an .npz or .safetensors file
  hist=zeros:256       a buffer of zeros, of the shape given

Parameters with a default may be left out, and so may outputs: their shapes follow from the
dimensions that they share with the inputs. Where a dimension is in no input, give it as a
number (w=640), or the whole shape: --shape dst=480,640,3.

  -o out.png           the file for the output
  -o sum=s.npy         where a program has several outputs: one -o for each that you want

Files appear when everything has worked, all together, or not at all. An output without -o is
summed up on the terminal: its type, shape, least, largest and mean value.

  --profile            time, grid, GB/s and GFLOP/s
  --trace FILE         every launch, for chrome://tracing or Perfetto
  --linear             the program sees linear light; picture files are sRGB either way
  --bits 16            16 bits per channel in a PNG
  --grid 40,30,1       workgroups, instead of what the program's lanes(…) asks for
  --json               results or error as JSON

With HOLOGRAM_CACHE_SIZE_MB set, a job that does not fit runs by strips of rows where it can.
Ctrl-C stops a run and leaves no files.
)";

constexpr const char* kEval = R"(hologram eval 'EXPR' name=value … [-o FILE]

Computes an expression over files and numbers:

  hologram eval 'sqrt(mean((x - mean(x, axis=0)) ** 2, axis=0))' x=data.npy
  hologram eval '1 - photo[:, ::-1]' photo=photo.jpg -o negative.png
  hologram eval 'softmax(x @ w + b, axis=-1)' x=x.npy w=m.npz:w b=m.npz:b -o y.npy

Each name gets a number or a file (see `hologram help files`). Statements stand on lines of their
own or between semicolons, and give names to values; # begins a comment:

  m = mean(x)
  d = x - m; d / std(x)

  -o out.npy           a file for the value of the last statement; without one it is printed
  -o m=m.npy           a file for a value that was given a name
  --expr-file FILE     the expression is in a file
  --explain            the kernels that would run, and why they are several
  --candidates         with --explain: everybody who might compute a product, and why not
  --profile, --trace   what each launch took
  --seed N             of rand, randn and randint
  --bits, --linear     pictures, as in `hologram help run`
  --json               results or error as JSON

The language, which is Python's where it can be (docs/expressions.md says more):

  numbers       12, 0x1f, 0.5, 1e-3, true, false, pi, inf, nan; they take the dtype of the tensors
                beside them
  operators     + - * / // % ** @, < <= > >= == !=, & | ^ ~ << >>, and or not
  indices       x[0], x[-1, 2:8], x[:, ::-1], x[..., none]
  members       x.T, x.shape, x.rank, x.size, x.dtype
  lists         [3, 4] and (0, 1): shapes, axes, tensors to concat
  dtypes        cast(x, f16), zeros([3, 4], f64)

With HOLOGRAM_CACHE_SIZE_MB set, inputs that are larger are read by pieces of rows, as often as
needed: elementwise operations, and what stays within a row; reductions over all rows put the pieces
together. What needs all rows at once is refused, with its place in the expression.

Functions:

)";

constexpr const char* kAtlas = R"(Atlas, the language of the kernels. Save this as brighten.atlas:

  // Makes a picture brighter.
  program brighten(in src: f32[h, w, c], out dst: f32[h, w, c], gain: f32 = 1.5)
      workgroup(64, 4) lanes(w, h) {
    require gain >= 0
    x = global_id.x
    y = global_id.y
    if x < w && y < h {
      for k in 0..c {
        dst[y, x, k] = min(src[y, x, k] * gain, 1.0)
      }
    }
  }

and run it: hologram run brighten.atlas src=photo.jpg gain=2 -o bright.png

  parameters    in, out, inout or atomic buffers `name: type[dims]`; scalars `name: type = default`
  lanes(w, h)   one lane, a run of the body, for each pixel, in workgroups of 64 x 4
  require       checked before the launch
  x = …         a binding: it keeps its value.   var s = 0.0 is a variable: s += 1
  if, else      for i in 0..n step 2 { }   while c { }   loop { }   break   continue   return
  unroll for    expanded; const R = 3 and fn luma(r: f32) -> f32 { return … } stand outside
  types         bool i32 u32 i64 u64 f32 f64 compute; i8 u8 i16 u16 f16 bf16 are stored
  convert       f32(i), i32(x), bits_u32(x): nothing is converted silently
  functions     min max clamp abs floor sqrt fma select exp log sin cos pow … as in docs/atlas.md
  workgroup     shared tile: f32[16, 17]; barrier(); group_reduce_add(v); group_scan_add(v)
  atomics       atomic_add(hist[i], 1) on atomic buffers and `shared bins: atomic u32[64]`

A load outside a buffer gives 0, a store outside is dropped. examples/atlas holds more.
)";

constexpr const char* kFiles = R"(Files that go in and out:

  .png .jpg .jpeg   a picture: f32[height, width, channels], 0 to 1, channels grey, grey+alpha,
                    RGB or RGBA. Values stay sRGB, as they are stored; --linear converts them.
                    Written with 8 bits per channel, or 16 with --bits 16 (PNG).
  .npy              an array of any type, as NumPy writes it
  .npz              several: a.npz:weights is one of them
  .safetensors      several: model.safetensors:layer1.weight

What a file holds is told by its content when read, by its extension when written. Its element
type must be the parameter's: nothing is converted silently.
)";

constexpr const char* kDevices =
    R"(hologram devices lists every backend with its devices, or why it is missing. A tick means that
a test program has just given the right answer there.

A run takes the first backend that is there, in the order of that list, and a software device or
the null backend only by name:

  HOLOGRAM_BACKEND=cpu             this one, or an error
  HOLOGRAM_BACKEND=cuda,cpu        the first of these that is there
  HOLOGRAM_DEVICE_ID=1             the second device of the backend
  HOLOGRAM_STRICT=1                an error where the first of a list is not there

--json prints everything that is known, as docs/devices.schema.json describes it. `hologram
estimate` says how much memory a language model takes, and which device has so much.
)";

constexpr const char* kEnvironment =
    R"(Variables that hologram reads; a bad value is an error that says what is good. HOLOGRAM_CONFIG names
a TOML file that may hold the same settings, by the names of the fields in docs/configuration.md; a
variable overrides what stands there.

)";

// Variables that are about the process, and stand in no configuration.
constexpr const char* kProcessVariables = R"(  HOLOGRAM_ONEDNN_LIBRARY
      The file to open as oneDNN; one that is not there: do without.
  HOLOGRAM_OPENBLAS_LIBRARY
      The same for OpenBLAS.
)";

// Lines of words, each indented by so much.
std::string wrapped(std::string_view text, size_t indent) {
  constexpr size_t kWidth = 100;
  std::string lines;
  size_t column = indent;
  for (size_t at = 0; at < text.size();) {
    const size_t space = std::min(text.find(' ', at), text.size());
    const std::string_view word = text.substr(at, space - at);
    at = space + 1;
    if (column > indent && column + 1 + word.size() > kWidth) {
      lines += '\n' + std::string(indent, ' ');
      column = indent;
    }
    if (column > indent) lines += ' ', column++;
    lines += word;
    column += word.size();
  }
  return lines;
}

std::string eval_text() {
  std::string text = kEval;
  for (const FunctionInfo& f : expression_functions())
    text += fmt::format("  {}\n      {}\n", f.signature, wrapped(f.meaning, 6));
  return text;
}

std::string environment_text() {
  constexpr size_t kIndent = 6;
  std::string text = kEnvironment;
  std::string last;
  for (const SettingInfo& setting : BackendConfig::settings()) {
    if (setting.variable == std::exchange(last, setting.variable)) continue;
    text += fmt::format("  {}\n      {}\n      {}\n", setting.variable,
                        wrapped(setting.meaning, kIndent),
                        wrapped(fmt::format("Values: {}.", setting.allowed), kIndent));
  }
  return text + kProcessVariables;
}

std::string errors_text() {
  return "An error is two sentences on the standard error: what is wrong and where, then what to\n"
         "do about it. With --json it is an object with kind, what, remedy and exit_code.\n\n"
         "Exit codes:\n\n" +
         exit_code_table();
}

struct Topic {
  const char* name;
  std::string text;
};

const std::array<Topic, 7>& topics() {
  static const std::array<Topic, 7> all = {{{"run", kRun},
                                            {"eval", eval_text()},
                                            {"atlas", kAtlas},
                                            {"files", kFiles},
                                            {"devices", kDevices},
                                            {"environment", environment_text()},
                                            {"errors", errors_text()}}};
  return all;
}

}  // namespace

std::string overview() {
  return fmt::format(fmt::runtime(kOverview),
                     fmt::arg("topics", fmt::format("{}", fmt::join(topic_names(), ", "))));
}

std::vector<std::string> topic_names() {
  std::vector<std::string> names;
  for (const Topic& topic : topics()) names.emplace_back(topic.name);
  return names;
}

std::string topic_text(const std::string& name) {
  for (const Topic& topic : topics())
    if (name == topic.name) return topic.text;
  return {};
}

}  // namespace hologram::tool
