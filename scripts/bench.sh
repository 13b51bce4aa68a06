#!/bin/sh
# Every benchmark in turn, one JSON file each under out/bench. Run it on a quiet machine: the figures are ratios of one run.
set -eu
mkdir -p out/bench
for name in keycount wordcount operators rescale planner placement bins nexmark-q1 nexmark-q3 nexmark-q5 nexmark-q8; do
    echo "whimbrel bench $name" >&2
    whimbrel bench "$name" --json >"out/bench/$name.json"
done
