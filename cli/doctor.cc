#include "verb.h"

namespace hexlane::cli {

std::shared_ptr<Verb> AddDoctor(CLI::App& app) {
  auto verb = AddVerb(app, "doctor", "what this machine has, what is missing, and how to get it");
  verb->action = [common = verb->common]() -> Result<bool> {
    const std::vector<Finding> findings = Diagnose(common->qnn);
    bool all = true;
    Json json = Json::array();
    for (const Finding& finding : findings) {
      all &= finding.ok;
      json.push_back({{"name", finding.name},
                      {"ok", finding.ok},
                      {"found", finding.found},
                      {"remedy", finding.remedy}});
      if (common->json) continue;
      Show("{} {:<20} {}\n", finding.ok ? "ok     " : "MISSING", finding.name, finding.found);
      if (!finding.remedy.empty()) Show("        {:<20} → {}\n", "", finding.remedy);
    }
    if (common->json) PrintJson({{"findings", json}, {"ok", all}});
    return all;
  };
  return verb;
}

}  // namespace hexlane::cli
