"""The completion scripts for bash, zsh and fish; no script evaluates the words that ckpt gives it.

Each script passes the typed line to ckpt in ``_CKPT_LINE`` and reads one word per line. For zsh and fish, a tab and a
description follow the word. `ckpt_cli.completion.words` writes these lines.
"""

BASH = """
%(complete_func)s() {
    local word
    COMPREPLY=()
    while IFS= read -r word; do
        COMPREPLY[${#COMPREPLY[@]}]="$word"
    done < <( env _CKPT_LINE="${COMP_LINE:0:COMP_POINT}" _CKPT_PIECE="$2" \\
              %(autocomplete_var)s=offer_bash "$1" 2>/dev/null )
}

complete -o default -F %(complete_func)s %(prog_name)s
"""
"""bash inserts a word into the line as it is, so ckpt quotes the word. bash replaces the piece ``$2`` with it."""

ZSH = """
#compdef %(prog_name)s

%(complete_func)s() {
  local word said
  local -a offered shown
  while IFS=$'\\t' read -r word said; do
    offered+=("$word")
    shown+=("$word${said:+  -- $said}")
  done < <( env _CKPT_LINE="${(j: :)words[1,CURRENT-1]} $QIPREFIX$PREFIX" \\
            %(autocomplete_var)s=offer_zsh %(prog_name)s 2>/dev/null )
  if (( $#offered )); then
    compadd -l -d shown -a offered
  else
    _files
  fi
}

if [[ ${zsh_eval_context[-1]} == loadautofunc ]]; then
  %(complete_func)s "$@"
else
  compdef %(complete_func)s %(prog_name)s
fi
"""
"""``compadd`` takes words and descriptions as data, and quotes a word for the place where it is inserted."""

FISH = """
function %(complete_func)s
    set -l line (commandline -cp | string collect)
    set -l offered (env _CKPT_LINE="$line" %(autocomplete_var)s=offer_fish %(prog_name)s 2>/dev/null)
    if set -q offered[1]
        printf '%%s\\n' $offered
    else
        __fish_complete_path (commandline -ct)
    end
end

complete --command %(prog_name)s --no-files --arguments '(%(complete_func)s)'
"""
"""fish takes the output of a function as data, and quotes a word for the place where it is inserted."""

SCRIPTS = {"bash": BASH, "zsh": ZSH, "fish": FISH}


def script(shell: str) -> str:
    """The complete script of a shell, with the same names that Typer would use; empty if there is no such script."""
    names = {"complete_func": "_ckpt_completion", "prog_name": "ckpt", "autocomplete_var": "_CKPT_COMPLETE"}
    return (SCRIPTS[shell] % names).strip() if shell in SCRIPTS else ""


def teach() -> None:
    """Make Typer (0.29 ``_completion_shared.py``) install and print our scripts instead of its own.

    If Typer's internals are not as expected, Typer uses its own scripts. They are safe too, because ckpt answers them
    with plain words only (`ckpt_cli.completion.words`).
    """
    from typer import _completion_shared

    scripts = getattr(_completion_shared, "_completion_scripts", None)
    if isinstance(scripts, dict):
        scripts.update(SCRIPTS)
