"""Augments English texts: the operator `nlpaug_en_mapper`."""

from collections.abc import Mapping

from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.text.augmenter import Augmenter, Method
from jinx_pipeline.operators.text.noise_en import METHODS


@register("nlpaug_en_mapper", modality="text")
class NlpaugEnMapper(Augmenter):
    """Makes noisy copies of English texts: changed words, typos, spelling mistakes and OCR errors.

    Each chosen method changes three of ten words, at least one and at most ten; those on characters change three of ten
    characters of such a word. Words of less than four characters are only deleted or swapped. The methods are those of
    Data-Juicer, which uses nlpaug; the implementation and its tables are our own.

        create("nlpaug_en_mapper", swap_random_word=True)([{"text": "so it is"}])  # and "it so is", for instance

    Attributes:
        delete_random_word: Delete words; one stays.
        swap_random_word: Swap words with the next word.
        spelling_error_word: Misspell words.
        split_random_word: Split words by a space.
        keyboard_error_char: Replace characters by those next to them on a keyboard.
        ocr_error_char: Replace characters by those that look alike.
        delete_random_char: Delete characters.
        swap_random_char: Swap adjacent characters.
        insert_random_char: Insert random letters.
    """

    delete_random_word: bool = False
    swap_random_word: bool = False
    spelling_error_word: bool = False
    split_random_word: bool = False
    keyboard_error_char: bool = False
    ocr_error_char: bool = False
    delete_random_char: bool = False
    swap_random_char: bool = False
    insert_random_char: bool = False

    @property
    def methods(self) -> Mapping[str, Method]:
        return METHODS
