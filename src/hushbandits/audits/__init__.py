"""What `hushbandits audit` drives: every promise held against laws, draws and runs."""
