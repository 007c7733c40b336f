"""One call of a tool: decided, made within its bounds, put into a well-formed result, and written down."""
