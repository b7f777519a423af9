"""Play: what is missing in a folder, batch by batch, by workers, one writer."""
