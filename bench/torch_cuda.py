#!/usr/bin/env python3
"""torch_cuda.py [PART…]: neural operations, training and PyTorch's own graphs on a CUDA device, beside PyTorch.

Both take the same memory in one process, in turns; of five rounds the median counts. A line a measurement:
PyTorch's microseconds, hologram's, PyTorch's over hologram's, and the largest difference of the results over the
largest result. Parts: attention, backward, decode, layers, optimizer, gpt2, resnet50, graphs, profile, llm; without one, all
of them. With `--kernels` our kernels and their microseconds follow each line, the longest first. `profile` tells of
each graph where a call's time goes: calls behind each other, one by itself, what the host is busy with, and the
kernels, by PyTorch's profiler, the longest ones by name.
"""

import gc
import statistics
import sys
import time

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch_models import clock, difference, of_torchvision, of_transformers, result_of

import hologram as hg
import hologram_torch
from hologram import nn

torch.manual_seed(0)
torch.backends.cudnn.allow_tf32 = False  # its default is True: f32 is f32 on both sides
ROUNDS = 5
KERNELS = "--kernels" in sys.argv


def shared(x):
    """PyTorch's tensor as one of hologram's, in the same memory."""
    return hg.from_dlpack(x.detach().contiguous(), copy=False)


def beside(name, theirs, ours, times=20, check=True):
    """Measures two functions without arguments; ours gives tensors of hologram's."""
    try:

        def run():
            made = ours()
            hg.eval(*(made if isinstance(made, (list, tuple)) else [made]))
            return made

        for _ in range(3):
            expected, got = theirs(), run()
        hg.synchronize()
        torch.cuda.synchronize()
        error = difference(got, expected) if check else 0
        del expected, got
        rounds = [
            (clock(theirs, torch.cuda.synchronize, times), clock(run, hg.synchronize, times))
            for _ in range(ROUNDS)
        ]
        torch_us, us = (statistics.median(r[i] for r in rounds) for i in (0, 1))
        print(f"{name:48} {torch_us:10.1f} {us:10.1f}  {torch_us / us:5.2f}  {error:.1e}", flush=True)
        if KERNELS:
            print("".join(f"    {line}\n" for line in kernels_of(run)[2]), end="")
    except Exception as error:  # the rest is wanted all the same
        print(f"{name:48} {type(error).__name__}: {str(error)[:300]}", flush=True)
    gc.collect()


def captured(function, *tensors):
    graph = hg.capture(function, *tensors)
    return lambda: graph(*tensors)


def draw(*shape, dtype=torch.bfloat16, grad=False):
    return torch.randn(*shape, device="cuda", dtype=dtype, requires_grad=grad)


SHAPES = [  # batch, heads, heads of keys, length, head size, causal, dtype
    (4, 32, 32, 4096, 128, True, torch.bfloat16),
    (4, 32, 8, 4096, 128, True, torch.bfloat16),
    (8, 12, 12, 1024, 64, True, torch.bfloat16),
    (2, 16, 16, 1999, 80, False, torch.float16),
    (2, 8, 8, 2048, 256, True, torch.float16),
]


def sdpa(q, k, v, causal, heads_differ):
    with sdpa_kernel([SDPBackend.CUDNN_ATTENTION, SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION,
                      SDPBackend.MATH], set_priority=True):  # fmt: skip
        return F.scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=heads_differ)


def attention():
    for b, h, hk, n, d, causal, dtype in SHAPES:
        q, k, v = draw(b, h, n, d, dtype=dtype), draw(b, hk, n, d, dtype=dtype), draw(b, hk, n, d, dtype=dtype)
        ours = captured(
            lambda q, k, v: nn.scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=h != hk),
            shared(q), shared(k), shared(v))  # fmt: skip
        name = f"attention {b}x{h}/{hk}x{n}x{d} {'causal ' if causal else ''}{str(dtype)[6:]}"
        beside(name, lambda: sdpa(q, k, v, causal, h != hk), ours, 5)


