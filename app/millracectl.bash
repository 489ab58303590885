# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# Completion of millracectl's commands and options, which it tells itself by --help.

_millracectl() {
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
    local words=() skip=false word list
    case $prev in
    -s | --socket | -c | --config)
        mapfile -t COMPREPLY < <(compgen -f -- "$cur")
        return
        ;;
    -t | --state)
        list="syn-sent syn-received established fin-wait-1 fin-wait-2 close-wait closing last-ack time-wait"
        [[ " ${COMP_WORDS[*]} " != *" tunnels "* ]] || list="verifying resolving connecting open half-closed"
        mapfile -t COMPREPLY < <(compgen -W "$list" -- "$cur")
        return
        ;;
    -p | --protocol)
        mapfile -t COMPREPLY < <(compgen -W tcp -- "$cur")
        return
        ;;
    -w | --worker | -i | --iface | -n | --watch | -f | --file | -m | --max-size | -l | --snaplen | \
        -L | --listener | -T | --timeout | -P | --proxy | -u | --user | -d | --target)
        COMPREPLY=()
        return
        ;;
    esac
    for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
        case $word in
        -s | -c | -w | -i | -n | -f | -m | -l | -t | -L | -p | -T | -P | -u | -d) skip=true ;;
        --socket | --config | --worker | --iface | --watch | --file | --max-size | --snaplen | --state | \
            --listener | --protocol | --timeout | --proxy | --user | --target)
            skip=true
            ;;
        -*) ;;
        *) $skip || words+=("$word") && skip=false ;;
        esac
    done
    if [[ ${words[0]} == doctor && $cur != -* ]]; then
        mapfile -t COMPREPLY < <(compgen -f -- "$cur")
        return
    fi
    list=$(millracectl "${words[@]}" --help 2>/dev/null)
    if [[ $cur == -* ]]; then
        list=$(sed -n 's/^  -., \(--[a-z-]*\).*/\1/p' <<<"$list")
    else
        list=$(sed -n 's/^  \([a-z][a-z ]*[a-z]\)   *[^ ].*/\1/p' <<<"$list" |
            cut -d ' ' -f $((${#words[@]} + 1)) -s | sort -u)
        [[ ${#words[@]} -gt 0 ]] || list=$(millracectl --help 2>/dev/null |
            sed -n 's/^  \([a-z]*\).*/\1/p' | sort -u)
    fi
    mapfile -t COMPREPLY < <(compgen -W "$list" -- "$cur")
}

complete -F _millracectl millracectl
