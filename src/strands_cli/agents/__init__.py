"""The only room that imports the Strands SDK or a tool plugin: agents, models, tools and the gate before each call."""