def backward():
    for b, h, hk, n, d, causal, dtype in SHAPES:
        q, k, v = (draw(b, x, n, d, dtype=dtype, grad=True) for x in (h, hk, hk))
        up = draw(b, h, n, d, dtype=dtype)

        def theirs():
            return torch.autograd.grad(sdpa(q, k, v, causal, h != hk), (q, k, v), up)

        def ours(q, k, v, up):
            return hg.vjp(
                lambda q, k, v: nn.scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=h != hk),
                (q, k, v), (up,))[1]  # fmt: skip

        name = f"attention and gradient {b}x{h}/{hk}x{n}x{d} {str(dtype)[6:]}"
        beside(name, theirs, captured(ours, *(shared(x) for x in (q, k, v, up))), 3)


def decode():
    for b, n in [(1, 4096), (1, 32768), (16, 4096)]:
        q, k, v = draw(b, 32, 1, 128), draw(b, 8, n, 128), draw(b, 8, n, 128)
        ours = captured(
            lambda q, k, v: nn.scaled_dot_product_attention(q, k, v, enable_gqa=True),
            shared(q), shared(k), shared(v))  # fmt: skip
        beside(f"decode {b}x{n}", lambda: F.scaled_dot_product_attention(q, k, v, enable_gqa=True), ours, 50)


def layers():
    x = draw(64, 256, 56, 56, dtype=torch.float32)
    norm = torch.nn.BatchNorm2d(256).cuda()
    mean, var = torch.zeros(256, device="cuda"), torch.ones(256, device="cuda")
    arguments = [shared(t) for t in (x, mean, var, norm.weight, norm.bias)]
    for training in (True, False):
        norm.train(training)
        beside(f"batch_norm 64x256x56x56, training {training}", lambda: norm(x),
               captured(lambda *a: nn.batch_norm(*a, training=training)[0], *arguments),
               check=training)  # fmt: skip
    beside("max_pool2d 3, stride 2, 64x256x56x56", lambda: F.max_pool2d(x, 3, 2, 1),
           captured(lambda x: nn.max_pool2d(x, 3, 2, 1), shared(x)))  # fmt: skip
    logits, labels = draw(8192, 32000), torch.randint(0, 32000, (8192,), device="cuda")
    beside("cross_entropy 8192x32000 bf16", lambda: F.cross_entropy(logits.float(), labels),
           captured(lambda x, y: nn.cross_entropy(x, y), shared(logits), shared(labels)))  # fmt: skip
    for dtype in (torch.float32, torch.bfloat16):
        rows, scale = draw(16384, 4096, dtype=dtype), draw(4096, dtype=dtype)
        name = str(dtype)[6:]
        beside(f"layer_norm 16384x4096 {name}", lambda: F.layer_norm(rows, (4096,), scale, scale),
               captured(lambda x, w: nn.layer_norm(x, (4096,), w, w), shared(rows), shared(scale)))  # fmt: skip
        beside(f"softmax 16384x4096 {name}", lambda: F.softmax(rows, -1),
               captured(lambda x: nn.softmax(x, axis=-1), shared(rows)))  # fmt: skip
        beside(f"gelu 16384x4096 {name}", lambda: F.gelu(rows), captured(lambda x: nn.gelu(x), shared(rows)))
    image, kernel = draw(32, 64, 56, 56, dtype=torch.float32), draw(64, 64, 3, 3, dtype=torch.float32)
    beside("conv2d 3x3 32x64x56x56 f32", lambda: F.conv2d(image, kernel, padding=1),
           captured(lambda x, w: nn.conv2d(x, w, padding=1), shared(image), shared(kernel)))  # fmt: skip
    tiles = hg.Executor(backend="cuda", allow_winograd=True)
    with hg.use(tiles):
        beside("the same, allow_winograd", lambda: F.conv2d(image, kernel, padding=1),
               captured(lambda x, w: nn.conv2d(x, w, padding=1), shared(image).to(tiles), shared(kernel).to(tiles)))  # fmt: skip


