"""Charts and tables as data, the pages that show them, and pictures, for reports, MLflow and landscapes."""
