from strands_cli.engine.waiting.question_hooks import tell_of_questions as tell_of_questions
from strands_cli.engine.waiting.sendable_questions import CUT_OFF as CUT_OFF
from strands_cli.engine.waiting.sendable_questions import portable_command as portable_command
from strands_cli.engine.waiting.sendable_questions import sendable as sendable
from strands_cli.engine.waiting.sendable_questions import waiting_questions as waiting_questions
from strands_cli.engine.waiting.sendable_questions import ways_to_answer as ways_to_answer
