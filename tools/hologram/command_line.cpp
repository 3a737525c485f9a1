// The command line, read by CLI11. Its header takes a compiler as long as the rest of the command:
// only this file includes it.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <functional>
#include <memory>

#include "command.hpp"
#include "errors.hpp"
#include "help_topics.hpp"
#include "hologram/dialects.hpp"
#include "spelling.hpp"
#include "workloads.hpp"

namespace hologram::tool {
namespace {

// What is left to do once the command line has been read; the result is the exit code.
using Action = std::function<int()>;

void add_devices(CLI::App& app, Action& action) {
  auto json = std::make_shared<bool>(false);
  CLI::App* sub = app.add_subcommand("devices", "List every backend and what there is to run on");
  sub->add_flag("--json", *json, "Print as JSON");
  sub->callback([json, &action] { action = [json] { return devices(*json); }; });
}

void add_run(CLI::App& app, Action& action) {
  auto options = std::make_shared<RunArguments>();
  CLI::App* sub = app.add_subcommand("run", "Run an Atlas program on files and numbers");
  sub->add_option("file", options->file, "The program, an .atlas file")->required();
  sub->add_option("arguments", options->arguments,
                  "name=value: a number for a scalar; for a buffer a file (with :MEMBER for .npz "
                  "and .safetensors) or zeros:SHAPE")
      ->type_name("NAME=VALUE");
  sub->add_option("-o,--output", options->outputs,
                  "FILE for the output, or NAME=FILE where there are several; .npy .npz "
                  ".safetensors .png .jpg")
      ->type_name("[NAME=]FILE")
      ->allow_extra_args(false);
  sub->add_option("--shape", options->shapes, "The shape of an output that cannot be derived")
      ->type_name("NAME=LENGTHS")
      ->allow_extra_args(false);
  sub->add_option("--grid", options->grid, "Workgroups along x, y, z instead of the derived grid")
      ->type_name("X,Y,Z");
  sub->add_option("--bits", options->bits, "Bits per channel of a PNG: 8 or 16")->type_name("N");
  sub->add_flag("--linear", options->linear,
                "Pictures hold linear light in the program; files stay sRGB");
  sub->add_flag("--profile", options->profile, "Print time, grid, GB/s and GFLOP/s");
  sub->add_option("--trace", options->trace, "Write the launches as a trace for Perfetto")
      ->type_name("FILE");
  sub->add_flag("--json", options->json, "Print the results, or the error, as JSON");
  sub->callback([options, &action] { action = [options] { return run(*options); }; });
}

void add_eval(CLI::App& app, Action& action) {
  auto options = std::make_shared<EvalArguments>();
  CLI::App* sub = app.add_subcommand("eval", "Compute an expression over files and numbers");
  sub->add_option("words", options->words,
                  "The expression, then name=value: a number or a file (with :MEMBER for .npz and "
                  ".safetensors)")
      ->type_name("EXPR NAME=VALUE");
  sub->add_option("--expr-file", options->file, "Read the expression from a file instead")
      ->type_name("FILE");
  sub->add_option("-o,--output", options->outputs,
                  "FILE for the last value, or NAME=FILE for one that was assigned; .npy .npz "
                  ".safetensors .png .jpg")
      ->type_name("[NAME=]FILE")
      ->allow_extra_args(false);
  sub->add_option("--seed", options->seed, "Of rand, randn and randint")->type_name("N");
  sub->add_option("--bits", options->bits, "Bits per channel of a PNG: 8 or 16")->type_name("N");
  sub->add_flag("--linear", options->linear,
                "Pictures hold linear light in the expression; files stay sRGB");
  sub->add_flag("--explain", options->explain, "Print the kernels instead of running them");
  sub->add_flag("--candidates", options->candidates,
                "With --explain: who else might compute each product and the like, and why not")
      ->needs("--explain");
  sub->add_flag("--profile", options->profile, "Print time, GB/s and GFLOP/s of each kernel");
  sub->add_option("--trace", options->trace, "Write the launches as a trace for Perfetto")
      ->type_name("FILE");
  sub->add_flag("--json", options->json, "Print the results, or the error, as JSON");
  sub->callback([options, &action] { action = [options] { return eval(*options); }; });
}

void add_show(CLI::App& app, Action& action) {
  auto options = std::make_shared<ShowArguments>();
  CLI::App* sub =
      app.add_subcommand("show", "Verify an Atlas program and show what will run and its cost");
  sub->add_option("file", options->words,
                  "The program, an .atlas file; with --expr the inputs: NAME:DTYPE[LENGTHS] or "
                  "NAME=NUMBER");
  sub->add_option("--expr", options->expression,
                  "Show the kernels of an expression instead of a file")
      ->type_name("EXPR");
  auto* source = sub->add_flag("--source", options->source, "Only the program as it was written");
  CLI::Option* optimized =
      sub->add_flag("--optimized", options->optimized, "Only the program as it will run")
          ->excludes(source);
  std::vector<std::string> dialects(dialect_names().begin(), dialect_names().end());
  dialects.emplace_back(kEveryDialect);
  sub->add_option("--dialect", options->dialect,
                  "Only the program as a GPU's language has it: cuda, opencl, hip, metal or all")
      ->type_name("NAME")
      ->check(CLI::IsMember(dialects))
      ->excludes(source)
      ->excludes(optimized);
  sub->add_flag("--json", options->json, "Print as JSON");
  sub->callback([options, &action] { action = [options] { return show(*options); }; });
}

void add_estimate(CLI::App& app, Action& action) {
  auto options = std::make_shared<EstimateArguments>();
  CLI::App* sub =
      app.add_subcommand("estimate", "Memory that a language model takes, and which device has it");
  const auto add = [&](const char* name, int64_t& field, const char* meaning) {
    return sub->add_option(name, field, meaning);
  };
  add("--hidden", options->hidden, "Elements of a token's state, as in 4096")->required();
  add("--intermediate", options->intermediate, "Elements inside the feed-forward part")->required();
  add("--layers", options->layers, "Layers")->required();
  add("--vocab", options->vocab, "Tokens that it knows")->required();
  add("--heads", options->heads, "Heads of the attention")->required();
  add("--kv-heads", options->kv_heads,
      "Heads that have keys and values of their own; all unless given");
  add("--max-seq", options->max_seq, "Tokens of the longest sequence")->required();
  add("--dtype-bytes", options->dtype_bytes, "Bytes of a number: 1, 2, 4 or 8; 4 unless given");
  sub->add_flag("--json", options->json, "Print as JSON");
  sub->callback([options, &action] { action = [options] { return estimate(*options); }; });
}

void add_activations(CLI::App& sub, std::string& activations) {
  sub.add_option("--activations", activations,
                 "What weights are multiplied with: exact, quantised ones rounded to bytes, or "
                 "prompts rounded to 16 bits (halves); bytes on processors, halves where a library "
                 "has such products, exact elsewhere unless given")
      ->check(CLI::IsMember({"exact", "bytes", "halves"}));
}

// What generate and chat have in common.
void add_language(CLI::App& sub, LanguageArguments& options) {
  sub.add_option("model", options.model, "A GGUF file, or a folder with config.json")->required();
  sub.add_option("--max-tokens", options.max_tokens, "New tokens at most; 128 unless given")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 30));
  sub.add_option("--context", options.context,
                 "Tokens of the longest sequence; as the model has it, at most 4096, unless given")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 30));
  sub.add_flag("--greedy", options.greedy, "Always the likeliest token");
  sub.add_option("--temperature", options.temperature, "0.8 unless given; 0 is --greedy");
  sub.add_option("--top-k", options.top_k, "Draw from the likeliest K; 40 unless given, 0: all");
  sub.add_option("--top-p", options.top_p,
                 "Draw from the likeliest that have this probability together; 0.95 unless given");
  sub.add_option("--min-p", options.min_p,
                 "Only tokens with this share of the likeliest one's probability; 0.05 unless "
                 "given");
  sub.add_option("--repetition-penalty", options.repetition_penalty,
                 "Divides the logits of the last 64 tokens; 1 unless given");
  sub.add_option("--seed", options.seed, "Of what is drawn; 0 unless given");
  sub.add_option("--lora", options.adapters,
                 "A folder with an adapter, as PEFT saves LoRA, or FOLDER=SCALE; may be given "
                 "several times")
      ->allow_extra_args(false);
  sub.add_flag("--full-cache", options.full_cache, "Keys and values in f32, not f16");
  add_activations(sub, options.activations);
}

