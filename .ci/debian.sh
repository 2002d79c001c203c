# SPDX-License-Identifier: Apache-2.0
# Functions to make and enter a Debian root; the scripts beside read this file.

# The host's settings for names, certificates and pip. A destination may be a link, which cp would
# follow out of the root.
_take_over() { [ ! -e "$1" ] || { mkdir -p "$(dirname "$2")" && cp -L --remove-destination "$1" "$2"; }; }
take_over_settings() {
  _take_over /etc/resolv.conf "$1/etc/resolv.conf"
  _take_over /etc/ssl/certs/ca-certificates.crt "$1/etc/ssl/certs/ca-certificates.crt"
  _take_over /etc/pip.conf "$1/etc/pip.conf"
  _take_over "$HOME/.pip/pip.conf" "$1/root/.config/pip/pip.conf"
  _take_over "$HOME/.config/pip/pip.conf" "$1/root/.config/pip/pip.conf"
}

# Runs a command in a root for installing, in a mount namespace of its own: every mount ends with it.
inside() {
  unshare --mount sh -ec 'mount -t proc proc "$0/proc"; exec chroot "$0" "$@"' "$1" \
    env DEBIAN_FRONTEND=noninteractive "${@:2}"
}

install_in() { inside "$1" apt-get install -y -qq --no-install-recommends "${@:2}"; }

# A mirror of Debian: that of the host where it is one, else Debian's own.
debian_mirror() {
  local found=
  if [ "$(. /etc/os-release && echo "$ID")" = debian ]; then
    found=$(apt-get indextargets --format '$(RELEASE) $(REPO_URI)' 'Created-By: Packages' |
      awk -v suite="$(. /etc/os-release && echo "$VERSION_CODENAME")" '$1 == suite { print $2; exit }')
  fi
  echo "${found:-http://deb.debian.org/debian/}"
}

# Makes FOLDER a minimal Debian of a SUITE.
bootstrap() {
  if ! { command -v debootstrap && [ -e /usr/share/keyrings/debian-archive-keyring.gpg ]; } >/dev/null; then
    apt-get update -qq && apt-get install -y -qq debootstrap debian-archive-keyring
  fi
  rm -rf --one-file-system "$1"
  mkdir -p "$(dirname "$1")"
  unshare --mount debootstrap --variant=minbase --include=ca-certificates "$2" "$1" "$(debian_mirror)"
  take_over_settings "$1"
}

# Refuses a machine where no root can be made, in one line.
needs_debian_host() {
  [ "$(id -u)" -eq 0 ] || { echo "$0: making a Debian root needs root rights" >&2; return 1; }
  command -v apt-get >/dev/null || { echo "$0: making a Debian root needs Debian or Ubuntu" >&2; return 1; }
}
