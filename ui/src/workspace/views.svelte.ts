/**
 * How a person has the workspace of a project, and the views that were saved of it. The address has all of it, as far as
 * it has room; the server keeps each setting that is changed, so that an address without any shows what was there before.
 */
import { api, Problem, type View, type Views } from "../api/client";
import { live } from "../api/live.svelte";
import { notices } from "../parts/notices.svelte";
import { forgetGroups, tellGroups } from "../run/colours";
import { place } from "../state/router.svelte";
import { Outbox, type Edits } from "./outbox";
import { asEdits, changesBetween, inWords, isEmpty, settingsOf, withChanges, type Settings } from "./settings";
import { Undo } from "./undo";

class ViewKeeper {
  data = $state.raw<Views | null>(null);
  /** Empty for the workspace that nobody has given a name. */
  id = $derived(place.get("view"));
  settings = $derived(settingsOf(place.query));
  current = $derived(this.data?.views.find((view) => view.id === this.id) ?? null);
  isEdited = $derived(this.current !== null && !isEmpty(changesBetween(this.current.settings, this.settings)));
  /** An address without settings waits for what was kept; one with some is shown as it stands. */
  isReady = $derived(place.isOurs || !isEmpty(this.settings));
  #outbox: Outbox | null = null;
  #seen: { view: string; cameAt: number; settings: Settings } | null = null;
  #undo = new Undo();
  #isShown = () => false;

