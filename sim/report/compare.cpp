#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>

#include "sim/check.h"
#include "sim/report.h"
#include "sim/report/sentences.h"
#include "sim/report/text.h"

namespace weft {

using namespace report;
using Pointer = Json::json_pointer;

namespace {

constexpr std::size_t kLongestName = 24;  // of a fabric, in the head of a column

struct Ranking {
  std::size_t winner = 0, slowest = 0;
  double spread = 0;  ///< slowest / winner - 1
};

double iteration_time(const NamedSummary& run) {
  return number_or_zero(run.summary, "/iteration_time_s");
}

Ranking ranked(const std::vector<NamedSummary>& runs) {
  Ranking ranking;
  for (std::size_t i = 1; i < runs.size(); ++i) {
    if (iteration_time(runs[i]) < iteration_time(runs[ranking.winner])) ranking.winner = i;
    if (iteration_time(runs[i]) > iteration_time(runs[ranking.slowest])) ranking.slowest = i;
  }
  const double best = iteration_time(runs[ranking.winner]);
  if (best > 0) ranking.spread = iteration_time(runs[ranking.slowest]) / best - 1;
  return ranking;
}

/// The part by which `slow` loses most against `fast`, if it is known.
std::optional<Part> largest_difference(const Json& slow, const Json& fast) {
  std::optional<Part> worst;
  double most = 0;
  for (const Part& part : parts_of_an_iteration()) {
    const auto a = number(slow, part.path), b = number(fast, part.path);
    if (!a || !b || *a - *b <= most) continue;
    most = *a - *b;
    worst = part;
  }
  return worst;
}

bool communication_is_exposed(const std::vector<NamedSummary>& runs) {
  return std::any_of(runs.begin(), runs.end(), [](const NamedSummary& run) {
    const auto exposed = number(run.summary, "/time/exposed_fabric_s");
    return !exposed || *exposed > kMatters * iteration_time(run);
  });
}

std::vector<std::string> compare_sentences(const std::vector<NamedSummary>& runs) {
  const auto [winner, slowest, spread] = ranked(runs);
  const NamedSummary& fast = runs[winner];
  const NamedSummary& slow = runs[slowest];
  std::vector<std::string> sentences;
  if (runs.size() == 1) return headline(fast.summary);
  if (spread <= kMatters) {
    double exposed = 0;
    for (const NamedSummary& run : runs)
      if (const double whole = iteration_time(run); whole > 0)
        exposed = std::max(exposed, number_or_zero(run.summary, "/time/exposed_fabric_s") / whole);
    const std::string alike =
        seconds_text(iteration_time(fast)) + " on each" +
        (spread > kDiffers / 100 ? fmt::format(", within {}", percent_text(spread)) : "");
    if (communication_is_exposed(runs)) {
      sentences.push_back(fmt::format(
          "The choice between these fabrics does not matter for this job: it takes {}.", alike));
      if (exposed > 0)
        sentences.push_back(fmt::format(
            "Communication on the fabric is exposed for up to {} of the iteration, though.",
            percent_text(exposed)));
    } else {
      sentences.push_back(fmt::format(
          "The network does not matter for this job: an iteration takes {}, and at most {} of it "
          "is exposed communication on the fabric.",
          alike, percent_text(exposed)));
    }
    return sentences;
  }

  const double best = iteration_time(fast);
  std::vector<std::string> first, others;
  for (const NamedSummary& run : runs) {
    const double ratio = iteration_time(run) / best;
    if (ratio <= 1 + kDiffers)
      first.push_back(run.name);
    else
      others.push_back(fmt::format("{} takes {} ({})", run.name, seconds_text(iteration_time(run)),
                                   factor_text(ratio)));
  }
  sentences.push_back(fmt::format(
      "{} {} the fastest: {}{}; {}.", listed(first), first.size() == 1 ? "is" : "are",
      seconds_text(best), trains(fast.summary) ? " per iteration" : "", fmt::join(others, "; ")));
  if (const auto part = largest_difference(slow.summary, fast.summary))
    sentences.push_back(fmt::format("What {} loses is mostly {}: {} against {}.", slow.name,
                                    part->name,
                                    seconds_text(number_or_zero(slow.summary, part->path)),
                                    seconds_text(number_or_zero(fast.summary, part->path))));
  if (const auto reason = congestion(slow.summary); !reason.empty())
    sentences.push_back(fmt::format("On {} {}.", slow.name, reason));
  else if (const auto fct = number(slow.summary, "/network/fct_s/mean"))
    sentences.push_back(fmt::format(
        "That is not congestion: on {} flows take {} times their time alone; its paths are longer "
        "or its links slower (a flow takes {} on average, {} on {}).",
        slow.name, plain_text(number_or_zero(slow.summary, "/network/slowdown/mean")),
        seconds_text(*fct), seconds_text(number_or_zero(fast.summary, "/network/fct_s/mean")),
        fast.name));
  return sentences;
}

struct CompareRow {
  std::string label, path;
  std::function<std::string(double)> show;
};

/// What the network did for the job.
std::vector<CompareRow> performance_rows() {
  std::vector<CompareRow> rows;
  for (const auto& kind : traffic_names())
    rows.push_back(
        {"overlapped " + kind + " communication", "/time/overlapped_s/" + kind, seconds_text});
  rows.insert(rows.end(),
              {{"MFU", "/utilization/mfu", percent_text},
               {"tokens per second", "/throughput/tokens_per_s", plain_text},
               {"samples per second", "/throughput/samples_per_s", plain_text},
               {"model TFLOP/s per GPU", "/throughput/model_tflops_per_gpu", plain_text},
               {"flow slowdown, mean", "/network/slowdown/mean", factor_text},
               {"flow slowdown, p99", "/network/slowdown/p99", factor_text},
               {"flow slowdown, max", "/network/slowdown/max", factor_text},
               {"flow completion, p50", "/network/fct_s/p50", seconds_text},
               {"flow completion, p99", "/network/fct_s/p99", seconds_text},
               {"flow completion, max", "/network/fct_s/max", seconds_text}});
  return rows;
}

/// What the network is, and how much of it was needed.
std::vector<CompareRow> fabric_rows() {
  return {{"busiest link, mean use", "/network/max_utilization", percent_text},
          {"links used", "/network/links_used", count_text},
          {"flows", "/network/flows", count_text},
          {"bytes sent", "/network/bytes", bytes_text},
          {"switches", "/fabric/switches", count_text},
          {"cables", "/fabric/cables", count_text},
          {"diameter, hops", "/fabric/diameter_hops", count_text},
          {"bisection", "/fabric/bisection_bps", rate_text},
          {"oversubscription", "/fabric/oversubscription", plain_text},
          {"GPU memory needed", "/memory/per_gpu_max_bytes", bytes_text}};
}

/// The collectives that every run has, those that take longest in the first run first, as rows of
/// their busbw.
struct CollectiveRow {
  std::string label;
  std::vector<std::optional<double>> busbw;
};

std::vector<CollectiveRow> collective_rows(const std::vector<NamedSummary>& runs) {
  std::vector<Json> first(runs[0].summary.at("collectives").begin(),
                          runs[0].summary.at("collectives").end());
  std::stable_sort(first.begin(), first.end(), [](const Json& a, const Json& b) {
    return number_or_zero(a, "/total_s") > number_or_zero(b, "/total_s");
  });
  std::vector<CollectiveRow> rows;
  for (const Json& shape : first) {
    if (rows.size() == kCollectivesShown) break;
    CollectiveRow row{
        fmt::format("busbw {} {} {}", text(shape, "/group"), text(shape, "/operation"),
                    bytes_text(number_or_zero(shape, "/size_bytes"))),
        {}};
    for (const NamedSummary& run : runs)
      for (const Json& c : run.summary.at("collectives"))
        if (c.at("operation") == shape.at("operation") && c.at("group") == shape.at("group") &&
            c.at("ranks") == shape.at("ranks") && c.at("size_bytes") == shape.at("size_bytes") &&
            c.at("algorithm") == shape.at("algorithm")) {
          row.busbw.push_back(number(c, "/busbw_bps"));
          break;
        }
    if (row.busbw.size() == runs.size()) rows.push_back(std::move(row));
  }
  return rows;
}

/// Relative spread of values; infinite where some are missing or 0 and others are not.
double spread_of(const std::vector<std::optional<double>>& values) {
  double least = kInfinity, most = -kInfinity;
  bool missing = false;
  for (const auto& value : values) {
    missing = missing || !value;
    if (!value) continue;
    least = std::min(least, *value);
    most = std::max(most, *value);
  }
  if (most < least) return 0;  // none is there
  if (missing) return kInfinity;
  if (most == least) return 0;
  return least > 0 ? most / least - 1 : kInfinity;
}

/// A comparison: what differs with a column for each run, the rest with one value for all.
struct CompareTable {
  std::vector<Row> different, equal;
};

CompareTable compare_table(const std::vector<NamedSummary>& runs) {
  CompareTable result;
  const auto values_of = [&](const std::string& path) {
    std::vector<std::optional<double>> values;
    for (const NamedSummary& run : runs) values.push_back(number(run.summary, path));
    return values;
  };
  const auto add = [&](const std::string& label, const std::vector<std::optional<double>>& values,
                       const std::function<std::string(double)>& show, bool differs) {
    if (std::all_of(values.begin(), values.end(), [](const auto& v) { return !v || *v == 0; }))
      return;
    Row row{label};
    for (const auto& value : values) {
      row.push_back(value ? show(*value) : "-");
      if (!differs) break;
    }
    (differs ? result.different : result.equal).push_back(std::move(row));
  };

  const auto times = values_of("/iteration_time_s");
  const Ranking ranking = ranked(runs);
  add("iteration time", times, seconds_text, ranking.spread > kDiffers);
  if (ranking.spread > kDiffers) {
    auto ratios = times;
    for (auto& ratio : ratios) ratio = *ratio / *times[ranking.winner];
    add("  of the fastest", ratios, factor_text, true);
  }

  // Parts of the iteration: those that differ by most seconds first.
  struct Entry {
    Part part;
    std::vector<std::optional<double>> values;
    double seconds;
    bool differs;
  };
  std::vector<Entry> entries;
  for (const Part& part : parts_of_an_iteration()) {
    Entry entry{part, values_of(part.path), 0, false};
    double least = kInfinity, most = 0;
    for (const auto& value : entry.values) {
      least = std::min(least, value.value_or(0));
      most = std::max(most, value.value_or(0));
    }
    entry.seconds = most - least;
    // A millionth of an iteration is no difference, whatever it is relative to its part.
    entry.differs = spread_of(entry.values) > kDiffers &&
                    entry.seconds > 1e-6 * times[ranking.winner].value_or(0);
    entries.push_back(std::move(entry));
  }
  std::stable_sort(entries.begin(), entries.end(),
                   [](const Entry& a, const Entry& b) { return a.seconds > b.seconds; });
  for (const Entry& entry : entries)
    add(entry.part.name, entry.values, seconds_text, entry.differs);

  const auto add_rows = [&](const std::vector<CompareRow>& rows) {
    for (const CompareRow& row : rows) {
      const auto values = values_of(row.path);
      add(row.label, values, row.show, spread_of(values) > kDiffers);
    }
  };
  add_rows(performance_rows());
  for (const CollectiveRow& row : collective_rows(runs))
    add(row.label, row.busbw, rate_text, spread_of(row.busbw) > kDiffers);
  add_rows(fabric_rows());
  return result;
}

}  // namespace

Json compare(const std::vector<NamedSummary>& runs) {
  check(!runs.empty(), "a comparison needs a run");
  const auto [winner, slowest, spread] = ranked(runs);
  Json json;
  json["schema"] = "weft/compare/1";
  json["scenario"] = text(runs[0].summary, "/scenario");
  json["winner"] = runs[winner].name;
  json["slowest"] = runs[slowest].name;
  json["spread"] = spread;
  json["fabrics_differ"] = spread > kMatters;
  json["network_matters"] = spread > kMatters || communication_is_exposed(runs);
  const auto part = largest_difference(runs[slowest].summary, runs[winner].summary);
  json["largest_difference"] = nullptr;
  if (part) {
    const double slow = number_or_zero(runs[slowest].summary, part->path);
    const double fast = number_or_zero(runs[winner].summary, part->path);
    json["largest_difference"] = {{"part", part->name}, {"winner_s", fast}, {"slowest_s", slow}};
  }
  json["sentences"] = compare_sentences(runs);
  json["fabrics"] = Json::array();
  for (const NamedSummary& run : runs) {
    const Json& summary = run.summary;
    const auto copy = [&](const char* path) {
      const Pointer pointer(path);
      return summary.contains(pointer) ? summary.at(pointer) : Json(nullptr);
    };
    const double best = iteration_time(runs[winner]);
    const bool timed = number(summary, "/time/compute_s").has_value();
    Json& entry = json["fabrics"].emplace_back(Json::object());
    entry["name"] = run.name;
    entry["kind"] = copy("/fabric/kind");
    entry["routing"] = copy("/routing");
    entry["iteration_time_s"] = copy("/iteration_time_s");
    entry["ratio_to_winner"] = best > 0 ? Json(iteration_time(run) / best) : Json(nullptr);
    entry["compute_s"] = copy("/time/compute_s");
    entry["bubble_s"] = copy("/time/bubble_s");
    entry["exposed_s"] = timed ? Json(exposed_total(summary)) : Json(nullptr);
    entry["exposed_fabric_s"] = copy("/time/exposed_fabric_s");
    entry["idle_s"] = copy("/time/idle_s");
    entry["mfu"] = copy("/utilization/mfu");
    entry["tokens_per_s"] = copy("/throughput/tokens_per_s");
    entry["slowdown"] = copy("/network/slowdown");
    entry["fct_s"] = copy("/network/fct_s");
    entry["max_utilization"] = copy("/network/max_utilization");
    entry["bottleneck"] = copy("/network/bottleneck");
    entry["switches"] = copy("/fabric/switches");
    entry["cables"] = copy("/fabric/cables");
    entry["bisection_bps"] = copy("/fabric/bisection_bps");
    entry["oversubscription"] = copy("/fabric/oversubscription");
  }
  return json;
}

std::string comparison_report(const std::vector<NamedSummary>& runs) {
  check(!runs.empty(), "a comparison needs a run");
  std::vector<std::string> names;
  for (const NamedSummary& run : runs) names.push_back(run.name);
  std::string result =
      wrapped(fmt::format("{}: {} on {}", text(runs[0].summary, "/scenario"),
                          counted(number_or_zero(runs[0].summary, "/fabric/gpus"), "GPU", "GPUs"),
                          listed(names))) +
      '\n';
  for (const std::string& sentence : compare_sentences(runs)) result += wrapped(sentence);

  const CompareTable rows = compare_table(runs);
  if (!rows.different.empty()) {
    // As many fabrics beside each other as fit; more of them follow below.
    const auto column = [&](std::size_t run) {
      std::size_t width = clipped(names[run], kLongestName).size();
      for (const Row& row : rows.different) width = std::max(width, row[run + 1].size());
      return width + 2;
    };
    std::size_t label = std::string_view("what differs").size();
    for (const Row& row : rows.different) label = std::max(label, row[0].size());
    for (std::size_t begin = 0, end = 0; begin < runs.size(); begin = end) {
      std::size_t width = label + 2;
      for (; end < runs.size() && (end == begin || width + column(end) <= kWidth); ++end)
        width += column(end);
      std::vector<Row> block{{"what differs"}};
      for (std::size_t i = begin; i < end; ++i) block[0].push_back(clipped(names[i], kLongestName));
      for (const Row& row : rows.different) {
        Row& some = block.emplace_back(Row{row[0]});
        for (std::size_t i = begin; i < end; ++i) some.push_back(row[i + 1]);
      }
      result += '\n' + table(block);
    }
  }
  if (!rows.equal.empty())
    result += std::string(runs.size() > 1 ? "\nThe same on all (within 0.1 %)\n" : "\n") +
              table(rows.equal);

  result += "\nBusiest link of each\n";
  std::vector<Row> links;
  for (const NamedSummary& run : runs) {
    const Json& bottleneck = run.summary.at(Pointer("/network/bottleneck"));
    const Json& top = run.summary.at(Pointer("/network/top_links"));
    if (bottleneck.is_null() && top.empty()) continue;
    const Json& link = bottleneck.is_null() ? top[0] : bottleneck;
    const auto full = number(link, "/saturated_s");
    links.push_back({run.name, link_place(link),
                     percent_text(number_or_zero(link, "/mean_utilization")) + " used",
                     full ? "full " + seconds_text(*full) : "-",
                     fmt::format("{:.0f} flows at once", number_or_zero(link, "/peak_flows"))});
  }
  return result + table(links, 2);
}

}  // namespace weft
