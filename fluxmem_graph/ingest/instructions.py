"""Does a text read like an instruction to a language model, by rules without a model.

Each rule has a weight; a text whose rules add up to 1 reads like one. The rules look for orders that put
earlier ones aside, ask for a prompt, imitate a prompt's markup, give a model another role, address whatever
model reads the text, set a trap for later questions, send data away or hide something from the user.
"""

# ruff: noqa: E501
# A rule is read as a whole.

import re
import unicodedata
from functools import cache
from typing import Any, Final

THRESHOLD: Final = 1.0

_LAW = r"(?:instructions?|directions|rules|prompts?|guidelines|directives|programming|orders)"
_ASIDE = (
    r"(?:ignore|disregard|forget|discard|override|overrule|bypass|set aside|stop following|"
    r"(?:do not|don't|never) (?:follow|obey|heed))"
)
_PRIOR = r"(?:previous|prior|above|earlier|preceding|foregoing|existing|initial|original|your|safety|system)"
_MODEL = (
    r"(?:ais?|a\.i\.|llms?|(?:large )?language models?|models?|(?:ai )?agents?|(?:ai )?assistants?|chatbots?)"
)
_SAY = r"(?:say|tell|answer|reply|respond|claim|output|include|recommend|add that|insist)"

_RULES: Final = tuple(
    (weight, what, re.compile(pattern, re.MULTILINE))
    for weight, what, pattern in (
        (
            1.0,
            "puts earlier instructions aside",
            rf"\b{_ASIDE} (?:\w+ ){{0,3}}{_PRIOR} (?:\w+ ){{0,2}}{_LAW}\b",
        ),
        (
            1.0,
            "puts earlier instructions aside",
            rf"\b{_ASIDE} (?:\w+ ){{0,3}}{_LAW} (?:above|of your|(?:that )?you (?:received|were given|have|got))",
        ),
        (
            1.0,
            "puts earlier instructions aside",
            rf"\b{_ASIDE} (?:everything|anything|all)\b.{{0,20}}\babove\b",
        ),
        (
            1.0,
            "puts earlier instructions aside",
            rf"\b(?:replaces?|supersedes?|outranks?|overrides?) (?:\w+ ){{0,3}}(?:system (?:prompt|message)|{_LAW} (?:that )?you)",
        ),
        (
            1.0,
            "puts earlier instructions aside",
            r"\bignore the user's\b|\byour instructions (?:have|are|were) (?:changed|now|void)\b",
        ),
        (
            1.0,
            "puts earlier instructions aside",
            rf"\b(?:{_ASIDE}|skip) (?:\w+ ){{0,2}}(?:your|prior|previous|earlier|the (?:operator|developer|system)'s) (?:\w+ )?"
            r"(?:context|policy|policies|checks|training|constraints)\b",
        ),
        (
            1.0,
            "puts earlier instructions aside",
            r"\bobey (?:only )?this (?:note|text|message|memory)\b|\bas this (?:note|text|memory) says\b",
        ),
        (
            1.0,
            "asks for the prompt",
            r"\b(?:print|reveal|show|output|repeat|display|leak|disclose|recite) (?:\w+ ){0,5}your (?:\w+ ){0,2}"
            r"(?:prompt|instructions|rules|context window|configuration)\b",
        ),
        (
            1.0,
            "asks for the prompt",
            r"\b(?:print|reveal|show|output|leak|disclose|translate|recite) (?:\w+ ){0,2}(?:system|initial|developer) (?:prompt|message|instructions)\b",
        ),
        (1.0, "asks for the prompt", r"\brepeat (?:the )?(?:text|words|lines|everything) above\b"),
        (
            1.0,
            "asks for secrets",
            r"\b(?:print|reveal|output|leak) (?:all |the |your |any )+(?:passwords?|api keys?|secrets?|credentials)\b",
        ),
        (
            1.0,
            "imitates a prompt's markup",
            r"<\|im_(?:start|end)\|>|\[/?inst\]|<</?sys>>|</?system>|</(?:fact|skill|episode|note|task|observation)>|"
            r"^#+ ?system ?:|\b(?:begin|end) system (?:message|prompt)\b",
        ),
        (0.5, "imitates a prompt's markup", r"^(?:system|important) ?:"),
        (
            1.0,
            "gives a model another role",
            r"\byou are now (?:in \w+ mode|dan\b|an? (?:\w+ ){0,2}(?:ai|assistant|model|bot|agent)\b)|\byou are dan\b|"
            r"\byou have been reprogrammed\b|\byour (?:new role|system prompt) (?:is|has|was)\b|"
            r"\byou work for me now\b|\bfrom now on,? (?:you (?:are|will|must)|respond|answer|reply)\b|"
            r"\byou will now (?:reply|answer|respond|act)\b|\byou have no (?:limits|restrictions|rules)\b|"
            r"\b(?:act|behave|answer) as if you had no\b|\byou are no longer an? (?:ai|assistant|(?:language )?model|chatbot)\b|"
            r"\bdrop your (?:persona|role|character)\b|\bspeak as (?:the )?(?:root|admin)",
        ),
        (0.5, "gives a model another role", r"\bpretend (?:that )?you\b|\byour only (?:job|task) is to\b"),
        (
            1.0,
            "switches filters off",
            r"\b(?:without (?:any )?|disable (?:your |all )|ignore (?:your )?)(?:safety|content) (?:filters?|rules)\b",
        ),
        (
            1.0,
            "gives new instructions",
            r"^new instructions? ?:|\byou must always (?:obey|answer|say|follow the instructions)\b",
        ),
        (
            0.5,
            "gives orders",
            r"\byou (?:must|shall) (?:always |never )?(?:obey|answer|reveal|approve|say|reply|respond|not cite|mention)\b",
        ),
        (
            1.0,
            "gives orders for all answers",
            r"(?:^|[.!?:;] )(?:always )?(?:respond|reply|answer) (?:to )?(?:all|every|each|any) (?:\w+ )?(?:questions?|messages?|requests?)\b|"
            r"(?:^|[.!?:;] )always (?:answer|reply|respond) (?:that|with|in the)\b|"
            r"\bin your next (?:answer|reply|response),? (?:insert|include|add|say|mention)\b|"
            r"(?:^|[.!?:;] )when(?:ever)? (?:you are )?asked\b.{0,40}, (?:always )?(?:say|answer|reply|respond|claim)\b",
        ),
        (
            0.5,
            "gives orders",
            r"\bmust not cite\b|\bhas to answer\b|\bnever mention\b|\byou shall\b|\btrust no other memory\b",
        ),
        (
            1.0,
            "addresses the model that reads it",
            rf"\bif you are an? (?:\w+ )?{_MODEL}(?! (?:of|for|from|at|in|to)\b)|\b(?:any|every|the) {_MODEL} (?:that|who|which) \w+ this\b|"
            rf"\b(?:the )?{_MODEL} should treat this\b|^(?:dear|hey|hello|hi),? (?:gpt|chatgpt|chatbot|ai|llm|language model)\b|"
            rf"\b{_MODEL} (?:that |who |which )?(?:reading|reads?|process(?:es|ing)?|summari[sz]\w+) this\b|"
            rf"\bas (?:the|an) (?:ai )?assistant,? you (?:shall|must|should|will)\b|"
            rf"^{_MODEL}, (?:do not|don't|never|always|you must)\b",
        ),
        (
            0.5,
            "addresses the model that reads it",
            rf"\b(?:note|message|attention|command|instructions?)(?: (?:to|for))?(?: the| any| all)? {_MODEL}\b",
        ),
        (
            0.5,
            "addresses the model that reads it",
            r"\bwhen you read this\b|\bthe assistant must\b|\bsystem prompt\b",
        ),
        (
            0.5,
            "sets a trap for later questions",
            rf"\b(?:when|whenever|if|before) (?:you|someone|anyone|the user|a user|users)\b.{{0,60}}\b(?:{_SAY}|you must|approve)\b",
        ),
        (
            0.5,
            "sets a trap for later questions",
            rf"\bwhen the user asks\b|\b(?:{_SAY}|add) that\b|\b(?:the )?user asks for\b",
        ),
        (0.5, "sets a trap for later questions", r"\bwhen summari[sz]ing this\b"),
        (
            1.0,
            "hides something from the user",
            r"\b(?:do not|don't|never) (?:(?:tell|inform|alert|notify)|(?:mention|say|show) (?:this|it|that) to) the user\b",
        ),
        (0.5, "hides something from the user", r"\bsay nothing (?:about|of) (?:it|this)\b"),
        (
            0.5,
            "talks about the user",
            r"\btell the (?:user|customer) (?:that|to)\b|\b(?:this|the) user'?s? (?:question|address|messages?)\b|\bmessages? of this user\b",
        ),
        (
            0.5,
            "sends data away",
            r"\b(?:send|forward|post|upload|submit)\b.{0,80}(?:https?://|\bto \S+@\S+)|"
            r"\bcall the tool \w+|\b(?:contents|history) of (?:the|this) (?:conversation|chat)\b",
        ),
        (
            0.5,
            "sends data away",
            r"\b(?:whole|entire|all) (?:\w+ )?(?:chat|conversation)\b|\bcontents of the conversation\b",
        ),
        (0.5, "runs something unasked", r"\bwithout asking\b|\brm -rf\b|\bcurl\b.{0,60}\| ?(?:ba)?sh\b"),
        (
            0.5,
            "runs something unasked",
            r"\b(?:execute|approve|delete all|grant) (?:the following|every|files|admin)\b|\bdelete all files\b",
        ),
        (
            1.0,
            "puts earlier instructions aside",
            r"\b(?:ignorier\w*|vergiss|missachte)\b.{0,25}\b(?:vorherig|bisherig|obig|früher)\w*\b.{0,15}(?:anweisung|regel|instruktion)|"
            r"\b(?:ignora|olvida|ignore|esqueça|dimentica)\w*\b.{0,25}\b(?:instrucciones|reglas|instruções|istruzioni)\b.{0,12}(?:anterior|previ|precedent)|"
            r"\b(?:ignore|oublie)[zs]?\b.{0,25}\b(?:instructions|consignes|règles)\b.{0,5}(?:précédent|antérieur)|"
            r"(?:忽略|无视|無視|忘记).{0,10}(?:指令|指示|规则|提示)|(?:指示|命令|ルール).{0,8}(?:無視|忘れ)|игнорируй.{0,25}(?:инструкц|указани)",
        ),
    )
)
_AHEAD = re.compile(r"\(\?!(?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)")
_SPACED = re.compile(r"\b(?:\w ){4,}\w\b")
_HYPHEN = re.compile(r"(?<=\w)-\n(?=\w)")


