"""Stored text as data inside a prompt: it can neither close its fence nor open another one."""

from xml.sax.saxutils import escape


def fenced(tag: str, text: str, **attributes: str | None) -> str:
    """Return the text, escaped, inside `<tag ...>`; attributes that are None are left out."""
    shown = "".join(
        f' {name}="{escape(value, {chr(34): "&quot;"})}"'
        for name, value in attributes.items()
        if value is not None
    )
    return f"<{tag}{shown}>{escape(text)}</{tag}>"
