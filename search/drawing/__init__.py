"""Charts as data, pages and pictures: what report, tracking and landscapes draw with."""
