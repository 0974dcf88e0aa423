"""Linear scores: the model and the choice of alpha, in memory and on partitions."""
