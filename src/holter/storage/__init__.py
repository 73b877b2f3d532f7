"""Where runs, series, console, blobs and settings are kept: five ports, and the engines behind them."""
