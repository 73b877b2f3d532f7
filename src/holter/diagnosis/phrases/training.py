"""What programs call the numbers of a training that are none any more."""

TABLE = r"""
not-finite: a number is infinite or none at all
    (?i)\bnan|\binf\b|infinit|non-?finite|not (?:all )?finite|isnan|isinf|isfinite|diverg|explod|underflow
        programs, about their own numbers | zoo: lowers its loss scale until there is nothing left to lower
            FloatingPointError: Minimum loss scale reached (0.0001). Your loss is probably exploding.
    (?i)returned nan values
        PyTorch's detect_anomaly from 1.0 on | zoo: looks for anomalies and finds a gradient that is NaN
            RuntimeError: Function 'SqrtBackward0' returned nan values in its 0th output.
    (?i)SVD did not converge
        NumPy | NumPy: numpy/linalg/_linalg.py | numpy.linalg.LinAlgError: SVD did not converge
loss: a loss or a gradient
    (?i)\bloss\b|\bgrad
        programs, about their own numbers | zoo: ends on NaN | loss nan
own-numbers: what a program checks of its training; that its input holds no number is known before anything is trained
    (?i)loss(?:es)?\b|\bgrad(?:s|ients?)?(?:\b|_)|param|logit|activation|diverg|explod
        programs, about their own numbers | zoo: lowers its loss scale until there is nothing left to lower
            FloatingPointError: Minimum loss scale reached (0.0001). Your loss is probably exploding.
metric-of-loss: a metric that is a loss, by its name
    (?i)loss|grad|nll|perplexity|elbo|error|mse|mae
        programs, in `log` | zoo: ends on an infinite perplexity | loss 800 perplexity inf
"""
