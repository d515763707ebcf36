"""The promises of the ports as checks: run them against an adapter of your own."""

from detent.ports.laws.chat import check_chat_generator as check_chat_generator
from detent.ports.laws.journal import check_journal as check_journal
