# From result lines, one per bench, to the page. A bench that is unknown here is an error: its
# numbers would be left out in silence.

def num(digits): if . == null then "-" else
  (. * pow(10; digits) | round / pow(10; digits) | tostring) as $s
  | if digits == 0 then $s
    else ($s | split(".")) as $p | $p[0] + "." + (($p[1] // "") + "0000000000")[0:digits] end
  end;
def percent(digits): if . == null then "-" else (. * 100 | num(digits)) + " %" end;
def row: "| " + (map(tostring) | join(" | ")) + " |";
def table(head; rows): [head | row], [head | map("---") | row], (rows | row) | if type == "array" then .[] else . end;

# Text at 120 columns: `page` joins what stands between empty lines, tables and headings, and fills.
def fill: reduce splits(" +") as $w ([]; if length == 0 then [$w]
  elif (.[-1] | length) + 1 + ($w | length) <= 120 then .[-1] += " " + $w else . + [$w] end) | .[];
def page(lines):
  reduce lines as $l ({out: [], text: []};
    if $l == "" or ($l | test("^[|#]")) then .out += [(.text | join(" ") | select(. != "") | fill), $l] | .text = []
    else .text += [$l] end)
  | .out[], (.text | join(" ") | select(. != "") | fill);

# Milliseconds by stage: cells are {name, stages, rest}; share of each column beside them.
def stage_table(cells):
  cells as $c
  | ($c | map((.stages | add) + .rest)) as $sums
  | ($c[0].stages | keys_unsorted | map(select(. != "profile" or any($c[]; .stages.profile > 0)))) as $names
  | table(["ms per evaluation"] + ($c | map(.name));
      ($names + ["the rest"])[] as $n
      | [$n] + [range($c | length) as $i
          | (if $n == "the rest" then $c[$i].rest else $c[$i].stages[$n] end) as $ms
          | ($ms | num(2)) + " (" + (($ms / $sums[$i]) | percent(0)) + ")"]);

def throughput:
  "Distinct small candidates go through all stages. The table compares this with the compiler alone, with the same sources and",
  "as many jobs. *Whole* is the command from start to end, including the start of workers, the building of references and the",
  "filling of pools. *Steady* is the second half of the candidates. No cache is used.", "",
  "With timing off, all problems together reach **\(.ratio_off | percent(1))** of gcc alone (whole) and **\(.ratio_off_steady | percent(1))**",
  "(steady). The aim is 70 %. \(.candidates) candidates of each problem, \(.jobs) jobs.", "",
  table(["candidates/s", "gcc before", "gcc after", "timing off, whole", "of gcc", "timing off, steady", "of gcc", "timing on, steady"];
    .rows[] | [.problem, (.gcc_before_per_s | num(2)), (.gcc_after_per_s | num(2)), (.off_per_s | num(2)),
      (.ratio_off | percent(1)), (.off_steady_per_s | num(2)), (.ratio_off_steady | percent(1)), (.on_steady_per_s | num(2))]),
  "", "Time of a job by stage, timing off:", "",
  stage_table(.rows | map({name: .problem, stages: .stage_ms_off, rest: .rest_ms_off})),
  (if .rows | all(.stage_ms_on) then "", "With timing on:", "",
     stage_table(.rows | map({name: .problem, stages: .stage_ms_on, rest: .rest_ms_on})) else empty end);

def staged:
  "In a staged evaluation a stage that fails ends the evaluation. This is compared with the preset `unstaged`. The replies are 20 %",
  "without code or refused by the static check, 30 % compile errors, 20 % crashes or wrong answers at tiny size, and 30 % correct.",
  "Whole commands, no cache, \(.jobs) jobs.", "",
  table(["timing", "replies", "staged/s", "unstaged/s", "gain"];
    .rows[] | [(if .timing then "on" else "off" end), .replies, (.staged_per_s | num(2)), (.unstaged_per_s | num(2)),
      (.gain | num(2)) + " times"]),
  (.rows[] | "", "Timing \(if .timing then "on" else "off" end):", "",
    stage_table([{name: "staged", stages: .stage_ms_staged, rest: .rest_ms_staged},
                 {name: "unstaged", stages: .stage_ms_unstaged, rest: .rest_ms_unstaged}]));

def sandbox:
  "Time from start to end of a trivial program, a compilation and a runner: bare, and with the steps of the ladder",
  "([security.md](security.md)). The variants take turns. Confining one compilation and one runner costs",
  "\(.confinement_ms | num(2)) ms, **\(.share | percent(1))** of one evaluation of `\(.problem)` with timing off",
  "(\(.evaluation_ms | num(1)) ms), at isolation L\(.isolation_level).", "",
  table(["what", "n", "median, ms", "p90, ms"];
    .rows[] | [.what, .n, (.median_ms | num(3)), (.p90_ms | num(3))]);

def memory:
  "Memory of the long-lived processes over \(.evaluations) evaluations of cheap candidates by one worker (good, wrong, crashing,",
  "broken; three small problems; timing off), sampled every \(.between). The slope is that of the peak over the last two thirds.", "",
  table(["process", "resident, first", "resident, last", "peak, first", "peak, last", "slope, KB per 1000"];
    .roles[] | [.role, "\(.rss_first_kb) KB", "\(.rss_last_kb) KB", "\(.peak_first_kb) KB", "\(.peak_last_kb) KB",
      (.slope_kb_per_1000 | num(1))]);

def timing:
  "The reference is timed against itself, with fresh processes in each of \(.repetitions) repetitions. The ratio should be 1.",
  "Variation is that of the estimated time. `kgym eval` uses `paired`.", "",
  table(["kernel", "other core", "method", "median, us", "variation", "ratios within 1 %", "middle 95 % of ratios", "interval holds 1"];
    .rows[] | [.kernel, .load, .method, (.median_ns / 1000 | num(1)), (.cv | percent(2)), (.within_1_percent | percent(1)),
      (.ratio_p025 | num(4)) + " to " + (.ratio_p975 | num(4)), (.holds_1 | percent(1))]);

def extract:
  "CPU time of extraction and static check in microseconds, \(.repetitions) repetitions each. The hostile kinds make a careless",
  "scanner quadratic. The aim is under 1000 us for 20 KB.", "",
  table(["reply", "bytes", "code found", "extract, median", "p99", "check, median", "p99"];
    .rows[] | [.kind, .bytes, (if .found then "yes" else "no" end), (.extract_median_us | num(1)), (.extract_p99_us | num(1)),
      (.check_median_us | num(1)), (.check_p99_us | num(1))]);

def separation:
  "Dot products of length K by honest methods and by reduced precision, judged as the gym judges them. A cell is the largest error",
  "over its bound (above 1: refused), by law, the kind of input values ([verification.md](verification.md)). Honest methods refused:",
  "**\(.honest_refused)**. Reduced precision passed by the precision probe: **\(.reduced_passed_probe)**. \(.rows) rows.", "",
  (.cells | map(.k) | unique) as $ks
  | table(["law", "method"] + ($ks | map("K = \(.)"));
      (.cells | group_by([.law, .method])[]) as $g
      | [$g[0].law, $g[0].method]
        + ($ks | map(. as $k | $g[] | select(.k == $k) | (.worst | num(3)) + (if .pass then "" else " refused" end))));

def lm:
  "The model of configs/demo.yaml (\(.parameters) parameters, f32, \(.threads) threads, form \(.form)) in the engine, and the same model",
  "with the same work in \(.peer), in turns in one run. Training: forward, cross entropy, backward, clipping and AdamW. Plain",
  "PyTorch: joined projections, `scaled_dot_product_attention`, fused AdamW. Sampling: 128 conversations at once, prompts of 96",
  "tokens, replies of 160, temperature 1. Aims: training 1 times the faster PyTorch, sampling 2 times `generate`, 35k and 20k tokens/s.", "",
  (. as $r | table(["tokens/s", "best", "median", "engine is, best", "engine is, median"];
    (["training, engine", "train", null], ["training, plain PyTorch", "train_torch", "train"],
     ["training, transformers", "train_transformers", "train"], ["sampling, engine", "sample", null],
     ["sampling, `generate` of transformers", "sample_transformers", "sample"]) as [$name, $key, $to]
    | $r[$key] as $x | select($x != null)
    | [$name, ($x.best | num(0)), ($x.median | num(0))]
      + if $to == null then ["", ""] else ["best", "median"] | map(($r[$to][.] / $x[.] | num(2)) + " times") end));

def train_eval:
  "Distinct right candidates of generated chains ([chains.md](chains.md)), in styles of the generator, through all stages by two",
  "presets. \(.jobs) jobs, no cache. `train` is **\(.train_of_default | num(1)) times** as fast (steady). Broken candidates cost less. The aim is",
  "20 a second under `train` on 2 cores.", "",
  table(["preset", "problems", "candidates", "whole/s", "steady/s"];
    .rows[] | [.preset, .problems, .candidates, (.whole_per_s | num(2)), (.steady_per_s | num(2))]), "",
  stage_table(.rows | map({name: .preset, stages: .stage_ms, rest: .rest_ms}));

def train_share:
  "A short run of configs/demo.yaml with the real gym: \(.steps) steps of RL in \(.seconds | num(1)) s, \(.tokens_per_s | num(0)) tokens and",
  "\(.evaluations_per_s | num(1)) evaluations a second. Generation: the engine draws, and the gym judges meanwhile. Evaluation: nothing is left",
  "to draw, and a verdict is waited for. Outside is the rest: **\(.outside_share | percent(1))**. The aim is 3 %.", "",
  table(["part", "seconds", "ms a step", "share"];
    (["generation", .generation_s], ["evaluation", .evaluation_s], ["update", .update_s], ["outside", .outside_s]) as [$name, $s]
    | [$name, ($s | num(2)), (1000 * $s / .steps | num(1)), ($s / .seconds | percent(1))]);

def train_memory:
  "Resident memory of `kgym train` over \(.steps) steps of a model that is nearly untrained. The journal keeps a key and a place in",
  "its file for each distinct reply of a run, about 120 bytes.", "",
  table(["step", "resident"]; [.first, "\(.first_kb) KB"], [.steps, "\(.last_kb) KB"]), "",
  "Growth: \(.slope_kb | num(2)) KB a step, \(.bytes_a_reply | num(0)) bytes a distinct reply.";

# Shares of 1 that sum to it, as one row.
def shares_table(head; shares):
  shares as $s | table([head] + ($s | keys_unsorted); ["share"] + ($s | map(percent(1)) ));

def torch_throughput:
  "Distinct correct Triton candidates over \(.operators // [range(8)] | length) operators (\(.problems // "short") ones) go through all stages with timing. None was",
  "compiled before, and every call is verified. \(.jobs) jobs share one \(.device). Compared with a fresh interpreter for each evaluation",
  "(one comparison, 50 calls timed by events), with \(.fresh) of the same candidates. [gpu.md](gpu.md) says what bounds it.", "",
  table(["candidates", "`ok`", "timed", "evaluations/s", "steady", "fresh interpreters/s", "times"];
    [.candidates, .ok, .timed, (.per_s | num(2)), (.steady_per_s | num(2)), (.fresh_per_s | num(2)), (.per_s / .fresh_per_s | num(1))]),
  if .beside then "", "With contexts made beside what is timed (`torch.contexts_apart=false`), another set of candidates reached",
    "\(.beside.per_s | num(2)) evaluations/s, steady \(.beside.steady_per_s | num(2)); \(.beside.ok) `ok`, \(.beside.timed) timed." else empty end,
  "", "Pairs used: \(.pairs | to_entries | map("\(.key) (\(.value) times)") | join(", ")).", "",
  if .operators then
    table(["operator", "timed", "reference, us", "candidates, us: median", "p10", "p90", "pairs, mean"];
      .operators[] | [.operator, .timed, (.reference_us | num(0))]
        + (.candidate_us_median_p10_p90 | map(num(0))) + [(.pairs | num(1))]), "" else empty end,
  if .trace then "Shares of time of the device and of the workers, each moment counted once:", "",
    shares_table("device"; .trace.device), "", shares_table("\(.trace.workers) workers"; .trace.work), "" else empty end,
  stage_table([{name: "one job", stages: .stage_ms, rest: .rest_ms}]);

def torch_extension:
  "Time to the verdict of candidates that compile, \(.sources) of each kind, on \(.device). Cold: the source was never judged before.",
  "Warm: the same sources again, in another kgym. Times are those of the stages in the records, without the start of Python.", "",
  table(["kind", "cold, s", "warm, s", "times faster", "no cache, s"];
    .kinds[] | [.kind, (.seconds.cold | num(2)), (.seconds.warm | num(2)), (.cold_over_warm | num(1)), (.seconds.off | num(2))]);

# Standard deviations of log ratios by what differs: the candidate's process, and the reference's, of
# which there may be one.
def variance: (add / length) as $mean | (map(. - $mean | . * .) | add) / (length - 1);
def by_process:
  .log_ratios as $l | (.references_upto // [$l | length]) as $upto
  | [range($upto | length) as $r | $l[(if $r > 0 then $upto[$r - 1] else 0 end):$upto[$r]]]
  | if any(.[]; length < 2) then [null, null]
    else (map(variance) | add / length) as $own
    | [($own | sqrt), if length < 2 then null
         else [0, (map(add / length) | variance) - $own * length / ($l | length)] | max | sqrt end] end;

def null_rows(rows):
  table(["kernel", "commit", "repetitions", "references", "median us", "K", "K p10", "K p90", "asked for", "pairs", "within 0.5 %", "1 %", "2 %", "5 %", "median of ratios", "candidates differ by", "references"];
    (rows[] | [(if .kernel | test("product") then .kernel else "\(.kernel), sin" end), .commit, (.log_ratios | length), (.references_upto // [0] | length), (.median_us | num(1))]
      + [.k_us_median_p10_p90[] | num(1)] + ["\((.half_width // 0.0025) * 100 | num(3)) %", (.pairs | num(0))]
      + [."within_pct_0.5_1_2_5"[] | "\(num(0)) %"] + [.log_ratios | sort | .[length / 2 | floor] | exp | num(4)] + [by_process[] | percent(2)]));

def torch_null:
  "The reference is timed against itself by the whole path on one \(.device). One side has a fresh process in each repetition, the",
  "other in some. The requested half-widths are mostly not reached, so this shows what the clock can resolve. Evaluations are timed",
  "with fewer pairs ([timing.md](timing.md)). `sin` is applied several times in one call; a product is one launch. K is the window",
  "of an empty kernel, and its tenths show the jitter of the processor's part. The last two columns are standard deviations: of",
  "ratios to one process of the reference, and of the additional differences between such processes.", "",
  null_rows(.rows),
  if .beside | length > 0 then "", "While another process makes contexts:", "", null_rows(.beside) else empty end;

def titles: {throughput: "Throughput", staged: "What staged evaluation gains", sandbox: "What the sandbox costs", memory: "Memory",
  timing: "Timing: how well equal kernels look equal", extract: "Extraction and static check", separation: "Reordering and reduced precision",
  torch_throughput: "PyTorch on a GPU: throughput", torch_null: "PyTorch on a GPU: null test",
  torch_extension: "PyTorch on a GPU: builds", lm: "The engine beside PyTorch and transformers",
  train_eval: "Evaluations of a training run", train_share: "Where the time of a step of RL goes",
  train_memory: "Memory of a training run"};

def section:
  (titles[.bench] // error("no section for the bench `\(.bench)`")) as $title
  | "", "## \($title)", "",
  "`\(.command)`, \(.host.date), \(.host.cpu), \(.host.cores) cores, Linux \(.host.kernel), \(.host.compiler), kgym \(.host.kgym),",
  "load at the start \(.host.load_1_min | num(2))\(if .commit then ", commit \(.commit)" else "" end).", "",
  (.bench as $b | .result | if $b == "throughput" then throughput elif $b == "staged" then staged elif $b == "sandbox" then sandbox
   elif $b == "memory" then memory elif $b == "lm" then lm elif $b == "train_eval" then train_eval
   elif $b == "train_share" then train_share elif $b == "train_memory" then train_memory elif $b == "timing" then timing elif $b == "extract" then extract
   elif $b == "torch_throughput" then torch_throughput elif $b == "torch_null" then torch_null
   elif $b == "torch_extension" then torch_extension else separation end);

page(
  "# Measurements",
  "",
  "Printed by `tools/benchmarks.sh` from `bench/results/`; do not edit. `make bench` measures. It takes about a quarter of an hour on",
  "an idle host; `bench/run.sh build/release full` takes about an hour more. `tools/benchmarks.sh keep` takes the results over.",
  "Ratios compare runs of one command on one host. Times of different hosts are not comparable. Words of this project are in the",
  "[glossary](glossary.md).",
  (if length == 0 then "", "There are no kept results yet." else .[] | section end))
