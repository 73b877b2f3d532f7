"""Training programs as their authors wrote them for W&B, in the manner of public ones; only the models are tiny."""
# ruff: noqa: E501  their lines

# nanoGPT: a configuration of globals, an id and a name from the time, evaluation now and then, `iter` in the row.
NANOGPT = """
import math, os, time
import wandb
wandb_log, wandb_project, wandb_run_name = True, 'owt', 'gpt2-mini'
eval_interval, max_iters, learning_rate = 5, 20, 6e-4
config_keys = [k for k, v in globals().items() if not k.startswith('_') and isinstance(v, (int, float, bool, str))]
config = {k: globals()[k] for k in config_keys}
if wandb_log:
    wandb.init(project=wandb_project, name=wandb_run_name, config=config)
iter_num = 0
while True:
    lr = learning_rate * (1 - iter_num / max_iters)
    if iter_num % eval_interval == 0:
        losses = {'train': 4 * math.exp(-iter_num / 9), 'val': 4.1 * math.exp(-iter_num / 9)}
        if wandb_log:
            wandb.log({"iter": iter_num, "train/loss": losses['train'], "val/loss": losses['val'], "lr": lr, "mfu": 0.3 * 100})
    iter_num += 1
    if iter_num > max_iters:
        break
"""

# timm: a summary writer's rows, prefixed and ordered, and the best metric at the end.
TIMM = """
import argparse
from collections import OrderedDict
try:
    import wandb
    has_wandb = True
except ImportError:
    has_wandb = False
parser = argparse.ArgumentParser()
parser.add_argument('--lr', type=float, default=0.05)
parser.add_argument('--log-wandb', action='store_true', default=True)
args = parser.parse_args([])
assert has_wandb
wandb.init(project='imagenet', config=args)
def update_summary(epoch, train_metrics, eval_metrics, log_wandb=False):
    rowd = OrderedDict(epoch=epoch)
    rowd.update([('train_' + k, v) for k, v in train_metrics.items()])
    rowd.update([('eval_' + k, v) for k, v in eval_metrics.items()])
    if log_wandb:
        wandb.log(rowd)
best_metric, best_epoch = 0., 0
for epoch in range(4):
    top1 = 50. + 10 * epoch - 4 * epoch ** 2
    update_summary(epoch, OrderedDict([('loss', 1. / (epoch + 1))]), OrderedDict([('top1', top1)]), args.log_wandb)
    if top1 > best_metric:
        best_metric, best_epoch = top1, epoch
wandb.run.summary['best_metric'] = best_metric
wandb.run.summary['best_epoch'] = best_epoch
"""

# cleanRL: the run's name from the arguments, `monitor_gym`, `save_code`, steps of the environment, notes of hyperparameters.
CLEANRL = """
import random, time
from dataclasses import dataclass
@dataclass
class Args:
    exp_name: str = 'ppo'
    seed: int = 1
    total_timesteps: int = 40
    wandb_entity: str = None
args = Args()
run_name = f"CartPole-v1__{args.exp_name}__{args.seed}"
import wandb
wandb.init(project='cleanRL', entity=args.wandb_entity, config=vars(args), name=run_name, save_code=True)
random.seed(args.seed)
for global_step in range(0, args.total_timesteps, 10):
    wandb.log({"charts/episodic_return": float(global_step * 2), "losses/value_loss": 1 / (1 + global_step)}, step=global_step)
    wandb.log({"charts/SPS": 1000}, step=global_step)
"""

# A notebook's manner: login, a table, an image, watch, an artifact, define_metric, summary, `with`.
TUTORIAL = """
import numpy as np
import wandb
wandb.login()
with wandb.init(project='tutorial', config={'epochs': 3}, job_type='train', tags=['baseline']) as run:
    run.define_metric('epoch')
    run.define_metric('accuracy', step_metric='epoch', summary='max')
    table = wandb.Table(columns=['id', 'guess'])
    for epoch in range(run.config.epochs):
        run.log({'accuracy': [0.5, 0.9, 0.7][epoch], 'epoch': epoch})
        table.add_data(epoch, 'cat')
    run.log({'predictions': table, 'example': wandb.Image(np.zeros((4, 4, 3), np.uint8), caption='black')})
    run.log({'weights': wandb.Histogram(np.arange(10.0))})
    open('model.txt', 'w').write('weights')
    artifact = wandb.Artifact('model', type='model')
    artifact.add_file('model.txt')
    run.log_artifact(artifact)
    run.alert(title='done', text='it is', level=wandb.AlertLevel.INFO)
"""