void add_generate(CLI::App& app, Action& action) {
  auto options = std::make_shared<LanguageArguments>();
  CLI::App* sub = app.add_subcommand("generate", "Let a language model go on with a text");
  add_language(*sub, *options);
  sub->add_option("prompt", options->prompt, "The text")->required();
  sub->add_flag("--raw", options->raw,
                "The text as it is; else it is a question in the model's chat template, if any");
  sub->add_option("--stop", options->stop,
                  "A text that ends the answer; may be given several times")
      ->allow_extra_args(false);
  sub->add_option("--receipt", options->receipt,
                  "A file to write with what `hologram verify` needs to compute it again");
  sub->add_flag("--json", options->json, "Print text, tokens and times as JSON");
  sub->callback([options, &action] { action = [options] { return generate(*options); }; });
}

void add_chat(CLI::App& app, Action& action) {
  auto options = std::make_shared<LanguageArguments>();
  CLI::App* sub = app.add_subcommand("chat", "Talk to a language model, line by line");
  add_language(*sub, *options);
  sub->add_option("--system", options->system, "What the model is told at the beginning");
  sub->callback([options, &action] { action = [options] { return chat(*options); }; });
}

void add_embed(CLI::App& app, Action& action) {
  auto options = std::make_shared<EmbedArguments>();
  CLI::App* sub =
      app.add_subcommand("embed", "Texts as vectors, by an encoder or a language model");
  sub->add_option("model", options->model, "A GGUF file, or a folder with config.json")->required();
  sub->add_option("texts", options->texts, "The texts");
  sub->add_option("--lines", options->lines, "A file with a text a line; - is standard input");
  sub->add_option("--pooling", options->pooling,
                  "How the vectors of tokens become one; as the model says, unless given")
      ->check(CLI::IsMember({"mean", "first", "last"}));
  sub->add_flag("--unscaled", options->unscaled, "Vectors of the length that they have, not of 1");
  sub->add_flag("--truncate", options->truncate,
                "Leave out the ends of texts that are too long; else they are an error");
  sub->add_flag("--json", options->json, "Print as JSON");
  sub->callback([options, &action] { action = [options] { return embed(*options); }; });
}

