// SPDX-License-Identifier: Apache-2.0
// host: `calibrate-links`.
#include "core/support/json_value.hpp"

#include "core/calibrate/links.hpp"
#include "core/support/file.hpp"
#include "core/support/output.hpp"
#include "core/support/table.hpp"
#include "core/support/text.hpp"
#include "host/optima_host/device_options.hpp"
#include "host/optima_host/verbs.hpp"

namespace optima::host {
namespace {

Result<std::vector<MeasuredLink>> measure_all(const std::vector<LocalDevice>& devices) {
  std::vector<MeasuredLink> out;
  for (const LocalDevice& from : devices)
    for (const LocalDevice& to : devices) {
      if (&from == &to) continue;
      OPTIMA_ASSIGN(MeasuredLink time, measure_link(from, to, &Console::cancelled()));
      out.push_back(std::move(time));
    }
  return out;
}

std::string rate(const MeasuredLink& t) { return t.link.gbytes_per_s > 0 ? cat(t.link.gbytes_per_s, " GB/s") : "any size"; }

std::string table_of(const std::vector<MeasuredLink>& times) {
  std::vector<std::vector<std::string>> rows = {{"from", "to", "latency", "bandwidth", "how"}};
  for (const MeasuredLink& t : times)
    rows.push_back({t.link.from.text(), t.link.to.text(), human_time(t.link.latency_us), rate(t),
                    t.handed_over ? "handed over in host memory, nothing is copied" : cat("copies of ", t.sizes, " sizes")});
  return table(rows);
}

Json document_of(const std::vector<MeasuredLink>& times) {
  Json links = Json::array();
  for (const MeasuredLink& t : times)
    links.push_back({{"from", t.link.from.text()}, {"to", t.link.to.text()}, {"latency_us", t.link.latency_us},
                     {"gbytes_per_s", t.link.gbytes_per_s}, {"handed_over", t.handed_over}});
  return {{"links", std::move(links)}};
}

}  // namespace

Status calibrate_verb(Console& console, const std::vector<std::string>& words) {
  Arguments arguments("calibrate-links",
                      "Measures what moving tensors between the devices of this machine takes, for 'links:' in the config and --objective latency.");
  arguments.option("o,o", "FILE", "write the links as YAML, to be put into the config")
      .list("device", "DEV", "only these devices; repeats, takes commas");
  OPTIMA_ASSIGN(const bool go, start(console, arguments, words));
  if (!go) return {};
  OPTIMA_ASSIGN(const std::string out, console.output_path(arguments, "o"));
  OPTIMA_ASSIGN(const std::vector<DeviceName> wanted, device_options(arguments, "device"));
  OPTIMA_ASSIGN(Registry* registry, console.session().registry());
  std::vector<std::string> notes;
  OPTIMA_ASSIGN(const std::vector<LocalDevice> devices, local_devices(registry->runtimes(), registry->files(), wanted, notes));
  for (const std::string& note : notes) console.note(note);
  if (devices.size() < 2) return invalid_input(cat("only ", devices[0].name.text(), " is asked for, wanted two devices or more (--device A,B)"));
  OPTIMA_ASSIGN(const std::vector<MeasuredLink> times, measure_all(devices));
  Config config;
  for (const MeasuredLink& t : times) config.links.push_back(t.link);
  if (!out.empty()) OPTIMA_RETURN_IF_ERROR(write_output(out, links_section(config)));
  console.print(table_of(times));
  if (out.empty()) console.print(links_section(config));
  console.print_json(document_of(times));
  return {};
}

}  // namespace optima::host
