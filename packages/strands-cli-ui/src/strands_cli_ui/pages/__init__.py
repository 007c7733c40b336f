"""Stored runs as pages: HTML, SVG and safe Markdown, in one file that asks no other host for anything."""
