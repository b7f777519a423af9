"""Show: tables, pictures, pages and exports."""
