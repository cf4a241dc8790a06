#include "verb.h"

namespace hexlane::cli {

std::shared_ptr<Verb> AddInspect(CLI::App& app) {
  auto verb =
      AddVerb(app, "inspect", "what is in a package, context binary, GGUF or safetensors file");
  auto path = std::make_shared<std::string>();
  verb->app->add_option("PATH", *path, "package, .bin, .gguf, .safetensors or Hugging Face folder")
      ->required();
  verb->action = [path, common = verb->common]() -> Result<bool> {
    const std::string text = TRY(Inspect(*path, common->qnn));
    if (common->json)
      PrintJson(Json::parse(text));
    else
      Show("{}\n", text);
    return true;
  };
  return verb;
}

}  // namespace hexlane::cli
