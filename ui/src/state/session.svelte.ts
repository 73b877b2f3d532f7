/** Who we are to the server, what it is, and whether it answers. */
import { api, Problem, setCsrf, watchAnswers, type Info } from "../api/client";
import { live } from "../api/live.svelte";
import { forgetAll, refreshAll } from "../api/resource.svelte";
import { slots } from "../run/slots.svelte";

class Session {
  info = $state.raw<Info | null>(null);
  needsLogin = $state(false);
  #lostAt = $state<number | null>(null);
  /** When the server stopped answering, in ms since 1970. */
  lostAt = $derived(this.#lostAt ?? live.lostAt);
  canWrite = $derived(this.info?.scopes.some((scope) => scope === "write" || scope === "admin") ?? false);
  isAdmin = $derived(this.info?.scopes.includes("admin") ?? false);

  async begin(): Promise<void> {
    watchAnswers((status) => this.#note(status));
    live.on("reset", () => refreshAll());
    live.on("run", (run) => slots.tell([run]));
    await this.ask();
    await this.#enterByLink();
  }

  /** Ask the server who we are. True where it answered. */
  async ask(): Promise<boolean> {
    try {
      const info = await api.info();
      this.needsLogin = info.needs_login;
      setCsrf(info.csrf);
      this.info = info;
      if (!info.needs_login) live.start(info.seq);
      return true;
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      return error.status > 0;
    }
  }

  /** Ask a server that was away whether it is back: it may be another one by now, and what could not be asked is asked again. */
  async askAgain(): Promise<void> {
    const wasAway = this.#lostAt !== null;
    if (!(await this.ask()) || !wasAway) return;
    if (!live.isOpen && !this.needsLogin) live.retry();
    live.startOver();
  }

  /** Whoever was sent a link has what opens it behind the address, where no server and no log sees it. */
  async #enterByLink(): Promise<void> {
    const key = new URLSearchParams(location.hash.slice(1)).get("share");
    if (!key) return;
    history.replaceState(history.state, "", location.pathname + location.search);
    if (!this.needsLogin) return;
    try {
      await this.login(key);
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
    }
  }

  async login(key: string): Promise<void> {
    await api.login(key);
    forgetAll();
    await this.ask();
    live.retry();
  }

  async logout(): Promise<void> {
    await api.logout();
    location.reload();
  }

  #note(status: number): void {
    if (status === 0) {
      this.#lostAt ??= Date.now();
      return;
    }
    this.#lostAt = null;
    if (status === 401) this.needsLogin = true;
  }
}

export const session = new Session();
