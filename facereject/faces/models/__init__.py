"""Score models, calibration, the model card and what comes with the package."""
