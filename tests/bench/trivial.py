"""The least a Typer program can be, by which start-up is measured."""

import typer

app = typer.Typer()


@app.command()
def main(name: str = "world") -> None:
    print(f"hello {name}")


app()
