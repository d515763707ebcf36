"""Signatures: a decision is proven by a key that only the approver has. Ed25519, RFC 8032."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Mapping
from math import isfinite
from typing import TYPE_CHECKING, Any, ClassVar, Self

from attrs import evolve, field, frozen
from attrs.validators import deep_mapping, instance_of

from detent.adapters.confirmation.public_keys import is_public_key
from detent.adapters.system.clocks import SystemClock
from detent.adapters.system.installation import install_command
from detent.core.chat.messages import ToolCall
from detent.core.codec.own_values import dump
from detent.core.control.decisions import ToolExecutionDecision, decision_for
from detent.core.errors import StoredDataError
from detent.core.machine.calls import Refusal
from detent.core.run.approval import Decision, Principal, _roles
from detent.core.run.events import HumanDecided
from detent.core.tools.tool import Tool
from detent.core.tools.version import hash_of
from detent.core.values.checks import number
from detent.ports.clock import Clock
from detent.ports.pending import PendingCall

if TYPE_CHECKING:
    from types import ModuleType

PURPOSE = "detent decision 1"
"""What each signed text begins with, so that a signature of something else is none."""
NO_PROOF = (ValueError, TypeError, KeyError, RecursionError, StoredDataError)
"""What is raised where a credential is none that a `Signer` has made."""


@frozen
class ApproverKey:
    """The public key of an approver, and what they may decide about.

    Attributes:
        public_key: 32 bytes in Base64, as `Signer.public_key` gives it.
        roles: the roles that they have had.
        until: what they sign counts until then, in seconds since 1970; None is without an end. Keep
            the key of somebody who leaves, or the runs that they decided about cannot be read.

    Raises:
        ValueError: `public_key` is no key, or a weak one, for which anybody can sign.
        TypeError: `roles` are a text, which would be one role a letter.
    """

    public_key: str = field(validator=is_public_key)
    roles: tuple[str, ...] = field(default=(), converter=_roles)
    until: float | None = field(default=None, validator=number(0, or_none=True))


@frozen
class Signer:
    """Somebody who signs decisions, where they are made: with ``pip install 'detent[signed]'``.

    Attributes:
        name: who it is, as in `ApproverKeys`.
        private_key: 32 bytes in Base64. Whoever has it decides in this name.
    """

    name: str = field(validator=instance_of(str))
    private_key: str = field(validator=instance_of(str), repr=False)

    @classmethod
    def new(cls, name: str) -> Self:
        """One with a new key."""
        key = _ed25519().Ed25519PrivateKey.generate()
        return cls(name, b64encode(key.private_bytes_raw()).decode())

    @property
    def public_key(self) -> str:
        """What others need, to know what this one has signed."""
        return b64encode(self._key().public_key().public_bytes_raw()).decode()

    def sign(self, decision: ToolExecutionDecision, *, expires_at: float) -> ToolExecutionDecision:
        """The decision with a signature as its credential, which counts until a time since 1970.

        It is for the very question that was shown, and for nothing else.

        Raises:
            ValueError: the decision has no digest: it is not known what was shown. Or `expires_at`
                is no time.
        """
        if not decision.digest:
            raise ValueError("only a decision about a PendingCall can be signed: it has a digest")
        if not isfinite(expires_at):
            raise ValueError(f"'expires_at' is a time in seconds since 1970, got {expires_at}")
        decision = evolve(decision, by=self.name, credential=None)
        text = _text(decision, expires_at)
        return evolve(decision, credential=_proof(text, self._key().sign(text.encode())))

    def sign_text(self, text: str) -> str:
        """The signature of a text that is no decision, e.g. of the head of an audit log."""
        return b64encode(self._key().sign(_other(text))).decode()

    def _key(self) -> Any:
        return _ed25519().Ed25519PrivateKey.from_private_bytes(b64decode(self.private_key))


@frozen
class ApproverKeys:
    """Knows approvers by their signatures: ``Agent(approvers=ApproverKeys({"Ada": key}))``.

    What was signed is kept with the decision, and looked at again whenever it is read.
    """

    keys: Mapping[str, ApproverKey] = field(
        validator=deep_mapping(instance_of(str), instance_of(ApproverKey))
    )
    clock: Clock = field(factory=SystemClock, repr=False)
    wants_signature: ClassVar[bool] = True

    def __attrs_post_init__(self) -> None:
        """Raise where two people have one key."""
        if len({key.public_key for key in self.keys.values()}) < len(self.keys):
            raise ValueError("two approvers have the same public key: one person is not two")

    def __call__(
        self, decision: ToolExecutionDecision, question: PendingCall, /
    ) -> Principal | Refusal:
        """Who has signed it."""
        proof = decision.credential or ""
        fault = self._fault(proof, decision.by or "", self.clock.now())
        signed = None if fault else _signed(proof)
        if signed is not None and signed[0] != _text(evolve(decision, credential=None), signed[2]):
            fault = "what was signed is another decision"
        if fault:
            return Refusal("unauthenticated", fault)
        name = str(decision.by)
        return Principal(name, self.keys[name].roles, proof)

    def vouches(self, event: HumanDecided, call: ToolCall, tool: Tool) -> bool:
        """Whether a decision is what was signed, and for this call."""
        who = event.who
        if who is None or self._fault(who.proof, who.name, event.at):
            return False
        _, signed, _ = _signed(who.proof)
        is_theirs = event.by == who.name and {*who.roles} <= {*self.keys[who.name].roles}
        is_about = (signed.digest, signed.tool_name) == (event.digest, call.tool_name)
        both = (decision_for(call, tool, signed), event.decision)
        return (
            is_theirs
            and is_about
            and len({hash_of(dump(decision, Decision)) for decision in both}) == 1
        )

    def _fault(self, proof: str, name: str, at: float | None) -> str:
        """Why a proof is not that of this person at this time; "" if it is."""
        key = self.keys.get(name)
        if key is None:
            return f"nobody called {name!r} is known here"
        try:
            text, signed, expires_at = _signed(proof)
            public = _ed25519().Ed25519PublicKey.from_public_bytes(b64decode(key.public_key))
            public.verify(b64decode(json.loads(proof)["signature"]), text.encode())
        except (*NO_PROOF, _invalid_signature()):
            return f"that is no signature of {name}"
        if signed.execute and signed.expires_at is not None:
            # RULE: a yes counts no longer than what was shown, whatever a snapshot says of that
            expires_at = min(expires_at, signed.expires_at)
        if at is None or at > expires_at:
            return f"what {name} has signed counted until {expires_at}"
        if key.until is not None and at > key.until:
            return f"what {name} signs counted until {key.until}"
        return ""

    def has_signed(self, name: str, text: str, signature: str) -> bool:
        """Whether somebody has signed a text that is no decision: see `Signer.sign_text`.

        Such a text bears no time, so that `ApproverKey.until` says nothing of it: a text of before
        counts later as well, and one that is signed with the key behind its end, too.
        """
        key = self.keys.get(name)
        try:
            public = _ed25519().Ed25519PublicKey.from_public_bytes(
                b64decode("" if key is None else key.public_key)
            )
            public.verify(b64decode(signature), _other(text))
        except (ValueError, _invalid_signature()):
            return False
        return True


def _text(decision: ToolExecutionDecision, expires_at: float) -> str:
    """What is signed."""
    content = decision.to_dict()
    if decision.expires_at is None:  # as it was signed before a decision could have one
        del content["expires_at"]
    signed = [PURPOSE, content, float(expires_at)]
    return json.dumps(signed, sort_keys=True, separators=(",", ":"))


def _other(text: str) -> bytes:
    return f"detent text 1\n{text}".encode()


def _proof(text: str, signature: bytes) -> str:
    return json.dumps({"text": text, "signature": b64encode(signature).decode()})


def _signed(proof: str) -> tuple[str, ToolExecutionDecision, float]:
    """What was signed: the text, and what it says.

    Raises:
        ValueError: it is no proof; so do TypeError, KeyError and StoredDataError.
    """
    text = json.loads(proof)["text"]
    purpose, decision, expires_at = json.loads(text)
    if purpose != PURPOSE:
        raise ValueError("it was signed for another purpose")
    if not isfinite(expires_at):
        raise ValueError("it was signed without an end")
    return text, ToolExecutionDecision.from_dict(decision), float(expires_at)


def _ed25519() -> ModuleType:
    try:
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ImportError as error:
        raise ImportError(
            f"signatures need the library cryptography: {install_command('signed')}"
        ) from error
    return ed25519


def _invalid_signature() -> type[Exception]:
    _ed25519()
    from cryptography.exceptions import InvalidSignature

    return InvalidSignature
