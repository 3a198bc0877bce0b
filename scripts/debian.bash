# Sourced: packages from other Debian suites. The machine's own package sources and what is installed stay as they are:
# lists and packages go into folders of their own, and are unpacked into the user's cache.

cache=${XDG_CACHE_HOME:-${HOME:?}/.cache}/evenkeel

# Whether something has been fetched into a cache.
holds() { [ -d "$1/qemu" ] || compgen -G "$1/vmlinuz-*" >/dev/null; }

# As `evenkeel vm` has it: for root by sudo it is that of the user who called it, if root has fetched nothing.
find_cache() {
    local home=
    [ -z "${XDG_CACHE_HOME:-}" ] && [ -n "${SUDO_UID:-}" ] && [ "$(id -u)" -eq 0 ] && ! holds "$cache" || return 0
    IFS=: read -r _ _ _ _ _ home _ < <(getent passwd "$SUDO_UID") || true
    ! holds "$home/.cache/evenkeel" || cache=$home/.cache/evenkeel
}
find_cache

die() {
    local line
    for line in "$@"; do echo "${0##*/}: $line" >&2; done
    exit 1
}

# The mirror that this machine uses for Debian itself.
mirror_of_debian() {
    local mirror
    mirror=$(apt-get indextargets --format '$(LABEL) $(REPO_URI)' 'Created-By: Packages' 2>/dev/null |
        sed -n 's/^Debian \(.*\)/\1/p' | head -n 1)
    [ -n "$mirror" ] || mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | grep -m 1 '/debian/*$' || true)
    echo "$mirror"
}

# Ends where there is no apt for amd64, or no mirror. `instead` is what to do there.
need_apt() {
    local instead=$1 tool
    for tool in apt-get dpkg-deb; do
        command -v "$tool" >/dev/null 2>&1 || die "this needs Debian's $tool." "$instead"
    done
    [ "$(dpkg --print-architecture)" = amd64 ] || die "there are packages for amd64 only." "$instead"
    mirror=$(mirror_of_debian)
    [ -n "$mirror" ] || die "apt here has no Debian mirror." "$instead"
}

# Goes to an empty folder and fetches the package lists of a suite there.
use_suite() {
    local suite=$1 instead=$2 keyring=/usr/share/keyrings/debian-archive-keyring.gpg mirror
    need_apt "$instead"
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    mkdir -p "$work/lists/partial" "$work/archives/partial"
    chmod 755 "$work"
    echo "deb [signed-by=$keyring] $mirror $suite main" >"$work/sources.list"
    apt=(-qq -o "Dir::Etc::sourcelist=$work/sources.list" -o Dir::Etc::sourceparts=/dev/null
        -o "Dir::State::lists=$work/lists" -o "Dir::Cache=$work" -o APT::Sandbox::User=root)
    apt-get "${apt[@]}" update >&2 || die "the package lists of $suite could not be fetched; is there a network?" "$instead"
    cd "$work"
}

# Downloads packages, which apt checks against the signed lists, and unpacks them into the folder `tree`. Its callers ask whether
# this fails, so that a line that does would not end it.
unpack() {
    local package
    apt-get "${apt[@]}" download "$@" >&2 || return
    for package in ./*.deb; do
        dpkg-deb -x "$package" tree || return
    done
    rm ./*.deb
}
