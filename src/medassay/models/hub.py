"""Models of the transformers library for any role: a folder, or a hub model that has been fetched.

Extra `hf` (transformers + torch, CPU or CUDA). On CUDA the arithmetic is bfloat16, or float16 where the
card has none; on the CPU float32 (`hub_device.py`; MEDASSAY_DTYPE chooses). Texts of any length go through
in windows, sorted by length, in batches of bounded size; dropout is off, so the same input gives the same
answer on the same machine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from typing import Any

import numpy as np
import numpy.typing as npt

from medassay.errors import MissingExtra, ModelError
from medassay.models.hub_device import Answer, Batch, Part, ahead, choose, prepared
from medassay.models.hub_files import HubFolder, is_path, open_folder
from medassay.models.hub_packed import packed
from medassay.models.pairs import PairFrame, join_pair
from medassay.models.tokens import Tokens, encodable

LONGEST = 512
"""Tokens per row, frame tokens included, even where a model could read more: cost grows with the square."""

PART = 512
"""Texts tokenised at once; the next part is tokenised while the device reads this one."""

_MODEL_CLASSES = {
    "encoder": "AutoModel",
    "align": "AutoModel",
    "ner": "AutoModelForTokenClassification",
    "re": "AutoModelForSequenceClassification",
    "expert": "AutoModelForSequenceClassification",
    "nli": "AutoModelForSequenceClassification",
    "quality": "AutoModelForSequenceClassification",
}


def load_hub(role: str, source: str, *, dtype: str = "") -> Any:
    """The model for a role from a transformers folder or the name of a fetched hub model.

    dtype: float32, bfloat16 or float16; empty: MEDASSAY_DTYPE, else what the device does best.
    """
    from medassay.models.hub_likelihood import hub_likelihood
    from medassay.models.hub_nli import HubNli
    from medassay.models.hub_quality import BleurtNetwork, HubQuality, is_bleurt
    from medassay.models.hub_relations import HubRelations
    from medassay.models.hub_roles import HubEncoder, HubExpert, HubNer

    if role == "checker":
        raise ModelError(
            f"{source}: the role 'checker' needs a model set, because other models name no deciding words, kind and "
            "severity. For logic with a classifier of the hub use logic(mode=paper)"
        )
    # A missing folder is reported before the missing extra; for a hub name the extra comes first.
    if not _installed():
        if is_path(source):
            open_folder(role, source)
        raise MissingExtra(f"The model '{source}' (transformers)", "hf")
    if role == "image":
        from medassay.models.hub_image import HubImage

        return HubImage(open_folder(role, source))
    folder = open_folder(role, source)
    network = (BleurtNetwork if is_bleurt(folder.config) else Network)(role, folder, dtype)
    makers: dict[str, Callable[[Network], Any]] = {
        "encoder": HubEncoder,
        "align": HubEncoder,
        "ner": HubNer,
        "re": HubRelations,
        "expert": HubExpert,
        "likelihood": hub_likelihood,
        "nli": HubNli,
        "quality": HubQuality,
    }
    return makers[role](network)


def _model_class(role: str, config: Mapping[str, Any]) -> str:
    """The library's class for a role; a likelihood comes from an encoder with a decoder or from a decoder alone."""
    if role == "likelihood":
        return "AutoModelForSeq2SeqLM" if config.get("is_encoder_decoder") else "AutoModelForCausalLM"
    return _MODEL_CLASSES[role]


def _installed() -> bool:
    return find_spec("torch") is not None and find_spec("transformers") is not None


@dataclass(frozen=True, slots=True)
class Read:
    """One text as a model's tokenizer sees it: its tokens, and the word that each belongs to."""

    tokens: Tokens
    words: list[int | None]


