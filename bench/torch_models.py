"""Models of others with random weights, and what comparisons beside PyTorch share."""

import time

import torch


def clock(function, wait, times):
    """Microseconds a call, of so many behind each other."""
    wait()
    begin = time.perf_counter()
    for _ in range(times):
        function()
    wait()
    return (time.perf_counter() - begin) / times * 1e6


def difference(ours, theirs):
    """The largest difference of results over the largest result."""
    ours = ours if isinstance(ours, (list, tuple)) else [ours]
    theirs = theirs if isinstance(theirs, (list, tuple)) else [theirs]
    worst = 0.0
    for a, b in zip(ours, theirs, strict=True):
        a, b = torch.from_dlpack(a).double().flatten(), b.detach().double().flatten()
        worst = max(worst, ((a - b).abs().max() / b.abs().max().clamp(min=1e-30)).item())
    return worst


def of_transformers(kind, device="cuda", **settings):
    import transformers

    attention = settings.pop("attention", "sdpa")
    configuration = getattr(transformers, f"{kind}Config")(**settings)
    configuration._attn_implementation = attention
    name = {"GPT2": "GPT2LMHeadModel", "Bert": "BertModel", "Llama": "LlamaForCausalLM"}[kind]
    return getattr(transformers, name)(configuration).to(device).eval()


def of_torchvision(name, device="cuda"):
    import torchvision

    model = getattr(torchvision.models, name)()
    for parameter in model.parameters():
        if parameter.ndim > 1 and not parameter.any():  # as the head of a ViT is drawn
            torch.nn.init.normal_(parameter, std=0.02)
    return model.to(device).eval()


def without_dropout(model):
    """Random numbers are others in each way of computing."""
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
        for name, value in vars(module).items():
            if "dropout" in name and isinstance(value, float):
                setattr(module, name, 0.0)
    return model


def _mlp(device):
    layers = []
    for i, o in ((1024, 4096), (4096, 4096), (4096, 1024)):
        layers += [torch.nn.Linear(i, o), torch.nn.GELU()]
    return torch.nn.Sequential(*layers[:-1]).to(device).eval()


def _words(count, length=128):
    return lambda batch, device: torch.randint(0, count, (batch, length), device=device)


def _images(batch, device):
    return torch.randn(batch, 3, 224, 224, device=device)


def _rows(batch, device):
    return torch.randn(batch, 1024, device=device)


_LLAMA = {"hidden_size": 1024, "intermediate_size": 2816, "num_hidden_layers": 4, "num_attention_heads": 16,
          "num_key_value_heads": 4, "use_cache": False}  # fmt: skip
# How each is drawn, and an input of so many samples.
MODELS = {
    "mlp": (_mlp, _rows),
    "gpt2": (lambda d: of_transformers("GPT2", d, use_cache=False), _words(50000)),
    "bert": (lambda d: of_transformers("Bert", d), _words(30000)),
    "llama": (lambda d: of_transformers("Llama", d, **_LLAMA), _words(32000)),
    "resnet18": (lambda d: of_torchvision("resnet18", d), _images),
    "resnet50": (lambda d: of_torchvision("resnet50", d), _images),
    "mobilenet": (lambda d: of_torchvision("mobilenet_v3_large", d), _images),
    "vit": (lambda d: of_torchvision("vit_b_16", d), _images),
    "gpt2-eager": (lambda d: of_transformers("GPT2", d, use_cache=False, attention="eager"), _words(50000)),
    "bert-eager": (lambda d: of_transformers("Bert", d, attention="eager"), _words(30000)),
    "llama-eager": (lambda d: of_transformers("Llama", d, **_LLAMA, attention="eager"), _words(32000)),
}


def result_of(out):
    """The logits, or the last state, of what a model gives."""
    return out if isinstance(out, torch.Tensor) else out[0]
