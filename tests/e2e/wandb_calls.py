"""What programs call of W&B, one call a line, with the sentence that they may expect; no sentence means that it works.

`wandb` is the door's module, `run` the active run, `past` a run of the Api, `api` the Api. In `REFUSED` the sentence is
that of the exception.
"""

# ruff: noqa: E501  one call a line

INIT = r"""
wandb.init(project='p', entity='e', name='n', notes='x', group='g', job_type='j', tags=['a'])
wandb.init(id='my-id-1')
wandb.init(id='id with space') ## can't name a directory
wandb.init(resume=True)
wandb.init(resume='allow', id='r1')
wandb.init(resume='auto')
wandb.init(resume=False)
wandb.init(config={'a': 1})
wandb.init(config=argparse.Namespace(a=1))
wandb.init(config='cfg.yaml')
wandb.init(config=dataclasses.make_dataclass('C', [('lr', float, 0.1)])()); assert wandb.config.lr == 0.1
with wandb.init() as run: pass
wandb.init(settings=wandb.Settings(root_dir='sub', reinit='finish_previous', sync_tensorboard=True, disable_git=True))
wandb.init(settings=wandb.Settings(x_disable_stats=True, x_label='rank 0')) ## mean nothing here
wandb.init(dir='sub')
wandb.init(mode='online')
wandb.init(mode='offline')
wandb.init(mode='disabled')
wandb.init(mode='dryrun')
wandb.init(mode='shared') ## mode='shared' is not supported yet
wandb.init(reinit=True)
wandb.init(reinit='create_new')
wandb.init(save_code=True)
wandb.init(anonymous='must')
wandb.init(allow_val_change=True)
wandb.init(force=True)
wandb.init(magic=True) ## magic is not supported
wandb.init(config={'a': 1}, config_exclude_keys=['a'])
wandb.init(settings={'console': 'off'})
wandb.init(settings={'_disable_stats': True}) ## mean nothing here
wandb.init(settings=wandb.Settings(start_method='fork')) ## mean nothing here
wandb.init(settings=wandb.Settings(init_timeout=300)) ## mean nothing here
wandb.init(settings={'silent': True})
wandb.init(tags='one')
wandb.init(tags=('a', 'b'))
wandb.init(project='team/proj')
wandb.init(group=None, notes=None)
wandb.init(sync_tensorboard=True)
wandb.init(tensorboard=True)
wandb.init(monitor_gym=True)
first = wandb.init(); assert wandb.init() is first
"""

REFUSED = r"""
wandb.init(id='nope', resume='must') ## there is no run nope
wandb.init(resume_from='x?_step=1') ## there is no run x
wandb.init(fork_from='x?_step=1') ## there is no run x
wandb.init(foo=1) ## init() has no argument 'foo'
wandb.init(tags=[1, 2]) ## tags must be text
wandb.init(name=123) ## name must be text
wandb.init(id='a/b') ## can't name a directory
wandb.init(mode='nonsense') ## mode must be one of
wandb.config.foo ## holter.config needs a run
wandb.agent('nope', function=print, count=1) ## there is no sweep 'nope'
wandb.agent('nope', function=print, max_consecutive_failed_runs=3) ## there is no sweep 'nope'
wandb.agent('nope', function=print, forever=True) ## agent() has no argument 'forever'
api = wandb.Api(); api.artifacts(kind='model') ## artifacts() has no argument 'kind'
wandb.use_artifact('nope:latest') ## call holter.init() first
wandb.Api().run('nope') ## no run 'nope'
"""

