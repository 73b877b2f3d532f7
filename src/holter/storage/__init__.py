"""Where runs, series, console and blobs are kept: four ports, and the engines behind them."""
