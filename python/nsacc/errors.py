"""Errors, as exceptions.

    NsaccError
      CompileError    the program is wrong: file, line, column, diagnostics with notes
      ArgumentError   the tensors or the parameters don't fit the program (also a ValueError)
      TargetError     the target is unknown or isn't there
      InternalError   a mistake in nsacc

and code that is allowed but most likely wrong, as warnings of Python:

    UserWarning
      CompileWarning  of the program: has its diagnostic
      CacheWarning    the cache of code can't be used, which costs time alone
"""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["ArgumentError", "CacheWarning", "CompileError", "CompileWarning", "Diagnostic",
           "InternalError", "NsaccError", "TargetError"]


@dataclass(frozen=True)
class Diagnostic:
    """One message about a program.

    Lines and columns count from 1 and are 0 without a place; a column counts bytes.
    The end is one behind the last column.
    """

    severity: str
    """"error", "warning", "remark" or "note"."""
    message: str
    file: str = ""
    line: int = 0
    column: int = 0
    end_line: int = 0
    end_column: int = 0
    notes: tuple[Diagnostic, ...] = ()
    text: str = field(default="", repr=False)
    """The text that the command line prints, with source lines and carets; empty for notes."""

    def __str__(self) -> str:
        if self.text:
            return self.text.rstrip("\n")
        place = f"{self.file}:{self.line}:{self.column}: " if self.file else ""
        lines = [f"{place}{self.severity}: {self.message}", *map(str, self.notes)]
        return "\n".join(lines)


class NsaccError(Exception):
    """The base of all errors of nsacc, made from a message, and maybe a text and diagnostics.

    ``message`` is one sentence; ``str()`` gives everything there is to say.
    """

    # This class has no __init__, which torch's compiler can't trace: it would show the arguments
    # instead.

    @property
    def message(self) -> str:
        return self.args[0] if self.args else ""

    @property
    def text(self) -> str:
        return self.args[1] if len(self.args) > 1 and self.args[1] else self.message

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        return self.args[2] if len(self.args) > 2 else ()

    def __str__(self) -> str:
        return self.text.rstrip("\n")


class CompileError(NsaccError):
    """A program that doesn't compile.

    ``str()`` shows each of ``diagnostics``, errors before warnings, with its source line, a caret
    and its notes. ``file``, ``line``, ``column`` and ``notes`` belong to the first error; a line of
    0 means that no place in the program is to blame.
    """

    @property
    def _first(self) -> Diagnostic:
        errors = (one for one in self.diagnostics if one.severity == "error")
        return next(errors, Diagnostic("error", self.message))

    @property
    def file(self) -> str:
        return self._first.file

    @property
    def line(self) -> int:
        return self._first.line

    @property
    def column(self) -> int:
        return self._first.column

    @property
    def notes(self) -> tuple[Diagnostic, ...]:
        return self._first.notes


class CompileWarning(UserWarning):
    """Warnings of `nsacc.compile`: ``str()`` shows the source line, a caret and the notes.

    A run that makes code, or finds it in the cache, warns of code that is right but slow.
    """

    def __init__(self, diagnostic: Diagnostic) -> None:
        super().__init__(diagnostic)
        self.diagnostic = diagnostic


class CacheWarning(UserWarning):
    """A cache of code that can't be read or written: code is compiled each time."""


class ArgumentError(NsaccError, ValueError):
    """Tensors, parameters or options that don't fit the program."""


class TargetError(NsaccError):
    """A target that is unknown, or that can't be used here."""


class InternalError(NsaccError):
    """A mistake in nsacc, not in the program."""