RUN = r"""
wandb.log({'a': 1})
wandb.log({'a': 1}, step=5)
wandb.log({'a': 1}, step=np.int64(6))
wandb.log({'a': 1}, step=7.0)
wandb.log({'a': 1}, commit=False)
wandb.log({'a': {'b': 1}})
wandb.log({'a': 1}, step=3)
wandb.log({'np': np.float32(1), 'zero': np.array(1.0), 'one': np.array([1.0])})
wandb.log({'list': [1, 2, 3]})
wandb.log({'s': 'x', 'b': True, 'none': None, 'nan': math.nan, 'inf': math.inf})
wandb.log({1: 2})
wandb.log([1]) ## log() takes a dict
wandb.log({'x': 1}, sync=False)
wandb.log(row={'x': 1})
wandb.config.update({'a': 2}, allow_val_change=True)
wandb.config.update(argparse.Namespace(b=3))
wandb.config.setdefaults({'c': 1})
wandb.config.d = 1; wandb.config['d']; wandb.config.get('e'); 'd' in wandb.config; wandb.config.items(); wandb.config.as_dict()
dict(wandb.config), {**wandb.config}
wandb.config.persist(); wandb.config.update_locked({'f': 1}, 'sweep')
wandb.config.m = {'d': 1}; wandb.config.m.d
json.dumps(dict(wandb.config))
wandb.config = {'as': 'people write'}; assert wandb.config['as'] == 'people write'
wandb.summary['x'] = 1; wandb.summary.x; wandb.summary.update({'y': 2}); del wandb.summary['y']
run.summary._json_dict
run.summary['best'] = {'acc': 1}; run.summary['best']['acc'] = 2; assert run.summary['best']['acc'] == 2
wandb.login(); wandb.login(key='x' * 40, relogin=True, anonymous='allow', timeout=3) ## login() needs no account
wandb.setup(); wandb.require('core'); wandb.ensure_configured(); wandb.termsetup()
wandb.termlog('hello') ## hello
wandb.termwarn('careful') ## careful
wandb.termerror('wrong') ## wrong
wandb._attach(run.id); wandb.attach(run.id)
wandb.define_metric('epoch'); wandb.define_metric('val/*', step_metric='epoch', summary='min,max')
wandb.define_metric('loss', summary='best', goal='minimize', hidden=True, overwrite=True, step_sync=False)
run.define_metric(name='k', step_metric='epoch').name
wandb.define_metric('loss', summary='median') ## summary takes min, max
run.log_code('.', include_fn=lambda path: path.endswith('cfg.py'), exclude_fn=lambda path, root: False)
wandb.save('cfg.yaml')
wandb.save('*.yaml', base_path='.', policy='end')
wandb.run.save()
run.alert(title='t', text='x', level=wandb.AlertLevel.WARN, wait_duration=300)
run.alert('t2', 'x', wait_duration=datetime.timedelta(seconds=3))
run.mark_preempting(); wandb.mark_preempting()
wandb.restore('cfg.yaml').read()
run.restore('cfg.yaml')
run.display(); run.to_html(); run.status(); run.write_logs('x'); run._label(code='hf')
run.pin_config_keys(['a']) ## pin_config_keys() changes nothing
run.get_url(); run.project_name(); run.get_project_url()
run.id; run.name; run.project; run.entity; run.url; run.dir; run.group; run.job_type; run.notes; run.tags; run.step
run.resumed; run.config; run.summary; run.path; run.project_url; run.start_time; run.starting_step; run.sweep_id; run.sweep_url
run.settings.run_id; run.offline; run.disabled; run.config_static.a; run.sync_dir; run._name
run.name = 'n2'; run.tags += ('b',); run.notes = 'x'
wandb.util.generate_id(); wandb.sdk.lib.runid.generate_id(6); wandb.util.from_human_size('2MB'); wandb.util.to_human_size(3)
wandb.util.json_dumps_safer({'a': np.float32(1)}); wandb.util.get_module('nothing_of_that_name')
wandb.watch_called; wandb.patched; wandb.env.PROJECT; wandb.api.api_key
wandb.helper.parse_config({'a': 1, 'b': 2}, exclude=['a'])
wandb.Molecule('x') ## wandb.Molecule is not supported
wandb.sdk.lib.telemetry.context
wandb.Image(np.zeros((3, 3)), 'L', 'c', None, wandb.Classes([{'id': 0, 'name': 'a'}]), {'p': {'box_data': [{'position': {'minX': 0, 'maxX': 1, 'minY': 0, 'maxY': 1}, 'class_id': 0}]}})
wandb.log({'video': wandb.Video(np.zeros((2, 3, 16, 16), np.uint8), 'c', 4, 'gif'), 'sound': wandb.Audio(np.zeros(9), 8000, 'c')})
wandb.log({'table': wandb.Table(['a'], [[1]]), 'page': wandb.Html('<b>x</b>', False), 'bars': wandb.Histogram([1, 2, 3], None, 4)})
wandb.log({'cloud': wandb.Object3D(np.zeros((5, 3))), 'array': np.arange(1000.0), 'frame': pd.DataFrame({'a': [1]})})
wandb.log({'figure': figure(), 'picture': PIL.Image.new('RGB', (4, 4))}); figure(); wandb.log({'pyplot': plt})
wandb.log({'bar': wandb.plot.bar(wandb.Table(['a', 'b'], [['x', 1]]), 'a', 'b', 'Title')})
wandb.log({'matrix': wandb.plot.confusion_matrix(None, [0, 1], [0, 1], ['a', 'b'])})
wandb.plot_table('wandb/bar/v0', wandb.Table(['a', 'b'], [['x', 1]]), {'label': 'a', 'value': 'b'}, {'title': 'T'}).pack
wandb.log({'own': wandb.plot_table('me/own', wandb.Table(['a'], [[1]]), {})}) ## is no chart that is known here
assert wandb.JoinedTable(wandb.Table(['k', 'a'], [[1, 2]]), wandb.Table(['k', 'a'], [[1, 5]]), 'k').data == [[1, 2, 5]]
wandb.log({'plotly': wandb.Plotly(plotly.graph_objects.Figure())})
table = wandb.Table(['a'], [[1]]); table.MAX_ROWS; table.set_pk('a') ## Table.set_pk is not supported
wandb.config.merge_locked({'g': 1})
run.log_model('cfg.py', 'm2'); run.link_model('cfg.py', 'reg2')
wandb.Graph() ## wandb.Graph is not supported
wandb.controller() ## wandb.controller is not supported
wandb.EvalTable; wandb.Error; wandb.CommError; wandb.UsageError; wandb.errors.CommError; wandb.Config; wandb.data_types.Image
wandb.xgboost; wandb.lightgbm; wandb.catboost; wandb.tensorboard; wandb.keras; wandb.sklearn; wandb.integration; wandb.apis; wandb.wandb_run
wandb.watch(torch.nn.Linear(2, 1), None, 'all', 100); wandb.unwatch(); run.unwatch()
run.watch(torch.nn.Linear(2, 1), log_graph=True) ## log_graph is not supported
wandb.define_metric('x', 'y', True, False, 'min', True); run.define_metric('x', 'y', True)
made = wandb.Artifact('pos', 'dataset', 'described', {'k': np.float32(2)}); made.add_file('cfg.py'); made.add(wandb.Table(['a'], [[1]]), 'rows'); run.log_artifact(made, 'pos', 'dataset', ['best'], ['tag'])
used = wandb.use_artifact('pos:best', 'dataset'); assert (used.description, used.tags, used.get('rows').data) == ('described', ['tag'], [[1]]); used.download(); used.file_count, used.created_at, used.source_name
used = run.use_artifact('pos:latest'); used.aliases.append('prod'); used.ttl = datetime.timedelta(days=3); used.save(); assert 'prod' in run.use_artifact('pos:prod').aliases
used = run.use_artifact('pos:latest'); used.aliases = ['one']; used.save(); assert run.use_artifact('pos:v0').aliases == ['latest', 'one']
assert 'staging' in run.use_artifact('pos:latest').link('team/port', ['staging']).aliases; run.link_artifact(run.use_artifact('pos:latest'), 'reg/other'); wandb.use_artifact('other:latest').verify
run.use_artifact('pos:latest').unlink() ## artifact.unlink is not supported
run.log_artifact(wandb.Artifact('x', 'y', incremental=True)) ## incremental of x is not supported
wandb.log_artifact('cfg.py', name='a1', type='dataset', aliases=['x']); wandb.use_artifact('a1:x').file()
wandb.log_model('cfg.py', 'm', ['a']); wandb.use_model('m:a'); wandb.link_model('cfg.py', 'reg'); run.use_model('reg:latest')
run.upsert_artifact(wandb.Artifact('u', 'y'), distributed_id='d'); run.finish_artifact(wandb.Artifact('u', 'y'), distributed_id='d') ## several processes do not add
wandb.sweep({'method': 'random', 'parameters': {'a': {'values': [1]}}}, project='p')
wandb.finish(exit_code=0, quiet=True); run.log({'a': 1}) ## log() after finish()
wandb.join(); wandb.teardown(); run.join()
assert wandb.run is None and run.id and run.summary and run.config
"""

