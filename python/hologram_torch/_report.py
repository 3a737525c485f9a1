"""What became of the graphs that torch.compile handed over."""

import dataclasses
import threading
from collections import Counter

_lock = threading.Lock()


@dataclasses.dataclass
class Report:
    graphs: int = 0  # that hologram computes
    captured: int = 0  # recordings of them, one for each set of shapes
    calls: int = 0
    copies: int = 0  # tensors that were copied from one kind of memory to another
    by_torch: Counter = dataclasses.field(default_factory=Counter)  # operations that are not there
    graphs_by_torch: int = 0

    def __str__(self):
        text = (
            f"{self.graphs} graphs by hologram ({self.captured} recordings, {self.calls} calls, "
            f"{self.copies} tensors copied), {self.graphs_by_torch} by PyTorch"
        )
        if self.by_torch:
            text += ", for want of " + ", ".join(f"{k} ({n})" for k, n in self.by_torch.most_common())
        return text


_report = Report()


def report():
    """The Report of this process so far."""
    with _lock:
        return dataclasses.replace(_report, by_torch=Counter(_report.by_torch))


def reset():
    """Begins the report anew."""
    global _report
    with _lock:
        _report = Report()


def count(**numbers):
    with _lock:
        for name, number in numbers.items():
            setattr(_report, name, getattr(_report, name) + number)


def count_missing(names):
    with _lock:
        _report.by_torch.update(names)
        _report.graphs_by_torch += 1