void add_quantize(CLI::App& app, Action& action) {
  auto options = std::make_shared<QuantizeArguments>();
  CLI::App* sub = app.add_subcommand("quantize", "A model in fewer bits, as a GGUF file");
  sub->add_option("in", options->in, "A GGUF file, or a folder with config.json")->required();
  sub->add_option("out", options->out, "The GGUF file to write")->required();
  sub->add_option("--to", options->to,
                  "f32 f16 bf16 q4_0 q4_1 q5_0 q5_1 q8_0 q2_k q3_k q4_k q5_k q6_k iq4_nl iq4_xs or "
                  "mxfp4; q4_k unless given");
  sub->add_option("--tensor", options->tensors,
                  "PART=TYPE: tensors with PART in their names; may be given several times")
      ->allow_extra_args(false);
  sub->add_flag("--json", options->json, "Print as JSON");
  sub->callback([options, &action] { action = [options] { return quantize(*options); }; });
}

void add_verify(CLI::App& app, Action& action) {
  auto options = std::make_shared<VerifyArguments>();
  CLI::App* sub =
      app.add_subcommand("verify", "Compute the answer of a receipt again, and compare");
  sub->add_option("receipt", options->receipt, "What `generate --receipt` wrote")->required();
  sub->add_option("model", options->model, "A GGUF file, or a folder with config.json")->required();
  sub->add_option("--device", options->device, "As in cpu or cuda:1; else as usual");
  sub->add_flag("--json", options->json, "Print as JSON");
  sub->callback([options, &action] { action = [options] { return verify(*options); }; });
}