def optimizer():
    parameters = [draw(64 << 20, dtype=torch.float32, grad=True) for _ in range(4)]
    for p in parameters:
        p.grad = torch.randn_like(p)
    adam = torch.optim.AdamW(parameters, fused=True)

    class Four(nn.Module):
        def __init__(self):
            super().__init__()
            for i in range(4):
                setattr(self, f"p{i}", hg.zeros((64 << 20,)))

    module = Four()
    ours = hg.optim.AdamW(module)
    gradients = {f"p{i}": shared(p.grad) for i, p in enumerate(parameters)}

    def step():
        ours.update(gradients)
        return [*module.state_dict().values(), *ours.state_dict().values()]

    beside("AdamW 256 M f32", adam.step, step, 5, check=False)


def models_of_others():
    return [
        ("GPT-2, 4x128", of_transformers("GPT2", use_cache=False), torch.randint(0, 50000, (4, 128)).cuda()),
        ("BERT, 8x128", of_transformers("Bert"), torch.randint(0, 30000, (8, 128)).cuda()),
        ("Llama, 4 layers of 1024, 4x128",
         of_transformers("Llama", hidden_size=1024, intermediate_size=2816, num_hidden_layers=4,
                         num_attention_heads=16, use_cache=False),
         torch.randint(0, 32000, (4, 128)).cuda()),
        ("ResNet-18, 8x224", of_torchvision("resnet18"), draw(8, 3, 224, 224, dtype=torch.float32)),
        ("ResNet-50, 8x224", of_torchvision("resnet50"), draw(8, 3, 224, 224, dtype=torch.float32)),
    ]  # fmt: skip


def graphs():
    for name, model, x in models_of_others():
        with torch.no_grad():
            times = {}
            for way, run in (("eager", model), ("inductor", torch.compile(model)),
                             ("hologram", torch.compile(model, backend="hologram"))):  # fmt: skip
                try:
                    begin = time.perf_counter()
                    out = result_of(run(x))
                    torch.cuda.synchronize()
                    cold = time.perf_counter() - begin
                    if way == "eager":
                        expected = out.double()
                    error = ((out.double() - expected).abs().max() / expected.abs().max()).item()
                    for _ in range(5):
                        run(x)
                    times[way] = statistics.median(
                        clock(lambda: run(x), torch.cuda.synchronize, 20) for _ in range(ROUNDS))  # fmt: skip
                    print(f"{name:40} {way:10} {times[way]:10.1f} us, first call {cold:.1f} s, error {error:.1e}",
                          flush=True)  # fmt: skip
                except Exception as error:
                    print(f"{name:40} {way:10} {type(error).__name__}: {str(error)[:300]}", flush=True)
            if "hologram" in times and "inductor" in times:
                print(f"{name:40} of inductor {times['inductor'] / times['hologram']:.2f}", flush=True)
        torch.compiler.reset()


def kernels_of(run, calls=10):
    """Microseconds of kernels and copies a call, how many of them, and the longest by name."""
    from torch.profiler import ProfilerActivity
    from torch.profiler import profile as profiler

    with profiler(activities=[ProfilerActivity.CUDA]) as found:
        for _ in range(calls):
            run()
        torch.cuda.synchronize()
    events = [e for e in found.key_averages() if e.self_device_time_total > 0]
    events.sort(key=lambda e: -e.self_device_time_total)
    total = sum(e.self_device_time_total for e in events) / calls
    longest = [f"{e.self_device_time_total / calls:9.1f} us  {e.count / calls:6.1f}x  {e.key[:90]}" for e in events]
    return total, sum(e.count for e in events) / calls, longest[:12]


def print_kernels(name, run, parts):
    """Of one call, which has so many parts: microseconds and kernels a part, and the longest of the whole."""
    busy, count, longest = kernels_of(run, 1)
    print(f"{name} {busy / parts:.1f} us, {count / parts:.0f} of them", flush=True)
    for line in longest:
        print(f"    {line}")


