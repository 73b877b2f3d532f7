"""What will bite a training on this machine: facts are gathered, then pure checks look at them."""
