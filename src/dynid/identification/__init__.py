"""The steps of an identification, in the order in which `pipeline.identify` takes them."""
