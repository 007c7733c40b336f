"""Model providers as rows: the requirements of each, the places of its settings, and the maker of the SDK's model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field, replace
from typing import Any

from strands_cli.quick_dataclass import dataclass

Place = tuple[str, ...]
_CORE = "strands-cli"


@dataclass(frozen=True, slots=True)
class Provider:
    """A model provider: its settings with their places and checks, its requirements, and the maker of its model.

    It is data, so that `plan` checks a workflow without the SDK. A distribution adds one by an entry point of the group
    `strands_cli.providers` with the provider's name.

    Attributes:
        name: The value of `provider` in a workflow.
        title: The service, in a few words.
        make: A function or class, or `module:attribute`, which is imported when a run needs the model. It gets keyword
            arguments and returns a `strands.models.Model`. None for `replay`, which is ours.
        extra: The extra of `distribution` with the client; None if its base installation has it.
        modules: Modules that must be importable.
        least_major: Distribution and the lowest major version that `make` accepts.
        places: Setting -> path of the keyword argument; a setting without a path has no effect, and a warning says so.
        needs: Settings that must be written.
        options: Keys of `runtime.options`, each a keyword argument.
        sections: Option -> all keys that it may have.
        option_schemas: Option -> JSON Schema of its value.
        keys: Environment variables of which one must hold the API key; their values are redacted everywhere.
        key_place: Path of the keyword argument for the API key.
        passes_key: Whether `make` gets the key from the environment at `key_place`; otherwise it reads `keys` itself.
        keyless: Paths of keyword arguments that replace the key when they are set.
        keyless_variables: Environment variables that do the same.
        default_host: The address of requests by default.
        host_variable: Environment variable with which the client replaces the default host.
        presets: Path of a keyword argument -> its default, which `options` overrides.
        client_class: `module:class` of a client that the SDK builds only when a request is sent.
        aws: Whether AWS credentials are used instead of a key.
        temperature_max: Upper bound that the service enforces, if it is below the usual 2.
        adds_v1: Whether the client itself appends `/v1` (Ollama's `/api`) to the host.
        reads: The types of attachments that its models may read, such as `png` and `pdf`; None where that is unknown.
            Documents that are texts can be sent as text to every model.
        distribution: Its distribution; the program fills it in.
    """

    name: str
    title: str
    make: str | Callable[..., Any] | None = None
    extra: str | None = None
    modules: Place = ()
    least_major: tuple[str, int] | None = None
    places: Mapping[str, Place] = field(default_factory=dict)
    needs: frozenset[str] = frozenset({"model_id"})
    options: frozenset[str] = frozenset()
    sections: Mapping[str, frozenset[str]] = field(default_factory=dict)
    option_schemas: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    keys: Place = ()
    key_place: Place | None = None
    passes_key: bool = False
    keyless: tuple[Place, ...] = ()
    keyless_variables: Place = ()
    default_host: str | None = None
    host_variable: str | None = None
    presets: Mapping[Place, Any] = field(default_factory=dict)
    client_class: str | None = None
    aws: bool = False
    temperature_max: float | None = None
    adds_v1: bool = False
    reads: frozenset[str] | None = None
    distribution: str = _CORE

    @property
    def is_of_core(self) -> bool:
        """Whether it is one of the program's own."""
        return self.distribution == _CORE

    @property
    def is_sdk_class(self) -> bool:
        """Whether the SDK's own class is the model."""
        return isinstance(self.make, str) and self.make.startswith("strands.models.")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_SAMPLING = ("temperature", "top_p", "max_tokens")
_FLAT: dict[str, Place] = {name: (name,) for name in ("model_id", *_SAMPLING)}
_PARAMS: dict[str, Place] = {"model_id": ("model_id",), **{name: ("params", name) for name in _SAMPLING}}
_BASE_URL: dict[str, Place] = {"host": ("client_args", "base_url")}
_NO_RETRIES: Mapping[Place, Any] = {("client_args", "max_retries"): 0}
_BOTO_NO_RETRIES: Mapping[Place, Any] = {("boto_client_config", "retries"): {"total_max_attempts": 1}}
_IMAGES = _words("png jpeg gif webp")
_CACHE = _words("strategy ttl system_prompt_ttl cache_key tools_ttl")
_MANTLE = _words("endpoint region")
OPENAI = Provider(
    "openai",
    "OpenAI chat completions, and every server with the same interface",
    make="strands.models.openai:OpenAIModel",
    extra="openai",
    modules=("openai",),
    places=_PARAMS | _BASE_URL,
    options=_words("params stream cache_config context_window_limit client_args bedrock_mantle_config"),
    sections={"cache_config": _CACHE, "bedrock_mantle_config": _MANTLE},
    keys=("OPENAI_API_KEY",),
    key_place=("client_args", "api_key"),
    keyless=(("bedrock_mantle_config",), ("client_args", "workload_identity"), ("client_args", "admin_api_key")),
    default_host="https://api.openai.com/v1",
    host_variable="OPENAI_BASE_URL",
    presets=_NO_RETRIES,
    client_class="openai:AsyncOpenAI",
    reads=_IMAGES | {"pdf"},
)

BEDROCK = Provider(
    "bedrock",
    "Amazon Bedrock",
    make="strands.models.bedrock:BedrockModel",
    modules=("boto3",),
    places=_FLAT | {"region": ("region_name",), "host": ("endpoint_url",)},
    needs=frozenset(),
    options=_words(
        "additional_args additional_request_fields additional_response_field_paths cache_prompt cache_config"
        " cache_tools guardrail_id guardrail_trace guardrail_stream_processing_mode guardrail_version"
        " guardrail_redact_input guardrail_redact_input_message guardrail_redact_output"
        " guardrail_redact_output_message guardrail_latest_message include_tool_result_status service_tier"
        " stop_sequences streaming strict_tools use_native_token_count context_window_limit api_key"
        " boto_client_config"
    ),
    sections={"cache_config": _CACHE},
    keys=("AWS_BEARER_TOKEN_BEDROCK",),
    key_place=("api_key",),
    host_variable="AWS_ENDPOINT_URL_BEDROCK_RUNTIME",
    # The class uses this default only if it creates the client configuration itself.
    presets={**_BOTO_NO_RETRIES, ("boto_client_config", "read_timeout"): 120},
    aws=True,
    reads=_IMAGES | _words("pdf csv doc docx xls xlsx html txt md"),
)
OPENAI_RESPONSES = replace(
    OPENAI,
    name="openai_responses",
    title="OpenAI responses API",
    make="strands.models.openai_responses:OpenAIResponsesModel",
    least_major=("openai", 2),
    places=_PARAMS | _BASE_URL | {"max_tokens": ("params", "max_output_tokens")},
    options=(OPENAI.options - {"stream"}) | {"stateful", "use_native_token_count"},
    reads=_IMAGES | _words("pdf doc docx xls xlsx"),
)
ANTHROPIC = Provider(
    "anthropic",
    "Anthropic messages API",
    make="strands.models.anthropic:AnthropicModel",
    extra="anthropic",
    modules=("anthropic",),
    places=_PARAMS | _BASE_URL | {"max_tokens": ("max_tokens",)},
    needs=frozenset({"model_id", "max_tokens"}),
    options=_words(
        "params cache_config cache_tools anthropic_tools use_native_token_count context_window_limit client_args"
    ),
    sections={"cache_config": _CACHE},
    keys=("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"),
    key_place=("client_args", "api_key"),
    keyless=(("client_args", "auth_token"), ("client_args", "profile"), ("client_args", "config")),
    default_host="https://api.anthropic.com",
    host_variable="ANTHROPIC_BASE_URL",
    presets=_NO_RETRIES,
    client_class="anthropic:AsyncAnthropic",
    temperature_max=1.0,
    adds_v1=True,
    reads=_IMAGES | _words("pdf csv html txt md"),
)
GEMINI = Provider(
    "gemini",
    "Google Gemini",
    make="strands.models.gemini:GeminiModel",
    extra="gemini",
    modules=("google.genai",),
    places=_PARAMS
    | {"max_tokens": ("params", "max_output_tokens"), "host": ("client_args", "http_options", "base_url")},
    options=_words("params gemini_tools use_native_token_count context_window_limit client_args"),
    keys=("GOOGLE_API_KEY", "GEMINI_API_KEY"),
    key_place=("client_args", "api_key"),
    keyless=(("client_args", "vertexai"), ("client_args", "enterprise")),
    keyless_variables=("GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_GENAI_USE_ENTERPRISE"),
    default_host="https://generativelanguage.googleapis.com",
    host_variable="GOOGLE_GEMINI_BASE_URL",
    client_class="google.genai:Client",
    reads=_words("png jpeg webp pdf csv html txt md"),
)
OLLAMA = Provider(
    "ollama",
    "Ollama's own API",
    make="strands.models.ollama:OllamaModel",
    extra="ollama",
    modules=("ollama",),
    places=_FLAT | {"host": ("host",)},
    options=_words(
        "additional_args cache_config keep_alive options stop_sequences context_window_limit ollama_client_args"
    ),
    sections={"cache_config": _CACHE},
    default_host="http://127.0.0.1:11434",
    host_variable="OLLAMA_HOST",
    adds_v1=True,
    reads=_IMAGES,
)
LLAMACPP = Provider(
    "llamacpp",
    "llama.cpp server",
    make="strands.models.llamacpp:LlamaCppModel",
    modules=("httpx",),
    places=_PARAMS | {"host": ("base_url",)},
    needs=frozenset(),
    options=_words("params use_native_token_count cache_config context_window_limit timeout"),
    sections={
        "cache_config": _CACHE,
        # The class sends these and silently ignores every other name.
        "params": _words(
            "grammar json_schema temperature max_tokens top_p frequency_penalty presence_penalty stop seed n"
            " logprobs top_logprobs response_format repeat_penalty top_k min_p typical_p tfs_z top_a mirostat"
            " mirostat_lr mirostat_ent penalty_last_n n_probs min_keep ignore_eos logit_bias cache_prompt"
            " slot_id samplers"
        ),
    },
    default_host="http://localhost:8080",
    # The class waits 30 s for the first token, but a long prompt takes longer on a small machine.
    presets={("timeout",): (10.0, 600.0)},
    adds_v1=True,
    reads=_IMAGES,
)
MISTRAL = Provider(
    "mistral",
    "Mistral AI",
    make="strands.models.mistral:MistralModel",
    extra="mistral",
    modules=("mistralai.client",),
    places=_FLAT | {"host": ("client_args", "server_url")},
    options=_words("stream cache_config context_window_limit api_key client_args"),
    sections={"cache_config": _CACHE},
    keys=("MISTRAL_API_KEY",),
    key_place=("client_args", "api_key"),
    keyless=(("api_key",),),
    default_host="https://api.mistral.ai",
    client_class="mistralai.client:Mistral",
    temperature_max=1.0,
    adds_v1=True,
    reads=_IMAGES,
)
LITELLM = Provider(
    "litellm",
    "LiteLLM, which forwards to many services",
    make="strands.models.litellm:LiteLLMModel",
    extra="litellm",
    modules=("litellm", "openai"),
    places=_PARAMS | {"host": ("client_args", "api_base")},
    options=_words("params stream cache_config context_window_limit client_args"),
    sections={"cache_config": _CACHE},
    key_place=("client_args", "api_key"),
    presets={("client_args", "max_retries"): 0, ("client_args", "num_retries"): 0},
)
WRITER = Provider(
    "writer",
    "Writer",
    make="strands.models.writer:WriterModel",
    extra="writer",
    modules=("writerai",),
    places=_FLAT | _BASE_URL,
    options=_words("cache_config stop stream_options context_window_limit client_args"),
    sections={"cache_config": _CACHE},
    keys=("WRITER_API_KEY",),
    key_place=("client_args", "api_key"),
    default_host="https://api.writer.com",
    host_variable="WRITER_BASE_URL",
    presets=_NO_RETRIES,
    client_class="writerai:AsyncClient",
    adds_v1=True,
    reads=frozenset(),
)
SAGEMAKER = Provider(
    "sagemaker",
    "Amazon SageMaker endpoint",
    make="strands.models.sagemaker:SageMakerAIModel",
    extra="sagemaker",
    modules=("boto3", "mypy_boto3_sagemaker_runtime", "openai"),
    places={
        "model_id": ("endpoint_config", "endpoint_name"),
        "region": ("endpoint_config", "region_name"),
        **{name: ("payload_config", name) for name in _SAMPLING},
    },
    options=_words("endpoint_config payload_config boto_client_config"),
    sections={
        "endpoint_config": _words(
            "endpoint_name region_name inference_component_name target_model target_variant cache_config"
            " additional_args context_window_limit"
        ),
        "payload_config": _words(
            "max_tokens stream temperature top_p top_k stop tool_results_as_user_messages additional_args"
        ),
    },
    host_variable="AWS_ENDPOINT_URL_SAGEMAKER_RUNTIME",
    presets=_BOTO_NO_RETRIES,
    aws=True,
)
REPLAY = Provider("replay", "Replays a recording (part of strands-cli)", needs=frozenset())

_TABLE = (
    BEDROCK,
    OPENAI,
    OPENAI_RESPONSES,
    ANTHROPIC,
    GEMINI,
    OLLAMA,
    LLAMACPP,
    MISTRAL,
    LITELLM,
    WRITER,
    SAGEMAKER,
    REPLAY,
)
PROVIDERS: Mapping[str, Provider] = {provider.name: provider for provider in _TABLE}

# The value of `cache_config` with which nothing is marked for a cache.
OFF = "off"
# Options whose value is a mapping; another value fails inside the SDK, far from its cause.
MAPPING_OPTIONS = _words(
    "params client_args ollama_client_args options additional_args additional_request_fields endpoint_config"
    " payload_config boto_client_config cache_config bedrock_mantle_config stream_options"
)

# Rows of other distributions by name: those that this process has imported through the door.
IMPORTED: dict[str, Provider] = {}


def known_provider(name: str) -> Provider | None:
    """Return the row of a provider without an import: one of the program, or one that this process has imported."""
    return PROVIDERS.get(name) or IMPORTED.get(name)


# Names under which people know a provider, its models or its servers.
SYNONYMS: Mapping[str, str] = {
    "claude": "anthropic",
    "gpt": "openai",
    "chatgpt": "openai",
    "vllm": "openai",
    "lmstudio": "openai",
    "openrouter": "openai",
    "google": "gemini",
    "vertex": "gemini",
    "aws": "bedrock",
    "amazon": "bedrock",
    "nova": "bedrock",
    "llama.cpp": "llamacpp",
    "llama_cpp": "llamacpp",
    "recording": "replay",
}
