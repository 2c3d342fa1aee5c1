"""Role `likelihood` on models of the transformers library: sequence-to-sequence (BART, T5, …) or causal.

A sequence-to-sequence model predicts the target after reading the source, as BARTScore has it (Yuan et al.,
NeurIPS 2021): the frame tokens that its tokenizer puts around a target count too. Windows of a long source are
encoded one by one and their states joined for the decoder, as for the embedded model. A causal model goes on
writing after the source and an empty line; it cannot join states, so where the source needs several windows a
token's probability is the mean over them, which is a probability again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from medassay.models.base import Matrix, TokenLogs
from medassay.models.hub import Network
from medassay.models.likelihood import OVERLAP, SEEN, Pair, Source, Stretch, means, stretches
from medassay.models.states import join_states, state_windows
from medassay.models.tokens import Tokens, batches, pad

SEQ2SEQ_TOKENS, CAUSAL_TOKENS = 1024, 2048
"""Tokens per row at most, even where a model could read more; 1,024 is BARTScore's own limit."""

CONTEXT = 64
"""Tokens of a long target that a further row reads again before it goes on."""

_TARGETS = {"cpu": 1024, "cuda": 8192}
"""Padded target tokens per batch: their scores over the whole vocabulary are held at once."""


def hub_likelihood(network: Network) -> Seq2SeqLikelihood | CausalLikelihood:
    """The likelihood model for a network: sequence-to-sequence or causal, by its configuration."""
    seq2seq = bool(network.model.config.is_encoder_decoder)
    return Seq2SeqLikelihood(network) if seq2seq else CausalLikelihood(network)


def room_of(network: Network, most: int) -> int:
    """Tokens that a row may hold: what the model has positions for, and no more than `most`."""
    config = network.config
    positions = config.get("max_position_embeddings") or config.get("n_positions") or most
    return min(most, int(positions), int(network.tokenizer.model_max_length))


