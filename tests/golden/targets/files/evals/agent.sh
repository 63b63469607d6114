printf '{"output_messages": [{"role": "assistant", "content": "42", "tool_calls": [{"tool": "add"}]}]}' > "$2"