def host_of(run, calls=30):
    """Microseconds until a call returns, with nothing before it on the device; and where Python spends them."""
    import cProfile
    import io
    import pstats

    times = []
    for _ in range(calls):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        run()
        times.append((time.perf_counter() - begin) * 1e6)
    watch = cProfile.Profile()
    torch.cuda.synchronize()
    watch.enable()
    for _ in range(calls):
        run()
    watch.disable()
    text = io.StringIO()
    pstats.Stats(watch, stream=text).sort_stats("tottime").print_stats(10)
    rows = [line.split(maxsplit=5) for line in text.getvalue().splitlines()]
    lines = [f"{float(r[1]) / calls * 1e6:9.1f} us of Python in {r[5][-80:]}" for r in rows
             if len(r) == 6 and r[0][0].isdigit() and r[1][0].isdigit() and r[2][0].isdigit()]  # fmt: skip
    return statistics.median(times), lines


def profile():
    for name, model, x in models_of_others():
        for way, options in (("inductor", {}), ("hologram", {"backend": "hologram"})):
            try:
                with torch.no_grad():
                    compiled = torch.compile(model, **options)

                    def run():
                        return compiled(x)

                    for _ in range(5):
                        run()
                    behind = statistics.median(clock(run, torch.cuda.synchronize, 20) for _ in range(ROUNDS))
                    alone = statistics.median(clock(run, torch.cuda.synchronize, 1) for _ in range(20))
                    host, lines = host_of(run)
                    kernels, count, longest = kernels_of(run)
                print(f"{name:32} {way:10} a call {behind:9.1f} us, by itself {alone:9.1f}, host {host:9.1f}, "
                      f"kernels {kernels:9.1f} in {count:.0f}", flush=True)  # fmt: skip
                for line in longest + (lines if way == "hologram" else []):
                    print(f"    {line}")
            except Exception as error:
                print(f"{name:32} {way:10} {type(error).__name__}: {str(error)[:300]}", flush=True)
            torch.compiler.reset()
    print(hologram_torch.report())


def gpt2():
    """A training step of GPT-2 small, 8 x 512 tokens: PyTorch's, by inductor and by hologram."""
    x = torch.randint(0, 50000, (8, 512)).cuda()
    for precision in (torch.bfloat16, torch.float32):
        losses, times = {}, {}
        for way, options in (("inductor", {}), ("hologram", {"backend": "hologram"})):
            try:
                torch.manual_seed(0)
                model = of_transformers("GPT2", use_cache=False, attn_pdrop=0, embd_pdrop=0, resid_pdrop=0).train()
                run = torch.compile(model, **options)
                adam = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)

                def step():
                    adam.zero_grad()
                    with torch.autocast("cuda", precision, enabled=precision != torch.float32):
                        loss = run(x, labels=x).loss
                    loss.backward()
                    adam.step()
                    return loss

                losses[way] = [step().item() for _ in range(5)]
                times[way] = statistics.median(clock(step, torch.cuda.synchronize, 5) for _ in range(3))
                print(f"GPT-2 training step {str(precision)[6:]:9} {way:10} {times[way]:10.1f} us, losses "
                      f"{losses[way][0]:.5f} … {losses[way][-1]:.5f}", flush=True)  # fmt: skip
                if KERNELS and way == "hologram":
                    print_kernels("kernels of a step", step, 1)
                    host, lines = host_of(step, 5)
                    print("\n".join([f"host, of a step: {host:.1f} us", *(f"    {line}" for line in lines)]), flush=True)
            except Exception as error:
                print(f"GPT-2 training {way}: {type(error).__name__}: {str(error)[:400]}", flush=True)
            torch.compiler.reset()
        if len(times) == 2:
            print(f"GPT-2 training step {str(precision)[6:]:9} of inductor {times['inductor'] / times['hologram']:.2f}",
                  flush=True)  # fmt: skip


