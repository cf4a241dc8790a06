#include "hexlane/engine.h"

#include <algorithm>

#include "base/json.h"
#include "runtime/engine_impl.h"
#include "runtime/load_progress.h"
#include "runtime/session_impl.h"
#include "runtime/stopwatch.h"

namespace hexlane {
namespace {

constexpr std::string_view kTokenizerFile = "tokenizer.json";
constexpr std::string_view kTokenizerConfigFile = "tokenizer_config.json";
constexpr std::string_view kCheckedList = "checked_files.json";

// Tokenizer and chat template; either may be missing.
Result<void> LoadText(const Package& package, Engine::Impl& impl) {
  std::string config;
  if (package.Has(kTokenizerConfigFile)) config = TRY(package.ReadText(kTokenizerConfigFile));
  if (package.Has(kTokenizerFile))
    impl.tokenizer = TRY(Tokenizer::FromJson(TRY(package.ReadText(kTokenizerFile)), config));
  if (config.empty()) return {};
  TRY(ParseJson(config, kTokenizerConfigFile));  // depth and syntax
  impl.chat = ChatTemplate::FromTokenizerConfig(OrderedJson::parse(config));
  return {};
}

Result<std::shared_ptr<const Package>> OpenPackage(const std::filesystem::path& path,
                                                   const EngineOptions& options) {
  Package::OpenOptions open{.check_files = options.check_files};
  if (!options.cache_dir.empty())
    open.checked_list = std::filesystem::path(options.cache_dir) / kCheckedList;
  if (options.on_progress)
    open.on_progress = [&](uint64_t done, uint64_t total) {
      return options.on_progress({LoadPhase::kFiles, done, total});
    };
  return Package::Open(path, open);
}

EngineInfo Describe(const Model& model) {
  const Manifest& manifest = model.package().manifest();
  const ModelShape& shape = model.shape();
  EngineInfo info{.source = manifest.source,
                  .architecture = manifest.architecture,
                  .scheme = manifest.scheme,
                  .kv_bits = manifest.kv_bits,
                  .layers = shape.layers,
                  .hidden = shape.hidden,
                  .vocab = shape.vocab,
                  .context = model.context(),
                  .max_context = shape.max_context,
                  .eos_ids = shape.eos_ids,
                  .variant = model.variant().name,
                  .soc = model.variant().soc,
                  .fallback_reason = model.fallback_reason(),
                  .threads = model.threads()};
  for (const Part& part : model.variant().parts) info.backends.push_back(part.backend);
  for (const Variant& variant : manifest.plan.variants) info.variants.push_back(variant.name);
  return info;
}

}  // namespace

Result<std::shared_ptr<Engine>> Engine::Open(const std::filesystem::path& package,
                                             const EngineOptions& options) {
  const Stopwatch total;
  Stopwatch watch;
  auto opened = TRY(OpenPackage(package, options));
  LoadTimes load{.files = watch.Lap()};
  auto impl = std::make_shared<Impl>();
  TRY(Tell(options, {LoadPhase::kText}));
  TRY(LoadText(*opened, *impl));
  load.tokenizer = watch.Lap();
  impl->model = TRY(Model::Load(std::move(opened), options));
  load.executors = watch.Lap();
  load.total = total.seconds();
  impl->info = Describe(*impl->model);
  impl->info.load = load;
  TRY(Tell(options, {LoadPhase::kReady}));
  return std::shared_ptr<Engine>(new Engine(std::move(impl)));
}

Engine::Engine(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
Engine::~Engine() = default;

const EngineInfo& Engine::info() const { return impl_->info; }

Result<const Tokenizer*> Engine::Impl::NeedTokenizer() const {
  if (tokenizer != nullptr) return tokenizer.get();
  return NotFound("the package has no {}", kTokenizerFile)
      .At("{}", model->package().directory().string());
}

Result<std::vector<int32_t>> Engine::Encode(std::string_view text,
                                            const TokenizeOptions& options) const {
  return TRY(impl_->NeedTokenizer())
      ->Encode(text, {.add_special_tokens = options.add_special_tokens,
                      .parse_special = options.parse_special});
}

Result<std::string> Engine::Decode(std::span<const int32_t> ids, bool skip_special) const {
  return TRY(impl_->NeedTokenizer())->Decode(ids, skip_special);
}

Result<std::unique_ptr<Session>> Engine::NewSession() const {
  return std::unique_ptr<Session>(new Session(TRY(Session::Impl::New(impl_))));
}

Result<void> Engine::WarmUp() const {
  const auto session = TRY(NewSession());
  const std::vector<int32_t> prompt(static_cast<size_t>(
      std::min<int64_t>(impl_->model->variant().stages.back().rows, session->capacity())));
  TRY(session->Feed(prompt));
  session->Reset();
  TRY(session->Feed(std::span(prompt).first(1)));
  return {};
}

void Engine::Trim(TrimLevel level) const { impl_->model->Trim(level); }

std::string_view LoadPhaseName(LoadPhase phase) {
  switch (phase) {
    case LoadPhase::kFiles: return "checking files";
    case LoadPhase::kText: return "tokenizer";
    case LoadPhase::kParts: return "loading";
    case LoadPhase::kReady: return "ready";
  }
  return "unknown";
}

std::string_view FinishReasonName(FinishReason reason) {
  switch (reason) {
    case FinishReason::kStop: return "stop";
    case FinishReason::kLength: return "length";
    case FinishReason::kStopString: return "stop_string";
    case FinishReason::kContext: return "context";
    case FinishReason::kCancelled: return "cancelled";
    case FinishReason::kTooHot: return "too_hot";
  }
  return "unknown";
}

}  // namespace hexlane
