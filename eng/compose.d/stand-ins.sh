# shellcheck shell=bash
# Sourced by eng/compose-test: images under the pinned names for where no registry can be reached, from one tree of
# Debian 12 packages. What they are like and where they differ from the real ones is in docs/containers.md.

tree_make() {  # into the cache, once
  local tree=$cache/tree
  [[ ! -e $cache/tree.complete ]] || return 0
  rm -rf "$tree"
  debootstrap --variant=minbase --include=ca-certificates bookworm "$tree" "$(mirror)" >"$scratch/tree.log" 2>&1 \
    || die "debootstrap failed: $(tail -n 1 "$scratch/tree.log")"
  cp /etc/resolv.conf "$tree/etc/"
  printf '#!/bin/sh\nexit 101\n' >"$tree/usr/sbin/policy-rc.d"  # nothing may be started in there
  chmod 755 "$tree/usr/sbin/policy-rc.d"
  mkdir -p "$tree/etc/postgresql-common/createcluster.d"
  say 'create_main_cluster = false' >"$tree/etc/postgresql-common/createcluster.d/none.conf"
  # The numbers that the real images give these users.
  chroot "$tree" sh -e >>"$scratch/tree.log" 2>&1 <<'END' || die "the tree failed: $(tail -n 1 "$scratch/tree.log")"
export DEBIAN_FRONTEND=noninteractive
groupadd -g 70 postgres
useradd -u 70 -g 70 -M -d /var/lib/postgresql -s /bin/sh postgres
groupadd -g 101 -f nginx || groupadd nginx
useradd -o -u 101 -g 101 -M -s /usr/sbin/nologin nginx
apt-get -q update
apt-get -q install -y --no-install-recommends postgresql-15 nginx-light busybox \
  gcc libc6-dev zlib1g-dev libicu72 libssl3 libstdc++6
ln -sf /bin/busybox /usr/bin/wget
install -d -o 70 -g 70 -m 1777 /var/lib/postgresql/data
install -d -o 70 -g 70 -m 3777 /var/run/postgresql
rm -rf /etc/nginx/modules-enabled/* /var/cache/apt/* /var/lib/apt/lists/*
rm -rf /usr/share/doc /usr/share/man /usr/share/locale
END
  touch "$cache/tree.complete"
}

# An image that is what another is, and what comes on the standard input as a tar file.
derive() {  # from, name, changes…
  local from=$1 name=$2 container changes=()
  shift 2
  while (($#)); do changes+=(-c "$1"); shift; done
  container=$(docker create "$from" true)
  docker cp - "$container":/ >/dev/null
  docker commit "${changes[@]}" "$container" "$name" >/dev/null
  docker rm "$container" >/dev/null
}

stand_ins_make() {
  local tree=$cache/tree
  tar -C "$tree" -c . | docker import - stand-in:tree >/dev/null
  stand_in_sdk
  stand_in_runtime
  tar -c -T /dev/null | derive stand-in:tree "$(pinned nginx)" 'CMD ["nginx", "-g", "daemon off;"]'
  tar -C "$root/eng/compose.d" --owner=0 --group=0 --mode=755 \
    --transform='s,^,usr/local/bin/,' -c postgres-entrypoint \
    | derive stand-in:tree "$(pinned postgres)" 'ENTRYPOINT ["postgres-entrypoint"]' 'CMD ["postgres"]' \
      'ENV PATH=/usr/lib/postgresql/15/bin:/usr/local/bin:/usr/bin:/bin PGDATA=/var/lib/postgresql/data' \
      'STOPSIGNAL SIGINT' 'VOLUME /var/lib/postgresql/data'
}

# With this machine's SDK and the packages that a restore wants, so that it needs no network.
stand_in_sdk() {
  local sdk project
  sdk=$(dirname "$(readlink -f "$(command -v dotnet)")")
  for project in PaymentGateway ProcessorSimulator; do
    dotnet restore "$root/src/$project" -r linux-x64 --packages "$scratch/packages" \
      -p:ArtifactsPath="$scratch/artifacts/" -p:RestoreAdditionalProjectSources="$HOME/.nuget/packages" \
      >"$scratch/restore.log" 2>&1 \
      || { tail -n 5 "$scratch/restore.log" >&2; die 'the packages could not be restored'; }
  done
  tar -c --transform="s,^${sdk#/},usr/share/dotnet," -C / "${sdk#/}" -C "$scratch" packages \
    | derive stand-in:tree "$(pinned sdk)" \
      'ENV PATH=/usr/share/dotnet:/usr/bin:/bin NUGET_PACKAGES=/packages DOTNET_NOLOGO=1' \
      'ENV DOTNET_CLI_TELEMETRY_OPTOUT=1'
}

# The packages of Microsoft's chiselled image: no zlib, no shell.
stand_in_runtime() {
  local list=$scratch/runtime.list
  chroot "$cache/tree" dpkg -L libc6 libgcc-s1 libssl3 libstdc++6 | grep -E '\.so' | grep -v gconv | sort -u \
    | while read -r file; do
      [[ ! -f $cache/tree$file ]] || say ".$(chroot "$cache/tree" readlink -m "${file%/*}")/${file##*/}"
    done | sort -u >"$list"
  printf './%s\n' lib lib64 bin sbin tmp etc/ssl/certs/ca-certificates.crt usr/lib64 >>"$list"
  tar -C "$cache/tree" --no-recursion -c -T "$list" \
    | docker import -c 'ENV ASPNETCORE_HTTP_PORTS=8080' - "$(pinned runtime-deps)" >/dev/null
}
