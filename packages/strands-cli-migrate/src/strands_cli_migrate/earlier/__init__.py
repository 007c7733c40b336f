"""The format of an earlier strands-cli, as one pure translation into the present one: document in, document out."""