void add_serve(CLI::App& app, Action& action) {
  auto options = std::make_shared<ServeArguments>();
  CLI::App* sub = app.add_subcommand("serve", "Answer requests over HTTP as OpenAI's servers do");
  sub->add_option("model", options->model, "A GGUF file, or a folder with config.json")->required();
  sub->add_option(
      "--host", options->host,
      "The address to listen at; 127.0.0.1, which only this machine reaches, unless given");
  sub->add_option("--port", options->port, "8080 unless given; 0: any that is free")
      ->check(CLI::Range(0, 65535));
  sub->add_option("--name", options->name,
                  "Of the model, for clients; that of its file unless given");
  const auto count = [&](const char* name, int64_t& field, int64_t least, const char* meaning) {
    sub->add_option(name, field, meaning)->check(CLI::Range(least, int64_t{1} << 40));
  };
  count("--context", options->context, 1,
        "Tokens of the longest sequence; as the model has it, at most 4096, unless given");
  count("--parallel", options->parallel, 1, "Answers at a time, 16 at most; 8 unless given");
  count("--cache-tokens", options->cache_tokens, 1,
        "Tokens of all sequences together; two contexts unless given");
  count("--max-tokens", options->max_tokens, 1,
        "New tokens of an answer at most; 1024 unless given");
  count("--queue", options->queue, 0, "Requests that may wait; 64 unless given");
  count("--clients", options->clients, 1, "Connections at a time; 64 unless given");
  count("--max-body", options->max_body, 1, "Bytes of a request at most; 4194304 unless given");
  count("--timeout", options->timeout, 1, "Seconds that an answer may take; 600 unless given");
  sub->add_flag("--full-cache", options->full_cache, "Keys and values in f32, not f16");
  add_activations(*sub, options->activations);
  sub->add_flag("--reproducible", options->reproducible,
                "The same answer, to the bit, alone and beside others; prompts take longer");
  sub->callback([options, &action] { action = [options] { return serve(*options); }; });
}

void add_bench(CLI::App& app, Action& action) {
  auto options = std::make_shared<BenchArguments>();
  CLI::App* sub = app.add_subcommand(
      "bench", "Time typical calculations with tensors, and check their results");
  sub->add_option("work", options->works,
                  fmt::format("Which: {}; all unless given", fmt::join(workload_names(), ", ")));
  sub->add_option("--size", options->sizes,
                  "Elements of an input; may be given several times; 1000, 100000 and 10000000 "
                  "unless given")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 30));
  sub->add_option("--rounds", options->rounds, "The best of so many is told; 7 unless given")
      ->check(CLI::Range(1, 1000));
  sub->add_flag("--median", options->median, "Tell the median of the rounds, not the best");
  sub->add_option("--turn", options->turn_ms,
                  "Milliseconds for which short work is repeated in each round; 2 unless given")
      ->check(CLI::Range(0.01, 10000.0));
  sub->add_option("--beside", options->beside,
                  "A command whose competitors take part, too: bench/python_peers.py is one");
  sub->add_option("--threads", options->threads,
                  "Of the CPU; as the configuration says unless given")
      ->check(CLI::Range(1, 1024));
  sub->add_flag("--processor-time", options->processor_time,
                "Count what processors do for it, for a machine that does other work, too");
  sub->add_flag(
      "--crossover", options->crossover,
      "From which size on the device is faster than the CPU, with the transfers there and "
      "back; 1000 to 10000000 elements unless --size is given");
  sub->add_option("--svg", options->svg, "Draw the results as bars into this file, too");
  sub->add_flag("--json", options->json, "Print as JSON");
  sub->callback([options, &action] { action = [options] { return bench(*options); }; });
}

