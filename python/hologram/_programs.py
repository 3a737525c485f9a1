"""Atlas programs on tensors, expressions, and calculations recorded once and run again."""

from . import _core

__all__ = ["Expression", "Graph", "Program", "capture", "library", "library_names"]


class Program:
    """A kernel in Atlas (docs/atlas.md), called with tensors and numbers by name.

        double = hg.Program('''
        program double(in x: f32[n], out y: f32[n]) lanes(n) {
          i = global_id.x
          if i < n { y[i] = 2.0 * x[i] }
        }
        ''')
        y = double(x=x)

    InvalidProgram, with line, column and a caret under the culprit, if the text is not right.
    """

    def __init__(self, text, /, *, file="<text>"):
        self._program = text if isinstance(text, _core._Program) else _core._Program(text, file)

    def __call__(self, *, grid=None, shapes=None, device=None, **arguments):
        """Runs it; returns what it writes: a tensor, or a dict of them if there are several.

        Arguments are tensors, arrays and numbers by the program's names. What is only written may
        be left out where its shape follows from the others, or from `shapes`, a dict. What is read
        and written is given, and comes back as a new tensor. grid: workgroups along x, y and z,
        where the program does not say how many.
        """
        results = self._program.run(grid, shapes, device, arguments)
        return next(iter(results.values())) if len(results) == 1 else results

    name = property(lambda self: self._program.name, doc="Its name in the text.")
    buffers = property(
        lambda self: tuple(self._program.buffers),
        doc="(name, dtype, access, shape or None) of each tensor; access: in, out, inout, atomic.",
    )
    scalars = property(
        lambda self: tuple(self._program.scalars),
        doc="(name, dtype, whether there is a default) of each number.",
    )
    text = property(lambda self: self._program.text, doc="The program as written.")
    optimized_text = property(
        lambda self: self._program.optimized_text, doc="The program as it will run."
    )

    def in_dialect(self, name, /):
        """The program in the language of a GPU: 'cuda', 'opencl', 'hip', 'metal'."""
        return self._program.in_dialect(name)

    def __repr__(self):
        return f"hologram.Program({self.name}: {', '.join(b[0] for b in self.buffers)})"


def library(name, /):
    """A program that is there already, as 'atlas_add_f32'. InvalidArgument if there is none."""
    return Program(_core.library_program(name))


def library_names():
    """The names of all programs that are there already."""
    return tuple(_core.library_names())


class Expression:
    """A calculation written as text (docs/expressions.md), called with tensors by name."""

    def __init__(self, text, /):
        self._expression = _core._Expression(text)

    text = property(lambda self: self._expression.text, doc="As written.")
    inputs = property(lambda self: tuple(self._expression.inputs), doc="The names it needs.")
    outputs = property(lambda self: tuple(self._expression.outputs), doc="The names it assigns.")

    def __call__(self, *, device=None, **inputs):
        """The value of the last statement, lazily."""
        results = dict(self._expression.evaluate(inputs, device))
        return results[self._expression.last]

    def all(self, *, device=None, **inputs):
        """Every output by name; that of a last statement without a name as ''."""
        return dict(self._expression.evaluate(inputs, device))

    def __repr__(self):
        return f"hologram.Expression({self.text!r})"


class Graph:
    """A calculation that was recorded: call it with tensors like the examples."""

    def __init__(self, function, examples, donate=None):
        self._single = True
        self._donated = dict(donate or {})

        def recorded(*inputs):
            results = function(*inputs)
            self._single = isinstance(results, _core.Tensor)
            return [results] if self._single else list(results)

        self._graph = _core._Graph(recorded, list(examples), self._donated)

    def __call__(self, *inputs):
        """Its results, computed; one tensor or a tuple, as the function gave them. Inputs that are
        donated are taken over: they hold nothing afterwards."""
        taken = [i for i in self._donated if i < len(inputs)]
        results = self._graph.launch(inputs, taken)
        return results[0] if self._single else tuple(results)

    steps = property(lambda self: self._graph.steps, doc="Kernels and calls of a launch.")
    note = property(lambda self: self._graph.note, doc="How it is launched.")

    def __repr__(self):
        return f"hologram.Graph({self.steps} steps, {self.note})"


def capture(function, *examples, donate=None):
    """Records a function of tensors, to run it again on others of the same shapes and dtypes
    without building or scheduling anything.

    The function runs once, on stand-ins, which it may not read; tensors in it are constants, and
    random numbers are drawn anew by each call, as calling the function would. It returns a tensor
    or several.

    donate: {input: result}, counted from 0, for state that goes from call to call: that result lies
    in the memory of that input, which the call takes over. What cannot be taken over, because
    another tensor shares its memory or something reads it later, is copied; a strict executor
    refuses.
    """
    return Graph(function, examples, donate)
