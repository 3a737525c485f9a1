"""A model that writes what a test wants: save(path, scripts, chat_template).

Its states are those of the last token alone (attention and the layers behind it are zero), and the output matrix
gives each token of a script the one behind it as the likeliest. A prompt that ends with the token "<go:NAME>" begins
scripts[NAME], a list of pieces; behind the last one the text ends. Greedy choice, or a temperature of 0, is needed.
"""

import struct

NEXT = 30.0  # a logit far above the others, which are 0
SPACE = "\u2581"


def tokens_of(scripts):
    """Pieces with their kinds (1 normal, 2 unknown, 3 control), and the token behind each."""
    pieces = [("<unk>", 2), ("<s>", 3), ("</s>", 3)]
    pieces += [(SPACE if chr(c) == " " else chr(c), 1) for c in [10, *range(32, 127)]]
    behind = {}
    for name, script in scripts.items():
        first = len(pieces)
        pieces.append((f"<go:{name}>", 3))
        pieces += [(piece.replace(" ", SPACE), 1) for piece in script]
        behind |= {token: token + 1 for token in range(first, len(pieces) - 1)}
        behind[len(pieces) - 1] = 2
    return pieces, behind


class File:
    def __init__(self):
        self.entries, self.tensors, self.data = [], [], b""

    @staticmethod
    def text(text):
        data = text.encode()
        return struct.pack("<Q", len(data)) + data

    def entry(self, name, kind, data):
        self.entries.append(self.text(name) + struct.pack("<I", kind) + data)

    def numbers(self, **numbers):
        for name, number in numbers.items():
            self.entry(name.replace("__", "."), 4, struct.pack("<I", number))

    def array(self, name, kind, items):
        self.entry(name, 9, struct.pack("<IQ", kind, len(items)) + b"".join(items))

    def matrix(self, name, rows, columns, numbers=None):
        """numbers: by row and column; else zeros. A vector has no rows."""
        data = [0.0] * ((rows or 1) * columns)
        for (row, column), number in (numbers or {}).items():
            data[row * columns + column] = number
        shape = [columns] if rows is None else [columns, rows]
        info = self.text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, 0, len(self.data))
        self.tensors.append(info)
        self.data += struct.pack(f"<{len(data)}f", *data)
        self.data += bytes(-len(self.data) % 32)

    def save(self, path):
        head = b"GGUF" + struct.pack("<IQQ", 3, len(self.tensors), len(self.entries))
        head += b"".join(self.entries) + b"".join(self.tensors)
        path.write_bytes(head + bytes(-len(head) % 32) + self.data)


def save(path, scripts, chat_template):
    pieces, behind = tokens_of(scripts)
    count = len(pieces)
    width = (count + 31) // 32 * 32
    file = File()
    file.entry("general.architecture", 8, file.text("llama"))
    file.numbers(
        llama__block_count=1, llama__embedding_length=width, llama__feed_forward_length=32, llama__context_length=1024,
        llama__attention__head_count=1, llama__attention__key_length=16, llama__attention__value_length=16,
        llama__rope__dimension_count=16, tokenizer__ggml__bos_token_id=1, tokenizer__ggml__eos_token_id=2,
    )  # fmt: skip
    file.entry("tokenizer.ggml.model", 8, file.text("llama"))
    file.entry("tokenizer.ggml.add_space_prefix", 7, b"\0")
    file.entry("tokenizer.chat_template", 8, file.text(chat_template))
    file.array("tokenizer.ggml.tokens", 8, [file.text(piece) for piece, _ in pieces])
    # Pieces of scripts are never found in a prompt.
    scores = [0.0 if len(piece) == 1 else -1000.0 for piece, _ in pieces]
    file.array("tokenizer.ggml.scores", 6, [struct.pack("<f", score) for score in scores])
    file.array("tokenizer.ggml.token_type", 5, [struct.pack("<i", kind) for _, kind in pieces])
    ones = {(0, column): 1.0 for column in range(width)}
    file.matrix("token_embd.weight", count, width, {(token, token): 1.0 for token in range(count)})
    # The norm makes the 1 of a token the root of the width.
    file.matrix("output.weight", count, width, {(after, token): NEXT / width**0.5 for token, after in behind.items()})
    for norm in ("output_norm", "blk.0.attn_norm", "blk.0.ffn_norm"):
        file.matrix(norm + ".weight", None, width, ones)
    for name, rows, columns in [("attn_q", 16, width), ("attn_k", 16, width), ("attn_v", 16, width), ("attn_output", width, 16),
                                ("ffn_gate", 32, width), ("ffn_up", 32, width), ("ffn_down", width, 32)]:  # fmt: skip
        file.matrix(f"blk.0.{name}.weight", rows, columns)
    file.save(path)
