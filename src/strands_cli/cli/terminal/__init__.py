"""What a person sees and types: progress, questions, tables, errors."""