# A table of predictions for each epoch, charts of them, masks and boxes, figures, films and sounds, as tutorials have them.
PREDICTIONS = """
import matplotlib
import numpy as np
import pandas as pd
import wandb
matplotlib.use('Agg')
import matplotlib.pyplot as plt
rng = np.random.default_rng(0)
run = wandb.init(project='mnist-viz', config={'epochs': 2}, notes='look at predictions', tags=['viz'])
for epoch in range(run.config.epochs):
    table = wandb.Table(columns=['id', 'image', 'guess', 'truth', 'score'])
    for i in range(3):
        table.add_data(f'{epoch}_{i}', wandb.Image(rng.integers(0, 255, (8, 8), dtype=np.uint8)), i, 1, rng.random())
    run.log({'test_predictions': table, 'epoch': epoch, 'acc': 0.5 + epoch / 10}, step=epoch)
truth, scores = rng.integers(0, 3, 50), rng.dirichlet(np.ones(3), 50)
names = ['a', 'b', 'c']
run.log({'cm': wandb.plot.confusion_matrix(probs=None, y_true=truth, preds=scores.argmax(1), class_names=names),
         'roc': wandb.plot.roc_curve(truth, scores, labels=names), 'pr': wandb.plot.pr_curve(truth, scores)})
image = rng.integers(0, 255, (8, 8, 3), dtype=np.uint8)
mask = {'predictions': {'mask_data': rng.integers(0, 2, (8, 8)), 'class_labels': {0: 'bg', 1: 'car'}}}
box = {'position': {'minX': .1, 'maxX': .4, 'minY': .1, 'maxY': .5}, 'class_id': 1, 'box_caption': 'car', 'scores': {'acc': .9}}
run.log({'seg': wandb.Image(image, masks=mask),
         'det': wandb.Image(image, boxes={'predictions': {'box_data': [box], 'class_labels': {1: 'car'}}})})
figure, axes = plt.subplots()
axes.plot([1, 2, 3])
run.log({'chart': figure, 'as image': wandb.Image(figure)})
run.log({'plt': plt})
points = wandb.Table(data=[[x, x ** 2] for x in range(5)], columns=['x', 'y'])
run.log({'line': wandb.plot.line(points, 'x', 'y', title='L'), 'scatter': wandb.plot.scatter(points, 'x', 'y'),
         'bar': wandb.plot.bar(wandb.Table(data=[['a', 1]], columns=['l', 'v']), 'l', 'v'), 'h': wandb.plot.histogram(points, 'y'),
         'series': wandb.plot.line_series(xs=[0, 1], ys=[[1, 2], [3, 2]], keys=['p', 'q'], title='s', xname='step')})
run.log({'video': wandb.Video(rng.integers(0, 255, (4, 3, 16, 16), dtype=np.uint8), fps=4),
         'audio': wandb.Audio(np.sin(np.arange(800) / 10), sample_rate=8000), 'html': wandb.Html('<b>hi</b>'),
         'cloud': wandb.Object3D(rng.normal(size=(5, 3))), 'images': [wandb.Image(image, caption=str(i)) for i in range(3)],
         'frame': wandb.Table(dataframe=pd.DataFrame({'x': [1, 2]})), 'bars': wandb.Histogram(np_histogram=np.histogram([1, 2, 3]))})
run.summary['final_acc'] = 0.9
run.finish()
"""

