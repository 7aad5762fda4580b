#!/bin/sh
# Serves the database of a container, with the arguments as options. A database that is not there is made, and its superuser
# gets the password in LONGSHORE_PASSWORD, or in the file that LONGSHORE_PASSWORD_FILE names.
set -eu

directory=${LONGSHORE_DIRECTORY:-/var/lib/longshore/data}

if [ ! -e "$directory/manifest" ]; then
    if [ -n "${LONGSHORE_PASSWORD_FILE:-}" ]; then
        LONGSHORE_PASSWORD=$(cat "$LONGSHORE_PASSWORD_FILE")
    fi
    if [ -z "${LONGSHORE_PASSWORD:-}" ]; then
        echo "longshore: a new database needs LONGSHORE_PASSWORD or LONGSHORE_PASSWORD_FILE" >&2
        exit 1
    fi
    # From standard input, so that the list of processes does not show it.
    printf "ALTER ROLE longshore PASSWORD '%s';\n" "$(printf %s "$LONGSHORE_PASSWORD" | sed "s/'/''/g")" |
        longshore "$directory" -v ON_ERROR_STOP=1 -f - >/dev/null
fi
unset LONGSHORE_PASSWORD LONGSHORE_PASSWORD_FILE

exec longshore serve "$directory" "$@"
