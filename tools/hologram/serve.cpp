// hologram serve: a language model over HTTP, with the interface of OpenAI's servers.
#include <fmt/format.h>
#include <httplib.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <mutex>
#include <optional>
#include <thread>

#include "command.hpp"
#include "errors.hpp"
#include "hologram/embeddings.hpp"
#include "hologram/llm.hpp"
#include "interrupt.hpp"
#include "serve_answers.hpp"
#include "serve_embeddings.hpp"
#include "serve_requests.hpp"

namespace hologram::tool {
namespace {

using Clock = std::chrono::steady_clock;
constexpr const char* kJson = "application/json";
constexpr std::chrono::seconds kGrace(10);  // for answers that are under way when it is to stop

llm::Model open_model(const ServeArguments& options) {
  llm::ModelOptions how;
  how.context = options.context;
  how.cache = options.full_cache ? DType::F32 : DType::F16;
  how.sequences = options.parallel;
  how.cache_tokens = options.cache_tokens;
  how.reproducible = options.reproducible;
  how.activations = llm::parse_activations(options.activations);
  return llm::Model::open(options.model, how);
}

class Server {
 public:
  explicit Server(const ServeArguments& options)
      : options_(options),
        name_(options.name.empty() ? std::filesystem::path(options.model).filename().string()
                                   : options.name) {
    if (llm::Embedder::is_encoder(options.model)) {
      embedder_ = llm::Embedder::open(options.model);
    } else {
      model_ = open_model(options);
      engine_ = std::make_unique<llm::Engine>(*model_, options.queue);
    }
    set_limits();
    set_routes();
  }

