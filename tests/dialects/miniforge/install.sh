#!/bin/sh
# The payload follows the last line of this script.
set -eu

ask() {
    printf '%s\n%s>>> ' "$1" "${2-}"
    read -r answer
}

printf '\nWelcome to Miniforge3\n\n'
ask 'In order to continue the installation process, please review the license
agreement.
Please, press ENTER to continue'
printf '\nThis program stands in for another. It may be used by everybody.\n\n'
ask 'Do you accept the license terms? [yes|no]'
while [ "$answer" != yes ] && [ "$answer" != no ]; do
    ask "Please answer 'yes' or 'no':'"
done
if [ "$answer" = no ]; then
    printf "The license agreement wasn't approved, aborting installation.\n"
    exit 2
fi

prefix=$HOME/miniforge3
ask "
Miniforge3 will now be installed into this location:
$prefix

  - Press ENTER to confirm the location
  - Press CTRL-C to abort the installation
  - Or specify a different location below
" "[$prefix] "
prefix=${answer:-$prefix}
if [ -e "$prefix" ]; then
    printf "ERROR: File or directory already exists: '%s'\n" "$prefix" >&2
    exit 1
fi

printf 'PREFIX=%s\nUnpacking payload ...\n' "$prefix"
mkdir -p "$prefix"
python3 -m venv --without-pip "$prefix"
first=$(grep -a -n '^# -- payload --$' "$0" | cut -d : -f 1)
tail -n "+$((first + 1))" "$0" | tar -x -C "$prefix" --no-same-owner
sed -i "1s|.*|#!$prefix/bin/python|" "$prefix/bin/conda"
printf 'installation finished.\n'

ask 'Do you wish to update your shell profile to automatically initialize conda?
This will activate conda on startup and change the command prompt when activated.
[yes|no]' '[no] '
if [ "$answer" = yes ]; then
    "$prefix/bin/conda" init
fi
printf '\nThank you for installing Miniforge3!\n'
exit 0
# -- payload --
