"""Output for readers: tables, the live view, the terminal, report.html, comparisons."""