  // Until a signal comes; then what is under way may end.
  void run() {
    const int port = bind();
    fmt::print("{} at http://{}:{}/v1\n", name_, options_.host, port);
    std::fflush(stdout);
    Progress progress;
    const Interrupt interrupt(progress);
    std::thread listener([&] { http_.listen_after_bind(); });
    while (Interrupt::signal() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    ends_ = true;
    const auto end = Clock::now() + kGrace;
    while (underway_ > 0 && Clock::now() < end)
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    stops_ = true;  // the rest is cut off
    http_.stop();
    listener.join();
    engine_.reset();
  }

 private:
  int bind() {
    const int port = options_.port == 0 ? http_.bind_to_any_port(options_.host)
                     : http_.bind_to_port(options_.host, options_.port) ? options_.port
                                                                        : -1;
    if (port < 0)
      throw UsageError(fmt::format("cannot listen at {}:{}", options_.host, options_.port),
                       "Take a --port that is free and a --host of this machine.");
    return port;
  }

  void set_limits() {
    const auto clients = static_cast<size_t>(options_.clients);
    http_.new_task_queue = [clients] { return new httplib::ThreadPool(clients); };
    http_.set_payload_max_length(static_cast<size_t>(options_.max_body));
    http_.set_read_timeout(10);
    http_.set_write_timeout(10);
    http_.set_keep_alive_timeout(5);
    http_.set_tcp_nodelay(true);
    // Pages that a browser shows must not reach a server of its machine, whatever their names
    // resolve to.
    http_.set_pre_routing_handler([this](const httplib::Request& request, httplib::Response& to) {
      if (!is_local(options_.host) || is_local(host_of(request))) {
        if (!request.has_header("Origin") || is_local(origin_of(request)))
          return httplib::Server::HandlerResponse::Unhandled;
      }
      refuse(to, {403, "This server answers to its own machine only.", "permission_error"});
      return httplib::Server::HandlerResponse::Handled;
    });
    http_.set_error_handler([](const httplib::Request&, httplib::Response& to) {
      if (!to.body.empty()) return;
      const char* const what = to.status == 413   ? "The request is too large."
                               : to.status == 404 ? "There is no such address."
                                                  : "The request makes no sense.";
      to.set_content(Refusal{to.status, what}.body().dump(), kJson);
    });
    http_.set_exception_handler(
        [](const httplib::Request&, httplib::Response& to, std::exception_ptr raised) {
          refuse(to, refusal_from(raised));
        });
  }
  static Refusal refusal_from(const std::exception_ptr& raised) {
    try {
      std::rethrow_exception(raised);
    } catch (const Refusal& refusal) {
      return refusal;
    } catch (const Error& error) {
      return refusal_of(error);
    } catch (const std::exception& error) {
      return {500, error.what(), "server_error"};
    }
  }
  static void refuse(httplib::Response& to, const Refusal& refusal) {
    to.status = refusal.status;
    if (refusal.status == 503) to.set_header("Retry-After", "1");
    to.set_content(refusal.body().dump(-1, ' ', false, Json::error_handler_t::replace), kJson);
  }
  static bool is_local(const std::string& host) {
    return host == "localhost" || host == "::1" || host == "[::1]" || host.starts_with("127.");
  }
  static std::string without_port(std::string host) {
    const size_t colon = host.rfind(':');
    if (colon != std::string::npos && host.find(']', colon) == std::string::npos)
      host.resize(colon);
    return host;
  }
  static std::string host_of(const httplib::Request& request) {
    return without_port(request.get_header_value("Host"));
  }
  static std::string origin_of(const httplib::Request& request) {
    const std::string origin = request.get_header_value("Origin");
    const size_t host = origin.find("//");
    return host == std::string::npos ? origin : without_port(origin.substr(host + 2));
  }

  void set_routes() {
    http_.Get("/health", [this](const httplib::Request&, httplib::Response& to) {
      const llm::Engine::Load load =
          engine_ != nullptr ? engine_->load() : llm::Engine::Load{underway_, 0};
      const Json state = {{"status", ends_ ? "stopping" : "ok"},
                          {"running", load.running},
                          {"waiting", load.waiting}};
      to.set_content(state.dump(), kJson);
    });
    http_.Get("/v1/models", [this](const httplib::Request&, httplib::Response& to) {
      to.set_content(Json{{"object", "list"}, {"data", {about()}}}.dump(), kJson);
    });
    http_.Get(R"(/v1/models/(.+))", [this](const httplib::Request& request, httplib::Response& to) {
      if (request.matches[1] == name_) to.set_content(about().dump(), kJson);
      else refuse(to, {404, "There is no such model.", "invalid_request_error", "model"});
    });
    http_.Post("/v1/chat/completions", [this](const httplib::Request& r, httplib::Response& to) {
      answer(r, to, read_chat);
    });
    http_.Post("/v1/completions", [this](const httplib::Request& r, httplib::Response& to) {
      answer(r, to, read_completion);
    });
    http_.Post("/v1/embeddings",
               [this](const httplib::Request& r, httplib::Response& to) { embed(r, to); });
  }
  Json about() const {
    return {{"id", name_},
            {"object", "model"},
            {"created", started_},
            {"owned_by", "hologram"},
            {"context", model_ ? model_->context() : embedder_->context()},
            {"architecture", model_ ? model_->architecture() : embedder_->architecture()}};
  }

  void require_json(const httplib::Request& request) const {
    if (ends_) throw Refusal{503, "This server is being stopped.", "overloaded_error"};
    if (request.get_header_value("Content-Type").find(kJson) == std::string::npos)
      throw Refusal{415, "The body has to be of the type application/json."};
  }

  // A decoder's takes memory, and is made when first asked for.
  const llm::Embedder& embedder() {
    std::call_once(embedder_made_, [this] {
      if (!embedder_) embedder_ = llm::Embedder::of(*model_);
    });
    return *embedder_;
  }

  void embed(const httplib::Request& request, httplib::Response& to) {
    require_json(request);
    const auto count = std::make_shared<Count>(underway_);
    const auto vectors =
        std::make_shared<Vectors>(read_embeddings(request.body, embedder()), embedder(), name_);
    const auto deadline = Clock::now() + std::chrono::seconds(options_.timeout);
    // What goes wrong in the first piece has a status of its own; later ones end the connection.
    to.set_chunked_content_provider(kJson, [this, vectors, count, deadline, text = vectors->next()](
                                               size_t, httplib::DataSink& sink) mutable {
      try {
        for (;; text = vectors->next()) {
          if (!sink.write(text.data(), text.size())) return false;
          if (vectors->done()) break;
          if (stops_ || Clock::now() > deadline || !sink.is_writable()) return false;
        }
      } catch (const std::exception&) {
        return false;
      }
      sink.done();
      return true;
    });
  }

  void answer(const httplib::Request& request, httplib::Response& to,
              Asked (*read)(const std::string&, const llm::Model&, const ServeArguments&)) {
    require_json(request);
    if (!model_)
      throw Refusal{400, fmt::format("{} is an encoder ({}), which makes embeddings and no text. "
                                     "Ask /v1/embeddings, or serve a decoder.",
                                     name_, embedder_->architecture())};
    Asked asked = read(request.body, *model_, options_);
    const bool stream = asked.stream;
    const auto answers = std::make_shared<Answers>(std::move(asked), *engine_, name_);
    const auto count = std::make_shared<Count>(underway_);
    const auto deadline = Clock::now() + std::chrono::seconds(options_.timeout);
    while (!answers->has_begun()) {
      answers->wait();
      if (stops_ || Clock::now() > deadline)
        throw Refusal{503, "It took too long.", "overloaded_error"};
    }
    answers->check();
    to.set_chunked_content_provider(
        stream ? "text/event-stream" : kJson,
        [this, answers, count, deadline, stream](size_t, httplib::DataSink& sink) {
          try {
            return send(*answers, sink, stream, deadline);
          } catch (...) {
            const std::string body = refusal_from(std::current_exception())
                                         .body()
                                         .dump(-1, ' ', false, Json::error_handler_t::replace);
            const std::string text = stream ? "data: " + body + "\n\n" : body;
            sink.write(text.data(), text.size());
            sink.done();
            return true;
          }
        });
  }

  // False, which ends the connection, if the client has gone.
  bool send(Answers& answers, httplib::DataSink& sink, bool stream, Clock::time_point deadline) {
    for (;;) {
      if (!sink.is_writable()) return false;
      if (stops_ || Clock::now() > deadline) answers.cancel();
      std::string text;
      if (stream) text = answers.take_events();
      else if (answers.complete())
        text = answers.body().dump(-1, ' ', false, Json::error_handler_t::replace);
      if (!text.empty() && !sink.write(text.data(), text.size())) return false;
      if (stream ? answers.done() : !text.empty()) break;
      answers.wait();
    }
    sink.done();
    return true;
  }

  struct Count {
    explicit Count(std::atomic<int>& of) : counter(of) { counter++; }
    ~Count() { counter--; }
    Count(const Count&) = delete;
    Count& operator=(const Count&) = delete;
    std::atomic<int>& counter;
  };

  const ServeArguments options_;
  const std::string name_;
  const int64_t started_ = std::time(nullptr);
  std::optional<llm::Model> model_;  // none of an encoder, nor an engine
  std::unique_ptr<llm::Engine> engine_;
  std::optional<llm::Embedder> embedder_;
  std::once_flag embedder_made_;
  std::atomic<int> underway_ = 0;
  std::atomic<bool> ends_ = false, stops_ = false;
  httplib::Server http_;
};

}  // namespace

int serve(const ServeArguments& options) {
  Server(options).run();
  return 0;
}

}  // namespace hologram::tool
