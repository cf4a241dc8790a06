#include "verb.h"

namespace hexlane::cli {
namespace {

double MiB(size_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

void PrintNeeds(const std::vector<MemoryNeed>& needs) {
  Show("{:<20} {:>8} {:>10} {:>10} {:>10} {:>10} {:>10} {:>10}  (MiB)\n", "variant", "context",
       "binaries", "largest", "KV cache", "spill-fill", "weights", "total");
  for (const MemoryNeed& need : needs) {
    const std::string spill_fill =
        need.spill_fill ? fmt::format("{:.1f}", MiB(*need.spill_fill)) : "unknown";
    Show("{:<20} {:>8} {:>10.1f} {:>10.1f} {:>10.1f} {:>10} {:>10.1f} {:>10.1f}\n",
         Escaped(need.variant), need.context, MiB(need.binaries), MiB(need.largest_shard),
         MiB(need.kv_cache), spill_fill, MiB(need.mapped_weights), MiB(need.total()));
  }
}

std::shared_ptr<Verb> AddMemory(CLI::App& group) {
  auto verb = AddVerb(group, "memory", "what each variant takes of a device's memory");
  auto path = std::make_shared<std::string>();
  verb->app->add_option("PACKAGE", *path, "package folder")->required();
  verb->action = [path, common = verb->common]() -> Result<bool> {
    const std::vector<MemoryNeed> needs = TRY(MemoryNeeds(*path));
    if (!common->json) {
      PrintNeeds(needs);
      Show("available here: {:.1f} MiB\n", MiB(AvailableMemory()));
      return true;
    }
    Json list = Json::array();
    for (const MemoryNeed& need : needs) list.push_back(Json::parse(MemoryNeedJson(need)));
    PrintJson({{"needs", list}, {"available_bytes", AvailableMemory()}});
    return true;
  };
  return verb;
}

void Print(const SplitReport& report, const std::string& output) {
  for (const Delivery& delivery : report.deliveries)
    Show("{}/{}: HTP V{}, {:.1f} MiB, manifest SHA-256 {}\n", output, delivery.folder,
         delivery.htp_arch, MiB(delivery.bytes), delivery.manifest_sha256);
  Show("{}/delivery.json\n", output);
}

std::shared_ptr<Verb> AddSplit(CLI::App& group) {
  auto verb = AddVerb(group, "split", "one package for each SoC, for delivery");
  auto options = std::make_shared<SplitOptions>();
  verb->app->add_option("PACKAGE", options->package, "package folder")->required();
  verb->app->add_option("-o,--output", options->output, "folder to write")->required();
  verb->app->add_option("--soc", options->socs, "SoCs, e.g. SM8550,SM8650 (default: all it has)")
      ->delimiter(',')
      ->allow_extra_args(false);
  verb->action = [options, common = verb->common]() -> Result<bool> {
    options->progress = ProgressBar(*common);
    const SplitReport report = TRY(SplitPackage(*options));
    EndProgress();
    if (common->json)
      PrintJson(Json::parse(report.json));
    else
      Print(report, options->output.string());
    return true;
  };
  return verb;
}

}  // namespace

std::vector<std::shared_ptr<Verb>> AddPackageVerbs(CLI::App& app) {
  CLI::App* group = app.add_subcommand("package", "split a package, or tell what memory it needs");
  group->require_subcommand(1);
  return {AddSplit(*group), AddMemory(*group)};
}

}  // namespace hexlane::cli