@cache
def _rough_rules() -> Any:
    """Return RE2's set of all rules, each a little too wide: one pass tells which are worth looking at."""
    import re2

    rough = re2.Set.SearchSet()
    for _, _, pattern in _RULES:
        # RE2 looks at nothing ahead, and its words are those of ASCII.
        wide = _AHEAD.sub("", pattern.pattern).replace(r"\b", "").replace(r"\w", r"[\p{L}\p{N}\p{M}_]")
        rough.Add(f"(?m){wide}")
    rough.Compile()
    return rough


def reads_like_instructions(text: str) -> str:
    """Return what makes a text read like instructions to a model; empty when it does not."""
    plain = unicodedata.normalize("NFKC", text).casefold().replace("’", "'")
    ways: set[str] = set()
    # A hyphen at the end of a line parts a word, or ends what an order hides behind.
    for way in {plain, _HYPHEN.sub("", plain)}:
        closed = _SPACED.sub(lambda match: match.group().replace(" ", ""), way)
        # Both ways: markup is told by where it stands, and an order may run over lines.
        ways |= {"\n".join(" ".join(line.split()) for line in closed.splitlines()), " ".join(closed.split())}
    found: dict[str, float] = {}
    score = 0.0
    candidates = {place for way in ways for place in _rough_rules().Match(way) or ()}
    for weight, what, pattern in (_RULES[place] for place in sorted(candidates)):
        if any(pattern.search(way) for way in ways):
            found[what] = weight
            score += weight
    return ", ".join(found) if score >= THRESHOLD else ""
