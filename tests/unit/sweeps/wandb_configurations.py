"""Configurations in the shapes of W&B's documentation, written anew: all methods, distributions and macros."""

UNDERSTOOD = {
    "quickstart": """
program: train.py
method: random
metric:
  goal: minimize
  name: score
parameters:
  x:
    max: 0.1
    min: 0.01
  y:
    values: [1, 3, 7]
""",
    "nested": """
program: sweep_nest.py
method: random
metric: {name: val_loss, goal: minimize}
parameters:
  optimizer:
    parameters:
      learning_rate: {values: [0.01, 0.001]}
      momentum: {value: 0.9}
  epochs: {value: 1}
""",
    "bayes with hyperband": """
program: train.py
method: bayes
project: first_sweep
metric: {goal: minimize, name: val_loss}
parameters:
  batch_size: {distribution: q_log_uniform_values, max: 256, min: 32, q: 8}
  dropout: {values: [0.3, 0.4, 0.5]}
  epochs: {value: 1}
  fc_layer_size: {values: [128, 256, 512]}
  learning_rate: {distribution: uniform, max: 0.1, min: 0}
  optimizer: {values: [adam, sgd]}
early_terminate: {type: hyperband, s: 2, eta: 3, max_iter: 27}
""",
    "probabilities and grid": """
program: train.py
method: random
parameters:
  parameter1: {values: [1, 2, 3], probabilities: [0.2, 0.3, 0.5]}
  parameter2: {distribution: normal, mu: 100, sigma: 10}
  parameter3: {distribution: inv_log_uniform_values, min: 0.001, max: 1.0}
  parameter4: {distribution: log_normal, mu: 0, sigma: 1}
  parameter5: {distribution: q_normal, mu: 0, sigma: 5, q: 0.5}
""",
    "grid": """
program: train.py
method: grid
metric: {name: accuracy, goal: maximize}
parameters:
  lr: {values: [0.1, 0.01]}
  layers: {min: 1, max: 3}
command: ["${env}", "${interpreter}", "${program}", "${args_no_boolean_flags}"]
""",
    "quantised logarithm at its edge": """
method: random
parameters:
  x: {distribution: q_log_uniform, min: 1, max: 6, q: 2}
  y: {distribution: q_log_uniform, min: 1, max: 2, q: 2.0}
""",
    "names with dots, for Hydra": """
program: main.py
method: bayes
metric: {name: val_loss, goal: minimize}
parameters:
  optimizer.config.learning_rate: {min: !!float 1e-5, max: 0.1}
  optimizer: {values: [sgd, adam]}
  experiment: {values: [first, second]}
command: ["${env}", "${interpreter}", "${program}", "${args_no_hyphens}"]
""",
    "booleans": """
program: train_bool.py
method: grid
parameters:
  optimizer: {values: ["sgd", "adam"]}
  flag1: {values: [false, true]}
  flag2:
    values:
    - false
    - true
command: ["${env}", python3, "${program}", "${args_no_boolean_flags}"]
""",
    "each distribution by its name": """
method: random
metric: {goal: maximize, name: val_accuracy}
parameters:
  batch_size: {distribution: int_uniform, max: 128, min: 32}
  epochs: {distribution: constant, value: 200}
  layers: {distribution: categorical, values: [1, 2, 3]}
  shares: {distribution: categorical_w_probabilities, values: [a, b], probabilities: [0.9, 0.1]}
  lr: {distribution: log_uniform, min: -11, max: -2}
  momentum: {distribution: q_uniform, min: 0, max: 1, q: 0.05}
  noise: {distribution: q_log_normal, mu: 1, sigma: 0.5, q: 0.1}
  decay: {distribution: inv_log_uniform, min: 2, max: 9}
program: train.py
""",
    "grid with hyperband": """
program: train.py
method: grid
metric: {goal: minimize, name: loss}
parameters:
  dropout: {values: [0.1, 0.2, 0.4]}
  channels: {values: [10, 12, 14]}
  epochs: {value: 27}
early_terminate: {type: hyperband, s: 2, eta: 3, max_iter: 27}
""",
    "several levels": """
description: nested parameters on the command line
program: train_nested.py
project: sweeps-examples
method: grid
parameters:
  batch_size: {values: [32, 64]}
  optimizer:
    parameters:
      lr: {values: [0.001, 0.0001]}
      nadam:
        parameters:
          beta: {values: [0.9, 0.95]}
""",
    "texts": """
program: evaluate.py
method: random
metric: {goal: maximize, name: diff_score}
run_cap: 8
parameters:
  model: {distribution: categorical, values: [llama-7b.Q5_K_S.gguf, gpt-3.5-turbo]}
  prompt:
    values:
      - You're an expert. Answer in one sentence.
      - "Only a command: nothing else"
  temperature: {distribution: uniform, max: 0.6, min: 0}
""",
    "words of one's own": """
program: train.py
method: grid
metric: {name: val_loss}
parameters:
  learning_rate: {values: [0.01, 0.1]}
command:
  - ${env}
  - python3
  - ${program}
  - "--config"
  - your-training-config.json
  - ${args}
""",
    "a file of arguments": """
program: train.py
method: random
metric: {name: acc, goal: maximize}
parameters:
  x: {min: 0.0, max: 1.0}
  net: {parameters: {width: {values: [8, 16]}}}
command: ["${env}", "${interpreter}", "${program}", "${args_json_file}"]
""",
    "arguments as JSON, and the environment": """
program: train.py
method: random
metric: {name: acc, goal: maximize}
parameters: {x: {min: 1, max: 9}}
command: ["${interpreter}", "${program}", "--home=${envvar:HOME}", "${args_json}"]
""",
    "hyperband from below": """
program: train.py
method: bayes
run_cap: 20
metric: {name: epoch/val_accuracy, goal: maximize, target: 99}
early_terminate: {type: hyperband, min_iter: 3, eta: 2}
parameters:
  epochs: {values: [5, 10, 15]}
  batch_size: {values: [32, 64, 128]}
  lr: {distribution: log_uniform_values, min: 0.0001, max: 0.1}
""",
    "lists and nothing as values": """
program: train.py
method: random
entity: team
metric: {name: loss, goal: minimize}
parameters:
  layers: {values: [[64, 64], [128, 64, 32]]}
  schedule: {values: [cosine, null]}
  image_size: {value: [224, 224]}
""",
}
STRICT = """method: random
metric: {name: a}
parameters: {x: {value: 1}}
early_terminate:
  type: asha
  strict: true
"""
REFUSED = {
    "launch": ("method: grid\njob: entity/project/job:v0\nparameters: {x: {values: [1]}}", "line 2: job: W&B Launch"),
    "beta": ("method: random\nparameters:\n  x:\n    distribution: q_beta", "line 4: parameters.x.distribution"),
    "local": ("method: random\ncontroller:\n  type: local\nparameters: {x: {value: 1}}", "line 3: controller.type"),
    "strict": (STRICT, "line 6: early_terminate.strict"),
    "custom method": ("name: a\nmethod: custom\nparameters: {x: {values: [1]}}", "line 2: method: must be one of"),
    "other scheduler": ("method: bayes\nscheduler: {engine: ax}\nparameters: {x: {value: 1}}", "line 2: scheduler"),
    "several metrics": (
        "method: grid\nmetrics:\n- name: a\n- name: b\nparameters: {x: {value: 1}}",
        "line 2: metrics: holter does not know this",
    ),
    "imputed": (
        "method: grid\nmetric:\n  name: a\n  impute: worst\nparameters: {x: {value: 1}}",
        "line 4: metric.impute: holter does not know this",
    ),
    "the same name twice": (
        "method: grid\nparameters:\n  a: {parameters: {b: {value: 1}}}\n  a.b: {value: 2}",
        "line 4: parameters.a.b: it is there twice",
    ),
}
