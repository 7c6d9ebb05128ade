#!/usr/bin/env bash
# The whole image path on one machine with an NVIDIA GPU: build the cuda image from our Dockerfile, serve the tiny model
# with and without MTP, print tok/s of both and that llama.cpp really uses the GPU.
#
#   bench/gpu_check.sh SOURCE.tar.gz CUDA_DEVEL_IMAGE CUDA_RUNTIME_IMAGE [INSTANCE_TYPE] [MODEL.gguf]
#
# Needs: docker with the NVIDIA container toolkit, nvidia-smi, curl, python3, and this project with its `rehearsal` extra
# (it writes the tiny model). INSTANCE_TYPE chooses the flags: g5.xlarge (sm_86, the default) or g6e.xlarge (sm_89).
# A MODEL.gguf of your own, with an MTP head, gives numbers that mean something; the tiny model only shows that it works.
# About half an hour, nearly all of it nvcc. Exit 0: both runs answered, on the GPU, and drafts were accepted.
#
# As of 2026-12-01 this has been checked by shellcheck and `bash -n` only: it was never run on a GPU.
set -euo pipefail

if [ $# -lt 3 ]; then
  sed -n '2,13s/^# \{0,1\}//p' "$0" >&2
  exit 2
fi
source_archive=$1
devel=$2
runtime=$3
type=${4:-g5.xlarge}
model=${5:-}

root=$(cd "$(dirname "$0")/.." && pwd)
deployer=${DEPLOYER:-deployer}
python=${PYTHON:-python3}
port=${PORT:-18080}
name=deployer-gpu-check-$$
work=$(mktemp -d)

finish() {
  docker rm --force "$name" > /dev/null 2>&1 || true
  rm -rf "$work"
}
trap finish EXIT

for program in docker nvidia-smi curl "$python" "$deployer"; do
  command -v "$program" > /dev/null || { echo "$program is not here" >&2; exit 3; }
done
nvidia-smi --query-gpu=name,compute_cap,driver_version,memory.total --format=csv,noheader

if [ -z "$model" ]; then
  model=$work/tiny.gguf
  (cd "$root" && "$python" -c 'import sys
from pathlib import Path
from deployer.rehearsal import tiny_model
tiny_model.write(Path(sys.argv[1]), endless=True)' "$model")
fi
chmod 755 "$work"
model=$(realpath "$model")

built=$("$deployer" image build "$type" --source "$source_archive" --build-image "$devel" --base "$runtime" \
  --model "$model" --json | tee /dev/stderr | tail -n 1)
image=$("$python" -c 'import json, sys; print(json.loads(sys.argv[1])["image"])' "$built")

docker run --rm --gpus all "$image" --list-devices | tee "$work/devices"
grep -q CUDA "$work/devices" || { echo "llama.cpp sees no GPU" >&2; exit 1; }

# serve LABEL [FLAG...]: start, ask, print what was measured, stop.
serve() {
  local label=$1
  shift
  docker run --detach --name "$name" --init --gpus all --network host --cap-drop ALL --security-opt no-new-privileges \
    --mount "type=bind,readonly,src=$model,dst=/model.gguf" "$image" \
    --host 127.0.0.1 --port "$port" -m /model.gguf -c 4096 -np 1 -ngl 99 -fa on --no-ui "$@" > /dev/null
  local waited=0
  until curl --fail --silent "http://127.0.0.1:$port/health" > /dev/null; do
    if [ "$(docker inspect --format '{{.State.Running}}' "$name")" != true ] || [ $((waited += 1)) -gt 600 ]; then
      docker logs "$name" 2>&1 | tail -n 20 >&2
      return 1
    fi
    sleep 1
  done
  local body='{"prompt": "Write a long story about the sea.", "n_predict": 256, "temperature": 0}'
  # The first answer warms the GPU up.
  curl --fail --silent --data "$body" "http://127.0.0.1:$port/completion" > /dev/null
  curl --fail --silent --data "$body" "http://127.0.0.1:$port/completion" > "$work/$label.json"
  docker logs "$name" > "$work/$label.log" 2>&1
  grep -E 'offloaded [0-9]+/[0-9]+ layers to GPU' "$work/$label.log" || true
  docker stop --time 10 "$name" > /dev/null
  docker rm "$name" > /dev/null
}

serve plain
serve mtp --spec-type draft-mtp --spec-draft-n-max 2 --spec-draft-p-min 0.0

"$python" - "$work" << 'END'
import json
import sys
from pathlib import Path

timings = {label: json.loads(Path(sys.argv[1], f"{label}.json").read_text())["timings"] for label in ("plain", "mtp")}
plain, mtp = (timings[label]["predicted_per_second"] for label in ("plain", "mtp"))
drafted, accepted = (timings["mtp"].get(key) or 0 for key in ("draft_n", "draft_n_accepted"))
print(f"without MTP {plain:.1f} tok/s; with MTP {mtp:.1f} tok/s ({mtp / plain:.2f}x), {accepted} of {drafted} drafts accepted")
sys.exit(0 if accepted else 1)
END
