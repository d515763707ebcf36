"""The promises of the ports as checks: run them against an adapter of your own."""

from detent.ports.laws.chance import check_chance as check_chance
from detent.ports.laws.chat import ChatGeneratorCheck as ChatGeneratorCheck
from detent.ports.laws.chat import check_chat_generator as check_chat_generator
from detent.ports.laws.claims import check_claims as check_claims
from detent.ports.laws.clock import check_clock as check_clock
from detent.ports.laws.confirmation import check_confirmation_ui as check_confirmation_ui
from detent.ports.laws.handlers import check_handler as check_handler
from detent.ports.laws.hosting import check_host as check_host
from detent.ports.laws.journal import check_journal as check_journal
from detent.ports.laws.notices import check_notices as check_notices
from detent.ports.laws.observer import check_observer as check_observer
from detent.ports.laws.submissions import check_submissions as check_submissions
from detent.ports.laws.tool_execution import check_tool_executor as check_tool_executor