def resnet50():
    """ResNet-50, 64 images, channels last: answers in f16 beside inductor, a mixed training step beside eager."""
    x = draw(64, 3, 224, 224, dtype=torch.float32).to(memory_format=torch.channels_last)
    labels = torch.randint(0, 1000, (64,), device="cuda")
    ways = (("eager", lambda m: m), ("inductor", torch.compile), ("hologram", lambda m: torch.compile(m, backend="hologram")))
    for name in ("f16", "training"):
        times, expected = {}, None
        for way, of in ways:
            try:
                torch.manual_seed(0)
                model = of_torchvision("resnet50").to(memory_format=torch.channels_last)
                if name == "f16":
                    model, half = of(model.half()), x.half()

                    def run():
                        with torch.no_grad():
                            return model(half)
                else:
                    compiled = of(model.train())
                    sgd = torch.optim.SGD(model.parameters(), 0.1, 0.9)

                    def run():
                        with torch.autocast("cuda", torch.bfloat16):
                            loss = F.cross_entropy(compiled(x), labels)
                        loss.backward()
                        sgd.step()
                        sgd.zero_grad()
                        return loss.detach()

                first = run().double()
                expected = first if expected is None else expected
                error = ((first - expected).abs().max() / expected.abs().max()).item()
                for _ in range(3):
                    run()
                times[way] = statistics.median(clock(run, torch.cuda.synchronize, 5) for _ in range(ROUNDS))
                print(f"ResNet-50, 64 images, {name:9} {way:10} {times[way]:10.1f} us, from eager {error:.1e}", flush=True)
                if KERNELS and way == "hologram":
                    print_kernels("kernels", run, 1)
            except Exception as error:
                print(f"ResNet-50 {name} {way}: {type(error).__name__}: {str(error)[:400]}", flush=True)
            torch.compiler.reset()
            gc.collect()
        peer = "inductor" if name == "f16" else "eager"
        if "hologram" in times and peer in times:
            print(f"ResNet-50, 64 images, {name:9} of {peer} {times[peer] / times['hologram']:.2f}", flush=True)


def memory_used():
    free, total = torch.cuda.mem_get_info()
    return (total - free - torch.cuda.memory_reserved()) / 1e9


