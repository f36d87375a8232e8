"""The scripts that teach bash, zsh and fish to complete ckpt's words; none of them evaluates a word that it is given.

Each hands the line as it is typed to ckpt, in ``_CKPT_LINE``, and reads one word a line, for zsh and fish with a
description behind a tab. `ckpt_cli.completion.words` makes these lines.
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
"""bash puts a word into the line as it is, so ckpt quotes it; ``$2`` is the piece that bash will put it in place of."""

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
"""``compadd`` takes words and descriptions as data, and quotes a word for the place where it is put."""

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
"""fish takes what a function prints as data, and quotes a word for the place where it is put."""

SCRIPTS = {"bash": BASH, "zsh": ZSH, "fish": FISH}


def script(shell: str) -> str:
    """The script of a shell, as Typer fills it in; empty where there is none."""
    names = {"complete_func": "_ckpt_completion", "prog_name": "ckpt", "autocomplete_var": "_CKPT_COMPLETE"}
    return (SCRIPTS[shell] % names).strip() if shell in SCRIPTS else ""


def teach() -> None:
    """Have Typer give out our scripts in place of its own.

    Typer's (0.29 ``_completion_shared.py``) are safe too, where its insides are not as expected and it gives out those:
    what ckpt answers to them is plain words alone (`ckpt_cli.completion.words`).
    """
    from typer import _completion_shared

    scripts = getattr(_completion_shared, "_completion_scripts", None)
    if isinstance(scripts, dict):
        scripts.update(SCRIPTS)
