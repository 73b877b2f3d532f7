"""Where runs, series, console, media, blobs and settings are kept: six ports, and the engines behind them."""
