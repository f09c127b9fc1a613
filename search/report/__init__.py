"""What people read: tables, the live view, the terminal, report.html, comparisons."""