void add_bisect(CLI::App& app, Action& action) {
  auto options = std::make_shared<BisectArguments>();
  CLI::App* sub = app.add_subcommand(
      "bisect", "Find the first operation that a device computes otherwise, or that makes a NaN");
  sub->add_option("what", options->what,
                  "The program, an .atlas file; or an expression, or the file of one")
      ->type_name("FILE")
      ->required();
  sub->add_option("arguments", options->arguments, "name=value, as of run and eval")
      ->type_name("NAME=VALUE");
  sub->add_option("--device", options->device, "The device: cuda, opencl:1, cpu, …")
      ->type_name("DEVICE")
      ->required();
  sub->add_option("--shape", options->shapes, "The shape of an output that cannot be derived")
      ->type_name("NAME=LENGTHS")
      ->allow_extra_args(false);
  sub->add_option("--grid", options->grid, "Workgroups along x, y, z instead of the derived grid")
      ->type_name("X,Y,Z");
  sub->add_option("-o,--output", options->prefix,
                  "How the files begin that show it again; bisect unless given")
      ->type_name("PREFIX");
  sub->add_flag("--no-nan", options->no_nan, "Pass over NaN that are made of none");
  sub->add_flag("--json", options->json, "Print what was found, or the error, as JSON");
  sub->callback([options, &action] { action = [options] { return bisect(*options); }; });
}

void add_conformance(CLI::App& app, Action& action) {
  auto options = std::make_shared<ConformanceArguments>();
  CLI::App* sub =
      app.add_subcommand("conformance", "Whether a device computes every operation as it should");
  sub->add_option("--device", options->devices,
                  "As cpu or cuda:1; may be given several times; the one that a run would take "
                  "unless given");
  sub->add_option("--filter", options->filter,
                  "A regular expression: the cases with a name that matches, as '^exp/f32'");
  sub->add_option("--sample", options->sample, "Only one case in so many, drawn by their names")
      ->check(CLI::Range(1, 1000000));
  sub->add_flag("--json", options->json, "Print every case as JSON");
  sub->callback([options, &action] { action = [options] { return conformance(*options); }; });
}

void add_report(CLI::App& app, Action& action) {
  auto options = std::make_shared<ReportArguments>();
  CLI::App* sub = app.add_subcommand(
      "report", "Try, check and time every device, and write what was seen into one file");
  sub->add_option("-o,--output", options->output, "The file; hologram-report.json unless given")
      ->type_name("FILE");
  sub->add_option("--device", options->devices,
                  "As cpu or cuda:1; may be given several times; every one unless given");
  sub->add_option("--sample", options->sample,
                  "One case of the conformance suite in so many; 100 unless given, 1: all")
      ->check(CLI::Range(1, 1000000));
  sub->add_option("--work", options->works,
                  "What is timed, as in `hologram bench`; all unless given")
      ->allow_extra_args(false);
  sub->add_option(
         "--size", options->sizes,
         "Elements of an input that is timed; may be given several times; 1000 and 1000000 "
         "unless given")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 30))
      ->allow_extra_args(false);
  sub->add_option("--rounds", options->rounds, "Of each that is timed; 3 unless given")
      ->check(CLI::Range(1, 1000));
  sub->add_option("--limit", options->limit_s,
                  "Seconds after which a part is stopped, and told so; 600 unless given")
      ->check(CLI::Range(1, 1000000));
  sub->callback([options, &action] { action = [options] { return report(*options); }; });
}

void add_help(CLI::App& app, Action& action) {
  auto topic = std::make_shared<std::string>();
  CLI::App* sub = app.add_subcommand("help", "Learn hologram, topic by topic");
  sub->add_option("topic", *topic, fmt::format("{}", fmt::join(topic_names(), ", ")));
  sub->callback([&app, topic, &action] {
    action = [&app, topic] {
      return help(*topic, [&app](const std::string& name) -> std::string {
        for (const CLI::App* command : app.get_subcommands({}))
          if (command->get_name() == name) return command->help("hologram");
        return "";
      });
    };
  });
}

