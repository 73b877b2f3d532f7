"""What programs call the numbers of a training that are none any more."""

TABLE = r"""
not-finite: a number is infinite or none at all
    (?i)\bnan|\binf\b|infinit|non-?finite|not (?:all )?finite|isnan|isinf|isfinite|diverg|explod|underflow
        # programs, about their own numbers
    (?i)returned nan values  # PyTorch's detect_anomaly from 1.0 on
    (?i)SVD did not converge  # NumPy
loss: a loss or a gradient
    (?i)\bloss\b|\bgrad  # programs, about their own numbers
own-numbers: what a program checks of its training; that its input holds no number is known before anything is trained
    (?i)loss(?:es)?\b|\bgrad(?:s|ients?)?(?:\b|_)|param|logit|activation|diverg|explod
        # programs, about their own numbers
metric-of-loss: a metric that is a loss, by its name
    (?i)loss|grad|nll|perplexity|elbo|error|mse|mae  # programs, in `log`
"""
