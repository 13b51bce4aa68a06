"""One file per figure or table of the papers: what it claims, measured again, and whether it holds."""