def llm():
    """Mistral 7B's shape with random weights: a prompt of 2,048 tokens, and tokens one by one, in bf16; then in Q4_K
    and by other backends, without PyTorch."""
    import pathlib
    import tempfile

    import tokenizers
    import transformers

    configuration = transformers.MistralConfig(
        hidden_size=4096, intermediate_size=14336, num_hidden_layers=32, num_attention_heads=32,
        num_key_value_heads=8, vocab_size=32000, max_position_embeddings=8192, sliding_window=None,
        dtype=torch.bfloat16)  # fmt: skip
    with torch.device("cuda"):
        model = transformers.AutoModelForCausalLM.from_config(configuration, dtype=torch.bfloat16).eval()
    folder = pathlib.Path(tempfile.mkdtemp())
    model.save_pretrained(folder, max_shard_size="5GB")
    # Of bytes, and names for the other numbers.
    letters = tokenizers.pre_tokenizers.ByteLevel.alphabet()
    names = letters + [f"<{i}>" for i in range(configuration.vocab_size - len(letters))]
    words = tokenizers.Tokenizer(tokenizers.models.BPE({name: i for i, name in enumerate(names)}, []))
    words.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    words.decoder = tokenizers.decoders.ByteLevel()
    words.save(str(folder / "tokenizer.json"))
    ids = torch.randint(3, 32000, (1, 2048), device="cuda")
    with torch.no_grad():
        prefill = statistics.median(
            clock(lambda: model(ids, use_cache=False, logits_to_keep=1), torch.cuda.synchronize, 2)
            for _ in range(3))  # fmt: skip

        def generate(count):
            begin = time.perf_counter()
            model.generate(ids[:, :128], max_new_tokens=count, min_new_tokens=count, do_sample=False,
                           pad_token_id=0, cache_implementation="static")  # fmt: skip
            torch.cuda.synchronize()
            return time.perf_counter() - begin

        try:
            generate(32), generate(160)
            decode = 128 / (generate(160) - generate(32))
        except Exception as error:
            decode = 0
            print(f"transformers: {type(error).__name__}: {str(error)[:300]}")
        print(f"transformers: prefill of 2048 {prefill / 1e3:.1f} ms, {decode:.1f} tokens/s", flush=True)
        theirs = model(ids[:, :256]).logits[0, -1].double().cpu()
        expected = model.float()(ids[:, :256]).logits[0, -1].double().cpu()
    del model
    torch.cuda.empty_cache()
    begin = time.perf_counter()
    ours = hg.llm.load(folder, context=4096, device="cuda")
    print(f"hologram: loaded in {time.perf_counter() - begin:.1f} s", flush=True)
    ours.generate(ids[0, :16].tolist(), max_tokens=1, greedy=True)
    print(f"hologram: a first token after {time.perf_counter() - begin:.1f} s, {memory_used():.1f} GB taken", flush=True)
    logits = torch.from_numpy(ours.logits(ids[0, :256].tolist()).__array__()).double()
    for name, made in (("transformers", theirs), ("hologram", logits)):
        worst = (made - expected).abs().max() / expected.abs().max()
        print(f"{name}: logits differ from those of f32 by {worst.item():.1e}", flush=True)

    # Of a prompt that was there before, the pages are taken again: each one is another.
    def prefill():
        return ours.generate(torch.randint(3, 32000, (2048,)).tolist(), max_tokens=1, greedy=True)

    for _ in range(5):
        print(f"hologram: prefill of 2048 {prefill().prefill_seconds * 1e3:.1f} ms", flush=True)
    prompt = ids[0, :128].tolist()
    for _ in range(3):
        got = ours.generate(prompt, max_tokens=129, greedy=True)
        count = len(got.tokens)
        print(f"hologram: {(count - 1) / got.decode_seconds:.1f} tokens/s of {count}", flush=True)
    decoding = (lambda: ours.generate(prompt, max_tokens=65, greedy=True), 64, "token")
    for run, parts, name in ((prefill, 1, "prompt"), decoding):
        print_kernels(f"hologram: kernels of a {name}", run, parts)
    del ours
    gc.collect()
    blocks = folder / "q4_k.gguf"
    begin = time.perf_counter()
    hg.llm.quantize(folder, blocks, to="q4_k")
    print(f"hologram: Q4_K made in {time.perf_counter() - begin:.1f} s", flush=True)
    present = {d.backend for d in hg.devices()}
    for path, device in ((blocks, "cuda"), (folder, "opencl"), (folder, "webgpu"), (blocks, "opencl")):
        name = f"hologram, {'Q4_K' if path == blocks else 'bf16'} on {device}"
        if device not in present:
            print(f"{name}: there is no such device")
            continue
        try:
            begin = time.perf_counter()
            ours = hg.llm.load(path, context=4096, device=device)
            loaded = time.perf_counter() - begin
            made = [prefill() for _ in range(3)]
            got = [ours.generate(prompt, max_tokens=65, greedy=True) for _ in range(3)]
            speeds = ", ".join(f"{(len(g.tokens) - 1) / g.decode_seconds:.1f}" for g in got)
            print(f"{name}: loaded in {loaded:.1f} s, prefill of 2048 {min(m.prefill_seconds for m in made) * 1e3:.1f} ms, "
                  f"{speeds} tokens/s", flush=True)  # fmt: skip
            if device == "cuda":
                print_kernels(f"{name}: kernels of a token", *decoding[:2])
        except Exception as error:
            print(f"{name}: {type(error).__name__}: {str(error)[:300]}", flush=True)
        ours = None
        gc.collect()


PARTS = {f.__name__: f for f in (attention, backward, decode, layers, optimizer, gpt2, resnet50, graphs, profile, llm)}
print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, hologram {hg.__version__}")
print(f"{'':48} {'PyTorch us':>10} {'ours us':>10}  {'ratio':>5}  difference")
with hg.use("cuda"):
    for part in [a for a in sys.argv[1:] if a != "--kernels"] or PARTS:
        try:
            PARTS[part]()
        except Exception as error:
            print(f"{part}: {type(error).__name__}: {str(error)[:400]}", flush=True)
