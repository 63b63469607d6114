"""A conversation as one text, for what reads only that."""

from collections.abc import Sequence

from baselinekit.model.asking import Message


def as_prompt(messages: Sequence[Message]) -> str:
    """The text of a single message of a user as it is; of several, each under the name of its role."""
    if len(messages) == 1 and messages[0].role == "user":
        return messages[0].content
    return "\n\n".join(f"[{message.role}]\n{message.content}" for message in messages)


def split_system(messages: Sequence[Message]) -> tuple[str, list[Message]]:
    """What the system says, in one text, and the rest of the conversation."""
    system = "\n\n".join(message.content for message in messages if message.role == "system")
    return system, [message for message in messages if message.role != "system"]
