"""Augments Chinese texts: the operator `nlpcda_zh_mapper`."""

from collections.abc import Mapping

from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.text.augmenter import Augmenter, Method
from jinx_pipeline.operators.text.noise_zh import METHODS


@register("nlpcda_zh_mapper", modality="text")
class NlpcdaZhMapper(Augmenter):
    """Makes samples with noise in their Chinese texts: similar words, homophones, other numerals.

    Each chosen method changes three of ten words or characters that it can change, at least one. The methods are those
    of Data-Juicer, which uses nlpcda; the implementation and its lists, of common words and characters, are our own.

        create("nlpcda_zh_mapper", replace_equivalent_num=True, keep_original_sample=False)([{"text": "5种"}])

    Attributes:
        replace_similar_word: Replace words by others of the same meaning.
        replace_homophone_char: Replace characters by others that sound alike.
        delete_random_char: Delete Chinese characters; one stays.
        swap_random_char: Swap Chinese characters with the next one.
        replace_equivalent_num: Replace digits and numerals by other forms of the same number.
    """

    replace_similar_word: bool = False
    replace_homophone_char: bool = False
    delete_random_char: bool = False
    swap_random_char: bool = False
    replace_equivalent_num: bool = False

    @property
    def methods(self) -> Mapping[str, Method]:
        return METHODS
