# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# Completion of millrace's options and of millrace cert.

_millrace() {
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} words
    case $prev in
    --config | -c | --check | --strict | --out)
        [[ $cur == -* ]] || {
            mapfile -t COMPREPLY < <(compgen -f -- "$cur")
            return
        }
        ;;
    --name | --days)
        COMPREPLY=()
        return
        ;;
    esac
    words="--config --no-hugepages --check --strict --example --version --help"
    if [[ ${COMP_WORDS[1]} == cert && $COMP_CWORD -gt 1 ]]; then
        words="--out --name --days --rsa --help"
    elif [[ $COMP_CWORD -eq 1 ]]; then
        words="cert $words"
    fi
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
}

complete -F _millrace millrace
