"""Role `quality` on transformers models: a cross-encoder with one output, BLEURT among them.

BLEURT's published folders name an architecture that the transformers library does not have. It is a BERT,
or (BLEURT-20) a RemBERT, under other names of weights; it is opened as that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from medassay.errors import ModelError
from medassay.models.activations import sigmoid
from medassay.models.base import Matrix
from medassay.models.chunks import Sentences
from medassay.models.hub import Network
from medassay.models.hub_files import weights

_SHARED = (
    "vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size", "hidden_act",
    "max_position_embeddings", "type_vocab_size", "layer_norm_eps", "pad_token_id",
)  # fmt: skip
"""Settings that BLEURT's config.json has in common with BERT's and RemBERT's."""


class HubQuality:
    """(reference, candidate) pairs to the model's number, higher is better.

    The number is a chance (0–1) where the folder names a sigmoid, and the model's own otherwise (BLEURT: about
    0–1 without bound). A pair longer than the model reads is cut at each side's end.
    """

    def __init__(self, network: Network) -> None:
        self.network, self.name = network, network.name
        network.check_one_output()
        self.sigmoid = "Sigmoid" in network.activation

    def scores(self, pairs: Sequence[tuple[str, str]], *, sentences: Sentences | None = None) -> Matrix:
        """A number for each pair; each distinct pair is run once. `sentences` is not needed: nothing is cut apart."""
        values = self.network.pair_logits(pairs)[:, 0]
        return (sigmoid(values) if self.sigmoid else values).astype(np.float32)


def is_bleurt(config: Mapping[str, Any]) -> bool:
    """Whether a folder holds a BLEURT as published for PyTorch."""
    return config.get("model_type") == "bleurt"


class BleurtNetwork(Network):
    """A BLEURT folder, opened as the BERT or RemBERT that it is."""

    def _open_tokenizer(self) -> Any:
        import transformers

        path = self.folder.path
        frame: dict[str, Any] = {f"{name}_token": f"[{name.upper()}]" for name in ("cls", "sep", "pad", "unk", "mask")}
        frame["model_input_names"] = ["input_ids", "token_type_ids", "attention_mask"]  # BLEURT tells its sides apart
        try:
            if (path / "tokenizer.json").is_file():
                return transformers.PreTrainedTokenizerFast(tokenizer_file=str(path / "tokenizer.json"), **frame)
            if (path / "vocab.txt").is_file():
                return transformers.BertTokenizerFast(str(path / "vocab.txt"), do_lower_case=True)
            return transformers.DebertaV2TokenizerFast(
                vocab_file=str(path / "spm.model"), do_lower_case=False, model_input_names=frame["model_input_names"]
            )
        except Exception as error:  # the library and its backends raise types of their own
            raise ModelError(f"{path}: its tokenizer cannot be opened ({type(error).__name__}: {error})") from error

    def _open_model(self) -> Any:
        import transformers
        from safetensors.torch import load_file

        config, path = self.config, self.folder.path
        settings = {name: config[name] for name in _SHARED if config.get(name) is not None} | {"num_labels": 1}
        narrow = config.get("embedding_size")
        if narrow:
            sizes = {"input_embedding_size": narrow, "output_embedding_size": narrow}
            model = transformers.RemBertForSequenceClassification(transformers.RemBertConfig(**settings, **sizes))
        else:
            model = transformers.BertForSequenceClassification(transformers.BertConfig(**settings))
        state = {}
        for file in weights(path):
            for name, tensor in load_file(file).items():
                state[_renamed(name, "rembert" if narrow else "bert")] = tensor
        try:
            missing, _ = model.load_state_dict(state, strict=False)
        except RuntimeError as error:
            raise ModelError(f"{path}: the weights do not fit config.json ({str(error).splitlines()[-1]})") from error
        missing = [name for name in missing if "position_ids" not in name]
        if missing:
            raise ModelError(f"{path}: the weights lack {missing[0]} ({len(missing)} in all), so this is no BLEURT")
        return model.eval().to(self.device, self.placement.torch_dtype)


def _renamed(name: str, family: str) -> str:
    """A weight's name in the library's model.

    >>> _renamed("bleurt.encoder.embedding_projection.weight", "rembert")
    'rembert.encoder.embedding_hidden_mapping_in.weight'
    """
    if name.startswith("bleurt."):
        name = family + name.removeprefix("bleurt")
    return name.replace("encoder.embedding_projection.", "encoder.embedding_hidden_mapping_in.")