std::vector<std::string> names_of(const std::vector<const CLI::App*>& apps) {
  std::vector<std::string> names;
  names.reserve(apps.size());
  for (const CLI::App* a : apps) names.push_back(a->get_name());
  return names;
}

const CLI::App& chosen(const CLI::App& app) {
  const auto subs = app.get_subcommands();
  return subs.empty() ? app : *subs.front();
}

// CLI11 takes a word from [ to ] for a list and tears it apart at its commas. It is hidden behind a
// character that nobody types.
class Words {
 public:
  Words(int argc, char** argv) : texts_(argv, argv + argc) {
    for (std::string& text : texts_) {
      if (text.starts_with('[') && text.ends_with(']')) text += kMark;
      pointers_.push_back(text.data());
    }
  }
  static std::string plain(std::string text) {
    if (text.ends_with(kMark)) text.pop_back();
    return text;
  }
  int count() const { return static_cast<int>(pointers_.size()); }
  char** pointers() { return pointers_.data(); }

 private:
  static constexpr char kMark = '\x1f';
  std::vector<std::string> texts_;
  std::vector<char*> pointers_;
};

// Words that no option or subcommand took.
[[noreturn]] void refuse_extras(const CLI::App& app, const std::string& extra) {
  const std::string wrong = Words::plain(extra);
  const CLI::App& sub = chosen(app);
  if (wrong.starts_with("-")) {
    std::vector<std::string> known;
    for (const CLI::Option* option : sub.get_options())
      for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
    throw UsageError(
        fmt::format("there is no option '{}'", wrong),
        fmt::format("`hologram {}--help` lists the options.{}",
                    &sub == &app ? "" : sub.get_name() + " ", suggestion(wrong, known)));
  }
  const std::vector<std::string> known = names_of(std::as_const(app).get_subcommands({}));
  if (&sub == &app)
    throw UsageError(
        fmt::format("there is no command '{}'", wrong),
        fmt::format("The commands are: {}.{}", fmt::join(known, ", "), suggestion(wrong, known)));
  throw UsageError(fmt::format("'{}' is one word too many", wrong),
                   fmt::format("See `hologram {} --help`.", sub.get_name()));
}

// CLI11's complaints in hologram's form.
[[noreturn]] void refuse(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App& sub = chosen(app);
  throw UsageError(error.what(), fmt::format("See `hologram {}--help`.",
                                             &sub == &app ? "" : sub.get_name() + " "));
}

}  // namespace

int run_command_line(int argc, char** argv) {
  CLI::App app("hologram runs Atlas programs on whatever device there is.", "hologram");
  app.set_version_flag("--version", "hologram " HOLOGRAM_VERSION);
  app.footer("`hologram help` teaches, topic by topic.");
  app.allow_extras();
  Action action = [] {
    fmt::print("{}", overview());
    return 0;
  };
  for (const auto add : {add_devices, add_run, add_eval, add_show, add_generate, add_chat,
                         add_serve, add_embed, add_quantize, add_verify, add_estimate, add_bench,
                         add_bisect, add_conformance, add_report, add_help})
    add(app, action);
  for (CLI::App* sub : app.get_subcommands({})) {
    sub->allow_extras(false)->fallthrough(false);
    for (CLI::Option* option : sub->get_options()) option->transform(Words::plain);
  }
  app.require_subcommand(0, 1);
  try {
    Words words(argc, argv);
    app.parse(words.count(), words.pointers());
  } catch (const CLI::Success& e) {  // --help, --version
    return app.exit(e);
  } catch (const CLI::ExtrasError& e) {
    const auto extras = app.remaining(true);
    refuse_extras(app, extras.empty() ? e.what() : extras.front());
  } catch (const CLI::ParseError& e) {
    refuse(app, e);
  }
  if (const auto extras = app.remaining(true); !extras.empty()) refuse_extras(app, extras.front());
  const int code = action();
  if (std::fflush(stdout) != 0)
    throw Error(ErrorKind::IoError, "cannot write to the standard output",
                "Check where the output goes, and the free space there.");
  return code;
}

}  // namespace hologram::tool