API = r"""
wandb.Api(timeout=30, overrides={'entity': 'e'})
api.runs('e/p'); api.runs('p'); api.runs(path='p'); api.runs('p', filters={'config.lr': {'$gt': 0}}); api.runs('p', {'config.lr': 0.1})
api.runs('p', order='-created_at', per_page=5); len(api.runs('p')); api.runs('p')[0]
api.runs('p', filters={'$and': [{'state': 'finished'}, {'tags': {'$in': ['a']}}], 'summary_metrics.loss': {'$lt': 1e9}})
api.run(f'e/p/{past.id}'); api.run(past.id)
past.history().columns; past.history(samples=3, keys=['loss'], pandas=True).iloc[0]; past.history()['loss']
past.history(pandas=False, x_axis='epoch'); past.history(stream='system')
list(past.scan_history(keys=['loss'], page_size=100)); list(past.scan_history(min_step=1, max_step=2)); list(past.scan_history())
past.summary._json_dict; past.summary.get('loss'); past.config['lr']; past.files(); past.file('cfg.yaml').download(replace=True).read()
past.summary['x'] = 1; past.summary.update(); past.config['y'] = 2; past.tags.append('t'); past.notes = 'n'; past.update()
past.load(); past.wait_until_finished(); past.id; past.name; past.state; past.url; past.entity; past.project; past.path; past.tags
past.notes; past.group; past.job_type; past.created_at; past.user; past.sweep; past.metadata; past.lastHistoryStep
past.system_metrics; past.rawconfig; past.config; past.summary; past.display_name; past.heartbeatAt; past.json_config
api.projects(); api.project('p'); api.viewer; api.default_entity; api.flush(); api.from_path(f'p/{past.id}'); api.settings
api.run(path=f'p/{past.id}'); api.artifacts(type_name='model', name='p/model', per_page=3, tags=[]); api.artifact('p/model:v0').files(names=['cfg.py'], per_page=5)
assert [api.artifacts(type_name=kind) for kind in ('none', 'model')][0] == [] and api.artifact_versions(type_name='none', name='p/model') == []
api.create_project('new') ## comes into being with its first run
api.reports('p') ## reports() is always empty
assert past.sweep is None and past.url is None and past.user.username
api.artifact('p/model:latest').version; api.artifact('e/p/model:v0', type='model').digest; api.artifacts('model', 'p/model'); api.artifact_versions('model', 'p/model')
assert api.artifact_exists('p/model:v0') and not api.artifact_exists('p/model:v9')
assert [each.name for each in past.logged_artifacts()] == ['model'] and past.used_artifacts() == []
api.sweeps('p'); api.artifact_type('model') ## Api().artifact_type is not supported
api.team('x') ## Api().team is not supported
api.runs('p').histories(samples=3, keys=['loss'])[0]['run_id']; api.runs('p').histories(format='pandas').iloc[0]; api.runs('p').upgrade_to_full()
list(past.beta_scan_history(keys=['loss'])); past.load_full_data()
past.stop() ## stop() of a recorded run is not supported
api.project('p').sweeps(); api.project('p').url
api.automations() ## Api().automations is not supported
api.users('x') ## Api().users is not supported
api.job('x') ## Api().job is not supported
past.upload_file('cfg.py') ## upload_file() of a recorded run is not supported
past.delete(); assert len(api.runs('p')) == 0
"""
