"""Splitting text of a target language into words, and mapping their spellings to rows of its vectors.

Hugging Face's `tokenizers` does all splitting, with the same objects here and in the exported tokenizer, so an
evaluated model and its exported copy split text alike.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable
from typing import Literal

from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast

from seedwise.errors import RequestError

LETTER = r"[\p{L}\p{M}\p{N}\u200c\u200d]"  # letters, their marks, digits, and the joiners within words of Indic scripts
SIGN = r"[^\s\p{L}\p{M}\p{N}\u200c\u200d]"  # any other visible character
MAX_SIGN_ENTRIES = 10_000  # the most frequent entries with signs, which are recognised whole: more would be slower
MAX_SIGN_LETTERS = 50  # most characters of an entry with signs: longer entries are rows of signs, or addresses
TURKISH = ("tr", "tur", "az", "aze", "azj", "crh", "gag")  # and related: ı has the capital I; 'suffixes follow names
NO_WORD = re.compile(r"</?\w+>|\[[A-Z]{3,}\]")  # entries such as </s> (fastText: end of line), <unk>, [PAD]
UNSEEN = "\uffff"  # not a character, so no vocabulary has this word


def plain(text: str) -> str:
    """Text in Unicode's form NFC with the typewriter apostrophe: the form in which words are looked up."""
    return unicodedata.normalize("NFC", text).replace("’", "'")


class Words:
    """Splits text of a target language into words; `spellings` maps each spelling to its row of the vectors.

    Text is first brought to Unicode's form NFC, with typewriter apostrophes. `splitting` is
      - unicode: a word is a run of letters, marks and digits, and each sign is a word of its own. Not all makers of
        vectors split like that, so entries with signs ("aujourd'hui", "l'", "1,5", "-il") are recognised whole, the
        longest first. An apostrophe within any other word stays ("ng'ombeni"), unless the vocabulary has elided entries
        ("l'") or the language is Turkish or related ("Ankara", "'", "dan"): there it is a word boundary;
      - whitespace: for text that is already split;
      - jieba: Chinese (needs the extra `chinese`).
    `casing`: a word without a row takes the row of its lower-case form. If the vocabulary has capitals, this holds only
    for capitalised words and words in capitals, each as another spelling; otherwise all text is lower-cased.
    `language` (tr, tur_Latn) selects the casing rules: Turkish and related languages have two kinds of i.
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
        self.spellings: dict[str, int] = {}  # in the order of the tokenizer's ids
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
        """Map a spelling, as `split` returns it, to a row of the vectors, unless the spelling already has a row."""
        if spelling:
            self.spellings.setdefault(spelling, row)

    @property
    def segmented(self) -> bool:
        """Whether a segmenter splits text first, which the exported tokenizer cannot do."""
        return self._segment is not None

    def normalise(self, text: str) -> str:
        """Text in the form that spellings have."""
        return self._normalizer.normalize_str(text)

    def casings(self, word: str) -> tuple[str, str]:
        """The word capitalised, and the word in lower case, by the rules of its language."""
        return self._upper(word[:1]) + self._lower(word[1:]), self._lower(word)

    def split(self, texts: list[str]) -> list[list[str]]:
        """The words of each text, normalised."""
        texts = [self.normalise(" ".join(self._segment(text)) if self._segment else text) for text in texts]
        return [[word for word, _ in self._splitter.pre_tokenize_str(text)] for text in texts]

    def rows(self, texts: list[str]) -> list[list[int]]:
        """The row of each word of each text; -1 for unknown words."""
        return [[self.spellings.get(word, -1) for word in words] for words in self.split(texts)]

    def tokenizer(
        self, specials: list[str], *, cls: str, sep: str, pad: str, unk: str, max_length: int
    ) -> PreTrainedTokenizerFast:
        """A tokenizer that transformers can load. Ids number first `specials`, then the spellings, each in order.

        It splits like `split`, except that jieba's words must already be joined by spaces. `max_length` is in words,
        specials included; as everywhere in transformers, text is cut only if the caller asks for truncation.
        """
        ids = {spelling: number for number, spelling in enumerate(self.spellings, start=len(specials))}
        ids |= {special: number for number, special in enumerate(specials)}
        tokenizer = Tokenizer(models.WordLevel(ids, unk_token=unk))
        # Text that looks like a special token counts as text, namely as an unknown word.
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
        """A splitter into words, signs, and vocabulary entries that hold signs."""
        cuts = self._turkish or any(re.fullmatch(r"\w+'|'\w+", spelling) for spelling in self.spellings)
        simple = f"{LETTER}+|{SIGN}" if cuts else f"{LETTER}+(?:'{LETTER}+)*|{SIGN}"
        splitter = _matches(simple)
        frequent = sorted(self.spellings, key=self.spellings.__getitem__)
        candidates = (word for word in frequent if not word.isalnum() and len(word) <= MAX_SIGN_LETTERS)
        with_signs = [word for word in candidates if len(splitter.pre_tokenize_str(word)) > 1]
        return _matches(f"{_any_of(with_signs[:MAX_SIGN_ENTRIES])}|{simple}") if with_signs else splitter


def _matches(pattern: str) -> pre_tokenizers.PreTokenizer:
    """A splitter whose words are the matches of the pattern; text between matches disappears."""
    return pre_tokenizers.Split(Regex(pattern), behavior="removed", invert=True)


def _any_of(entries: Iterable[str]) -> str:
    """A pattern for the longest entry that matches. After an entry that ends with a letter, no letter may follow.

    The pattern is a tree of common prefixes, so that most positions of a text fail after a character or two.
    """
    tree: dict = {}
    for entry in entries:
        node = tree
        for character in entry:
            node = node.setdefault(character, {})
        node[""] = f"(?!{LETTER})" if unicodedata.category(entry[-1])[0] in "LMN" else ""
    return _alternatives(tree)


def _alternatives(node: dict) -> str:
    longer = [re.escape(character) + _alternatives(below) for character, below in node.items() if character]
    options = longer + ([node[""]] if "" in node else [])
    return options[0] if len(options) == 1 else f"(?:{'|'.join(options)})"


def _segmenter() -> Callable[[str], Iterable[str]]:
    """Jieba's function from text to words."""
    try:
        import jieba
    except ImportError as error:
        raise RequestError("splitting", "jieba is not installed", "Install seedwise[chinese].") from error
    jieba.setLogLevel("ERROR")  # jieba logs the loading of its dictionary
    return jieba.cut
