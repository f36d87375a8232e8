"""What bash needs to complete words with a colon, an equals sign or an @ in them; other shells take words as typed."""

BASH = """
%(complete_func)s() {
    local IFS=$'\\n' line="${COMP_LINE:0:COMP_POINT}" word
    word="${line##*[[:space:]]}"
    COMPREPLY=( $( env _TYPER_COMPLETE_ARGS="$line" _TYPER_COMPLETE_FISH_ACTION=get-args \\
                   %(autocomplete_var)s=complete_fish $1 | cut -f 1 ) )
    COMPREPLY=( "${COMPREPLY[@]#"${word%%"${word##*[:=@]}"}"}" )
    return 0
}

complete -o default -F %(complete_func)s %(prog_name)s
"""
"""Typer's script (typer 0.29 ``_completion_shared.py``) hands on the words as bash cuts them, ``branch``, ``:``, ``1``.

This one hands on the line, which is how ckpt is asked by fish, and takes from the answers what stands before the last
cut: bash puts them behind that.
"""


def teach() -> None:
    """Have Typer give out our script; where its insides are not as expected it gives out its own."""
    from typer import _completion_shared

    scripts = getattr(_completion_shared, "_completion_scripts", None)
    if isinstance(scripts, dict) and "bash" in scripts:
        scripts["bash"] = BASH