class Seq2SeqLikelihood:
    """BARTScore's likelihood: log-probability of the target's tokens after the encoder has read the source."""

    def __init__(self, network: Network) -> None:
        self.network, self.name = network, network.name
        frame = len(network.before) + len(network.after)
        self.limit = room_of(network, SEQ2SEQ_TOKENS)
        self.source_room = self.limit - frame
        self.target_room = self.limit - frame
        self.context = min(CONTEXT, self.target_room // 2)
        config = network.model.config
        self.start = int(config.decoder_start_token_id if config.decoder_start_token_id is not None else network.pad)

    def log_likelihood(self, pairs: Sequence[Pair]) -> Matrix:
        """Mean log-probability of a token of the second text given the first; NaN where it has no token."""
        return means(self.token_logs(pairs))

    def token_logs(self, pairs: Sequence[Pair]) -> list[TokenLogs]:
        """Log-probability of each token of each pair's second text; frame tokens have the characters (0, 0)."""
        by_source: dict[str, list[Pair]] = {}
        for pair in dict.fromkeys(pairs):
            by_source.setdefault(pair[0], []).append(pair)
        logs: dict[Pair, TokenLogs] = {}
        for source, members in by_source.items():
            logs |= dict(zip(members, self._targets(source, [target for _, target in members])))
        return [logs[pair] for pair in pairs]

    def _read(self, source: str) -> Source:
        """A source of any length with the encoder's states."""
        import torch

        network = self.network
        tokens = [network.read([source])[0].tokens]
        windows = state_windows(tokens, self.source_room, cut=False, overlap=OVERLAP)
        rows = []
        for window in windows:
            ids = torch.tensor([network.framed(tokens[0].ids[window.first : window.last])], device=network.device)
            with torch.inference_mode():
                states = network.model.get_encoder()(input_ids=ids, attention_mask=torch.ones_like(ids))
            rows.append(states.last_hidden_state[0].float().cpu().numpy())
        joined = join_states(tokens, windows, rows, network.before, network.after)[0]
        shift = len(network.before)
        spans = [(window.owned_first + shift, window.owned_last + shift) for window in windows]
        return Source(np.array(joined.ids, np.int64), joined.states, spans)

    def _targets(self, source: str, targets: Sequence[str]) -> list[TokenLogs]:
        target_tokens = [source_states.tokens for source_states in self.network.read(targets)]
        rows = [
            row
            for i, tokens in enumerate(target_tokens)
            for row in stretches(i, len(tokens), self.target_room, self.context)
            if len(tokens)
        ]
        if not rows:
            return [_empty() for _ in targets]
        source_states = self._read(source)
        parts: list[list[Matrix]] = [[] for _ in targets]
        answers: dict[int, Matrix] = {}
        # Rows of one source share its states, unless it is so long that each row sees another part of it.
        budget = _TARGETS[self.network.device] if len(source_states.ids) <= SEEN else 1
        for batch in batches([row.last - row.first for row in rows], budget):
            labels = [self._labels(rows[k], target_tokens) for k in batch]
            places = source_states.seen_by(labels[0])
            for k, logs in zip(batch, self._run(source_states.states[places], labels)):
                answers[k] = logs
        before = len(self.network.before)
        for k, row in enumerate(rows):
            skip = 0 if row.first == 0 else before + row.counted - row.first
            parts[row.pair].append(answers[k][skip:])
        return [self._joined(target_parts, tokens) for target_parts, tokens in zip(parts, target_tokens)]

    def _labels(self, row: Stretch, reads: Sequence[Tokens]) -> list[int]:
        """The ids to predict in a row: opening frame tokens, tokens of the target, and at its end the closing ones."""
        tokens = reads[row.pair]
        after = self.network.after if row.last == len(tokens) else []
        return [*self.network.before, *tokens.ids[row.first : row.last], *after]

    def _joined(self, parts: Sequence[Matrix], tokens: Tokens) -> TokenLogs:
        if not parts:
            return _empty()
        frame = [(0, 0)] * len(self.network.before), [(0, 0)] * len(self.network.after)
        return TokenLogs(np.concatenate(parts), [*frame[0], *tokens.offsets, *frame[1]])

    def _run(self, memory: Matrix, labels: Sequence[list[int]]) -> list[Matrix]:
        import torch
        from transformers.modeling_outputs import BaseModelOutput

        network = self.network
        label_ids = torch.from_numpy(pad(labels, network.pad)).to(network.device)
        decoder_ids = torch.from_numpy(pad([[self.start, *row[:-1]] for row in labels], network.pad)).to(network.device)
        encoded = torch.from_numpy(memory)[None].to(network.device, network.model.dtype)
        states = encoded.expand(len(labels), -1, -1)
        mask = torch.ones(states.shape[:2], dtype=torch.long, device=network.device)
        with torch.inference_mode():
            output = network.model(
                encoder_outputs=BaseModelOutput(last_hidden_state=states),
                attention_mask=mask,
                decoder_input_ids=decoder_ids,
                use_cache=False,
            )
        return _gathered(output.logits, label_ids, [len(row) for row in labels])


class CausalLikelihood:
    """Log-probability of the target's tokens as a continuation of the source and an empty line."""

    def __init__(self, network: Network) -> None:
        self.network, self.name = network, network.name
        self.between: list[int] = network.tokenizer("\n\n", add_special_tokens=False)["input_ids"]
        limit = room_of(network, CAUSAL_TOKENS) - len(network.before) - len(self.between)
        self.target_room = min(limit // 2, 512)
        self.source_room = limit - self.target_room
        self.context = min(CONTEXT, self.target_room // 2)

    def log_likelihood(self, pairs: Sequence[Pair]) -> Matrix:
        """Mean log-probability of a token of the second text given the first; NaN where it has no token."""
        return means(self.token_logs(pairs))

    def token_logs(self, pairs: Sequence[Pair]) -> list[TokenLogs]:
        """Log-probability of each token of each pair's second text."""
        distinct = list(dict.fromkeys(pairs))
        texts = list(dict.fromkeys(text for pair in distinct for text in pair))
        tokens = {text: read.tokens for text, read in zip(texts, self.network.read(texts))}
        rows: list[tuple[Stretch, list[int], list[int]]] = []
        for i, (source, target) in enumerate(distinct):
            windows = state_windows([tokens[source]], self.source_room, cut=False, overlap=OVERLAP)
            for row in stretches(i, len(tokens[target]), self.target_room, self.context):
                target_ids = tokens[target].ids[row.first : row.last]
                if target_ids:
                    rows += [(row, tokens[source].ids[w.first : w.last], target_ids) for w in windows]

        by_stretch: dict[Stretch, list[Matrix]] = {}
        for batch in batches([len(source) + len(target_ids) for _, source, target_ids in rows], self.network.budget):
            for k, logs in zip(batch, self._run([rows[k][1] for k in batch], [rows[k][2] for k in batch])):
                by_stretch.setdefault(rows[k][0], []).append(logs)
        logs_of_pairs = [np.zeros(len(tokens[target]), np.float32) for _, target in distinct]
        for row, several in by_stretch.items():
            mean = np.logaddexp.reduce(np.stack(several).astype(np.float64), axis=0) - np.log(len(several))
            logs_of_pairs[row.pair][row.counted : row.last] = mean[row.counted - row.first :]
        by_pair = {pair: TokenLogs(logs, tokens[pair[1]].offsets) for pair, logs in zip(distinct, logs_of_pairs)}
        return [by_pair[pair] for pair in pairs]

    def _run(self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]) -> list[Matrix]:
        import torch

        network = self.network
        heads = [[*network.before, *source, *self.between] for source in sources]
        rows = [[*head, *target] for head, target in zip(heads, targets)]
        ids = torch.from_numpy(pad(rows, network.pad)).to(network.device)
        mask = torch.from_numpy(pad([[1] * len(row) for row in rows])).to(network.device)
        with torch.inference_mode():
            logits = network.model(input_ids=ids, attention_mask=mask, use_cache=False).logits
        logs = []
        for k, (head, target) in enumerate(zip(heads, targets)):
            # The logits at a position predict the next token.
            target_logits = logits[k : k + 1, len(head) - 1 : len(head) - 1 + len(target)]
            logs += _gathered(target_logits, ids[k : k + 1, len(head) : len(head) + len(target)], [len(target)])
        return logs


def _gathered(logits: Any, label_ids: Any, lengths: Sequence[int]) -> list[Matrix]:
    """Log-probabilities of the wanted ids, row by row, without padding."""
    logs = logits.float().log_softmax(-1).gather(-1, label_ids[..., None])[..., 0].cpu().numpy()
    return [logs[i, :length] for i, length in enumerate(lengths)]


def _empty() -> TokenLogs:
    return TokenLogs(np.zeros(0, np.float32), [])
