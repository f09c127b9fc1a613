"""How text of a target language becomes words, and which row of its vectors each spelling has.

All splitting is done by Hugging Face's `tokenizers`, with the same objects here and in the exported tokenizer: what a
model was evaluated on and what its user sees cannot differ.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable
from typing import Literal

from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast

from seedwise.errors import RequestError

LETTER = r"[\p{L}\p{M}\p{N}\u200c\u200d]"  # letters, their marks, digits, and the joiners within words of Indic scripts
SIGN = r"[^\s\p{L}\p{M}\p{N}\u200c\u200d]"  # anything else that can be seen
WITH_SIGNS = 10_000  # entries with signs that are looked for in text, the most frequent: a longer pattern takes longer
LONGEST = 50  # letters of such an entry: longer ones, rows of signs and addresses, are not looked for
TURKISH = ("tr", "tur", "az", "aze", "azj", "crh", "gag")  # and its kin: I is the capital of ı; names take 'suffixes
NO_WORD = re.compile(r"</?\w+>|\[[A-Z]{3,}\]")  # entries such as </s> (fastText: end of line), <unk>, [PAD]
UNSEEN = "\uffff"  # no character: a word that is in no vocabulary


def plain(text: str) -> str:
    """Text in Unicode's form NFC with the typewriter's apostrophe: the form in which words are looked up."""
    return unicodedata.normalize("NFC", text).replace("’", "'")


class Words:
    """How text of a target language becomes words, and which row of the vectors each spelling has.

    Text is brought to Unicode's form NFC, and both apostrophes become the typewriter's. `splitting` then is
      - unicode: a word is a run of letters, marks and digits, every sign is a word of its own. But not all makers of
        vectors split like that, so entries with signs ("aujourd'hui", "l'", "1,5", "-il") are found whole, the longest
        first. Words with an apostrophe within that are no entries stay whole ("ng'ombeni"), but not where the
        vocabulary has elided entries ("l'"), nor in Turkish and its kin ("Ankara", "'", "dan"): there it is a border;
      - whitespace: for text that is already split;
      - jieba: Chinese (needs the extra `chinese`).
    `casing`: a word without a row of its own takes the row of its lower case. In a vocabulary with capitals this holds
    for words with a first capital and words in capitals, each a spelling more; else text is brought to lower case.
    `language` decides how: Turkish and its kin have two kinds of i. It may carry a script or region: tr, tur_Latn.
    """

    def __init__(
        self,
        vocabulary: list[str],
        language: str,
        *,
        splitting: Literal["unicode", "whitespace", "jieba"],
        casing: bool,
    ) -> None:
        self._segment = _segmenter() if splitting == "jieba" else None
        self._turkish = re.split("[_-]", language)[0].lower() in TURKISH
        has_capitals = any(word != self._lower(word) for word in vocabulary)
        steps = [normalizers.NFC(), normalizers.Replace("’", "'")]
        if casing and not has_capitals:
            dotted = [normalizers.Replace("İ", "i"), normalizers.Replace("I", "ı")] if self._turkish else []
            steps += [*dotted, normalizers.Lowercase()]
        self._normalizer = normalizers.Sequence(steps)
        self.spellings: dict[str, int] = {}  # spelling to row of the vectors; the order is that of the tokenizer's ids
        for row, word in enumerate(vocabulary):
            if not NO_WORD.fullmatch(word):
                self.add(self.normalise(word), row)
        if casing and has_capitals:
            for word, row in list(self.spellings.items()):
                if word == self._lower(word):
                    self.add(self.normalise(self._upper(word[0]) + word[1:]), row)
                    self.add(self.normalise(self._upper(word)), row)
        self._splitter = self._unicode() if splitting == "unicode" else pre_tokenizers.WhitespaceSplit()

    def add(self, spelling: str, row: int) -> None:
        """Give a spelling, as `split` returns it, a row of the vectors. A spelling that has one keeps it."""
        if spelling:
            self.spellings.setdefault(spelling, row)

    @property
    def segmented(self) -> bool:
        """Whether a segmenter splits text before anything else, which the tokenizer cannot do."""
        return self._segment is not None

    def normalise(self, text: str) -> str:
        """Text in the form that spellings have."""
        return self._normalizer.normalize_str(text)

    def casings(self, word: str) -> tuple[str, str]:
        """A word with a first capital, and in lower case, as its language writes them."""
        return self._upper(word[:1]) + self._lower(word[1:]), self._lower(word)

    def split(self, texts: list[str]) -> list[list[str]]:
        """The words of each text, normalised. Joined by spaces, words of jieba are what the tokenizer expects."""
        texts = [self.normalise(" ".join(self._segment(text)) if self._segment else text) for text in texts]
        return [[word for word, _ in self._splitter.pre_tokenize_str(text)] for text in texts]

    def rows(self, texts: list[str]) -> list[list[int]]:
        """The row of each word of each text; -1 where it is unknown."""
        return [[self.spellings.get(word, -1) for word in words] for words in self.split(texts)]

    def tokenizer(
        self, specials: list[str], *, cls: str, sep: str, pad: str, unk: str, max_length: int
    ) -> PreTrainedTokenizerFast:
        """A tokenizer that anybody can load: ids of `specials` in their order, then one per spelling in theirs.

        It splits as `split` does, but for jieba: there its text must be words joined by spaces. `max_length` is in
        words, specials included; it cuts only where the caller asks for truncation, as everywhere in transformers.
        """
        ids = {spelling: number for number, spelling in enumerate(self.spellings, start=len(specials))}
        ids |= {special: number for number, special in enumerate(specials)}
        tokenizer = Tokenizer(models.WordLevel(ids, unk_token=unk))
        # Text that looks like a special token is text: a word that nobody knows.
        alike = "|".join(map(re.escape, specials))
        tokenizer.normalizer = normalizers.Sequence(
            [self._normalizer, normalizers.Replace(Regex(rf"(?<!\S)(?:{alike})(?!\S)"), UNSEEN)]
            if isinstance(self._splitter, pre_tokenizers.WhitespaceSplit)
            else [self._normalizer]
        )
        tokenizer.pre_tokenizer = self._splitter
        tokenizer.post_processor = processors.TemplateProcessing(
            single=f"{cls} $A {sep}",
            pair=f"{cls} $A {sep} $B:1 {sep}:1",
            special_tokens=[(cls, ids[cls]), (sep, ids[sep])],
        )
        tokenizer.add_special_tokens(specials)
        return PreTrainedTokenizerFast(
            tokenizer_object=tokenizer,
            cls_token=cls,
            sep_token=sep,
            pad_token=pad,
            unk_token=unk,
            model_max_length=max_length,
            split_special_tokens=True,
        )

    def _lower(self, word: str) -> str:
        return (word.replace("İ", "i").replace("I", "ı") if self._turkish else word).lower()

    def _upper(self, word: str) -> str:
        return (word.replace("i", "İ") if self._turkish else word).upper()

    def _unicode(self) -> pre_tokenizers.PreTokenizer:
        """Words and signs, and entries of the vocabulary that hold signs."""
        cuts = self._turkish or any(re.fullmatch(r"\w+'|'\w+", spelling) for spelling in self.spellings)
        simple = f"{LETTER}+|{SIGN}" if cuts else f"{LETTER}+(?:'{LETTER}+)*|{SIGN}"
        splitter = _matches(simple)
        frequent = sorted(self.spellings, key=self.spellings.__getitem__)
        some = (word for word in frequent if not word.isalnum() and len(word) <= LONGEST)
        with_signs = [word for word in some if len(splitter.pre_tokenize_str(word)) > 1]
        return _matches(f"{_any_of(with_signs[:WITH_SIGNS])}|{simple}") if with_signs else splitter


def _matches(pattern: str) -> pre_tokenizers.PreTokenizer:
    """What matches the pattern becomes a word, what lies between disappears."""
    return pre_tokenizers.Split(Regex(pattern), behavior="removed", invert=True)


def _any_of(entries: Iterable[str]) -> str:
    """A pattern for any of the entries, the longest that fits; one that ends with a letter ends where its run ends.

    It is a tree of common beginnings, so that a place where none begins is left after a letter or two.
    """
    tree: dict = {}
    for entry in entries:
        node = tree
        for letter in entry:
            node = node.setdefault(letter, {})
        node[""] = f"(?!{LETTER})" if unicodedata.category(entry[-1])[0] in "LMN" else ""
    return _alternatives(tree)


def _alternatives(node: dict) -> str:
    longer = [re.escape(letter) + _alternatives(below) for letter, below in node.items() if letter]
    options = longer + ([node[""]] if "" in node else [])
    return options[0] if len(options) == 1 else f"(?:{'|'.join(options)})"


def _segmenter() -> Callable[[str], Iterable[str]]:
    """Jieba's function from text to words."""
    try:
        import jieba
    except ImportError as error:
        raise RequestError("splitting", "jieba is not installed", "Install seedwise[chinese].") from error
    jieba.setLogLevel("ERROR")  # it reports the loading of its dictionary
    return jieba.cut
