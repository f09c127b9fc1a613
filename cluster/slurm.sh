#!/bin/bash
# One search on the machines of a Slurm job. Copy this file, edit the lines marked (edit), and from the project's folder:
#
#   sbatch slurm.sh SPEC FOLDER [more options of `seedwise search`]
#
# Before its time limit the job saves everything and queues itself again; after any other end the same command goes on.
# Home or project folder must be visible on all machines (it has the virtual environment); Ray needs no more than that.

#SBATCH --job-name=seedwise
#SBATCH --nodes=2                 # (edit) machines
#SBATCH --gpus-per-node=4         # (edit) delete this line on machines without
#SBATCH --cpus-per-task=32        # (edit) cores per machine; all runs of a machine share them
#SBATCH --mem=0                   # all memory of a machine
#SBATCH --time=08:00:00           # (edit)
#SBATCH --ntasks-per-node=1       # one Ray per machine
#SBATCH --exclusive               # Ray is stopped by name at the end, and would stop that of another job of yours too
#SBATCH --no-kill                 # a machine that fails costs its runs, not the job
#SBATCH --signal=B:USR1@180       # three minutes before the time limit, to this shell alone
#SBATCH --requeue
#SBATCH --open-mode=append        # a job that runs again adds to its log
#SBATCH --output=%x-%j.log

set -euo pipefail
specification=${1:?usage: sbatch slurm.sh SPEC FOLDER [options of search]}
folder=${2:?usage: sbatch slurm.sh SPEC FOLDER [options of search]}
shift 2
export PATH="$PWD/.venv/bin:$PATH" # (edit) where python, ray and seedwise are installed

# This shell runs on the first machine. (edit) Another address of it where its first one is not on the fast network.
read -r here _ < <(hostname -I)
export RAY_ADDRESS="${here:?this machine has no address}:$((20000 + SLURM_JOB_ID % 10000))"
# Ray runs what reaches its ports, and others use this network: only processes with the token of this job may connect.
RAY_AUTH_TOKEN=$(python -c 'import secrets; print(secrets.token_hex(32))')
export RAY_AUTH_TOKEN RAY_AUTH_MODE=token
export RAY_py_gcs_connect_timeout_s=300 # how long the other machines look for the first, which waits for none of them

search=(search "$specification" --out "$folder" "$@")
if [ -s "$folder/ledger.jsonl" ]; then
    search=(resume "$folder")
fi

# Runs on the first machine. It notes the process id of the search, which is told to save while Ray lives on, and how
# the search ended. Ray is stopped here because `symmetric-run` would print a page about it.
# shellcheck disable=SC2016 # the inner shell is the one to expand this
first='python -m seedwise "$@" & echo $! >"$0"; wait $!; code=$?; ray stop >/dev/null 2>&1; echo $code >>"$0"'
notes=$(mktemp)
srun --nodes="$SLURM_JOB_NUM_NODES" --ntasks="$SLURM_JOB_NUM_NODES" --cpus-per-task="$SLURM_CPUS_PER_TASK" \
    --no-kill --wait=0 \
    ray symmetric-run --address "$RAY_ADDRESS" --num-cpus "$SLURM_CPUS_PER_TASK" --disable-usage-stats -- \
    bash -c "$first" "$notes" "${search[@]}" --address auto &
job=$!
told=no
trap 'told=yes; kill -TERM "$(head -n 1 "$notes")" 2>/dev/null || kill "$job"' USR1
while kill -0 "$job" 2>/dev/null && [ "$(wc -l <"$notes")" -lt 2 ]; do sleep 1; done
kill "$job" 2>/dev/null || true # the other machines would need a minute to notice that the first is gone
wait "$job" 2>/dev/null || true

code=$(sed -n 2p "$notes")
rm -f "$notes"
if [ $told = yes ] && [ "${code:-130}" -ge 128 ]; then
    scontrol requeue "$SLURM_JOB_ID"
elif [ -z "$code" ]; then
    echo "seedwise: the search did not start, or was killed; what Ray said is above." >&2
fi
exit "${code:-1}"
