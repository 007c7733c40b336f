"""The provider `parrot`; `plan` imports this module, so the SDK is imported in another one."""

from strands_cli.api import Provider

PARROT = Provider(
    "parrot",
    "Repeats the last message",
    make="strands_cli_yours.parrot_model:Parrot",
    places={"model_id": ("model_id",)},
    options=frozenset({"volume"}),
    option_schemas={"volume": {"type": "integer", "minimum": 1}},
)