class Network:
    """A transformers model and its tokenizer, ready to read rows of tokens."""

    def __init__(self, role: str, folder: HubFolder, dtype: str = "") -> None:
        self.role, self.folder = role, folder
        self.config = folder.config
        self.placement = choose(self.config, dtype=dtype, over_vocabulary=role == "likelihood")
        self.device, self.budget = self.placement.name, self.placement.budget
        # Half precision gives other numbers, so a signature names it.
        self.name = folder.name if self.placement.dtype == "float32" else f"{folder.name}+{self.placement.dtype}"
        with quiet():
            self.tokenizer = self._open_tokenizer()
            self.model = self._open_model()
        # The library's own call wraps every text's tokens in Python; texts of any length go through, none is padded.
        self.backend = self.tokenizer.backend_tokenizer
        self.backend.no_truncation()
        self.backend.no_padding()
        self.packed = packed(self.model)
        self.pad = int(self.tokenizer.pad_token_id or 0)
        self.typed = "token_type_ids" in self.tokenizer.model_input_names
        self.before, self.after = self._frame()
        self.limit = self._limit()

    def _open_tokenizer(self) -> Any:
        from transformers import AutoTokenizer

        try:
            tokenizer = AutoTokenizer.from_pretrained(
                self.folder.path, use_fast=True, local_files_only=True, trust_remote_code=False
            )
        except Exception as error:  # the library raises anything from KeyError to its backend's own type
            raise ModelError(f"{self.folder.path}: its tokenizer cannot be opened ({first_line(error)})") from error
        if not tokenizer.is_fast:
            raise ModelError(
                f"{self.folder.path}: its tokenizer gives no character offsets; a tokenizer.json is needed"
            )
        return tokenizer

    def _open_model(self) -> Any:
        import transformers

        maker = getattr(transformers, _model_class(self.role, self.config))
        try:
            model, report = maker.from_pretrained(
                self.folder.path,
                use_safetensors=True,
                local_files_only=True,
                trust_remote_code=False,
                output_loading_info=True,
            )
        except Exception as error:  # broken weights raise many types: safetensors', torch's, the library's
            raise ModelError(f"{self.folder.path}: its weights cannot be opened ({first_line(error)})") from error
        # A layer without weights would be filled at random. Only the pooler may lack them: encoders never use it.
        missing = sorted(
            key for key in report["missing_keys"] if not (maker.__name__ == "AutoModel" and "pooler" in key)
        )
        if missing:
            raise ModelError(
                f"{self.folder.path}: the weights lack {missing[0]} ({len(missing)} in all), so this model was "
                f"not trained for the role '{self.role}'"
            )
        return model.eval().to(self.device, self.placement.torch_dtype)

    def _frame(self) -> tuple[list[int], list[int]]:
        """The tokens that this tokenizer puts before and after a text, such as [CLS] and [SEP]."""
        bare = self.tokenizer("a", add_special_tokens=False)["input_ids"]
        full = self.tokenizer("a")["input_ids"]
        start = next(i for i in range(len(full)) if full[i : i + len(bare)] == bare)
        return full[:start], full[start + len(bare) :]

    def _limit(self) -> int:
        """Tokens per row; some families count positions from after the padding index."""
        positions = int(self.config.get("max_position_embeddings") or LONGEST)
        if self.config.get("model_type") in {"roberta", "xlm-roberta", "camembert", "longformer", "mpnet"}:
            positions -= self.pad + 1
        return min(LONGEST, positions, int(self.tokenizer.model_max_length))

    @property
    def room(self) -> int:
        """Tokens of text that fit in a row."""
        return self.limit - len(self.before) - len(self.after)

    @property
    def labels(self) -> list[str]:
        """The names of the classifier's outputs, in their order."""
        table = self.model.config.id2label
        return [str(table[i]) for i in range(len(table))]

    @property
    def activation(self) -> str:
        """The activation of the output that a sentence-transformers folder names; empty where it names none."""
        name = (self.config.get("sentence_transformers") or {}).get("activation_fn")
        return str(name or self.config.get("sbert_ce_default_activation_function") or "")

    def check_one_output(self) -> None:
        """Raise `ModelError` where this is not a cross-encoder with a single output."""
        if len(self.labels) != 1:
            raise ModelError(
                f"{self.folder.path}: the role '{self.role}' needs a cross-encoder with one output, this one has "
                f"{len(self.labels)} ({', '.join(self.labels[:5])})"
            )

    @cached_property
    def pair_frame(self) -> PairFrame:
        """The tokens that this tokenizer puts before, between and after two texts."""
        bare = self.tokenizer("a", add_special_tokens=False)["input_ids"]
        full = self.tokenizer("a", "a")["input_ids"]
        starts = [i for i in range(len(full)) if full[i : i + len(bare)] == bare]
        first, second = starts[0], starts[-1]
        return PairFrame(full[:first], full[first + len(bare) : second], full[second + len(bare) :])

    def pair_logits(self, pairs: Sequence[tuple[str, str]]) -> npt.NDArray[np.float64]:
        """A classifier's outputs [pairs, labels]; each distinct pair is run once.

        A pair longer than the model reads is cut at each side's end.
        """
        distinct = list(dict.fromkeys(pairs))
        texts = list(dict.fromkeys(text for pair in distinct for text in pair))
        ids = {text: read.tokens.ids for text, read in zip(texts, self.read(texts))}
        joined = [join_pair(ids[first], ids[second], self.pair_frame, self.limit) for first, second in distinct]
        logits = np.zeros((len(distinct), len(self.labels)))
        for batch, output, _ in self.run([row for row, _ in joined], [sides for _, sides in joined]):
            logits[batch] = output.logits.double().cpu().numpy()
        index = {pair: i for i, pair in enumerate(distinct)}
        return logits[np.array([index[pair] for pair in pairs], np.int64)]

    def read(self, texts: Sequence[str]) -> list[Read]:
        """The tokens of each text, without frame tokens, at any length."""
        if not texts:
            return []
        encodings = self.backend.encode_batch([encodable(text) for text in texts], add_special_tokens=False)
        return [
            Read(Tokens(encoding.ids, encoding.offsets, encoding.tokens), encoding.word_ids) for encoding in encodings
        ]

    def framed(self, ids: Sequence[int]) -> list[int]:
        """A row: the ids between the frame tokens."""
        return [*self.before, *ids, *self.after]

    @contextmanager
    def lowest(self, layers: int) -> Iterator[None]:
        """Use only the lowest layers inside the block, so that the last hidden state is theirs."""
        holder, name = self._stack()
        all_layers = getattr(holder, name)
        try:
            setattr(holder, name, all_layers[:layers])
            yield
        finally:
            setattr(holder, name, all_layers)

    def _stack(self) -> tuple[Any, str]:
        """The module that holds the list of layers, and the list's name there."""
        import torch

        for holder in (getattr(self.model, "encoder", None), getattr(self.model, "transformer", None), self.model):
            for name in ("layer", "layers", "block", "h"):
                if isinstance(getattr(holder, name, None), torch.nn.ModuleList):
                    return holder, name
        raise ModelError(f"{self.folder.path}: the layers of a {self.config.get('model_type')} model cannot be chosen")

    def rows_of(self, texts: Sequence[str]) -> Iterator[Part]:
        """Framed rows of the texts, cut where they are longer than a row, tokenised part by part."""
        for start in range(0, len(texts), PART):
            part = [encodable(text) for text in texts[start : start + PART]]
            encodings = self.backend.encode_batch_fast(part, add_special_tokens=False)
            yield start, [self.framed(encoding.ids[: self.room]) for encoding in encodings]

    def run(
        self, rows: Sequence[Sequence[int]], sides: Sequence[Sequence[int]] | None = None
    ) -> Iterator[tuple[list[int], Any, Any]]:
        """(indices of rows, the model's outputs, mask) batch by batch, each of bounded size."""
        yield from self._outputs([(0, rows)], sides)

    def _outputs(
        self, parts: Iterable[Part], sides: Sequence[Sequence[int]] | None = None
    ) -> Iterator[tuple[list[int], Any, Any]]:
        import torch

        batches = self._prepared(parts, sides)
        for batch in ahead(batches) if self.device == "cuda" else batches:
            with torch.inference_mode():
                yield batch.rows, *self.forward(batch)

    def _prepared(self, parts: Iterable[Part], sides: Sequence[Sequence[int]] | None = None) -> Iterator[Batch]:
        end_to_end = self.packed is not None
        return prepared(parts, self.placement, self.pad, sides, typed=self.typed, end_to_end=end_to_end)

    def forward(self, batch: Batch) -> tuple[Any, Any]:
        """The outputs for one batch, and its mask."""
        inputs = {name: tensor.to(self.device, non_blocking=True) for name, tensor in batch.inputs.items()}
        if self.packed is not None:
            return self.packed(inputs, max(batch.lengths))
        return self.model(**inputs), inputs["attention_mask"]

    def launch(self, parts: Iterable[Part], take: Callable[[Any, Any], Any]) -> list[Answer]:
        """Start the computation of all rows; an answer (as in `answers`) is waited for when it is read."""
        import torch

        sent = []
        with torch.inference_mode():
            for batch in self._prepared(parts):
                output, mask = self.forward(batch)
                sent.append(Answer(batch.rows, take(output, mask).float()))
        return sent

    def answers(
        self,
        parts: Iterable[Part],
        take: Callable[[Any, Any], Any],
        sides: Sequence[Sequence[int]] | None = None,
    ) -> Iterator[tuple[list[int], Any]]:
        """(indices of rows, what `take(outputs, mask)` keeps, in float32 on the host), batch by batch.

        A batch is yielded while the device works on the next one. The parts may be generated on demand: when rows are
        yielded, the part that holds them has been generated.
        """
        import torch

        waiting: Answer | None = None
        for rows, output, mask in self._outputs(parts, sides):
            with torch.inference_mode():
                sent = Answer(rows, take(output, mask).float())
            if waiting is not None:
                yield waiting.get()
            waiting = sent
        if waiting is not None:
            yield waiting.get()


def first_line(error: Exception) -> str:
    """An error in one line: its type and the first line of its message."""
    text = str(error).strip().splitlines()
    return f"{type(error).__name__}: {text[0] if text else ''}"


@contextmanager
def quiet() -> Iterator[None]:
    """Turn off the library's progress bars and warnings while a model opens; problems are raised as errors."""
    from transformers.utils import logging

    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()