  /** Look after the workspace of a project, while it is shown, until the returned function is called. */
  begin(project: string, isShown: () => boolean): () => void {
    this.#isShown = isShown;
    const outbox = (this.#outbox = new Outbox(project, (data) => this.#take(data), (problem) => this.#refused(problem)));
    this.data = null;
    this.#seen = null;
    forgetGroups();
    this.#undo.clear();
    void this.#load(outbox);
    const ends = [
      live.on("views", (changed) => { if (changed.project === project) void this.#load(outbox); }),
      live.on("reset", () => void this.#load(outbox)),
      // A project is there with its first run.
      live.on("run", (run) => { if (run.project === project && this.data?.may_keep === false) void this.#load(outbox); }),
    ];
    return () => {
      if (this.#isShown === isShown) this.#isShown = () => false;
      ends.forEach((end) => end());
    };
  }

  /** Somebody came by a link: what it leaves open is as it was kept. */
  settle(): void {
    if (place.isOurs || (!this.data && !this.isReady)) return;
    const isBare = this.data !== null && isEmpty(this.settings);
    const view = this.id || (isBare ? (this.data?.view ?? this.data?.default ?? "") : "");
    this.#show({ ...(isBare && this.#kept(view)), view });
    this.#undo.clear();
    this.#checkView();
  }

  /** Keep what has changed since the last time. */
  follow(): void {
    const seen = this.#seen;
    this.#look();
    if (seen?.view !== this.id || seen.cameAt !== place.cameAt) return this.#undo.clear();
    const changes = changesBetween(seen.settings, this.settings);
    if (isEmpty(changes)) return;
    this.#undo.note(seen.settings, changes, Date.now());
    this.#keep(changes);
  }

  /** Send what could not be sent. */
  retry(): void {
    void this.#outbox?.send();
  }

  undo(): void {
    this.#step(this.#undo.back(), "Nothing to undo.");
  }

  redo(): void {
    this.#step(this.#undo.forward(), "Nothing to redo.");
  }

  open(view: string): void {
    const nothing = Object.fromEntries(Object.keys(this.settings).map((name) => [name, null]));
    place.set({ ...nothing, from: null, to: null, row: null, ...this.#kept(view), view });
    void this.#outbox?.choose(view);
  }

  reset(): void {
    place.set(changesBetween(this.settings, this.current?.settings ?? {}), true);
  }

  async save(): Promise<void> {
    const [outbox, view] = [this.#outbox, this.current];
    if (!outbox || !view || !this.isEdited) return;
    await api.changeView(view.id, { project: outbox.project, settings: changesBetween(view.settings, this.settings) });
    await this.#forgetEdits(view.id);
  }

  async saveAs(name: string, isTeam: boolean): Promise<void> {
    const [outbox, before] = [this.#outbox, this.current];
    if (!outbox) return;
    const made = await api.addView({ project: outbox.project, name, is_team: isTeam, settings: this.settings });
    await this.#load(outbox);
    place.set({ view: made.id }, true);
    void outbox.choose(made.id);
    // What was changed is in the new view, and no more a change of the other one.
    if (before) await this.#forgetEdits(before.id);
  }

  async change(view: View, changes: { name?: string; is_team?: boolean; is_default?: boolean }): Promise<void> {
    const outbox = this.#outbox;
    if (!outbox) return;
    await api.changeView(view.id, { project: outbox.project, ...changes });
    await this.#load(outbox);
  }

  async duplicate(view: View): Promise<void> {
    const outbox = this.#outbox;
    if (!outbox) return;
    const made = await api.addView({ project: outbox.project, name: `Copy of ${view.name}`.slice(0, 100), is_team: false, settings: view.settings });
    await this.#load(outbox);
    this.open(made.id);
  }

  async remove(view: View): Promise<void> {
    const outbox = this.#outbox;
    if (!outbox) return;
    if (view.id === this.id) this.open("");
    await api.removeView(view.id, outbox.project);
    await this.#load(outbox);
  }

  /** What shows others what is to be seen here: for a view that is one's own, or was changed, all of its settings. */
  link(): string {
    const address = new URL(location.href);
    address.search = this.current?.is_team && !this.isEdited ? `view=${this.id}` : place.query.toString();
    return address.href;
  }

  async #load(outbox: Outbox): Promise<void> {
    try {
      const data = await api.views(outbox.project);
      if (this.#outbox === outbox) this.#take(data);
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      // Without what was kept the workspace is as usual.
      if (this.#outbox === outbox && !this.data) this.#take({ project: outbox.project, view: null, default: "", views: [], colours: {}, edits: {}, may_keep: false, may_share: false, seq: 0 });
    }
  }

  /** What the server has by now. What somebody else, or another tab, has changed of it is shown here too. */
  #take(data: Views): void {
    if (data.seq < (this.data?.seq ?? 0)) return;
    const isFirst = this.data === null;
    const before = this.#kept(this.id);
    this.data = data;
    tellGroups(data.colours, data.may_share ? (colours) => void this.#paint(data.project, colours) : null);
    // Whoever has left the workspace meanwhile has another page in the address.
    if (!this.#isShown()) return;
    if (isFirst) return place.isOurs ? this.#checkView() : this.settle();
    const after = this.#kept(this.id);
    const ours = this.#outbox?.waiting.get(this.id) ?? {};
    const others = Object.entries(changesBetween(before, after)).filter(([name, value]) => !(name in ours) && (this.settings[name] ?? null) !== value);
    if (others.length) {
      const was = Object.fromEntries(others.map(([name]) => [name, this.settings[name] ?? null]));
      this.#show(Object.fromEntries(others));
      notices.say(`Changed elsewhere: ${inWords(others.map(([name]) => name))}.`, { undo: () => this.#step(was, "") });
    }
    this.#checkView();
  }

  /** Groups get colours that everybody sees; where that fails they have them here alone. */
  async #paint(project: string, colours: Record<string, number>): Promise<void> {
    try {
      this.#take(await api.keepViews({ project, colours }));
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
    }
  }

  #checkView(): void {
    if (!this.data?.may_keep || !this.id || this.current) return;
    notices.say("This view is not there: it was deleted, or it is somebody's own. What you see can be saved as a new one.", { isBad: true });
    place.set({ view: null }, true);
  }

  #refused(problem: Problem): void {
    notices.say(`This change is not kept: ${problem.what}.`, { isBad: true });
  }

  /** A view with what its person changed of it, also where the server has not heard of that yet. */
  #kept(view: string): Settings {
    const saved = this.data?.views.find((each) => each.id === view)?.settings ?? {};
    const edits: Edits = { ...this.data?.edits[view], ...this.#outbox?.waiting.get(view) };
    return withChanges(saved, Object.fromEntries(Object.entries(edits).map(([name, value]) => [name, value ?? saved[name] ?? null])));
  }

  async #forgetEdits(view: string): Promise<void> {
    const edits = { ...this.data?.edits[view], ...this.#outbox?.waiting.get(view) };
    await this.#outbox?.put(view, Object.fromEntries(Object.keys(edits).map((name) => [name, null])));
  }

  #step(changes: Edits | null, otherwise: string): void {
    if (!changes) return notices.say(otherwise);
    this.#show(changes);
    this.#keep(changes);
  }

  /** Set what is shown, without taking it for a change that somebody made here. */
  #show(changes: Edits): void {
    place.set(changes, true);
    this.#look();
  }

  #look(): void {
    this.#seen = { view: this.id, cameAt: place.cameAt, settings: this.settings };
  }

  #keep(changes: Edits): void {
    if (this.data?.may_keep === false) return;
    void this.#outbox?.put(this.id, asEdits(changes, this.current?.settings ?? {}));
  }
}

export const views = new ViewKeeper();