# A pipeline of runs that hand versions on to each other, and a look back by the Api.
PIPELINE = """
import os
import wandb
os.makedirs('data', exist_ok=True)
open('data/x.csv', 'w').write('1,2,3')
with wandb.init(project='pipeline', job_type='upload') as run:
    raw = wandb.Artifact('raw', type='dataset', description='as it came', metadata={'size': 3})
    raw.add_dir('data')
    run.log_artifact(raw)
with wandb.init(project='pipeline', job_type='split') as run:
    used = run.use_artifact('raw:latest')
    numbers = open(os.path.join(used.download(), 'x.csv')).read().split(',')
    split = wandb.Artifact('split', 'dataset')
    with split.new_file('train.csv') as file:
        file.write(','.join(numbers[:2]))
    split.add(wandb.Table(columns=['n'], data=[[n] for n in numbers]), 'preview')
    run.log_artifact(split, aliases=['latest', 'first'])
with wandb.init(project='pipeline', job_type='train') as run:
    assert open(run.use_artifact('split:first').get_entry('train.csv').download()).read() == '1,2'
    for epoch in range(3):
        open('model.txt', 'w').write(f'weights {epoch}')
        run.log({'loss': 1 / (epoch + 1)})
        model = wandb.Artifact('model', type='model', metadata={'epoch': epoch})
        model.add_file('model.txt')
        run.log_artifact(model, aliases=['latest', f'epoch-{epoch}'] + ['best'] * (epoch == 1))
    run.link_artifact(model, 'registry/Production')
with wandb.init(project='pipeline', job_type='eval') as run:
    best = run.use_artifact('model:best', type='model')
    assert open(best.file()).read() == 'weights 1' and best.metadata == {'epoch': 1}
    made_by = best.logged_by()
    print(made_by.job_type, [each.name for each in made_by.used_artifacts()], [each.job_type for each in best.used_by()])
api = wandb.Api()
print([each.version for each in api.artifact_versions('model', 'pipeline/model')])
print([(each.job_type, [made.name for made in each.logged_artifacts()]) for each in api.runs('pipeline', order='+created_at')])
"""

# Whatever people hand to log(): nothing of it may be gone without a word.
EVERYTHING = """
import collections, datetime, decimal, enum, fractions, math, pathlib
import numpy as np, pandas as pd
import wandb
class Phase(enum.Enum): TRAIN = 1
class Level(enum.IntEnum): HIGH = 3
class Odd:
    def __float__(self): raise RuntimeError('no number')
run = wandb.init(project='odd')
picture = np.zeros((3, 3, 3), np.uint8)
values = dict(
    whole=1, huge=2**70, real=1.5, yes=True, nothing=None, text='x', empty_text='', nan=math.nan, inf=-math.inf,
    np32=np.float32(1.5), np_int=np.int64(3), np_bool=np.bool_(True), zero_d=np.array(2.0), one=np.array([3.0]),
    small=np.arange(3.0), square=np.eye(2), none_at_all=np.array([]), words=np.array(['a', 'b']), large=np.arange(1000.0),
    items=[1, 2, 3], mixed=[1, 'a', None], nested_items=[[1, 2], [3]], scalars=[np.float32(1), np.float64(2)], no_items=[],
    nested={'a': {'b': 1, 'c': 't'}}, dicts=[{'a': 1}], ordered=collections.OrderedDict(x=1), default=collections.defaultdict(int, y=2),
    moment=datetime.datetime(2026, 1, 2), span=datetime.timedelta(seconds=3), dec=decimal.Decimal('1.5'), part=fractions.Fraction(1, 2),
    phase=Phase.TRAIN, level=Level.HIGH, raw=b'abc', some={1, 2}, imaginary=1 + 2j, path=pathlib.Path('x'), odd=Odd(),
    series=pd.Series([1, 2, 3]), frame=pd.DataFrame({'a': [1, 2]}), called=print, each=(i for i in range(3)), long='x' * 70000,
    picture=wandb.Image(picture), pictures=[wandb.Image(picture)] * 2, inner={'picture': wandb.Image(picture)}, half=[wandb.Image(picture), 3],
    histogram=wandb.Histogram([1, 2, 3]), table=wandb.Table(columns=['a'], data=[[1]]), page=wandb.Html('<b>x</b>'),
    broken=wandb.Image('there/is/no/such.png'), sound=wandb.Audio(np.zeros(100), sample_rate=8000),
)
values.update({5: 'five', (1, 2): 'pair', 'a.b': 7, 'a/b c': 8, 'x' * 600: 9})
for key, value in values.items():
    run.log({key: value})
run.log(values)
run.log({'back': 1}, step=2)
run.log({'later': 1}, commit=False)
run.log({'later': 2, 'beside': 3})
run.log({'later': 3}, step=10**6)
run.summary['by hand'] = {'a': np.float32(2.0), 'b': [1, 2]}
run.config.update({'odd': {1, 2}, 'where': pathlib.Path('x'), 'kind': Phase.TRAIN})
"""
