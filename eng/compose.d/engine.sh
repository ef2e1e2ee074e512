# shellcheck shell=bash
# Sourced by eng/compose-test: a Docker engine from Debian packages in a scratch folder. It has namespaces of its own
# for processes, mounts and the network, so nobody's ports and packet filter are touched, and killing its first process
# removes everything that it started. That is a power cut for the containers, too.
# Debian 12's own engine and Compose are too old for the compose files; those of Debian 13 run on it (glibc 2.34).

engine_packages=(docker.io docker-cli docker-compose containerd)
engine='' enter=() group=payment-gateway-compose.$$

has_curl() { curl --rate 1/s --version >/dev/null 2>&1; }  # 7.84 or newer

# One line for each thing that this machine lacks.
engine_lacks() {
  local file
  [[ $(uname -sm) == 'Linux x86_64' ]] || say "Linux on x86-64 (this is $(uname -sm))"
  ((EUID == 0)) || say 'root'
  command -v apt-get >/dev/null || say 'apt-get, for the packages of the engine and of the stand-in images'
  ! command -v curl >/dev/null || has_curl || say 'curl 7.84 or newer'
  grep -qw overlay /proc/filesystems || say 'overlay file systems in the kernel'
  unshare --mount --net --pid --fork true 2>/dev/null || say 'namespaces for mounts, network and processes'
  for file in /sys/fs/cgroup/memory /sys/fs/cgroup/cgroup.subtree_control; do [[ ! -w $file ]] || return 0; done
  say 'cgroups that can be written'
}

mirror() { apt-get indextargets --format '$(SITE)' | grep -v security | sort -u | grep debian | head -n 1; }

# Programs that leave nothing running: what starts containers, what publishes their ports, what makes the tree.
engine_tools() {
  local tool lacking=()
  for tool in runc iptables debootstrap ip:iproute2 curl; do
    command -v "${tool%:*}" >/dev/null || lacking+=("${tool#*:}")
  done
  ((!${#lacking[@]})) || "$root/eng/setup" "${lacking[@]}"
}

engine_fetch() {  # into the cache, once
  local apt=$cache/apt options
  [[ ! -e $cache/engine/.complete ]] || return 0
  rm -rf "$cache/engine" "$apt"
  mkdir -p "$cache/engine" "$apt"/state/lists/partial "$apt"/cache/archives/partial "$apt/debs"
  say "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $(mirror) trixie main" >"$apt/trixie.list"
  options=(-qq -o Dir::State="$apt/state" -o Dir::Cache="$apt/cache" -o Dir::Etc::sourcelist="$apt/trixie.list"
    -o Dir::Etc::sourceparts=- -o Dir::State::status=/dev/null -o APT::Sandbox::User=root)
  apt-get "${options[@]}" update
  (cd "$apt/debs" && apt-get "${options[@]}" download "${engine_packages[@]}")
  for deb in "$apt"/debs/*.deb; do dpkg -x "$deb" "$cache/engine"; done
  rm -rf "$apt"
  touch "$cache/engine/.complete"
}

engine_use() {
  PATH=$cache/engine/usr/bin:$cache/engine/usr/sbin:$PATH
  export DOCKER_HOST=unix://$scratch/docker.sock DOCKER_CONFIG=$scratch/config
  mkdir -p "$DOCKER_CONFIG/cli-plugins" "$scratch/data"
  ln -sf "$cache"/engine/usr/libexec/docker/cli-plugins/* "$DOCKER_CONFIG/cli-plugins/"
}

# `unshare` is killed with this shell, the engine with `unshare`, all else in the process namespace with the engine.
engine_start() {
  rm -rf "$scratch/run" "$scratch/docker.pid" "$scratch/docker.sock"
  setsid setpriv --pdeathsig KILL unshare --mount --net --pid --fork --kill-child --mount-proc -- \
    sh -c 'ip link set lo up; exec "$@"' engine dockerd --host "$DOCKER_HOST" --data-root "$scratch/data" \
    --exec-root "$scratch/run" --pidfile "$scratch/docker.pid" --storage-driver overlay2 \
    --exec-opt native.cgroupdriver=cgroupfs --cgroup-parent "/$group" </dev/null >>"$scratch/engine.log" 2>&1 &
  unshare_pid=$!
  for _ in {1..300}; do
    engine=$(cat "/proc/$unshare_pid/task/$unshare_pid/children" 2>/dev/null) && engine=${engine%% *}
    enter=(nsenter --target "$engine" --net --mount --pid --)
    [[ ! $engine ]] || ! docker version >/dev/null 2>&1 || return 0
    sleep 0.1
  done
  tail -n 20 "$scratch/engine.log" >&2
  die 'the engine did not start'
}

engine_kill() {  # all of it at once, as a power cut does
  [[ $engine ]] || return 0
  kill -KILL "$engine" 2>/dev/null || true
  wait "$unshare_pid" 2>/dev/null || true
  engine='' enter=()
}

engine_remove() {
  engine_kill
  for _ in {1..50}; do
    ! find /sys/fs/cgroup -depth -type d -path "*/$group*" -exec rmdir {} + 2>&1 | grep -q . && break
    sleep 0.1
  done
}

# What the engine's containers and clients see.
in_engine() { "${enter[@]}" "$@"; }
