"""Linear contextual bandits, in which agents share matrices of features and rewards."""
