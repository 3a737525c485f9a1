"""Where the language models are that scripts/models fetches: $HOLOGRAM_MODELS, or the cache."""

import os
import pathlib

FOLDER = pathlib.Path(
    os.environ.get("HOLOGRAM_MODELS")
    or os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "hologram", "models")
)
SMOL = FOLDER / "SmolLM2-135M-Instruct.Q4_1.gguf"
