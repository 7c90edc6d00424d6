"""Schema migrations, one module per version; `banditree serve` applies them when it starts."""
