#!/bin/sh
# Healthy means that llama-server answers where this container's command line says it listens; where it says nothing,
# HEALTH_URL is asked. Process 1 is the init, whose words hold the engine's own.
set -eu

word_after() {
  tr '\0' '\n' < /proc/1/cmdline | sed -n "/^$1\$/{n;p;q;}"
}

port=$(word_after --port)
if [ -n "$port" ]; then
  host=$(word_after --host)
  case $host in
    '' | 0.0.0.0 | ::) host=127.0.0.1 ;;
  esac
  scheme=http
  [ -z "$(word_after --ssl-cert-file)" ] || scheme=https
  HEALTH_URL="$scheme://$host:$port/health"
fi
# The certificate may be for another name: the question does not leave this machine.
exec curl --insecure --fail --silent --show-error --max-time 4 "$HEALTH_URL"
