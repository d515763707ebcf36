"""Journals: where runs are kept, and what a store of one's own needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from detent.adapters.agent.continuation import ThreadNotEndedError as ThreadNotEndedError
    from detent.adapters.drivers.company.forks import ForkedRunError as ForkedRunError
    from detent.adapters.drivers.history import Runs as Runs
    from detent.adapters.drivers.progress import Progress as Progress
    from detent.adapters.drivers.recording import RunExistsError as RunExistsError
    from detent.adapters.journals.audited import Audit as Audit
    from detent.adapters.journals.audited import AuditedJournal as AuditedJournal
    from detent.adapters.journals.audited import verify_audit as verify_audit
    from detent.adapters.journals.directory import DirectoryJournal as DirectoryJournal
    from detent.adapters.journals.encrypted import EncryptedJournal as EncryptedJournal
    from detent.adapters.journals.memory import MemoryJournal as MemoryJournal
    from detent.adapters.journals.postgres.journal import PostgresJournal as PostgresJournal
    from detent.adapters.journals.redacted import RedactedJournal as RedactedJournal
    from detent.adapters.journals.sqlite import SQLiteJournal as SQLiteJournal
    from detent.ports.claims import Claim as Claim
    from detent.ports.claims import Claims as Claims
    from detent.ports.claims import Owner as Owner
    from detent.ports.claims import RunBusyError as RunBusyError
    from detent.ports.claims import RunOfEngineError as RunOfEngineError
    from detent.ports.journal import Checkpoint as Checkpoint
    from detent.ports.journal import Entry as Entry
    from detent.ports.journal import ForeignNotices as ForeignNotices
    from detent.ports.journal import Journal as Journal
    from detent.ports.journal import JournalConflictError as JournalConflictError
    from detent.ports.journal import JournalDamagedError as JournalDamagedError
    from detent.ports.journal import JournalError as JournalError
    from detent.ports.journal import JournalUnavailableError as JournalUnavailableError
    from detent.ports.journal import Notices as Notices
    from detent.ports.journal import RunNotFoundError as RunNotFoundError
    from detent.ports.journal import Submit as Submit
    from detent.ports.journal import SubmittingJournal as SubmittingJournal
    from detent.ports.journal import listing_after as listing_after
    from detent.ports.journal import require_next as require_next
    from detent.ports.listing import Listing as Listing
    from detent.ports.listing import RunQuery as RunQuery
    from detent.ports.listing import StoredRun as StoredRun
    from detent.ports.listing import page_of as page_of
    from detent.ports.results import RunEndedError as RunEndedError
else:
    from detent.exports import lazy_exports

    __getattr__, __dir__, __all__ = lazy_exports(
        __name__,
        {
            "adapters.agent.continuation": "ThreadNotEndedError",
            "adapters.drivers.company.forks": "ForkedRunError",
            "adapters.drivers.history": "Runs",
            "adapters.drivers.progress": "Progress",
            "adapters.drivers.recording": "RunExistsError",
            "adapters.journals.audited": "Audit AuditedJournal verify_audit",
            "adapters.journals.directory": "DirectoryJournal",
            "adapters.journals.encrypted": "EncryptedJournal",
            "adapters.journals.memory": "MemoryJournal",
            "adapters.journals.postgres.journal": "PostgresJournal",
            "adapters.journals.redacted": "RedactedJournal",
            "adapters.journals.sqlite": "SQLiteJournal",
            "ports.claims": "Claim Claims Owner RunBusyError RunOfEngineError",
            "ports.journal": (
                "Checkpoint Entry ForeignNotices Journal JournalConflictError JournalDamagedError "
                "JournalError JournalUnavailableError Notices RunNotFoundError Submit "
                "SubmittingJournal listing_after require_next"
            ),
            "ports.listing": "Listing RunQuery StoredRun page_of",
            "ports.results": "RunEndedError",
        },
    )
