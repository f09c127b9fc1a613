"""Charts and tables as data, pages and pictures, for reports, MLflow and landscapes."""
