"""Why residuals are larger than noise: causes with evidence, as findings."""
