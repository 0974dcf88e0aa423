"""Destructive trials: hostile files, damaged models and stores, kills, signals, a full disk, lost workers.

    python -m tools.stress            all of it, half an hour or more
    python -m tools.stress --quick    a sample of what starts few processes, within a minute
    python -m tools.stress --only kills --seed 7
    python -m tools.stress --record results/stress

Every trial works in its own temporary folder and prints how much it tried and what failed; the exit code
is 1 if anything did. A seed gives the same trials again, but for the moments of the kills.
"""
