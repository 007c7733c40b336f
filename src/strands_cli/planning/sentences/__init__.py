"""What a plan uses of this machine and sends, in sentences for people."""
