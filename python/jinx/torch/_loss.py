"""The loss of packed batches: `token_loss`."""

import torch

from jinx.torch._encoding import IGNORED


def token_loss(logits: torch.Tensor, labels: torch.Tensor, num_label_tokens: int) -> torch.Tensor:
    """The cross entropy of the next token, summed over the labels of a batch and divided by a number of labels.

    With `batch["num_label_tokens_step"]`, the sum of the loss over the micro-steps and ranks of an optimiser step is
    the mean over all its labels. If gradients are averaged over ranks, multiply by the number of ranks. Filler packs
    give 0.

    Args:
        logits: Of shape (batch, tokens, vocabulary).
        labels: int64 of shape (batch, tokens), not shifted; -100 does not count.
        num_label_tokens: The divisor.

    Raises:
        ValueError: `num_label_tokens` is 0, although there are labels.
    """
    if num_label_tokens <= 0 and bool((labels[:, 1:] != IGNORED).any()):
        raise ValueError(
            f"num_label_tokens={num_label_tokens}, and the batch has labels: the loss would not be divided; give "
            'batch["num_label_tokens_step"], from lengths with num_label_tokens'
        )
    shifted = torch.nn.functional.cross_entropy(
        logits[:, :-1].reshape(-1, logits.shape[-1]).float(),
        labels[:, 1:].reshape(-1),
        ignore_index=IGNORED,
        reduction="sum",
    )
    return shifted / max(num_label_tokens, 1)
